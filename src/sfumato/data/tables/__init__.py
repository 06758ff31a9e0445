"""Tables of people: reading, counting, suggesting, and rows on their way out."""
