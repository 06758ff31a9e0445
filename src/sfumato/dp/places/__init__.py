"""Places with noise: geo-indistinguishability, exactly, and the best that can be made of it."""
