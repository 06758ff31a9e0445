"""Attacks on directed graphs: pairs of degrees, colluders who see directions, arcs disclosed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from chance import seeds

import sfumato as sf
from sfumato.attack.graphs.collusion import colluding_neighbours
from sfumato.attack.graphs.edges import edge_disclosure
from sfumato.attack.graphs.planting import planted_subgraph
from sfumato.attack.graphs.propagation import seed_propagation
from sfumato.attack.graphs.structure import structural_knowledge
from sfumato.data.graphs.sources import read_graph
from sfumato.errors import ParameterError
from sfumato.released.structure import structural_classes

RING = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]


def colours(arcs, n, depth):
    """H1, H2, … by their definition, as nested tuples."""
    seen = [(sum(v == u for _, v in arcs), sum(t == u for t, _ in arcs)) for u in range(n)]
    for _ in range(depth - 1):
        seen = [
            (tuple(sorted(repr(seen[t]) for t, v in arcs if v == u)),
             tuple(sorted(repr(seen[v]) for t, v in arcs if t == u)))
            for u in range(n)
        ]  # fmt: skip
    return [repr(colour) for colour in seen]


@seeds(40)
def test_candidate_sets_by_their_definition(seed):
    arcs = list(nx.gnp_random_graph(8, 0.3, seed=seed, directed=True).edges)
    graph = read_graph(arcs, nodes=range(8), direction="keep")
    for depth in (1, 2, 3, 4):
        mine, expected = structural_classes(graph, depth), colours(arcs, 8, depth)
        for u in range(8):
            for v in range(8):
                assert (mine[u] == mine[v]) == (expected[u] == expected[v])


def test_whom_pairs_of_degrees_single_out():
    graph = read_graph(RING, direction="keep")
    found = structural_knowledge(graph, depth=1)
    assert found.exposed == 2
    assert any("0 arcs in and 2 out" in finding.who for finding in found.findings)
    assert structural_knowledge(graph.underlying, depth=1).exposed == 0


def test_colluders_see_directions():
    # 0 and 1 know who follows them: 2 is followed by both, 3 follows both
    graph = read_graph([(0, 2), (1, 2), (3, 0), (3, 1), (2, 3)], direction="keep")
    found = colluding_neighbours(graph, colluders=[0, 1])
    assert found.exposed == 2
    assert found.figures["edges disclosed between others"] == 1
    assert colluding_neighbours(graph.underlying, colluders=[0, 1]).exposed == 0


def test_arcs_disclosed_between_classes():
    graph = read_graph([(u, v) for u in (0, 1) for v in (2, 3, 4)], direction="keep")
    found = edge_disclosure(graph)
    assert found.exposed == found.people == 6
    half = read_graph([(0, 1), (1, 2), (2, 0)], direction="keep")
    assert edge_disclosure(half).posterior == pytest.approx(0.5)


def test_before_and_after():
    graph = read_graph(nx.gnp_random_graph(120, 0.06, seed=3, directed=True))
    release = sf.anonymize(graph, sf.KDegreeAnonymity(4))
    assert structural_knowledge(release, depth=1, confidence=0.26).exposed == 0
    assert "degree (H1)" in str(sf.attack.precheck(release))
    assert seed_propagation(release).people == 100


def test_plants_are_for_edges_without_direction():
    with pytest.raises(ParameterError, match="direction='ignore'"):
        planted_subgraph(read_graph(RING, direction="keep"), lambda graph, **_: graph)


def test_the_page_shows_pairs(tmp_path):
    graph = read_graph(nx.gnp_random_graph(50, 0.1, seed=3, directed=True))
    release = sf.anonymize(graph, sf.KDegreeAnonymity(3))
    release.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "arcs in and arcs out" in page
    assert np.isfinite(list(release.loss.values())).all()


def test_colluders_by_name_or_a_clear_refusal():
    graph = read_graph(nx.Graph([("Alice", "Bob"), ("Bob", "Carol"), ("Carol", "Dan")]))
    by_name = colluding_neighbours(graph, colluders=["Alice", "Carol"])
    places = [graph.labels.index(name) for name in ("Alice", "Carol")]
    assert by_name.exposed == colluding_neighbours(graph, colluders=places).exposed
    with pytest.raises(ParameterError, match="whole numbers"):
        colluding_neighbours(graph, colluders=["Alice", "Eve"])
