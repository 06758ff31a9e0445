"""Records with attributes, sets of items and places in one row."""
