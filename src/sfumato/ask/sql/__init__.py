"""From SQL to a question, by an allow-list."""
