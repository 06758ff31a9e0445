"""Groups of nodes and edges against every small graph, and what restating to them promises."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product

import pytest

import sfumato as sf
from sfumato.dp import (
    DegreeCount,
    Edge,
    EdgeCount,
    Group,
    Neighbours,
    Node,
    TriangleCount,
    sensitivity,
)
from sfumato.dp.queries.base import Query, scalar
from sfumato.errors import ParameterError

QUERIES = [EdgeCount(), *(DegreeCount(n) for n in range(4)), TriangleCount()]


def graphs(vertices):
    pairs = list(combinations(range(vertices), 2))
    for chosen in product([False, True], repeat=len(pairs)):
        yield frozenset(pair for pair, there in zip(pairs, chosen, strict=True) if there)


def degrees(vertices, edges):
    return [sum(1 for edge in edges if v in edge) for v in range(vertices)]


def answer(query, vertices, edges):
    """Count without the code under test."""
    if isinstance(query, EdgeCount):
        return len(edges)
    if isinstance(query, DegreeCount):
        return sum(1 for degree in degrees(vertices, edges) if degree >= query.at_least)
    return sum(
        1 for a, b, c in combinations(range(vertices), 3) if {(a, b), (b, c), (a, c)} <= edges
    )


def within(vertices, edges, degree):
    return degree is None or max(degrees(vertices, edges), default=0) <= degree


def largest_added(query, vertices, size, degree=None):
    """Any a of the nodes leave and any b enter, a + b ≤ size: the largest change there is."""
    ranges = defaultdict(dict)  # core → number of nodes added → (least, most)
    for core in range(vertices + 1):
        for more in range(size + 1):
            for edges in graphs(core + more):
                if within(core + more, edges, degree):
                    kept = core, frozenset(edge for edge in edges if max(edge) < core)
                    found = answer(query, core + more, edges)
                    low, high = ranges[kept].get(more, (found, found))
                    ranges[kept][more] = min(low, found), max(high, found)
    return max(
        one[1] - other[0]
        for added in ranges.values()
        for a, one in added.items()
        for b, other in added.items()
        if a + b <= size
    )


def largest_rewired(query, vertices, size, degree=None):
    """The last nodes get any other edges, and all graphs keep the limit."""
    ranges = {}
    for edges in graphs(vertices):
        if within(vertices, edges, degree):
            kept = frozenset(edge for edge in edges if max(edge) < vertices - size)
            found = answer(query, vertices, edges)
            low, high = ranges.get(kept, (found, found))
            ranges[kept] = min(low, found), max(high, found)
    return max(high - low for low, high in ranges.values())


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize(("vertices", "size"), [(1, 2), (2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("degree", [None, 2])
def test_nodes_that_come_and_go_together(query, vertices, size, degree):
    unit = Group(Node(vertices=vertices, degree=degree), size)
    derived = sensitivity(query, unit)
    found = largest_added(query, vertices, size, degree)
    assert derived.l1 >= found
    assert derived.l2 >= found
    if degree is None and not isinstance(query, DegreeCount):
        assert derived.l1 == found
    nested = Group(Group(Node(vertices=vertices, degree=degree), 1), size)
    assert sensitivity(query, nested).l1 == derived.l1


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize(("vertices", "size"), [(4, 2), (5, 2), (5, 3)])
@pytest.mark.parametrize("degree", [None, 1, 2])
def test_nodes_rewired_together(query, vertices, size, degree):
    unit = Group(Node(vertices=vertices, degree=degree), size)
    derived = sensitivity(query, Neighbours("bounded", unit))
    assert derived.l1 >= largest_rewired(query, vertices, size, degree)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("degree", [None, 2])
def test_edges_that_change_together(query, relation, degree):
    """Two edges of four vertices; replaced edges leave their number as it was."""
    derived = sensitivity(query, Neighbours(relation, Group(Edge(4, degree), 2)))
    kept = [edges for edges in graphs(4) if within(4, edges, degree)]
    found = max(
        abs(answer(query, 4, one) - answer(query, 4, other))
        for one in kept
        for other in kept
        if (
            len(one ^ other) <= 2
            if relation == "unbounded"
            else len(one) == len(other) and len(one - other) <= 2
        )
    )
    assert derived.l1 >= found


def test_the_worked_numbers_of_two_added_nodes():
    """From two joined vertices to the complete graph on four: 5 edges more, 4 triangles more."""
    two = Group(Node(vertices=2), 2)
    assert sensitivity(EdgeCount(), two).l1 == 5
    assert sensitivity(TriangleCount(), two).l1 == 4
    many = sensitivity(EdgeCount(), Group(Node(vertices=2), 5000)).l1
    assert many >= 5000 * 2 + 5000 * 4999 / 2


class Loner(Query):
    """A user's own query, whose proof is about one re-wired node."""

    def derive(self, neighbours):
        return scalar(1, "one node")


def test_chains_of_rewired_nodes_keep_the_degree():
    limited = Neighbours("bounded", Group(Node(degree=2), 3))
    assert sensitivity(Loner(), limited).l1 == 6
    assert sensitivity(Loner(), Neighbours("bounded", Group(Node(vertices=9), 3))).l1 == 3
    with pytest.raises(ParameterError, match="degree"):
        sensitivity(Loner(), Neighbours("bounded", Group(Edge(degree=2), 3)))


@pytest.mark.parametrize("query", [EdgeCount(), TriangleCount()], ids=str)
@pytest.mark.parametrize(("vertices", "size"), [(3, 2), (4, 2), (4, 3)])
def test_restated_guarantees_cover_noise_on_counts(query, vertices, size):
    """Laplace noise of scale Δ(V) loses the change divided by Δ(V)."""
    alone = sensitivity(query, Node(vertices=vertices)).l1
    family = sf.PureDP(1, neighbours=Node(vertices=vertices)).group(size)
    node, members = family.unit.members
    assert members == size
    assert largest_added(query, node.vertices, size) / alone <= family.epsilon


def test_restating_keeps_the_limits_of_the_proof():
    one = sf.PureDP(1, neighbours=Node(vertices=10))
    assert one.group(3).unit == Group(Node(vertices=8), 3)
    assert one.group(3).group(2).unit == Group(Node(vertices=5), 6)
    assert one.under(Group(Node(vertices=8), 3)).epsilon == 3
    for wide in (Group(Node(vertices=9), 3), Group(Group(Node(vertices=9), 3), 1)):
        with pytest.raises(ParameterError, match="10 vertices"):
            one.under(wide)
    with pytest.raises(ParameterError, match="more than 10"):
        one.group(11)
    rewired = sf.PureDP(1, neighbours=Neighbours("bounded", Node(degree=3)))
    assert rewired.group(2).epsilon == 4
    assert rewired.under(Neighbours("bounded", Group(Node(degree=3), 2))).epsilon == 4
    with pytest.raises(ParameterError, match="degree"):
        sf.PureDP(1, neighbours=Neighbours("bounded", Edge(degree=3))).group(2)


@pytest.mark.parametrize("size", [2.5, 0, True, "2"])
def test_groups_have_a_whole_number_of_members(size):
    with pytest.raises(ParameterError, match="whole number"):
        Group(Node(), size)
