"""Counts in a graph: edges, vertices of some degree, triangles.

Contract: data are a pair (vertices, edges), the edges as pairs of vertices; undirected, simple.
V is the declared number of vertices (before a node is added), D the declared largest degree. One
edge more or less (edge privacy) or one vertex with all its edges (node privacy); a new vertex is
joined to at most E = min(D, V) others, a re-wired one (bounded) to at most E = min(D, V − 1).

Groups under bounded neighbours cost k times one unit, also where a chain of single steps would
leave the limit D. Let k nodes be re-wired, or k edges replaced. Take all their old edges away, then
put the new ones in: both graphs contain the one in between, which keeps D. The count falls by
at most k·Δ and then rises by at most k·Δ, where Δ is the most that the edges of one node (or one
edge) add to the count of a graph within the limits: E or 1 edges, E·(E−1)/2 or min(V − 2, D − 1)
triangles, E + 1 or 2 vertices of the degree. A fall and a rise partly cancel: at most k·Δ is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from sfumato.dp.neighbours import Edge, Node
from sfumato.dp.queries.base import (
    Query,
    Sensitivity,
    check_count,
    refuse,
    scalar,
    unlimited,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sfumato.dp.neighbours import Neighbours

    Graph: TypeAlias = tuple[Collection[Any], Iterable[tuple[Any, Any]]]


@dataclass(frozen=True)
class EdgeCount(Query):
    """How many edges: Δ = 1 per edge; per node E, its edges."""

    adds_up: ClassVar[bool] = True

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 1 for edges, E for nodes."""
        if isinstance(neighbours.unit, Edge):
            return scalar(1, "one edge is there or not")
        joined = _joined(neighbours, self)
        if joined is None:
            return _NO_LIMIT
        return scalar(joined, f"one vertex has at most {joined} edges")

    def evaluate(self, data: Graph) -> int:
        """Count the edges."""
        return len(_edges(data))


@dataclass(frozen=True)
class DegreeCount(Query):
    """How many vertices have at least so many edges.

    An edge changes the degree of its two ends by one: Δ = 2 (replacing an edge lowers two and
    raises two, so the count moves by at most 2 still). A node changes the degree of the E others it
    is joined to, and is itself counted or not: Δ = E + 1. Every vertex has at least 0 edges, so
    then only the vertices themselves count.
    """

    at_least: int
    adds_up: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("The degree", self.at_least, least=0)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive 2 for edges, E + 1 for nodes."""
        if isinstance(neighbours.unit, Edge):
            if self.at_least == 0:
                return scalar(0, "every vertex has at least 0 edges")
            return scalar(2, "one edge changes the degree of its two ends")
        joined = _joined(neighbours, self)
        if self.at_least == 0:
            return scalar(1, "every vertex has at least 0 edges, so only the vertex itself counts")
        if joined is None:
            return _NO_LIMIT
        return scalar(joined + 1, f"one vertex and the {joined} it is joined to change degree")

    def evaluate(self, data: Graph) -> int:
        """Count the vertices of at least that degree."""
        degree = dict.fromkeys(data[0], 0)
        for edge in _edges(data):
            for end in edge:
                degree[end] += 1
        return sum(1 for count in degree.values() if count >= self.at_least)


@dataclass(frozen=True)
class TriangleCount(Query):
    """How many triples of vertices are pairwise joined.

    An edge closes a triangle with each common neighbour of its ends: at most V − 2, or D − 1 under
    a limit on degrees. A node closes one with each edge among the E it is joined to: E·(E−1)/2.
    """

    adds_up: ClassVar[bool] = True

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive min(V − 2, D − 1) for edges, E·(E − 1)/2 for nodes."""
        unit = neighbours.unit
        if isinstance(unit, Edge):
            limits = [
                limit
                for limit in (
                    None if unit.vertices is None else max(0, unit.vertices - 2),
                    None if unit.degree is None else unit.degree - 1,
                )
                if limit is not None
            ]
            if not limits:
                return _NO_LIMIT
            return scalar(min(limits), f"the ends of one edge share at most {min(limits)} others")
        joined = _joined(neighbours, self)
        if joined is None:
            return _NO_LIMIT
        return scalar(comb(joined, 2), f"one vertex sees at most {comb(joined, 2)} edges")

    def evaluate(self, data: Graph) -> int:
        """Count the triangles."""
        edges = _edges(data)
        around: dict[Any, set[Any]] = {vertex: set() for vertex in data[0]}
        for here, there in map(tuple, edges):
            around[here].add(there)
            around[there].add(here)
        return sum(len(around[here] & around[there]) for here, there in map(tuple, edges)) // 3


_NO_LIMIT = unlimited(
    "one unit may be joined to any number of vertices",
    "Declare the number of vertices, as in Node(vertices=1000), or a largest degree that every "
    "possible graph keeps, as in Node(degree=50). Cutting edges off a graph until it does is no "
    "remedy by itself: one node changes which edges are cut.",
)


def _joined(neighbours: Neighbours, query: Query) -> int | None:
    unit = neighbours.unit
    if not isinstance(unit, Node):
        raise refuse(query, unit, "graphs, one edge or one node of them")
    others = unit.vertices
    if others is not None and neighbours.bounded:
        others -= 1
    limits = [limit for limit in (others, unit.degree) if limit is not None]
    return min(limits) if limits else None


def _edges(data: Graph) -> set[frozenset[Any]]:
    return {frozenset(edge) for edge in data[1] if len(set(edge)) == 2}
