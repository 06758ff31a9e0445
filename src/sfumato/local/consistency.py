"""What can be done to estimates afterwards, and what it costs: bias.

Contract: an unbiased estimate of a frequency may be negative or sum to something else than 1. These
functions repair that. Post-processing never touches privacy, but every repair introduces bias, and
the labels in :data:`BIAS` say which. The default everywhere is ``"none"``.

* ``norm_sub`` sets negative frequencies to 0 and shifts the positive ones by a common amount, again
  and again, until they sum to 1 (Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li, "Locally
  differentially private frequency estimation with consistency", NDSS 2020).
* ``simplex`` is the closest point, in Euclidean distance, among all distributions. It is
  max(f + δ, 0) for one δ over *all* values. Where the positive estimates sum to more than 1 it
  equals ``norm_sub``; where they sum to less it also lifts values whose estimate was below 0.
* ``base_cut`` keeps estimates that chance alone would not give to any of d absent values, except
  with probability ``alpha``, and sets the others to 0; the sum is left as it is (same paper). The
  limit is :meth:`sfumato.local.estimate.Estimate.absent_limit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Consistency: TypeAlias = Literal["none", "norm-sub", "simplex", "base-cut"]
"""The repairs by name."""

BIAS: dict[str, str] = {
    "none": "unbiased; single frequencies may be below 0 or above 1, and need not sum to 1",
    "norm-sub": "biased: rare values are pulled to 0 or up, frequent ones down, to sum to 1",
    "simplex": "biased: the closest distribution; rare values up, frequent ones down, to sum to 1",
    "base-cut": "biased: values too rare to be told from 0 are set to 0; the rest is unchanged",
}


def repair(frequencies: Floats, how: Consistency, limit: Callable[[], Floats]) -> Floats:
    """Apply a repair by name; ``limit`` gives what absent values stay below."""
    if how == "none":
        return frequencies
    if how == "norm-sub":
        return norm_sub(frequencies)
    if how == "simplex":
        return simplex(frequencies)
    if how == "base-cut":
        return base_cut(frequencies, limit())
    raise ParameterError(f"Consistency is one of {', '.join(map(repr, BIAS))}, and {how!r} is not.")


def norm_sub(frequencies: Floats) -> Floats:
    """Set negatives to 0 and shift the positives equally, until the sum is 1."""
    current = np.maximum(frequencies, 0.0)
    positive = current > 0
    if not positive.any():
        return np.full(current.size, 1 / current.size)
    for _ in range(current.size + 1):
        current[positive] += (1 - current[positive].sum()) / positive.sum()
        negative = current < 0
        if not negative.any():
            break
        current[negative] = 0.0
        positive &= ~negative
    return current


def simplex(frequencies: Floats) -> Floats:
    """Give the distribution closest in Euclidean distance.

    The shift δ is found from the sorted values: it is (1 − the sum of the k largest)/k for the
    largest k that keeps the k-th of them positive.
    """
    falling = np.sort(frequencies)[::-1]
    shifts = (1 - np.cumsum(falling)) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling + shifts > 0)[-1]
    return np.asarray(np.maximum(frequencies + shifts[last], 0.0))


def base_cut(frequencies: Floats, limit: Floats) -> Floats:
    """Keep what is above the limit of absent values; set the rest to 0."""
    return np.where(frequencies > limit, frequencies, 0.0)
