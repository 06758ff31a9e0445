"""What a report says of sets."""
