"""What a report says of a graph."""
