"""k-anonymity of traces: groups of like traces, each shown as the boxes around its members.

Every trace is in a group of at least k people, so nothing is left unprotected, and nothing is left
out. Trips of one person may meet in a group, but count once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trajectories.resampling import Positions

ROUNDS = 60
"""Rounds of exchanges; it ends earlier where nothing gets better."""
FEWEST_NEIGHBOURS, MOST_NEIGHBOURS, PAIRS = 20, 64, 100_000
"""How many neighbouring groups exchange members: more where there are few groups."""
KICKS, FEW = 4, 1000
"""Up to so many traces the search is repeated from so many disturbed solutions."""


def group_traces(
    positions: Positions, person: NDArray[np.int64], k: int, *, speed: float
) -> NDArray[np.int64]:
    """Return the group of each trace; `speed` says how many metres a second of spread weighs."""
    from sfumato.anonymize.trajectories import grouping_kernel as kernel  # noqa: PLC0415 - compiles

    features = _features(positions, speed)
    found: NDArray[np.int64] = kernel.group_greedily(features, person, k)
    groups = int(found.max()) + 1
    if groups < 2:
        return found
    near = int(np.clip(PAIRS // groups, FEWEST_NEIGHBOURS, MOST_NEIGHBOURS))
    kernel.exchange(features, person, found, groups, k, ROUNDS, near)
    if len(person) > FEW or len(np.unique(person)) < len(person):
        return found
    best = cost(features, found)
    for kick in range(KICKS):
        tried = kernel.disturb(found.copy(), kick + 1)
        kernel.exchange(features, person, tried, groups, k, ROUNDS, near)
        if (price := cost(features, tried)) < best:
            best, found = price, tried
    return found


def cost(features: NDArray[np.float32], group: NDArray[np.int64]) -> float:
    """Return the sum over traces of the ranges of their group."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    ordered = features[order]
    ranges = np.maximum.reduceat(ordered, first) - np.minimum.reduceat(ordered, first)
    return float((ranges.sum(axis=1) * np.bincount(group)).sum())


def _features(positions: Positions, speed: float) -> NDArray[np.float32]:
    """Return a row per trace in which ranges add up to what its box costs, in metres."""
    n, count = positions.times.shape
    places = positions.places.reshape(n, 2 * count)
    if not positions.spread:
        return np.ascontiguousarray(places, dtype=np.float32)
    ends = positions.times[:, [0, -1]] - positions.times.min()
    return np.ascontiguousarray(np.hstack([places, speed * ends]), dtype=np.float32)
