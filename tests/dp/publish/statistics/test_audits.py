"""Every statistic, with every unit that it can hide, audited on its worst neighbouring pair.

The pair of each case moves the statistic by all that its sensitivity allows, where that is known
before. A copy that spends eight times what it says must be refuted on the same pair, so a pair that
shows nothing fails.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.data.graphs.sources import read_graph
from sfumato.data.trees.sources import read_trees
from sfumato.dp.neighbours import (
    Customer,
    Edge,
    Item,
    Node,
    Subtree,
    Transaction,
    Tree,
    Trip,
    Unit,
    Vertex,
)
from sfumato.dp.publish.statistics import graph, nested, traces
from sfumato.dp.publish.statistics.nested import OwnedSets
from sfumato.dp.publish.statistics.statistic import Statistic

RIM = [(1, 2), (2, 3), (3, 4), (4, 5), (1, 5)]
SQUARE = [(0, 2), (1, 2), (0, 3), (1, 3)]
ALL_FIVE, ALL_SIX = (list(combinations(range(n), 2)) for n in (5, 6))


def edges_of(first, second, n=6):
    return tuple(read_graph(edges, nodes=range(n)) for edges in (first, second))


def without_hub(edges=RIM):
    """A ring of five, and the same with a sixth node that all know."""
    hub = [*edges, *((0, i) for i in range(1, 6))]
    return read_graph(edges, nodes=range(1, 6)), read_graph(hub, nodes=range(6))


STAR = (
    read_graph([], nodes=range(1, 61)),
    read_graph([(0, i) for i in range(1, 61)], nodes=range(61)),
)
COMPLETE = (
    read_graph(ALL_FIVE, nodes=range(5)),
    read_graph(ALL_SIX, nodes=range(6)),
)
"""One node of degree 5 more: as many triangles, stars and cliques as such a node can add."""


def terms(*courses):
    return {"terms": [{"courses": [{"id": c} for c in part.split()]} for part in courses]}


def trees_of(first, second):
    return read_trees(first), read_trees(second)


BY_VERTEX = trees_of([terms("CS1 CS2"), terms("CS2")], [terms("CS2"), terms("CS2")])
BY_SUBTREE = trees_of([terms("CS1 CS1", "CS2 CS2")], [terms("CS2 CS2")])
ALL_OF_A_TREE = trees_of([terms("CS1 CS1"), terms("CS2")], [terms(), terms("CS2")])
BY_TREE = trees_of([terms("CS1 CS1"), terms("CS2")], [terms("CS2")])
PLACE, VALUES = "terms.courses.id", ["CS1", "CS2"]


def owned(*lists, owners=None):
    return OwnedSets([list(items) for items in lists], None if owners is None else np.array(owners))


BY_ITEM = owned("ab", "b"), owned("b", "b")
BY_SET = owned("ab", "b"), owned("b")
BY_CUSTOMER = owned("ab", "ab", "b", owners=[0, 0, 1]), owned("b", owners=[1])


def trips_of(*owners):
    """Trips of these people, each from a corner of the square of the bounds to the opposite one."""
    rows = [(who, i, end) for i, who in enumerate(owners) for end in (0, 1)]
    columns = {
        "person": [row[0] for row in rows], "trip": [row[1] for row in rows],
        "x": [1 + 6 * row[2] for row in rows], "y": [1 + 6 * row[2] for row in rows],
        "time": [f"2008-06-08 09:{row[1]:02}:{row[2]:02}" for row in rows],
    }  # fmt: skip
    return sf.read(columns, shape="trajectories", bounds=(0, 8, 0, 8), unit="trip")


BY_TRIP = trips_of("a", "b"), trips_of("b")
BY_USER = trips_of("a", "a", "b"), trips_of("b")
USER = Unit("person", rows=2)

CASES = [
    (graph.Nodes(), Edge(), edges_of(RIM, RIM[1:])),
    (graph.Nodes(), Node(), without_hub()),
    (graph.Edges(), Edge(), edges_of(RIM, RIM[1:])),
    (graph.Edges(), Node(), STAR),
    (graph.DegreeAtLeast(1), Edge(), edges_of([], [(0, 1)])),
    (graph.DegreeAtLeast(3), Node(), without_hub()),
    (graph.DegreeDistribution(), Edge(), edges_of([], [(0, 1)])),
    (graph.DegreeDistribution(), Node(), without_hub([])),
    (graph.Triangles(), Edge(), edges_of(SQUARE, [(0, 1), *SQUARE], 4)),
    (graph.Triangles(), Node(degree=5), COMPLETE),
    (
        graph.Stars(2),
        Edge(),
        edges_of([(0, i) for i in range(1, 5)], [(0, i) for i in range(1, 6)]),
    ),
    (graph.Stars(2), Node(degree=5), COMPLETE),
    (graph.Cliques(4), Edge(), edges_of(ALL_FIVE[1:], ALL_FIVE, 5)),
    (graph.Cliques(4), Node(degree=5), COMPLETE),
    (nested.TreesWith(PLACE, "CS1"), Vertex(), BY_VERTEX),
    (nested.TreesWith(PLACE, "CS1"), Subtree(), BY_SUBTREE),
    (nested.TreesWith(PLACE, "CS1"), Tree(), BY_TREE),
    (nested.LabelCounts(PLACE, VALUES), Vertex(), BY_VERTEX),
    (nested.LabelCounts(PLACE, VALUES), Subtree(vertices=2), BY_SUBTREE),
    (nested.LabelCounts(PLACE, VALUES), Tree(vertices=2), BY_TREE),
    (nested.VerticesPerLevel(["terms.courses"]), Vertex(), BY_VERTEX),
    (nested.VerticesPerLevel(["terms.courses"]), Subtree(vertices=2), ALL_OF_A_TREE),
    (nested.VerticesPerLevel(["terms.courses"]), Tree(vertices=2), BY_TREE),
    (nested.Enrolments(PLACE, "CS1", most=2), Vertex(), BY_VERTEX),
    (nested.Enrolments(PLACE, "CS1", most=2), Subtree(), BY_SUBTREE),
    (nested.Enrolments(PLACE, "CS1", most=2), Tree(), BY_TREE),
    (nested.SetsWith(["a", "b"]), Item(), BY_ITEM),
    (nested.SetsWith(["a", "b"]), Transaction(), BY_SET),
    (nested.SetsWith(["a", "b"]), Customer(transactions=2), BY_CUSTOMER),
    (nested.ItemsBought(["a", "b"]), Item(), BY_ITEM),
    (nested.ItemsBought(["a", "b"]), Transaction(items=2), BY_SET),
    (nested.ItemsBought(["a", "b"]), Customer(transactions=2, items=2), BY_CUSTOMER),
    (traces.Trips(), Trip(), BY_TRIP),
    (traces.TripsThrough((0, 4, 0, 4)), USER, BY_USER),
    (traces.CellVisits(2, most=2), Trip(), BY_TRIP),
    (traces.Trips(), USER, BY_USER),
    (traces.TripsThrough((0, 4, 0, 4)), Trip(), BY_TRIP),
    (traces.TripsByHour(), Trip(), BY_TRIP),
    (traces.TripsBetween(2), USER, BY_USER),
    (traces.TripsBetween(2), Trip(), BY_TRIP),
    (traces.TripsByHour(), USER, BY_USER),
    (traces.CellVisits(2, most=2), USER, BY_USER),
]


def named(case):
    return f"{type(case[0]).__name__}-{type(case[1]).__name__}"


def shared_out(cases):
    """Give every third case to each run of the tests, and the others to `make soak`."""
    for number, case in enumerate(cases):
        yield pytest.param(case, marks=[pytest.mark.soak] if number % 3 else [], id=named(case))


def every_statistic(kind=Statistic):
    for found in kind.__subclasses__():
        yield from every_statistic(found)
        if not getattr(found, "__abstractmethods__", None) and "tests" not in found.__module__:
            yield found


def test_nothing_is_left_out():
    audited = {(type(statistic), type(unit)) for statistic, unit, _ in CASES}
    offered = {
        (kind, unit)
        for kind in every_statistic()
        if kind.__module__.startswith("sfumato.")
        for unit in kind.units
    }
    assert offered <= audited


def shown(value):
    """Return a few numbers of an answer, which may be a list, a grid or a mapping."""
    if isinstance(value, list) and len(value) == 24:
        return value[9]  # trips by hour: all begin in one
    if isinstance(value, list) and isinstance(value[0], list):
        return (value[0][0], value[-1][-1]) if len(value) == 2 else value[0][3]
    if isinstance(value, list):
        return tuple((value + value[-1:] * 2)[:2])
    return tuple(value.values()) if isinstance(value, dict) else value


def asked(case, spent):
    statistic, unit, pair = case

    def ask(data):
        return shown(statistic.measure(data, unit, Fraction(spent)).value)

    return ask, sf.PureDP(1, neighbours=sf.dp.Neighbours("unbounded", unit)), [pair]


@pytest.mark.parametrize("case", shared_out(CASES))
@audited
def test_what_is_promised_is_not_refuted(case, refuted):
    assert not refuted(*asked(case, 1))


@pytest.mark.parametrize("case", shared_out(CASES[1:]))
@audited
def test_a_copy_that_spends_more_is_refuted(case, refuted):
    """Where a limit on degrees is found first, noise is large, and only a gross copy shows."""
    limited = isinstance(case[1], Node) and isinstance(case[0], graph.Edges | graph.DegreeAtLeast)
    assert refuted(*asked(case, 64 if limited else 8), samples=1_500)
