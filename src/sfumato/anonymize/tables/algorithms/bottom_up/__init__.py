"""Classes grown from single tuples, then improved by moving members."""
