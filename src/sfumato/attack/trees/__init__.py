"""Attacks on released trees."""
