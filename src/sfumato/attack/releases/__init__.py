"""Attacks on released records, one module per adversary."""
