"""What a stranger sees in a release: its labels, its classes, the people who fit them."""
