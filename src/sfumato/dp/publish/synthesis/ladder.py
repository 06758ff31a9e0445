"""The number of triangles of a graph, with noise that fits the graph: the ladder mechanism.

Promise: ε-differential privacy for one edge added or removed (Zhang, Cormode, Procopiuc,
Srivastava and Xiao, "Private release of graph statistics using ladder functions", SIGMOD 2015).

Proof. Let a_ij be the number of common neighbours of two vertices and b_ij that of vertices joined
to exactly one of them. I_t(G) = min(max_ij (a_ij + ⌊(t + min(t, b_ij))/2⌋), n−2) is the local
sensitivity of the number of triangles at distance t (Nissim, Raskhodnikova and Smith, STOC 2007): a
*ladder*, that is I_t(G) ≤ I_{t+1}(G′) for neighbours, and |f(G) − f(G′)| ≤ I_0(G). Rung 0 is f(G);
rung t holds the I_{t−1}(G) next whole numbers on either side. Between neighbours every whole
number changes its rung by at most 1, so choosing one with weight exp(−ε·rung/2) is the exponential
mechanism with sensitivity 1. Candidates are the whole numbers from 0 to a public end, and f is
clamped to it, which moves no two values apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit
from sfumato.dp.noise.choice import Choice
from sfumato.dp.noise.uniform import integer_below

if TYPE_CHECKING:
    from fractions import Fraction

Integers = npt.NDArray[np.int64]
MOST_RUNGS = 1_000_000
"""Rungs of full width that a ladder has at most."""


@njit(cache=True)
def count_triangles(starts: Integers, ends: Integers) -> int:
    """Count triangles; the sorted neighbours of u are ``ends[starts[u]:starts[u+1]]``."""
    total = 0
    for u in range(starts.size - 1):
        for e in range(starts[u], starts[u + 1]):
            v = ends[e]
            if v > u:
                x, y = e + 1, starts[v]
                while x < starts[u + 1] and y < starts[v + 1]:
                    if ends[x] == ends[y]:
                        total += ends[x] > v
                        x += 1
                        y += 1
                    elif ends[x] < ends[y]:
                        x += 1
                    else:
                        y += 1
    return total


@njit(cache=True)
def _pairs(starts: Integers, ends: Integers, most: Integers) -> None:
    """For every number a of common neighbours, find the largest b of a pair that has it."""
    n = starts.size - 1
    common = np.zeros(n, dtype=np.int64)
    for u in range(n):
        common[:] = 0
        for e in range(starts[u], starts[u + 1]):
            w = ends[e]
            for g in range(starts[w], starts[w + 1]):
                common[ends[g]] += 1
        own = starts[u + 1] - starts[u]
        adjacent = starts[u]
        for v in range(n):
            joined = adjacent < starts[u + 1] and ends[adjacent] == v
            if joined:
                adjacent += 1
            if v != u:
                a = common[v]
                b = own + starts[v + 1] - starts[v] - 2 * a - 2 * joined
                most[a] = max(most[a], b)


def largest_common(starts: Integers, ends: Integers) -> int:
    """Return the most common neighbours that two vertices have."""
    most = np.full(max(starts.size - 1, 1), -1, dtype=np.int64)
    _pairs(starts, ends, most)
    return int(np.flatnonzero(most >= 0).max(initial=0))


def ladder(starts: Integers, ends: Integers, length: int) -> Integers:
    """Give I_0, …, I_{length−1}."""
    n = starts.size - 1
    most = np.full(max(n, 1), -1, dtype=np.int64)
    _pairs(starts, ends, most)
    distances = np.arange(length, dtype=np.int64)
    found = np.zeros(length, dtype=np.int64)
    for a in np.flatnonzero(most >= 0).tolist():
        found = np.maximum(found, a + (distances + np.minimum(distances, most[a])) // 2)
    return np.minimum(found, max(n - 2, 0))


def noisy_triangles(starts: Integers, ends: Integers, epsilon: Fraction) -> int:
    """Release the number of triangles."""
    n = starts.size - 1
    if n < 3:
        return 0
    top = min(math.comb(n, 3), (n - 2) * MOST_RUNGS)
    exact = min(int(count_triangles(starts, ends)), top)
    widths = ladder(starts, ends, 2 * n)
    return climb(exact, widths, n - 2, top, epsilon)


def rungs(exact: int, widths: Integers, last: int, top: int) -> tuple[Integers, Integers, Integers]:
    """Give how far each rung reaches above and below `exact`, and how many numbers it holds."""
    flat = -(-top // last) + 1  # rungs of full width that reach everywhere
    reach = np.concatenate([[0], np.cumsum(np.concatenate([widths, np.full(flat, last)]))])
    above = np.minimum(exact + reach, top) - exact
    below = exact - np.maximum(exact - reach, 0)
    return above, below, np.concatenate([[1], np.diff(above) + np.diff(below)])


def climb(exact: int, widths: Integers, last: int, top: int, epsilon: Fraction) -> int:
    """Draw a whole number from 0 to `top` by its rung around `exact`.

    Rung t holds `widths[t − 1]` numbers on either side, and `last` of them beyond the widths given.
    """
    above, below, counts = rungs(exact, widths, last, top)
    kept = np.flatnonzero(counts > 0)
    rung = kept[int(Choice(-kept, epsilon / 2, counts=counts[kept]).draw(1)[0])]
    if rung == 0:
        return exact
    place = integer_below(int(counts[rung]))
    up = int(above[rung] - above[rung - 1])
    if place < up:
        return exact + int(above[rung - 1]) + 1 + place
    return exact - int(below[rung - 1]) - 1 - (place - up)
