"""Freezing: classes that hold as soon as their generalisation is cheap enough.

Visits the nodes of the full-domain lattice in the order of what they cost on average.
On each, the tuples not yet placed are grouped by their generalised values; every group
that holds is frozen into a class and its tuples are out. What is left at the end is
for `local_merge`. Where the lattice is too large to walk, only its cheapest nodes are
visited (best first from the bottom).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from sfumato.anonymize.algorithms.local_space import gather, widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.local_judge import Judge
    from sfumato.anonymize.algorithms.local_space import Shares, Space

VISITS = 8000
"""Largest number of generalisations considered."""
SLACK = 0.02
"""Groups within this share of the current price are frozen together."""
PATIENCE = 500
"""Visits after which it is checked whether the walk still gets anywhere."""
PROGRESS = 0.01
"""Share of the tuples left that must have been frozen since the last check."""


def freeze(space: Space, judge: Judge) -> Shares:
    """Place every tuple: frozen classes first, what is left each in a class of its own."""
    n = len(space.counts)
    class_, left, used = np.full(n, -1), np.arange(n), 0
    nodes = generalizations(space, VISITS)
    queue = [(cost, i) for i, cost in enumerate(_typical(space)[nodes].sum(axis=1))]
    heapq.heapify(queue)
    visits, before = 0, n
    while queue and len(left):
        price, i = heapq.heappop(queue)
        group, sizes = _group(space.node, space.counts, left, nodes[i])
        holds = judge.holding(left, group, sizes)
        if holds.any():
            prices = _prices(
                space.start, space.node, space.price, space.counts, left, group, holds
            )
            now = prices <= price * (1 + SLACK) + 1e-12
            if (holds & ~now).any():
                heapq.heappush(queue, (float(prices[~now].min()), i))
            class_[left] = np.where(now, used + np.cumsum(now) - 1, -1)[group]
            used += int(now.sum())
            left = left[class_[left] < 0]
        visits += 1
        if visits % PATIENCE == 0:
            if before - len(left) < PROGRESS * before:
                break
            before = len(left)
    class_[left] = used + np.arange(len(left))
    return gather(np.arange(n), class_, space.counts, used + len(left))


def _typical(space: Space) -> NDArray[np.float64]:
    """Return per column the price of a cheap quarter of the tuples: when to look first."""
    return np.quantile(space.price, 0.25, axis=0)


def generalizations(space: Space, limit: int) -> NDArray[np.int64]:
    """Return up to `limit` nodes of the lattice as columns, the cheapest on average."""
    start = space.start
    mean = (space.counts @ space.price) / space.counts.sum()
    bottom = tuple(int(column) for column in start[:-1])
    queue = [(float(mean[start[:-1]].sum()), bottom)]
    seen, found = {bottom}, []
    while queue and len(found) < limit:
        cost, node = heapq.heappop(queue)
        found.append(node)
        for a, column in enumerate(node):
            above = (*node[:a], column + 1, *node[a + 1 :])
            if column + 1 < start[a + 1] and above not in seen:
                seen.add(above)
                heapq.heappush(queue, (cost + float(mean[column + 1] - mean[column]), above))
    return np.array(found, dtype=np.int64)


@njit(cache=True)
def _prices(start, node, price, counts, left, group, holds):  # type: ignore[no-untyped-def]
    """Return what a record pays on average in each group that holds, on its lowest levels."""
    attributes = len(start) - 1
    rep = np.full(len(holds), -1, dtype=np.int64)
    level = np.zeros((len(holds), attributes), dtype=np.int64)
    total, size = np.zeros(len(holds)), np.zeros(len(holds))
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
    for g in range(len(holds)):
        total[g] = total[g] / size[g] if holds[g] else np.inf
    return total


@njit(cache=True)
def _group(node, counts, left, columns):  # type: ignore[no-untyped-def]
    """Number the left tuples by their nodes in the given columns; return numbers and sizes."""
    room = 16
    while room < 2 * len(left):
        room *= 2
    slot = np.full(room, -1, dtype=np.int64)
    group = np.empty(len(left), dtype=np.int64)
    first = np.empty(len(left), dtype=np.int64)
    sizes = np.zeros(len(left), dtype=np.int64)
    used = 0
    for i in range(len(left)):
        t = left[i]
        h = np.uint64(1469598103934665603)
        for w in columns:
            h = (h ^ np.uint64(node[t, w])) * np.uint64(1099511628211)
        h ^= h >> np.uint64(29)
        at = np.int64(h & np.uint64(room - 1))
        while True:
            g = slot[at]
            if g < 0:
                slot[at] = used
                first[used] = t
                g = used
                used += 1
                break
            same = True
            for w in columns:
                if node[first[g], w] != node[t, w]:
                    same = False
                    break
            if same:
                break
            at = (at + 1) & (room - 1)
        group[i] = g
        sizes[g] += counts[t]
    return group, sizes[:used]
