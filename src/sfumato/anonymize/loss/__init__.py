"""What a recoding costs: sums over cells, wrong counts, worse models."""
