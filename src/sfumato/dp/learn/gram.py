"""Noisy second moments of rows: what least squares and principal components need.

Contract: :func:`noisy_gram` releases Σ z·zᵀ over rows z, whole numbers of steps of 2⁻¹⁰, with at
most p entries that are not 0, none above 1 in size. Noise is added to each entry of the upper
triangle once.

Proof. A row moves the entries (i, j), i ≤ j, by z_i·z_j. At most p(p + 1)/2 of them are not 0,
each at most 1 in size, so it moves the triangle by √(p(p + 1)/2) in L2 (not p: every pair counts
once). Places that are 0 for every possible row (two values of one category) are left 0 without
noise. Diagonal places of categories are not released: z_i² = z_i·1 stands in the intercept's row
already, which leaves p(p + 1)/2 − (number of categories). Sums of 64-bit integers have no order,
and products of at most 2²⁰ leave room for 2⁴² rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sfumato.dp.learn.budget import Budget

BITS = 10
STEP = 1 << BITS


@njit(cache=True)
def exact_gram(
    codes: npt.NDArray[np.uint32], steps: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.int64]:
    """Add the upper triangle of z·zᵀ over rows, in whole numbers.

    ``codes[i]`` are the places where row i has a 1; ``steps[i]`` are its values, in steps, at the
    last places of z.
    """
    total = np.zeros((size, size), dtype=np.int64)
    rows, ones = codes.shape
    numbers = steps.shape[1]
    first = size - numbers
    unit = np.int64(1 << 10)
    for i in range(rows):
        for a in range(ones):
            place = codes[i, a]
            for b in range(a, ones):
                total[place, codes[i, b]] += unit * unit
            for b in range(numbers):
                total[place, first + b] += unit * steps[i, b]
        for a in range(numbers):
            for b in range(a, numbers):
                total[first + a, first + b] += steps[i, a] * steps[i, b]
    return total


def noisy_gram(
    exact: NDArray[np.int64],
    released: NDArray[np.bool_],
    l2_squared: int,
    budget: Budget,
    share: Fraction | int = 1,
) -> tuple[NDArray[np.float64], float]:
    """Return the matrix with noise in the places of ``released``, and the noise of an entry.

    ``released`` marks places of the upper triangle; both are in units of 1, not of steps.
    """
    moved = l2_squared * STEP**4
    noisy = np.zeros(exact.shape)
    noisy[released] = budget.gaussian(exact[released], moved, share).astype(np.float64)
    full = np.triu(noisy) + np.triu(noisy, 1).T
    return full / STEP**2, math.sqrt(budget.variance(moved, share)) / STEP**2


def nearest_psd(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set negative eigenvalues to 0: the nearest matrix that second moments can form."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    psd: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return psd
