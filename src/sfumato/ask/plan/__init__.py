"""A request as one SQL syntax tree, and how each engine spells it."""
