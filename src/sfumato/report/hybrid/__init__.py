"""What a report says of hybrid records."""
