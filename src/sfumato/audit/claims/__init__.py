"""Checking a claim of differential privacy from outside: pairs, outputs, events, bounds."""
