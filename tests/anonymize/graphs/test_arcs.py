"""k-degree anonymity of directed graphs by pairs of degrees, against brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest
from chance import rounds, seeds

import sfumato as sf
from sfumato.anonymize.graphs.degree_edits import find_edits
from sfumato.anonymize.graphs.degree_pairs import ORDERS, anonymous_pairs
from sfumato.anonymize.graphs.degree_sequence import ADD, REMOVE
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.graphs.sources import read_graph
from sfumato.errors import ParameterError, Unsatisfiable


def random_arcs(seed, most=8, least=2):
    chance = np.random.default_rng(seed)
    n = int(chance.integers(least, most + 1))
    share = chance.random()
    arcs = [arc for arc in permutations(range(n), 2) if chance.random() < share]
    return read_graph(arcs, nodes=range(n), direction="keep")


def least_k(arcs, n):
    """The smallest number of nodes that share a pair of degrees, counted from a list of arcs."""
    going, coming = Counter(u for u, _ in arcs), Counter(v for _, v in arcs)
    return min(Counter((coming[u], going[u]) for u in range(n)).values())


def least_edits(graph, k, allowed):
    """The fewest edits of all, by trying every directed graph."""
    n = len(graph)
    pairs = list(permutations(range(n), 2))
    there = {tuple(arc) for arc in graph.edges.tolist()}
    best = None
    for bits in product((0, 1), repeat=len(pairs)):
        arcs = {pair for pair, bit in zip(pairs, bits, strict=True) if bit}
        if allowed == "add" and not there <= arcs:
            continue
        if allowed == "remove" and not arcs <= there:
            continue
        edits = len(arcs ^ there)
        if (best is None or edits < best) and least_k(arcs, n) >= k:
            best = edits
    return best


@seeds(240)
def test_every_pair_is_shared(seed):
    graph = random_arcs(seed)
    n = len(graph)
    k = 1 + seed % n
    allowed = ("both", "add", "remove")[seed % 3]
    editor = find_edits(graph, k, edits=allowed)
    arcs = [tuple(arc) for arc in editor.edges().tolist()]
    assert least_k(arcs, n) >= k
    assert len(set(arcs)) == len(arcs)
    assert all(u != v for u, v in arcs)
    came = {tuple(arc) for arc in graph.edges.tolist()}
    assert (set(arcs) - came, came - set(arcs)) == (editor.added, editor.removed)
    assert allowed != "add" or not editor.removed
    assert allowed != "remove" or not editor.added


@rounds(20, 60)
def test_the_fewest_edits_of_up_to_four_nodes(rounds):
    for seed in range(rounds):
        graph = random_arcs(seed, most=4 if seed < 4 else 3, least=3)
        k = min(2 + seed % 2, len(graph))
        for allowed in ("both", "add", "remove"):
            found = find_edits(graph, k, edits=allowed).edits
            assert found == least_edits(graph, k, allowed)


@pytest.fixture(scope="module")
def all_of_five():
    """Every directed graph of five nodes: its arcs as bits, and its pairs of degrees as numbers."""
    pairs = list(permutations(range(5), 2))
    graphs = np.arange(1 << len(pairs), dtype=np.int64)
    code = np.zeros((len(graphs), 5), dtype=np.int8)
    for at, (u, v) in enumerate(pairs):
        arc = (graphs >> at & 1).astype(np.int8)
        code[:, u] += arc
        code[:, v] += 5 * arc
    alike = sum((code[:, :, None] == code[:, None, :])[:, :, i].astype(np.int8) for i in range(5))
    return pairs, graphs, alike.min(axis=1)


@seeds(25)
def test_near_the_fewest_edits_of_five_nodes(all_of_five, seed):
    pairs, graphs, shared = all_of_five
    graph = random_arcs(1000 + seed, most=5, least=5)
    mine = sum(1 << pairs.index(tuple(arc)) for arc in graph.edges.tolist())
    k = 2 + seed % 3
    least = int(np.bitwise_count(graphs[shared >= k] ^ mine).min())
    found = find_edits(graph, k)
    assert least_k([tuple(arc) for arc in found.edges().tolist()], 5) >= k
    assert least <= found.edits <= least + 1


def test_a_graph_is_not_emptied_where_a_few_edits_do():
    chain = read_graph([(1, 2), (2, 3), (3, 1), (1, 4), (4, 5)], direction="keep")
    assert find_edits(chain, 2).edits == 2
    for seed in range(12):
        graph = read_graph(nx.gnp_random_graph(6, 0.3, seed=seed, directed=True))
        found = find_edits(graph, 2).edits
        there = set(map(tuple, graph.edges.tolist()))
        for size in range(min(found, 3)):  # no smaller set of edits will do
            for chosen in combinations(list(permutations(range(6), 2)), size):
                assert least_k(there ^ set(chosen), 6) < 2
        assert found <= 5


@pytest.mark.parametrize("nodes", [10, 25])
def test_larger_graphs_keep_most_of_their_arcs(nodes):
    for seed in range(3):
        graph = read_graph(nx.gnp_random_graph(nodes, 0.2, seed=seed, directed=True))
        pairs = graph.degree_pairs
        bound = np.abs(anonymous_pairs(pairs, 3) - pairs).sum() / 2
        assert find_edits(graph, 3).edits <= 2 * bound + 3


@seeds(40)
def test_arcs_in_are_as_many_as_arcs_out(seed):
    chance = np.random.default_rng(seed)
    pairs = chance.integers(0, 9, (30, 2)).astype(np.int64)
    k = 2 + seed % 4
    for order in (None, seed % ORDERS):
        target = anonymous_pairs(pairs, k, order=order)
        assert min(Counter(map(tuple, target.tolist())).values()) >= k
        assert target[:, 0].sum() == target[:, 1].sum()
        assert target.min() >= 0


@seeds(40)
def test_target_pairs(seed):
    chance = np.random.default_rng(seed)
    pairs = chance.poisson(2 + seed % 5, (80, 2)).astype(np.int64)
    for balance in (0.5, ADD, REMOVE):
        k = 2 + seed % 7
        target = anonymous_pairs(pairs, k, balance=balance)
        assert min(Counter(map(tuple, target.tolist())).values()) >= k
        assert balance != ADD or (target >= pairs).all()
        assert balance != REMOVE or (target <= pairs).all()


def test_crowded_pairs_stay():
    pairs = np.array([[1, 0]] * 900 + [[0, 1]] * 900 + [[9, 9]], dtype=np.int64)
    target = anonymous_pairs(pairs, 3)
    assert (target != pairs).any(axis=1).sum() <= 3


def test_a_release_is_verified_from_its_file(tmp_path):
    graph = nx.gnp_random_graph(60, 0.08, seed=4, directed=True)
    nx.set_node_attributes(graph, {u: "ab"[u % 2] for u in graph}, "job")
    release = sf.anonymize(graph, sf.KDegreeAnonymity(4), shape="graph")
    assert isinstance(release.data, nx.DiGraph)
    assert 0 < release.loss["edits"] < 1
    assert "reciprocity" in release.loss
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "release.edges"
    assert "# directed" in path.read_text()
    found = sf.verify(tmp_path / "out")
    assert found.holds
    arcs = [
        tuple(map(int, line.split())) for line in path.read_text().splitlines() if line[0] != "#"
    ]
    assert least_k(arcs, 60) >= 4
    moved = [arc for arc in arcs if arc != arcs[0]]
    path.write_text("# nodes 60\n# directed\n" + "".join(f"{u} {v}\n" for u, v in moved))
    assert not sf.verify(path, definition=sf.KDegreeAnonymity(4), shape="graph").holds


def test_pairs_are_told_apart_where_single_degrees_are_not(tmp_path):
    # everybody has two arcs; (2, 0) and (0, 2) are alone with their pair
    ring = read_graph([(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)], direction="keep")
    assert len(set(ring.degrees.tolist())) == 1
    path = tmp_path / "ring.edges"
    path.write_text("# directed\n0 1\n1 2\n2 3\n0 4\n4 3\n")
    assert not sf.verify(path, definition=sf.KDegreeAnonymity(2), shape="graph").holds
    flat = sf.read(path, shape="graph", direction="ignore")
    assert not isinstance(flat, DirectedGraph)
    assert sf.anonymize(flat, sf.KDegreeAnonymity(2)).verify().holds


def test_attributes_are_withheld_where_values_are_few():
    graph = nx.gnp_random_graph(40, 0.1, seed=2, directed=True)
    nx.set_node_attributes(graph, {u: "ab"[u % 5 == 0] for u in graph}, "ill")
    promise = sf.KDegreeAnonymity(3) & sf.DistinctLDiversity(2, "ill")
    release = sf.anonymize(graph, promise, shape="graph")
    assert release.verify().holds


def test_what_is_refused():
    graph = random_arcs(1, least=5)
    with pytest.raises(Unsatisfiable):
        sf.anonymize(graph, sf.KDegreeAnonymity(99))
    with pytest.raises(ParameterError, match="direction='ignore'"):
        sf.Session(graph, budget=sf.PureDP(1))
    with pytest.raises(ParameterError, match="direction='ignore'"):
        sf.dp.synthesize(graph, epsilon=1)
