"""Pictures of answers: bars with intervals, heat grids, maps."""
