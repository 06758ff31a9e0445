"""Statistics of graphs: sensitivities by brute force, exact laws, and worst pairs audited."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, exp

import numpy as np
import pytest
from chance import audited, seeds

import sfumato as sf
from sfumato.data.graphs.sources import read_graph
from sfumato.dp.neighbours import Edge, Node
from sfumato.dp.publish.statistics import ladders
from sfumato.dp.publish.statistics.graph import (
    Cliques,
    DegreeAtLeast,
    DegreeDistribution,
    Edges,
    Nodes,
    Stars,
    Triangles,
)
from sfumato.dp.publish.statistics.projection import FINE, ProjectedGraph, _full, rising
from sfumato.errors import ParameterError

ONE = Fraction(1)


def random_graph(seed, n=6):
    chance = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(n), 2) if chance.random() < chance.random()]
    return read_graph(pairs, nodes=range(n))


def without_node(graph, node):
    rest = [u for u in range(len(graph)) if u != node]
    edges = [(u, v) for u, v in graph.edges.tolist() if node not in (u, v)]
    return read_graph(edges, nodes=rest)


def flipped(graph, pair):
    edges = {tuple(edge) for edge in graph.edges.tolist()} ^ {pair}
    return read_graph(sorted(edges), nodes=range(len(graph)))


def brute(graph, statistic):
    joined = {tuple(edge) for edge in graph.edges.tolist()}
    n = len(graph)
    if isinstance(statistic, Stars):
        return sum(comb(int(d), statistic.points) for d in graph.degrees)
    size = statistic.size if isinstance(statistic, Cliques) else 3
    return sum(all(p in joined for p in combinations(s, 2)) for s in combinations(range(n), size))


STATISTICS = [Triangles(), Stars(2), Stars(3), Cliques(3), Cliques(4), Cliques(5)]


@seeds(60)
def test_counts_and_ladders_against_brute_force(seed):
    graph = random_graph(seed)
    n = len(graph)
    for statistic in STATISTICS:
        assert statistic.count(graph) == brute(graph, statistic)
        if isinstance(statistic, Stars):

            def widths(g, s=statistic):
                return ladders.star_widths(g, s.points)
        else:
            size = getattr(statistic, "size", 3)

            def widths(g, s=size):
                common = ladders.largest_common(
                    g.starts.astype(np.int64), g.neighbours.astype(np.int64)
                )
                return ladders.clique_widths(common, n, s)

        mine = widths(graph)
        for pair in combinations(range(n), 2):
            other = flipped(graph, pair)
            assert abs(brute(graph, statistic) - brute(other, statistic)) <= mine[0]
            theirs = widths(other)
            assert all(a <= b for a, b in zip(mine, theirs[1:], strict=False))


@seeds(150)
def test_what_one_node_changes_of_a_graph_that_is_cut(seed):
    graph = random_graph(seed, n=4 + seed % 5)
    key = bytes([seed]) * 16
    whole = ProjectedGraph(graph, key)
    for node in range(len(graph)):
        if len(graph) < 3:
            continue
        part = ProjectedGraph(without_node(graph, node), key)
        for limit in range(1, 6):
            assert abs(whole.edges(limit) - part.edges(limit)) <= limit
            assert np.abs(whole.up_to(limit) - part.up_to(limit)).sum() <= limit + 1
            full = [(g.degrees(limit) == limit).sum() for g in (whole, part)]
            assert abs(int(full[0]) - int(full[1])) <= limit + 1
            assert abs(_full(whole, limit) - _full(part, limit)) <= FINE + 1
            assert whole.degrees(limit).max() <= limit


def test_the_order_of_edges_is_that_of_every_neighbour():
    graph = random_graph(3, n=8)
    key = b"k" * 16
    whole, part = ProjectedGraph(graph, key), ProjectedGraph(without_node(graph, 5), key)
    ends = zip(whole.tail, whole.head, strict=True)
    named = [tuple(sorted((graph.labels[u], graph.labels[v]))) for u, v in ends]
    rest = without_node(graph, 5).labels
    kept = [tuple(sorted((rest[u], rest[v]))) for u, v in zip(part.tail, part.head, strict=True)]
    assert [pair for pair in named if "5" not in pair] == kept
    drawn = {tuple(ProjectedGraph(graph).tail) for _ in range(5)}
    assert len(drawn) > 1


def test_pooling():
    assert rising(np.array([3.0, 1.0, 2.0, 5.0, 4.0])).tolist() == [2, 2, 2, 4.5, 4.5]


def law(graph, statistic, epsilon):
    """Probability of every whole number, from the definition of the mechanism."""
    n, exact = len(graph), brute(graph, statistic)
    if isinstance(statistic, Stars):
        widths, top = (
            ladders.star_widths(graph, statistic.points),
            n * comb(n - 1, statistic.points),
        )
    else:
        common = ladders.largest_common(
            graph.starts.astype(np.int64), graph.neighbours.astype(np.int64)
        )
        widths, top = ladders.clique_widths(common, n, statistic.size), comb(n, statistic.size)
    weights = {}
    for value in range(top + 1):
        rung, reach = 0, 0
        while abs(value - exact) > reach:
            reach += widths[min(rung, n - 1)]
            rung += 1
        weights[value] = exp(-epsilon * rung / 2)
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


@pytest.mark.parametrize("statistic", [Stars(2), Cliques(4)])
def test_the_law_of_a_ladder(statistic):
    graph = read_graph([(0, 1), (0, 2), (1, 2), (2, 3), (0, 3), (1, 3)], nodes=range(5))
    expected = law(graph, statistic, 1.0)
    draws = 4000
    values = [statistic.climb(graph, ONE) for _ in range(draws)]
    counts = np.bincount(values, minlength=len(expected))
    chances = np.array(list(expected.values()))
    likely = chances * draws >= 5
    statistic_value = ((counts - chances * draws)[likely] ** 2 / (chances * draws)[likely]).sum()
    freedom = likely.sum()
    assert statistic_value < freedom + 5 * np.sqrt(2 * freedom)


def asked(statistic, unit, first, second):
    def ask(graph):
        return statistic.measure(graph, unit, Fraction(1)).value

    return ask, sf.PureDP(1, neighbours=sf.dp.Neighbours("unbounded", unit)), [(first, second)]


SQUARE = [(0, 2), (1, 2), (0, 3), (1, 3)]
WHEEL = [(0, i) for i in range(1, 6)]
HUB_AND_RIM = [*WHEEL, (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)]


@pytest.mark.parametrize(
    ("statistic", "unit", "first", "second"),
    [
        (Edges(), Edge(), [(0, 1)], [(0, 1), (2, 3)]),
        (DegreeAtLeast(1), Edge(), [(0, 1)], [(0, 1), (2, 3)]),
        (Triangles(), Edge(), SQUARE, [(0, 1), *SQUARE]),
        (Stars(2), Edge(), WHEEL[:4], WHEEL),
        (Cliques(4), Edge(), list(combinations(range(5), 2))[1:], list(combinations(range(5), 2))),
    ],
    ids=["edges", "degree", "triangles", "stars", "cliques"],
)  # fmt: skip
@audited
def test_worst_pairs_for_an_edge(statistic, unit, first, second, refuted):
    graphs = [read_graph(edges, nodes=range(6)) for edges in (first, second)]
    assert not refuted(*asked(statistic, unit, *graphs))


@pytest.mark.parametrize("statistic", [Nodes(), Edges(), DegreeAtLeast(2)], ids=str)
@audited
def test_worst_pairs_for_a_node(statistic, refuted):
    rim = [edge for edge in HUB_AND_RIM if 0 not in edge]
    first = read_graph(rim, nodes=range(1, 6))
    second = read_graph(HUB_AND_RIM, nodes=range(6))
    assert not refuted(*asked(statistic, Node(), first, second))


@audited
def test_a_broken_copy_is_refuted(refuted):
    class Careless(Edges):
        def measure(self, data, unit, epsilon):  # the noise of an edge, for a node
            return super().measure(data, Edge(), epsilon)

    rim = [edge for edge in HUB_AND_RIM if 0 not in edge]
    first = read_graph(rim, nodes=range(1, 6))
    second = read_graph(HUB_AND_RIM, nodes=range(6))
    assert refuted(*asked(Careless(), Node(), first, second))


def test_worked_sensitivities():
    # edges: 1 per edge; vertices of degree ≥ n: 2 per edge; under node privacy as the limit says
    assert Edges().sensitivity(Edge()) == 1
    assert DegreeAtLeast(3).sensitivity(Edge()) == 2
    assert DegreeAtLeast(0).sensitivity(Edge()) == 0
    assert Nodes().sensitivity(Node()) == 1
    assert Triangles().sensitivity(Node(degree=5)) == 10
    assert Cliques(4).sensitivity(Node(degree=5)) == 10
    assert Stars(2).sensitivity(Node(degree=5)) == 10 + 5 * 4


def test_refusals_and_forecasts():
    with pytest.raises(ParameterError, match="degree"):
        Triangles().check(Node())
    with pytest.raises(ParameterError, match="unit"):
        Edges().check(sf.dp.Tree())
    with pytest.raises(ParameterError, match="at least"):
        Stars(1)
    told = Triangles().forecast(Node(degree=50), ONE, guess=1000)
    assert told.useful is False
    assert "nothing to use" in str(told)
    assert Edges().forecast(Edge(), ONE, guess=1000).useful
    assert Triangles().forecast(Edge(), ONE).margin is None


def test_degree_distributions_come_close():
    chance = np.random.default_rng(5)
    weights = chance.pareto(2.5, 800) + 1
    drawn = chance.choice(800, (4000, 2), p=weights / weights.sum())
    pairs = {tuple(sorted(p)) for p in drawn.tolist() if p[0] != p[1]}
    graph = read_graph(sorted(pairs), nodes=range(800))
    true = np.cumsum(np.bincount(graph.degrees, minlength=200)[:200]) / 800
    for unit, within in ((Edge(), 0.12), (Node(), 0.45)):
        gaps = []
        for _ in range(7):
            found = np.array(DegreeDistribution().measure(graph, unit, ONE).value)
            known = np.concatenate([found / found[-1], np.ones(200)])[:200]
            gaps.append(np.abs(known - true).max())
        assert np.median(gaps) < within


def test_small_graphs():
    empty = read_graph([], nodes=range(2))
    for statistic in (*STATISTICS, Edges(), Nodes(), DegreeAtLeast(1), DegreeDistribution()):
        assert statistic.measure(empty, Edge(), ONE).value is not None
    for statistic in (Edges(), Nodes(), DegreeAtLeast(1), DegreeDistribution()):
        assert statistic.measure(empty, Node(), ONE).value is not None


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 1), (1, 2), (0, 2)]])
def test_stars_and_cliques_of_more_nodes_than_there_are_are_none(edges):
    graph = read_graph(edges, nodes=range(3))
    assert ladders.release_stars(graph, 3, ONE) == 0
    assert ladders.release_cliques(graph, 4, ONE) == 0
