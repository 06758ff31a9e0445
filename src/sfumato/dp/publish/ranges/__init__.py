"""Ordered and spatial histograms: ranges, distribution functions, quantiles and maps."""
