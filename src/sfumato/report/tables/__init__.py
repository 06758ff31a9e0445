"""What the report of a table says: classes, attributes, risk, the search, and why."""
