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
KICKS, FEW = 5, 1000
"""Up to so many traces the search is repeated from so many disturbed solutions, of which the one
with the smallest larger side is kept: a city that is longer than wide makes boxes so, too, unless
its length weighs more."""
BALANCE = 2.5
"""How strongly the ratio of mean sides changes what weighs, from one search to the next."""


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
    places = 2 * positions.times.shape[1]
    best, stretch = mean_sides(features[:, :places], found), 1.0
    for kick in range(KICKS):
        stretch *= _more(best)
        bent = features.copy()
        bent[:, 1:places:2] *= stretch
        tried = kernel.disturb(found.copy(), kick + 1)
        kernel.exchange(bent, person, tried, groups, k, ROUNDS, near)
        sides = mean_sides(features[:, :places], tried)
        if max(sides) < max(best):
            best, found = sides, tried
    return found


def mean_sides(places: NDArray[np.float32], group: NDArray[np.int64]) -> tuple[float, float]:
    """Return the mean width and height of the boxes of traces; x and y stand in turns."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    ordered = places[order]
    ranges = np.maximum.reduceat(ordered, first) - np.minimum.reduceat(ordered, first)
    share = np.bincount(group) / len(group)
    return float(ranges[:, ::2].mean(axis=1) @ share), float(ranges[:, 1::2].mean(axis=1) @ share)


def _more(sides: tuple[float, float]) -> float:
    """Return how much more a metre of height must weigh for boxes to become square."""
    width, height = sides
    return (height / width) ** BALANCE if width > 0 and height > 0 else 1.0


def _features(positions: Positions, speed: float) -> NDArray[np.float32]:
    """Return a row per trace in which ranges add up to what its box costs, in metres."""
    n, count = positions.times.shape
    places = positions.places.reshape(n, 2 * count)
    if not positions.spread:
        return np.ascontiguousarray(places, dtype=np.float32)
    ends = positions.times[:, [0, -1]] - positions.times.min()
    return np.ascontiguousarray(np.hstack([places, speed * ends]), dtype=np.float32)
