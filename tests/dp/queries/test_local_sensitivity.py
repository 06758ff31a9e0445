"""Local sensitivity against trying all neighbours over a fine grid of values."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, product

import pytest

from sfumato.dp import (
    Count,
    Counts,
    DegreeCount,
    DistinctCount,
    Edge,
    EdgeCount,
    GroupedSum,
    Histogram,
    ItemCount,
    Max,
    Mean,
    Median,
    Node,
    Quantile,
    Sum,
    TriangleCount,
    Unit,
    Variance,
    local_sensitivity,
    sensitivity,
)
from sfumato.errors import ParameterError

VALUES = range(7)
BOUNDS = (0, 6)


def brute(answer, data, relation, values=VALUES):
    here = answer(list(data))
    others = []
    for k in range(len(data)):
        rest = [*data[:k], *data[k + 1 :]]
        others += [rest] if relation == "unbounded" else [[*rest, v] for v in values]
    if relation == "unbounded":
        others += [[*data, v] for v in values]
    gaps = (answer(other) - here for other in others)
    return max(abs(gap) for gap in gaps)


def mean(d):
    return F(sum(d), len(d)) if d else F(0)


def median(d):
    return F(sorted(d)[math.ceil(len(d) / 2) - 1]) if d else F(0)


CASES = [
    (Sum(BOUNDS), lambda d: F(sum(d))),
    (Mean(BOUNDS), mean),
    (Median(BOUNDS), median),
    (Max(BOUNDS), lambda d: F(max(d, default=0))),
    (
        Quantile(0.25, BOUNDS),
        lambda d: F(sorted(d)[max(1, math.ceil(len(d) / 4)) - 1]) if d else F(0),
    ),
    (DistinctCount(domain=7), lambda d: F(len(set(d)))),
]


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("data", [(0,), (1, 5), (0, 3, 6), (2, 2, 2, 2), (0, 1, 2, 5, 6)])
@pytest.mark.parametrize(("query", "answer"), CASES, ids=lambda case: type(case).__name__)
def test_monotone_queries(query, answer, data, relation):
    found = local_sensitivity(query, data, relation)
    assert found.l1 == pytest.approx(float(brute(answer, data, relation)))
    assert found.l1 <= sensitivity(query, relation).l1 or isinstance(query, DistinctCount)
    assert found.private is False
    assert "NOT private" in str(found)


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("data", [(0, 6), (0, 3, 6), (1, 1, 4, 6)])
def test_variance_on_a_fine_grid(data, relation):
    def variance(d):
        middle = mean(d)
        return sum((F(x) - middle) ** 2 for x in d) / len(d) if d else F(0)

    fine = [F(k, 60) for k in range(361)]
    found = local_sensitivity(Variance(BOUNDS), data, relation).l1
    reached = float(brute(variance, data, relation, fine))
    assert reached <= found + 1e-12
    assert found == pytest.approx(reached, abs=1e-3)


def test_the_median_is_locally_stable_and_globally_not():
    assert local_sensitivity(Median((0, 100)), [49, 50, 51, 52, 53], "bounded").l1 == 1
    assert local_sensitivity(Median((0, 100)), [0, 0, 100], "bounded").l1 == 100
    assert sensitivity(Median((0, 100)), "bounded").l1 == 100


def test_counts_and_bins():
    assert local_sensitivity(Count(), [True, False], "bounded").l1 == 1
    assert local_sensitivity(Count(), [], "bounded").l1 == 0
    assert local_sensitivity(Histogram(3), [0, 1, 1], "bounded").l1 == 2
    assert local_sensitivity(Histogram(3), [0, 1, 1], "unbounded").l1 == 1
    assert local_sensitivity(Counts(3), [(1, 1, 0)], "bounded").l1 == 3
    assert local_sensitivity(GroupedSum(2, (0, 9)), [(0, 4)], "unbounded").l1 == 9
    assert local_sensitivity(GroupedSum(2, (0, 9)), [(0, 4)], "bounded").l1 == 13


def brute_graph(query, vertices, edges, unit):
    edges = {frozenset(edge) for edge in edges}

    def answer(vs, es):
        return query.evaluate((vs, [tuple(edge) for edge in es]))

    here, worst = answer(vertices, edges), 0
    if unit == "edge":
        for pair in combinations(vertices, 2):
            worst = max(worst, abs(here - answer(vertices, edges ^ {frozenset(pair)})))
        return worst
    for gone in vertices:
        kept = [v for v in vertices if v != gone]
        worst = max(worst, abs(here - answer(kept, {e for e in edges if gone not in e})))
    for joined in product([False, True], repeat=len(vertices)):
        more = {frozenset(("new", v)) for v, j in zip(vertices, joined, strict=True) if j}
        worst = max(worst, abs(here - answer([*vertices, "new"], edges | more)))
    return worst


GRAPHS = [
    ("abcd", []),
    ("abcd", ["ab", "bc", "ca"]),
    ("abcde", ["ab", "bc", "cd", "de"]),
    ("abcde", ["ab", "ac", "ad", "ae", "bc"]),
]


@pytest.mark.parametrize("unit", ["edge", "node"])
@pytest.mark.parametrize("query", [EdgeCount(), DegreeCount(1), DegreeCount(2), TriangleCount()])
@pytest.mark.parametrize(("vertices", "edges"), GRAPHS)
def test_graphs(query, vertices, edges, unit):
    data = (list(vertices), [tuple(edge) for edge in edges])
    wanted = brute_graph(query, list(vertices), edges, unit)
    assert local_sensitivity(query, data, unit).l1 == wanted
    size = len(vertices)
    limit = Edge(vertices=size) if unit == "edge" else Node(vertices=size)
    assert wanted <= sensitivity(query, limit).l1


@pytest.mark.parametrize(
    "call",
    [
        lambda: local_sensitivity(Sum(), [1, 2]),
        lambda: local_sensitivity(Count(), [True], Unit("u", rows=2)),
        lambda: local_sensitivity(ItemCount("a"), [("a",)]),
        lambda: local_sensitivity(EdgeCount(), ("ab", ["ab"]), "bounded"),
        lambda: local_sensitivity(EdgeCount(), ("ab", ["ab"]), "row"),
        lambda: local_sensitivity(TriangleCount(), ("ab", ["ab"]), Node(degree=2)),
        lambda: local_sensitivity(Counts(40), [(1,) * 40]),
    ],
)
def test_what_is_not_computed_is_refused(call):
    with pytest.raises(ParameterError):
        call()
