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

from sfumato.anonymize.algorithms.local_space import gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.local_judge import Judge
    from sfumato.anonymize.algorithms.local_space import Shares, Space

VISITS = 8000


def generalisations(space: Space, limit: int) -> NDArray[np.int64]:
    """Return up to `limit` nodes of the lattice, cheapest first."""
    start = space.start
    mean = (space.counts @ space.price) / space.counts.sum()
    bottom = (0,) * (len(start) - 1)
    cost = sum(mean[start[:-1]])
    queue = [(cost, bottom)]
    seen = {bottom}
    found = []
    while queue and len(found) < limit:
        cost, node = heapq.heappop(queue)
        found.append(node)
        for a, h in enumerate(node):
            if start[a] + h + 1 < start[a + 1]:
                above = (*node[:a], h + 1, *node[a + 1 :])
                if above not in seen:
                    seen.add(above)
                    step = mean[start[a] + h + 1] - mean[start[a] + h]
                    heapq.heappush(queue, (cost + step, above))
    return np.array(found, dtype=np.int64)


def freeze(space: Space, judge: Judge, limit=VISITS, maxcost=None) -> Shares:
    """Place every tuple: frozen classes first, what is left each in a class of its own."""
    n = len(space.counts)
    class_ = np.full(n, -1)
    left = np.arange(n)
    used = 0
    for node in generalisations(space, limit):
        columns = space.start[:-1] + node
        group, sizes = _group(space.node, space.counts, left, columns)
        holds = judge.holding(left, group, sizes)
        if not holds.any():
            continue
        class_[left] = np.where(holds, used + np.cumsum(holds) - 1, -1)[group]
        used += int(holds.sum())
        left = left[class_[left] < 0]
        if not len(left):
            break
    class_[left] = used + np.arange(len(left))
    return gather(np.arange(n), class_, space.counts, used + len(left))


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
