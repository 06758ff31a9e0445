"""One level per attribute for all records: the generalisation lattice and its search."""
