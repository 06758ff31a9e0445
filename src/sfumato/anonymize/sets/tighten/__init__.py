"""Classes of sets that take one more label, while sets move so that they can."""
