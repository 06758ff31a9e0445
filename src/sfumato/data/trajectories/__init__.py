"""Traces of people: where somebody was, and when."""
