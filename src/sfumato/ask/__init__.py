"""Questions under a budget: from SQL or Python to an answer with a guarantee and an interval."""
