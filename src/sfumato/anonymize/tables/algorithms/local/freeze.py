"""Freezing: classes that hold as soon as their generalisation is cheap enough.

Visits the nodes of the full-domain lattice in the order of what they cost on average.
On each, the tuples not yet placed are grouped by their generalised values; every group
that holds is frozen into a class and its tuples are out. A group may cost more than its
node does on average; then it waits, and the node is visited again when its price has
come, so that classes are frozen in the order of what they really cost. What is left at
the end is for `merge`. Where the lattice is too large to walk, only some of its
nodes are visited.
"""

# ruff: noqa: ANN001, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.space import INNER, OUTER, gather, widen
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space

VISITS = 8000
"""Largest number of generalisations considered."""
POPULATION_VISITS = 100
"""The same where people of a population must be counted for every group."""
SLACK = 0.02
"""Groups within this share of the current price are frozen together."""
PATIENCE = 500
"""Visits after which it is checked whether the walk still gets anywhere."""
MANY = 0.25
"""Share of the tuples still left above which nodes are skipped."""
PROGRESS = 0.04
"""Share of the tuples left that must have been frozen since the last check.

Only a monotone definition lets the walk end early: where records that join can break a
class, merging what is left is no match for finding classes that hold."""


def freeze(space: Space, judge: Judge) -> Shares:
    """Place every tuple: frozen classes first, what is left each in a class of its own."""
    n = len(space.counts)
    class_, left, used = np.full(n, -1), np.arange(n), 0
    grouping = _Grouping(space)
    counting = judge.problem.definition.needs_population
    nodes = generalizations(space, POPULATION_VISITS if counting else VISITS)
    queue = [(cost, i) for i, cost in enumerate(_typical(space)[nodes].sum(axis=1))]
    heapq.heapify(queue)
    visits, before, monotone = 0, n, judge.problem.definition.monotone
    smallest = judge.problem.definition.minimum_size
    while queue and len(left) and not judge.clock.late:
        price, i = heapq.heappop(queue)
        if i % 2 and visits > PATIENCE and len(left) > MANY * n:
            continue  # where most tuples find no company, half of the nodes tell enough
        group, sizes, largest = grouping.group(left, nodes[i])
        holds = judge.holding(left, group, sizes) if largest >= smallest else None
        if holds is not None and holds.any():
            limit = price * (1 + SLACK) + 1e-12
            used, kept, waiting = _place(
                space.ancestors, space.counts, left, group, holds, limit, class_, used
            )
            left = left[:kept]
            if waiting < np.inf:
                heapq.heappush(queue, (waiting, i))
        visits += 1
        if visits % PATIENCE == 0:
            if monotone and before - len(left) < PROGRESS * before:
                break
            before = len(left)
    class_[left] = used + np.arange(len(left))
    return gather(np.arange(n), class_, space.counts, used + len(left))


def _typical(space: Space) -> NDArray[np.float64]:
    """Return per column the price of a cheap quarter of the tuples: when to look first."""
    return np.quantile(space.price, 0.25, axis=0)


