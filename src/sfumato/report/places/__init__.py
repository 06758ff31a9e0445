"""What a report says of cloaked places and of mix zones."""
