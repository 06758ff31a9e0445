"""Anonymise traces: by boxes that k people share, and by leaving out what few people did."""
