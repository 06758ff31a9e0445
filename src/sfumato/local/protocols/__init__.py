"""Local protocols: a promise to one person, a perturbation and an estimate."""
