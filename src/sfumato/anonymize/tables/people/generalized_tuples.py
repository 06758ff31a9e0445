"""Generalised tuples of classes as arrays: whom they cover, what it costs to widen them.

As in `Local`: class `c` releases for attribute `a` the node on level `level[c, a]` above leaf
`low[c, a]`, or the range of leaves `low[c, a]` to `high[c, a]` where the level is −1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedTuples:
    """The generalised tuples of some classes."""

    level: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.level)

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_] | slice) -> GeneralizedTuples:
        """Return some of them."""
        return GeneralizedTuples(self.level[chosen], self.low[chosen], self.high[chosen])

    def put(self, c: int, other: GeneralizedTuples) -> None:
        """Replace one tuple in place."""
        self.level[c], self.low[c], self.high[c] = other.level[0], other.low[0], other.high[0]


def leaf_tuple(quasi: NDArray[np.integer]) -> GeneralizedTuples:
    """Return tuples of leaves as generalised tuples on level 0."""
    leaves = np.atleast_2d(quasi).astype(np.int64)
    return GeneralizedTuples(np.zeros_like(leaves), leaves, leaves)


def covers(
    hierarchies: tuple[Hierarchy, ...], classes: GeneralizedTuples, leaves: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return for each class whether it covers one tuple of leaves, or row by row the tuples."""
    fits = np.ones(len(classes), dtype=np.bool_)
    for a, h in enumerate(hierarchies):
        leaf = np.broadcast_to(leaves[..., a], (len(classes),)).astype(np.int64)
        level, low, high = classes.level[:, a], classes.low[:, a], classes.high[:, a]
        on = np.maximum(level, 0)
        node = h.levels[leaf, on] == h.levels[low, on]
        fits &= np.where(level < 0, (low <= leaf) & (leaf <= high), node)
    return fits


def join(
    problem: Problem, classes: GeneralizedTuples, other: GeneralizedTuples
) -> GeneralizedTuples:
    """Return the least generalised tuples that cover each class together with one other tuple."""
    level, low, high = (np.empty_like(classes.level) for _ in range(3))
    for a, h in enumerate(problem.hierarchies):
        mine = classes.level[:, a], classes.low[:, a], classes.high[:, a]
        theirs = int(other.level[0, a]), int(other.low[0, a]), int(other.high[0, a])
        ranges = mine[0] < 0
        if theirs[0] < 0:
            ranges = np.ones(len(classes), dtype=np.bool_)
        level[:, a] = np.where(ranges, -1, _meeting_level(h, mine[0], mine[1], theirs))
        first, last = _ends(h, *mine)
        begin, end = _ends(h, *(np.array([x]) for x in theirs))
        low[:, a] = np.where(ranges, np.minimum(first, begin), mine[1])
        high[:, a] = np.where(ranges, np.maximum(last, end), mine[1])
    return GeneralizedTuples(level, low, high)


def _meeting_level(
    h: Hierarchy, level: NDArray[np.int64], low: NDArray[np.int64], other: tuple[int, int, int]
) -> NDArray[np.int64]:
    """Return the lowest level, not below either's own, on which both leaves have one node."""
    together = h.levels[low] == h.levels[other[1]]
    own = np.maximum(level, max(other[0], 0))
    together &= np.arange(h.height) >= own[:, None]
    return np.asarray(together.argmax(axis=1), dtype=np.int64)


def _ends(
    h: Hierarchy, level: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last leaf of every cell."""
    first, last = low.copy(), np.where(level < 0, high, low)
    for v in np.unique(level[level > 0]):
        nodes = h.levels[:, v].astype(np.int64)
        begin = np.full(len(h.labels[v]), h.size, dtype=np.int64)
        end = np.full(len(h.labels[v]), -1, dtype=np.int64)
        np.minimum.at(begin, nodes, np.arange(h.size))
        np.maximum.at(end, nodes, np.arange(h.size))
        on = level == v
        first[on], last[on] = begin[nodes[low[on]]], end[nodes[low[on]]]
    return first, last


def price(problem: Problem, classes: GeneralizedTuples) -> NDArray[np.float64]:
    """Return what one record pays in each class; a range pays by its length."""
    total = np.zeros(len(classes))
    for a, h in enumerate(problem.hierarchies):
        level, low, high = classes.level[:, a], classes.low[:, a], classes.high[:, a]
        length = (high - low) / max(h.size - 1, 1) * problem.suppressed[a][low]
        node = problem.costs[a][low, np.maximum(level, 0)]
        total += np.where(level < 0, length, node)
    return total


def widening(
    problem: Problem,
    classes: GeneralizedTuples,
    sizes: NDArray[np.int64],
    other: GeneralizedTuples,
    records: int,
) -> tuple[NDArray[np.float64], GeneralizedTuples]:
    """Return what it costs to take another tuple's records into each class, and the tuple then."""
    wider = join(problem, classes, other)
    after = price(problem, wider)
    before = price(problem, classes) * sizes + price(problem, other)[0] * records
    return after * (sizes + records) - before, wider
