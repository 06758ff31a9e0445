"""Releases checked from their files alone, with formulas of their own."""
