"""Local sensitivity: how far one unit moves the answer on *this* data set. For study only.

Contract: ``local_sensitivity(query, data, neighbours)`` is the largest ‖f(D) − f(D′)‖₁ over the
neighbours D′ of the given D. It depends on the data, so publishing it, or scaling noise by it,
reveals something about them: the result is marked ``private=False`` and is not a number that a
mechanism accepts (Nissim, Raskhodnikova and Smith, STOC 2007, show what would be needed).

All neighbours are tried, with new records limited to candidates among which the extreme lies:

* counts and histograms depend only on the verdict or bin of a record, and all are candidates;
* sum, mean, min, max, median and quantiles are monotone in each value: the bounds;
* a variance is convex in each value: the bounds, and the mean of the others, where it is least;
* edges: every pair of vertices; a new node: joined to all (edges, triangles), or to those
  one edge short of the wanted degree first (degrees).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from sfumato.dp.neighbours import UNBOUNDED, Edge, Neighbours, Node, Person, PrivacyUnit, Row
from sfumato.dp.queries.graphs import DegreeCount, EdgeCount, TriangleCount
from sfumato.dp.queries.grouped import Counts, GroupedSum, Histogram
from sfumato.dp.queries.order import OrderStatistic
from sfumato.dp.queries.tables import Count, DistinctCount, Mean, Sum, Variance
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.dp.queries.base import Query

_MOST_VERDICTS = 12


@dataclass(frozen=True)
class LocalSensitivity(Shown):
    """The L1 sensitivity on one data set, which must stay with that data set."""

    l1: float
    neighbours: Neighbours
    private: bool = False

    def __str__(self) -> str:
        return (
            f"local sensitivity {self.l1:.6g} for {self.neighbours} on this data set; NOT private: "
            "do not publish it or scale noise by it"
        )


def local_sensitivity(
    query: Query, data: Any, neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED
) -> LocalSensitivity:
    """Give how far one unit can move the answer on this data set. Not private: for study."""
    wanted = Neighbours.of(neighbours)
    if isinstance(query, (EdgeCount, DegreeCount, TriangleCount)):
        others = _graphs(query, data, wanted)
    else:
        others = _tables(query, list(data), wanted)
    here = query.evaluate(data)
    largest = max((_distance(here, query.evaluate(other)) for other in others), default=0)
    return LocalSensitivity(float(largest), wanted)


def _tables(query: Query, data: list[Any], neighbours: Neighbours) -> Iterator[list[Any]]:
    if not isinstance(neighbours.unit, (Row, Person)):
        raise ParameterError(
            "Local sensitivity of a table is computed for one row; study a larger unit one row at "
            "a time."
        )
    for k in range(len(data)):
        rest = data[:k] + data[k + 1 :]
        if neighbours.bounded:
            yield from ([*rest, new] for new in _candidates(query, rest))
        else:
            yield rest
    if not neighbours.bounded:
        yield from ([*data, new] for new in _candidates(query, data))


def _candidates(query: Query, rest: list[Any]) -> Sequence[Any]:
    if isinstance(query, Count):
        return (True, False)
    if isinstance(query, DistinctCount):
        return (*set(rest), *(() if _exhausted(query, rest) else (object(),)))
    if isinstance(query, Histogram):
        return (None, *range(query.bins))
    if isinstance(query, Counts):
        if query.queries > _MOST_VERDICTS:
            raise ParameterError(f"Local sensitivity tries up to {_MOST_VERDICTS} counts at once.")
        return list(product((True, False), repeat=query.queries))
    if isinstance(query, GroupedSum):
        ends = _ends(query.bounds)
        return [(-1, 0), *((k, end) for k in range(query.bins) for end in ends)]
    if isinstance(query, Variance):
        ends = _ends(query.bounds)
        values = [min(max(Fraction(value), ends[0]), ends[1]) for value in rest]
        return (*ends, *((sum(values) / len(values),) if values else ()))
    if isinstance(query, (Sum, Mean, OrderStatistic)):
        return _ends(query.bounds)
    raise ParameterError(f"Local sensitivity of {type(query).__name__} is not supported.")


def _exhausted(query: DistinctCount, rest: list[Any]) -> bool:
    return query.domain is not None and len(set(rest)) >= query.domain


def _ends(bounds: tuple[Any, Any] | None) -> tuple[Fraction, Fraction]:
    if bounds is None:
        raise ParameterError(
            "Without declared bounds one new value moves the answer without limit; declare "
            "bounds=(low, high)."
        )
    return Fraction(bounds[0]), Fraction(bounds[1])


def _graphs(query: Query, data: Any, neighbours: Neighbours) -> Iterator[Any]:
    vertices, edges = list(data[0]), {frozenset(edge) for edge in data[1]}
    if neighbours.bounded:
        raise ParameterError("Local sensitivity of a graph is computed for unbounded neighbours.")
    if isinstance(neighbours.unit, Edge):
        for pair in combinations(vertices, 2):
            yield vertices, [tuple(edge) for edge in edges ^ {frozenset(pair)}]
    elif isinstance(neighbours.unit, Node):
        for gone in vertices:
            kept = [vertex for vertex in vertices if vertex != gone]
            yield kept, [tuple(edge) for edge in edges if gone not in edge]
        new, most = object(), neighbours.unit.degree
        if most is not None and isinstance(query, TriangleCount):
            raise ParameterError(
                "Local sensitivity of triangles is computed without a limit on degrees."
            )
        joined = _by_interest(query, vertices, edges)[: most if most is not None else None]
        for count in range(len(joined) + 1):
            more = [(new, vertex) for vertex in joined[:count]]
            yield [*vertices, new], [*(tuple(edge) for edge in edges), *more]
    else:
        raise ParameterError("The neighbours of a graph are 'edge' or 'node'.")


def _by_interest(query: Query, vertices: list[Any], edges: set[frozenset[Any]]) -> list[Any]:
    """Order the vertices so that joining a new one to the first few moves the answer most."""
    degree = {vertex: sum(1 for edge in edges if vertex in edge) for vertex in vertices}
    if isinstance(query, DegreeCount):
        return sorted(vertices, key=lambda vertex: degree[vertex] != query.at_least - 1)
    return vertices


def _distance(first: Any, second: Any) -> float | Fraction:
    if isinstance(first, list):
        return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)), 0)
    return abs(Fraction(first) - Fraction(second)) if math.isfinite(first) else math.inf
