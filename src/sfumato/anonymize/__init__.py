"""Definitions of anonymity, the algorithms that meet them, and what that costs."""
