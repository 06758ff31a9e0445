"""`algorithm="local"`: bottom-up local recoding and its kernels."""
