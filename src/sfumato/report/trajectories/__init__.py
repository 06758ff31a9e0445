"""What a report says of traces."""
