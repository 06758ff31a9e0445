"""Compiled loops for :mod:`.grid`: the results of its array operations to the bit, in one pass.

Contract: a kernel returns whether every number fitted; where it says no, what it wrote is
worthless and the caller goes the long way. Which way is gone is a function of the values' range,
as in :mod:`.grid` itself. Multiplying by a power of two between 2⁻⁹⁰⁰ and 2⁹⁰⁰ is exact for floats
that stay normal, and an integer of 63 bits times such a power does.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SAFE = 1 << 62


@njit(cache=True)
def multiples(values: Floats, inverse: float, out: Integers) -> bool:
    """Round values times ``inverse``, a power of two, to whole numbers, halves upwards."""
    fits = True
    for i in range(values.size):
        scaled = values[i] * inverse
        safe = abs(scaled) < _SAFE  # false for NaN, too
        fits &= safe
        whole = math.floor(scaled if safe else 0.0)
        # Exact: the fraction of a float has no more bits than the float itself.
        out[i] = np.int64(whole) + np.int64(scaled - whole >= 0.5)
    return fits


@njit(cache=True)
def noised(values: Integers, noise: Integers, step: float, out: Floats) -> bool:
    """Add noise to multiples and turn the sums into floats."""
    fits = True
    safe = np.int64(_SAFE)
    for i in range(values.size):
        fits &= (-safe < values[i] < safe) & (-safe < noise[i] < safe)
        out[i] = np.float64(values[i] + noise[i]) * step
    return fits
