"""Sets of items, one per person: baskets, clicks, diagnoses."""
