"""Attacks on graphs: finding people by where they stand, and learning who knows whom."""
