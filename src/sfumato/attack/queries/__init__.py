"""Attacks on answers: differencing, reconstruction, membership."""
