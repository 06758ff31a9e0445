"""Histograms, grids and maps as questions."""
