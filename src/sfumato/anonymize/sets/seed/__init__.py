"""Groups of sets that share many items, found before sets are divided."""
