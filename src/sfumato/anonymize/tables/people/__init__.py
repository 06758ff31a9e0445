"""Tables in which a person has several rows: classes count people."""
