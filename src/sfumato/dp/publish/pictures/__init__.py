"""Pictures of what is published once: clusters, winners, ranges, maps."""