def generalizations(space: Space, limit: int) -> NDArray[np.int64]:
    """Return up to `limit` nodes of the lattice as columns.

    All of them where the lattice is small enough; else half of them the cheapest on average
    and half spread evenly over the lattice (a Kronecker sequence), so that dear tuples, too,
    meet others before everything is left to merging.
    """
    heights = np.diff(space.start)
    if np.prod(heights.astype(np.float64)) <= limit:
        return _cheapest(space, limit)
    roots = np.sqrt(np.arange(2, 2 + len(heights)) + 0.5)
    spread = np.floor(np.outer(np.arange(1, limit // 2 + 1), roots) % 1.0 * heights)
    nodes = np.concatenate([_cheapest(space, limit // 2), space.start[:-1] + spread.astype(int)])
    return np.unique(nodes, axis=0)


def _cheapest(space: Space, limit: int) -> NDArray[np.int64]:
    """Return up to `limit` nodes in the order of their average price, from the bottom."""
    start = space.start
    mean = (space.counts @ space.price) / space.counts.sum()
    bottom = tuple(int(column) for column in start[:-1])
    queue = [(float(mean[start[:-1]].sum()), bottom)]
    seen = {bottom}
    found: list[tuple[int, ...]] = []
    while queue and len(found) < limit:
        cost, node = heapq.heappop(queue)
        found.append(node)
        for a, column in enumerate(node):
            above = (*node[:a], column + 1, *node[a + 1 :])
            if column + 1 < start[a + 1] and above not in seen:
                seen.add(above)
                heapq.heappush(queue, (cost + float(mean[column + 1] - mean[column]), above))
    return np.array(found, dtype=np.int64)


@njit(**OUTER)
def _place(ancestors, counts, left, group, holds, limit, class_, used):  # type: ignore[no-untyped-def]
    """Freeze the groups that hold and cost a record at most `limit` on average.

    They get the next numbers, from `used` on, in `class_`; tuples of other groups move to the
    front of `left`. Return how many numbers are used then, how many tuples are left, and the price
    of the cheapest group that holds and has to wait.
    """
    mean = _prices(ancestors, counts, left, group, holds)
    number, waiting, kept = np.full(len(holds), -1), np.inf, 0
    for g in range(len(holds)):
        if mean[g] <= limit:
            number[g] = used
            used += 1
        else:
            waiting = min(waiting, mean[g])
    for i in range(len(left)):
        t, placed = left[i], number[group[i]]
        if placed >= 0:
            class_[t] = placed
        else:
            left[kept] = t
            kept += 1
    return used, kept, waiting


@njit(**INNER)
def _prices(ancestors, counts, left, group, holds):  # type: ignore[no-untyped-def]
    """Return what a record pays on average in each group that holds, on its lowest levels; else ∞.

    Levels are known only when all tuples of a group were seen, so prices take a second pass.
    """
    start, node, price = ancestors
    groups, attributes = len(holds), len(start) - 1
    rep, level = np.full(groups, -1), np.zeros((groups, attributes), np.int64)
    total, size = np.zeros(groups), np.zeros(groups)
    for i in range(len(left)):
        g = group[i]
        if holds[g]:
            if rep[g] < 0:
                rep[g] = left[i]
            widen(start, node, rep[g], level[g], left[i])
    for i in range(len(left)):
        g, t = group[i], left[i]
        if holds[g]:
            size[g] += counts[t]
            for a in range(attributes):
                total[g] += counts[t] * price[t, start[a] + level[g, a]]
    for g in range(groups):
        total[g] = total[g] / size[g] if holds[g] else np.inf
    return total


class _Grouping:
    """Groups tuples by their nodes in some columns, in memory that is taken once.

    A place of the hash table is free unless it holds at least `begin`, the number of the first
    group of the visit: so the table needs no clearing from visit to visit.
    """

    def __init__(self, space: Space) -> None:
        n = len(space.counts)
        self._space = space
        self._slot = np.full(_places(n), -1)
        self._marks = np.empty(_places(n), dtype=np.uint64)
        self._group, self._sizes = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        self._begin = 0

    def group(
        self, left: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return each tuple's group and the sizes, both until the next call, and the largest.

        Tuples are told apart by a 64-bit hash alone. Should two ever collide, they form a group
        that costs more than it looks; its own lowest common ancestor is taken all the same.
        """
        space, places, group = self._space, _places(len(left)), self._group[: len(left)]
        used, largest = _group(
            space.node, space.counts, left, columns, self._begin, self._slot[:places],
            self._marks, group, self._sizes,
        )  # fmt: skip
        self._begin += used
        return group, self._sizes[:used], largest


def _places(tuples: int) -> int:
    """Return the size of a hash table for so many: a power of two, at most half of it taken."""
    return 1 << (2 * tuples + 16).bit_length()


@njit(**OUTER)
def _group(node, counts, left, columns, begin, slot, marks, group, sizes):  # type: ignore[no-untyped-def]
    """Fill in `group` and `sizes`; return how many groups there are, and the size of the largest.

    `slot[at]` is `begin` and the number of the group whose hash is `marks[at]`; what is below
    `begin` is of earlier visits.
    """
    last = np.uint64(len(slot) - 1)
    used = largest = 0
    for i in range(len(left)):
        t = left[i]
        mark = np.uint64(0)
        for a in range(len(columns)):
            mark = (mark ^ np.uint64(node[t, columns[a]])) * np.uint64(0x9E3779B97F4A7C15)
            mark ^= mark >> np.uint64(32)
        at = mark & last
        while slot[at] >= begin and marks[at] != mark:
            at = (at + np.uint64(1)) & last
        if slot[at] < begin:
            slot[at], marks[at], sizes[used] = begin + used, mark, 0
            used += 1
        g = slot[at] - begin
        group[i] = g
        sizes[g] += counts[t]
        largest = max(largest, sizes[g])
    return used, largest


GROUPS = _group
"""The kernel that is loaded first."""
