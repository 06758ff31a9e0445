"""Node privacy: a graph cut down to degrees of at most θ, and θ found privately.

Projection (Day, Li and Lyu, "Publishing graph degree distribution with node differential privacy",
SIGMOD 2016): edges are taken up one by one, in an order that does not depend on the graph, as long
as both ends have fewer than θ. The order is by a keyed hash of the names of the ends, the key being
drawn anew; so the edges of a graph stand in the same order in every neighbour of it.

What one node changes. Let v be added, d ≤ θ of its edges be taken up. Follow one of them, (v, u):
if u was full in the end, one of its later edges (u, w) is no longer taken up; then w has room, and
a later edge of w may be taken up instead, and so on: a path of edges taken and given up in turn. At
every vertex within a path the degree stays; at its end it changes by one. There are d paths. So

* the number of edges changes by at most d ≤ θ, each path adding 0 or 1;
* #{vertices of degree ≤ i}, for i = 0, …, θ, change by at most θ + 1 in all: each path moves one
  vertex by one step, which changes one of these counts by one, and v itself is counted in those
  with i ≥ d, of which there are θ + 1 − d;
* each single such count, and the number of vertices at the limit θ, by at most θ + 1.

Threshold. c(θ) = #{vertices at the limit}/(θ + 1) has sensitivity 1, falls with θ, and tells bias
(vertices that are cut) in units of noise. The exponential mechanism picks the θ whose c is closest
to 5/ε, among powers of two, smaller ones being favoured beforehand: under the tail that is
extrapolated a small θ costs less than a large one. A single count has less noise than many, so for
it the aim is that no vertex is cut.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit
from sfumato.dp.noise.choice import Choice
from sfumato.dp.noise.stream import stream

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sfumato.data.graphs.graph import Graph

LARGEST = 512
"""The largest limit on degrees that is considered."""

FINE = 1000
"""Steps into which a score is rounded down, so that it is a whole number."""

CLOSE = 5
"""Which c(θ) is aimed at, times ε."""


@njit(cache=True)
def taken(tail, head, nodes, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Take edges up in order as long as both ends have fewer than `limit`; return which."""
    degree = np.zeros(nodes, dtype=np.int64)
    kept = np.zeros(len(tail), dtype=np.bool_)
    for e in range(len(tail)):
        if degree[tail[e]] < limit and degree[head[e]] < limit:
            degree[tail[e]] += 1
            degree[head[e]] += 1
            kept[e] = True
    return kept


def stable_order(graph: Graph, key: bytes | None = None) -> NDArray[np.int64]:
    """Return edges in an order that the edges of a neighbouring graph share."""
    secret = stream().bytes(32) if key is None else key
    names = graph.labels or tuple(map(str, range(len(graph))))
    hashed = np.array(
        [int.from_bytes(hashlib.blake2b(name.encode(), key=secret, digest_size=8).digest(), "big")
         for name in names], dtype=np.uint64,
    )  # fmt: skip
    ends = hashed[graph.edges] if len(graph.edges) else np.zeros((0, 2), np.uint64)
    low, high = ends.min(axis=1), ends.max(axis=1)
    mixed = _mix(low) ^ (high * np.uint64(0x9E3779B97F4A7C15))
    return np.lexsort((high, low, _mix(mixed))).astype(np.int64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter words, each to a word of its own."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class ProjectedGraph:
    """A graph whose edges stand in a stable order, to be cut down to any limit."""

    def __init__(self, graph: Graph, key: bytes | None = None) -> None:
        order = stable_order(graph, key)
        edges = graph.edges[order]
        self.nodes = len(graph)
        self.tail = np.ascontiguousarray(edges[:, 0])
        self.head = np.ascontiguousarray(edges[:, 1])

    def edges(self, limit: int) -> int:
        """Count the edges that are taken up."""
        return int(taken(self.tail, self.head, self.nodes, limit).sum())

    def degrees(self, limit: int) -> NDArray[np.int64]:
        """Return the degrees under a limit."""
        kept = taken(self.tail, self.head, self.nodes, limit)
        both = np.concatenate([self.tail[kept], self.head[kept]])
        return np.bincount(both, minlength=self.nodes)

    def up_to(self, limit: int) -> NDArray[np.int64]:
        """Return #{vertices of degree ≤ i} for i = 0, …, limit."""
        counts = np.bincount(self.degrees(limit), minlength=limit + 1)
        found: NDArray[np.int64] = np.cumsum(counts)[: limit + 1]
        return found


def candidates(least: int = 1) -> list[int]:
    """Return the limits that are considered: powers of two, at least `least`."""
    return [2**i for i in range(1, LARGEST.bit_length()) if 2**i >= least] or [least]


def find_limit(
    graph: ProjectedGraph, epsilon: Fraction, least: int = 1, *, small: bool = True
) -> int:
    """Choose a limit by the exponential mechanism, with ε-differential privacy for one node.

    `small` aims at 5/ε and favours small limits; else it aims at no vertex being cut.
    """
    limits = candidates(least)
    wanted = int(FINE * CLOSE / epsilon) if small else 0
    scores = np.array([-abs(_full(graph, limit) - wanted) for limit in limits], dtype=np.int64)
    prior = np.array([FINE // limit if small else 1 for limit in limits], dtype=np.int64)
    rate = epsilon / (2 * (FINE + 1))  # rounding down adds one to the sensitivity
    return limits[int(Choice(scores, rate, counts=prior).draw(1)[0])]


def _full(graph: ProjectedGraph, limit: int) -> int:
    at_limit = int((graph.degrees(limit) == limit).sum())
    return FINE * at_limit // (limit + 1)


@njit(cache=True)
def rising(values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the closest sequence that never falls, by pooling neighbours that do."""
    level = np.empty(len(values))
    weight = np.empty(len(values), dtype=np.int64)
    top = 0
    for x in values:
        level[top], weight[top] = x, 1
        top += 1
        while top > 1 and level[top - 2] > level[top - 1]:
            total = weight[top - 2] + weight[top - 1]
            both = level[top - 2] * weight[top - 2] + level[top - 1] * weight[top - 1]
            level[top - 2], weight[top - 2] = both / total, total
            top -= 1
    out = np.empty(len(values))
    at = 0
    for i in range(top):
        out[at : at + weight[i]] = level[i]
        at += weight[i]
    return out


def with_tail(counts: Any, limit: int, reach: int = 40) -> NDArray[np.float64]:
    """Return #{vertices of degree ≤ i} beyond the limit as well, by a tail of constant exponent.

    Vertices at the limit had any degree from it on. How fast their number falls is read off the
    upper half of what is known; what comes beyond is a guess, and costs no privacy.
    """
    known: NDArray[np.float64] = rising(np.asarray(counts, dtype=np.float64))
    known = np.maximum(known, 0.0)
    if limit < 4:
        return known
    above = known[-1] - known
    first, last = limit // 2 - 1, limit - 2
    least = max(float(above[last]), 1e-9)
    ratio = max(float(above[first]) / least, 1.01)
    exponent = max(np.log(ratio) / np.log((last + 1) / (first + 1)), 0.5)
    beyond = np.arange(limit - 1, reach * limit)
    rest = known[-1] - least * ((beyond + 1) / (last + 1)) ** -exponent
    return np.concatenate([known[: limit - 1], rest])
