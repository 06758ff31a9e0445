"""Division of sets from the root down, label by label."""
