"""k-means under differential privacy: the best algorithm by default, the lecture's by name."""
