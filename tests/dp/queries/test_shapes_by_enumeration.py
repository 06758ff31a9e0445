"""Derived sensitivities of graphs, transactions and trees against all small pairs of neighbours."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product

import pytest

from sfumato.dp import (
    Customer,
    DegreeCount,
    Edge,
    EdgeCount,
    ItemCount,
    ItemsetSupport,
    LabelCount,
    Neighbours,
    Node,
    TriangleCount,
    sensitivity,
)


def graphs(vertices):
    pairs = [frozenset(pair) for pair in combinations(range(vertices), 2)]
    for chosen in product([False, True], repeat=len(pairs)):
        yield frozenset(pair for pair, there in zip(pairs, chosen, strict=True) if there)


def degrees(vertices, edges):
    return [sum(1 for edge in edges if v in edge) for v in range(vertices)]


def triangles(vertices, edges):
    return sum(
        1
        for a, b, c in combinations(range(vertices), 3)
        if {frozenset((a, b)), frozenset((b, c)), frozenset((a, c))} <= edges
    )


def answers(query, vertices, edges):
    if isinstance(query, EdgeCount):
        return len(edges)
    if isinstance(query, DegreeCount):
        return sum(1 for degree in degrees(vertices, edges) if degree >= query.at_least)
    return triangles(vertices, edges)


def edge_pairs(vertices, relation):
    pairs = [frozenset(pair) for pair in combinations(range(vertices), 2)]
    for edges in graphs(vertices):
        for new in pairs:
            if new in edges:
                continue
            if relation == "unbounded":
                yield (vertices, edges), (vertices, edges | {new})
            else:
                for old in edges:
                    yield (vertices, edges), (vertices, (edges - {old}) | {new})


def node_pairs(vertices, relation):
    """Unbounded: one more vertex with any edges. Bounded: the last vertex gets other edges."""
    for edges in graphs(vertices):
        for joined in product([False, True], repeat=vertices):
            more = {frozenset((vertices, v)) for v in range(vertices) if joined[v]}
            if relation == "unbounded":
                yield (vertices, edges), (vertices + 1, edges | more)
            else:
                for again in product([False, True], repeat=vertices):
                    other = {frozenset((vertices, v)) for v in range(vertices) if again[v]}
                    yield (vertices + 1, edges | more), (vertices + 1, edges | other)


def largest(query, pairs, degree=None):
    worst = 0
    for one, other in pairs:
        if degree is not None and max(*degrees(*one), *degrees(*other), 0) > degree:
            continue
        worst = max(worst, abs(answers(query, *one) - answers(query, *other)))
    return worst


QUERIES = [EdgeCount(), *(DegreeCount(n) for n in range(4)), TriangleCount()]


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_edges(query, relation):
    derived = sensitivity(query, Neighbours(relation, Edge(vertices=4)))
    found = largest(query, edge_pairs(4, relation))
    assert derived.l1 >= found
    if relation == "unbounded":
        assert derived.l1 == found


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("degree", [1, 2])
def test_edges_under_a_limit_on_degrees(query, degree):
    derived = sensitivity(query, Edge(vertices=4, degree=degree))
    assert derived.l1 >= largest(query, edge_pairs(4, "unbounded"), degree)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_nodes(query):
    derived = sensitivity(query, Node(vertices=4))
    found = largest(query, node_pairs(4, "unbounded"))
    assert derived.l1 >= found
    assert derived.l1 == found


def test_nodes_of_a_degree_no_regular_graph_has():
    """Three vertices of degree 1 do not exist, so the bound |V| + 1 is not reached there."""
    assert sensitivity(DegreeCount(2), Node(vertices=3)).l1 == 4
    assert largest(DegreeCount(2), node_pairs(3, "unbounded")) == 3


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("degree", [1, 2])
def test_nodes_under_a_limit_on_degrees(query, degree):
    derived = sensitivity(query, Node(vertices=4, degree=degree))
    assert derived.l1 >= largest(query, node_pairs(4, "unbounded"), degree)


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("degree", [None, 2])
def test_rewired_nodes(query, degree):
    """Four vertices of which one is re-wired."""
    derived = sensitivity(query, Neighbours("bounded", Node(vertices=4, degree=degree)))
    found = largest(query, node_pairs(3, "bounded"), degree)
    assert derived.l1 >= found
    if degree is None and not isinstance(query, DegreeCount):
        assert derived.l1 == found


ITEMS = "ab"


def baskets(most_items):
    for size in range(1, most_items + 1):
        yield from combinations_with_replacement(ITEMS, size)


def customers(most_transactions, most_items):
    for size in range(1, most_transactions + 1):
        yield from combinations_with_replacement(list(baskets(most_items)), size)


def occurrences(data, item):
    return sum(basket.count(item) for basket in data)


def support(data, items):
    return sum(1 for basket in data if set(items) <= set(basket))


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_customers(relation):
    """Two transactions of at most two items: what one customer adds, or is replaced by."""
    unit = Customer(transactions=2, items=2)
    states = [(), *customers(2, 2)] if relation == "unbounded" else list(customers(2, 2))
    others = [()] if relation == "unbounded" else states
    for query, answer in (
        (ItemCount("a"), lambda d: occurrences(d, "a")),
        (ItemsetSupport({"a"}), lambda d: support(d, "a")),
        (ItemsetSupport({"a", "b"}), lambda d: support(d, "ab")),
    ):
        found = max(abs(answer(one) - answer(other)) for one in states for other in others)
        assert sensitivity(query, Neighbours(relation, unit)).l1 == found


def test_transactions_and_items():
    data = [(), *baskets(2)]
    for query, answer in (
        (ItemCount("a", most=2), lambda d: occurrences([d], "a")),
        (ItemsetSupport({"a", "b"}), lambda d: support([d], "ab")),
    ):
        assert sensitivity(query, "transaction").l1 == max(answer(basket) for basket in data)
        bought = max(
            abs(answer(basket) - answer((*basket, item))) for basket in data for item in ITEMS
        )
        assert sensitivity(query, "item").l1 == bought
        swapped = max(
            abs(answer((*basket, old)) - answer((*basket, new)))
            for basket in data
            for old in ITEMS
            for new in ITEMS
        )
        assert sensitivity(query, Neighbours("bounded", "item")).l1 >= swapped


def test_labels_of_trees():
    trees = [tree for tree in product(ITEMS, repeat=3) if tree.count("a") <= 2]
    query = LabelCount("a", most=2)
    assert sensitivity(query, "tree").l1 == max(tree.count("a") for tree in trees)
    assert sensitivity(query, "vertex").l1 == 1
