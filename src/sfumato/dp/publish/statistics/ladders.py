"""Stars and cliques with noise that fits the graph: ladders for one edge added or removed.

A *ladder* is a sequence I_0, I_1, … with |f(G) − f(G′)| ≤ I_0(G) and I_t(G) ≤ I_{t+1}(G′) for
neighbours (:mod:`sfumato.dp.publish.synthesis.ladder` has the mechanism and its proof). Here

* stars with p points: an edge between u and v is in C(d_u, p−1) + C(d_v, p−1) of them, d being
  the degrees without it. I_t = C(a, p−1) + C(b, p−1) for the two largest degrees plus t, at most n
  − 2 (a vertex of degree n − 1 has no edge left to gain). One edge lowers the two largest degrees
  by at most one each, so I_t(G) ≤ I_{t+1}(G′).
* cliques of s: an edge is in at most C(c, s−2) of them, c being the common neighbours of its
  ends. I_t = C(min(m + t, n − 2), s−2) for the largest number m of common neighbours of any two
  vertices, which one edge lowers by at most one. For s = 3 the sharper ladder of triangles is used.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit
from sfumato.dp.publish.synthesis.ladder import (
    MOST_RUNGS,
    climb,
    count_triangles,
    largest_common,
    noisy_triangles,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.data.graphs.graph import Graph

LARGEST = 2**60
"""No candidate is larger, so that everything fits into 64 bits."""


def release_stars(graph: Graph, points: int, epsilon: Fraction) -> int:
    """Release the number of stars with ε-differential privacy for one edge."""
    n = len(graph)
    if n < 3:
        return 0
    most = n * comb(n - 1, points)
    return _climb(count_stars(graph, points), star_widths(graph, points), epsilon, most)


def release_cliques(graph: Graph, size: int, epsilon: Fraction) -> int:
    """Release the number of cliques with ε-differential privacy for one edge."""
    n = len(graph)
    if n < 3:
        return 0
    starts, ends = graph.starts.astype(np.int64), graph.neighbours.astype(np.int64)
    if size == 3:
        return noisy_triangles(starts, ends, epsilon)
    widths = clique_widths(int(largest_common(starts, ends)), n, size)
    return _climb(count_cliques(graph, size), widths, epsilon, comb(n, size))


def count_stars(graph: Graph, points: int) -> int:
    """Count stars exactly."""
    degrees, counts = np.unique(graph.degrees, return_counts=True)
    pairs = zip(degrees.tolist(), counts.tolist(), strict=True)
    return sum(comb(degree, points) * count for degree, count in pairs)


def count_cliques(graph: Graph, size: int) -> int:
    """Count cliques exactly."""
    starts, ends = graph.starts.astype(np.int64), graph.neighbours.astype(np.int64)
    if size == 3:
        return int(count_triangles(starts, ends))
    return int(_count_cliques(starts, ends, size))


def _climb(exact: int, widths: list[int], epsilon: Fraction, most: int) -> int:
    last = max(widths[-1], 1)
    top = min(most, last * MOST_RUNGS, LARGEST)
    if not top:  # so few nodes hold none, whoever is joined
        return 0
    kept, reach = [], 0
    for width in widths:
        if reach >= top:
            break
        kept.append(min(width, top))
        reach += width
    return climb(min(exact, top), np.array(kept, dtype=np.int64), min(last, top), top, epsilon)


def star_widths(graph: Graph, points: int) -> list[int]:
    """Return I_0, I_1, … of stars."""
    n = len(graph)
    first, second = np.sort(graph.degrees)[::-1][:2].tolist()
    return [
        comb(min(first + t, n - 2), points - 1) + comb(min(second + t, n - 2), points - 1)
        for t in range(n)
    ]


def clique_widths(common: int, n: int, size: int) -> list[int]:
    """Return I_0, I_1, … of cliques."""
    return [comb(min(common + t, n - 2), size - 2) for t in range(n)]


@njit(cache=True)
def _count_cliques(starts, ends, size):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901
    """Count cliques by extending them with common neighbours of larger number."""
    total = np.int64(0)
    longest = np.int64(0)
    n = starts.size - 1
    for u in range(n):
        longest = max(longest, starts[u + 1] - starts[u])
    pool = np.empty((size + 1, longest + 1), dtype=np.int64)
    length = np.zeros(size + 1, dtype=np.int64)
    place = np.zeros(size + 1, dtype=np.int64)
    for u in range(n):
        length[1], place[1] = 0, 0
        for e in range(starts[u], starts[u + 1]):
            if ends[e] > u:
                pool[1, length[1]] = ends[e]
                length[1] += 1
        depth = 1
        while depth >= 1:
            if depth == size - 1:
                total += length[depth]
                depth -= 1
                continue
            if place[depth] >= length[depth]:
                depth -= 1
                continue
            v = pool[depth, place[depth]]
            place[depth] += 1
            x, y, found = place[depth], starts[v], np.int64(0)
            while x < length[depth] and y < starts[v + 1]:
                if pool[depth, x] == ends[y]:
                    pool[depth + 1, found] = ends[y]
                    found += 1
                    x += 1
                    y += 1
                elif pool[depth, x] < ends[y]:
                    x += 1
                else:
                    y += 1
            depth += 1
            length[depth], place[depth] = found, 0
    return total
