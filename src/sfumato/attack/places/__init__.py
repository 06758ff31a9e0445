"""Attacks on places and traces: who was seen where, and which trace is hers."""
