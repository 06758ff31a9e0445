"""Graphs of people who know each other: reading and holding them."""
