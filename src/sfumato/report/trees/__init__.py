"""What a report says of trees."""
