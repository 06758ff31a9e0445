"""What we hold: schemas, hierarchies, tables, and the engines where the rows live."""
