"""What a report says of models."""
