"""Logistic regression by Newton's method, for telling two groups of vectors apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_RIDGE = 1e-3
_ROUNDS = 8


def logistic(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Give the centre and the weights of a sum that is larger on the first group."""
    rows = np.concatenate([first, second])
    rows = np.clip(rows, -1e100, 1e100)
    centre, spread = np.median(rows, axis=0), rows.std(axis=0)
    spread = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    scaled = np.clip((rows - centre) / spread, -8, 8)
    scaled = np.concatenate([scaled, np.ones((len(rows), 1))], axis=1)
    label = np.repeat([1.0, 0.0], [len(first), len(second)])
    weights = np.zeros(scaled.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (label - chance) - _RIDGE * len(rows) * weights
        curvature = (scaled * (chance * (1 - chance))[:, None]).T @ scaled
        curvature += _RIDGE * len(rows) * np.eye(weights.size)
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return centre, weights[:-1] / spread
