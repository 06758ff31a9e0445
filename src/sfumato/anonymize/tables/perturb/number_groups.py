"""Group records with similar numbers into groups of at least a given size.

* One column: the groups with the least sum of squared distances to their means, exactly,
  by a shortest path over the sorted numbers (Hansen and Mukherjee, A polynomial algorithm for
  optimal univariate microaggregation, 2003).
* Several columns: MDAV, maximum distance to average (Domingo-Ferrer and Torra, Ordinal,
  continuous and heterogeneous k-anonymity through microaggregation, 2005). Finding the
  optimum is NP-hard there. MDAV compares all pairs, so large tables are first halved at the
  median of their widest column until each part is of moderate size.

Groups are numbered from 0; each has at least `size` records, or all there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_PART = 8_192
"""Records up to which MDAV looks at all of them at once."""


def univariate_groups(values: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return the group of each number, at the least within-group sum of squares."""
    order = np.argsort(values, kind="stable")
    ends = _cheapest_cuts(values[order] - values.mean(), size)
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = ends
    return groups


@njit(cache=True)
def _cheapest_cuts(ordered, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the group number of each sorted value; groups hold `size` to 2·size − 1."""
    n = len(ordered)
    first = np.zeros(n + 1)
    second = np.zeros(n + 1)
    for i in range(n):
        first[i + 1] = first[i] + ordered[i]
        second[i + 1] = second[i] + ordered[i] * ordered[i]
    groups = np.zeros(n, dtype=np.int64)
    if n < 2 * size:
        return groups
    best = np.full(n + 1, np.inf)
    start = np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(size, n + 1):
        for begin in range(max(0, end - 2 * size + 1), end - size + 1):
            total = first[end] - first[begin]
            spread = second[end] - second[begin] - total * total / (end - begin)
            cost = best[begin] + max(spread, 0.0)
            if cost < best[end]:
                best[end] = cost
                start[end] = begin
    end = n
    number = 0
    while end > 0:
        for i in range(start[end], end):
            groups[i] = number
        number += 1
        end = start[end]
    return groups


def multivariate_groups(points: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return the group of each point (a row), by MDAV on standardised columns."""
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    groups = np.empty(len(points), dtype=np.int64)
    number = 0
    for part in _parts(scaled, max(LARGEST_PART, 4 * size)):
        found = _mdav(np.ascontiguousarray(scaled[part]), size)
        groups[part] = found + number
        number += int(found.max(initial=-1)) + 1
    return groups


def _parts(points: NDArray[np.float64], largest: int) -> list[NDArray[np.int64]]:
    """Halve the points at the median of their widest column until the parts are small."""
    waiting = [np.arange(len(points), dtype=np.int64)]
    parts = []
    while waiting:
        part = waiting.pop()
        if len(part) <= largest:
            parts.append(part)
            continue
        widest = int(points[part].std(axis=0).argmax())
        order = part[np.argsort(points[part, widest], kind="stable")]
        waiting += [order[: len(order) // 2], order[len(order) // 2 :]]
    return parts


@njit(cache=True)
def _mdav(points, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Group the two ends of the cloud, again and again, until fewer than 3·size are left."""
    n = len(points)
    groups = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    number = 0
    while len(left) >= 2 * size:
        far = _farthest(points, left, _centre(points, left))
        opposite = _farthest(points, left, points[far])
        left = _take_nearest(points, left, far, size, groups, number)
        number += 1
        if len(left) >= 2 * size:
            if groups[opposite] >= 0:  # the points nearly coincide
                opposite = left[0]
            left = _take_nearest(points, left, opposite, size, groups, number)
            number += 1
    for i in left:
        groups[i] = number
    return groups


@njit(cache=True)
def _centre(points, left):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    centre = np.zeros(points.shape[1])
    for i in left:
        for d in range(len(centre)):
            centre[d] += points[i, d] / len(left)
    return centre


@njit(cache=True)
def _distance(points, i, target):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = 0.0
    for d in range(len(target)):
        step = points[i, d] - target[d]
        total += step * step
    return total


@njit(cache=True)
def _farthest(points, left, target):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the first of the points left that is farthest from the target."""
    found = left[0]
    most = -1.0
    for i in left:
        distance = _distance(points, i, target)
        if distance > most:
            most = distance
            found = i
    return found


@njit(cache=True)
def _take_nearest(points, left, seed, size, groups, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Put the `size` points nearest to the seed (itself one) in a group; return the others.

    The nearest so far are kept sorted; few of the points that follow get among them.
    """
    nearest = np.empty(size, dtype=np.int64)
    distances = np.empty(size)
    held = 0
    for i in left:
        distance = -1.0 if i == seed else _distance(points, i, points[seed])
        if held == size and distance >= distances[held - 1]:
            continue
        at = held if held < size else size - 1
        while at > 0 and distances[at - 1] > distance:
            distances[at] = distances[at - 1]
            nearest[at] = nearest[at - 1]
            at -= 1
        distances[at] = distance
        nearest[at] = i
        held = min(held + 1, size)
    for i in nearest:
        groups[i] = number
    rest = np.empty(len(left) - size, dtype=np.int64)
    kept = 0
    for i in left:
        if groups[i] < 0:
            rest[kept] = i
            kept += 1
    return rest


def nearest_groups(
    points: NDArray[np.float64], centres: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return for each point the centre nearest to it on the columns where it has a number."""
    return _nearest(points / scale, centres / scale)  # type: ignore[no-any-return]


@njit(cache=True)
def _nearest(points, centres):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    found = np.zeros(len(points), dtype=np.int64)
    for i in range(len(points)):
        least = np.inf
        for c in range(len(centres)):
            total = 0.0
            for d in range(points.shape[1]):
                if not np.isnan(points[i, d]):
                    step = points[i, d] - centres[c, d]
                    total += step * step
            if total < least:
                least = total
                found[i] = c
    return found
