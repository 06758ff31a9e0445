"""Everything decided before data are touched: bounds, sensitivities, noise, cost."""
