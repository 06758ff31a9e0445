"""Questions written in Python, as chained calls."""
