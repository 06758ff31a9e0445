"""Anonymise sets of items: by groups, by deletion, by cutting links."""
