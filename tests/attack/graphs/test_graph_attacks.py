"""Attacks on graphs: H1 to H4 by brute force, colluders, planted accounts, seeds, edges."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from chance import seeds

import sfumato as sf
from sfumato.attack.graphs import inference
from sfumato.attack.graphs.collusion import colluding_neighbours
from sfumato.attack.graphs.edges import edge_disclosure
from sfumato.attack.graphs.inference import edge_inference
from sfumato.attack.graphs.planting import planted_subgraph
from sfumato.attack.graphs.propagation import propagate, seed_propagation
from sfumato.attack.graphs.structure import structural_knowledge
from sfumato.data.graphs.sources import read_graph
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import ParameterError
from sfumato.released.structure import structural_classes


def random_graph(seed, n=9, share=0.4):
    chance = np.random.default_rng(seed)
    edges = [pair for pair in combinations(range(n), 2) if chance.random() < share]
    return read_graph(edges, nodes=range(n))


def social(n=300, seed=2):
    """A graph with hubs and triangles."""
    chance = np.random.default_rng(seed)
    edges = {(0, 1), (1, 2), (0, 2)}
    ends = [0, 1, 2, 0, 1, 2]
    for u in range(3, n):
        for v in {ends[i] for i in chance.integers(0, len(ends), 4)}:
            edges.add((min(u, v), max(u, v)))
            ends += [u, v]
    return read_graph(sorted(edges), nodes=range(n))


def surroundings(graph, node, depth):
    """H_depth of a node, as nested sorted tuples."""
    if depth == 1:
        return len(graph.around(node))
    below = [surroundings(graph, int(v), depth - 1) for v in graph.around(node)]
    return tuple(sorted(map(str, below)))


@seeds(200)
def test_candidate_sets_against_brute_force(seed):
    graph = random_graph(seed)
    for depth in (1, 2, 3, 4):
        classes = structural_classes(graph, depth)
        answers = [surroundings(graph, u, depth) for u in range(len(graph))]
        for u, v in combinations(range(len(graph)), 2):
            assert (classes[u] == classes[v]) == (answers[u] == answers[v])
        alone = sum(1 for count in Counter(answers).values() if count == 1)
        found = structural_knowledge(graph, depth=depth)
        assert found.exposed == alone


def test_a_release_tells_what_stronger_adversaries_find():
    graph = social()
    release = sf.anonymize(graph, sf.KDegreeAnonymity(5))
    found = sf.attack.precheck(release)
    assert found.outcome("degree (H1)").exposed == 0
    assert found.outcome("neighbours' degrees (H2)").exposed > 0
    names = {attempt.name for attempt in found.tried}
    assert {"wider surroundings (H3)", "wider surroundings (H4)", "seed propagation"} <= names
    tried = {attempt.name: attempt for attempt in found.tried}
    assert tried["planted subgraph"].before.exposed == 10
    assert "edge inference" in names
    assert not found.skipped
    grouped = sf.attack.precheck(sf.anonymize(graph, sf.KDegreeAnonymity(5), algorithm="group"))
    assert grouped.outcome("wider surroundings (H4)").exposed == 0
    assert grouped.outcome("planted subgraph").exposed == 0


def test_attacks_that_publish_say_what_they_lack(tmp_path, monkeypatch):
    graph = social(60)
    sf.anonymize(graph, sf.KDegreeAnonymity(3), edits="add").save(tmp_path / "out", report=False)
    alone = dict(sf.attack.precheck(tmp_path / "out", shape="graph").skipped)
    assert alone["planted subgraph"] == alone["edge inference"] == "it needs the original graph"
    both = sf.attack.precheck(tmp_path / "out", shape="graph", original=graph)
    assert both.outcome("edge inference").people == 0  # published again by adding alone
    bare = dict(sf.attack.precheck(graph, shape="graph", original=graph).skipped)
    assert bare["planted subgraph"].startswith("it needs publish=")
    monkeypatch.setattr(inference, "MANY", 10)
    wide = sf.attack.precheck(tmp_path / "out", shape="graph", original=graph)
    assert "pairs of people" in dict(wide.skipped)["edge inference"]


def test_the_report_says_who_is_still_found(tmp_path):
    release = sf.anonymize(social(), sf.KDegreeAnonymity(5))
    release.report(tmp_path / "plain.html")
    text = " ".join((tmp_path / "plain.html").read_text().split())
    found = sf.attack.precheck(release)
    alone = found.outcome("neighbours' degrees (H2)").exposed
    assert f"{alone:,} of 300 nodes still stand alone" in text
    for depth in ("H1", "H2", "H3", "H4"):
        assert f'<th scope="row">{depth}</th>' in text
    assert "between friends of two people who find themselves" in text
    assert "“edit”." in text
    release.report(tmp_path / "full.html", precheck=found)
    full = (tmp_path / "full.html").read_text()
    for attempt in found.tried:
        assert attempt.name.replace("'", "&#39;") in full


def test_two_who_find_themselves_learn_that_others_are_friends():
    # 0 and 1 work together; 2 is a friend of both, 3 of 0 alone: their signatures differ
    graph = read_graph([(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)])
    found = colluding_neighbours(graph, colluders=[0, 1])
    assert found.exposed == 2
    assert found.figures["edges disclosed between others"] == 1
    assert found.findings[0].evidence["nodes"] == (2, 3)
    with pytest.raises(ParameterError, match="whole numbers from 0"):
        colluding_neighbours(graph, colluders=[9])


def test_classes_that_are_all_joined_disclose_edges():
    # every node of degree 3 is joined to every node of degree 2
    graph = read_graph([(u, v) for u in (0, 1) for v in (2, 3, 4)])
    found = edge_disclosure(graph)
    assert found.exposed == 6
    assert found.posterior == 1.0


def test_planted_accounts_find_themselves_unless_nodes_are_grouped():
    graph = social()

    def as_it_is(graph, seed):
        return sf.anonymize(graph, sf.KDegreeAnonymity(1), seed=seed)

    def grouped(graph, seed):
        return sf.anonymize(graph, sf.KDegreeAnonymity(5), algorithm="group", seed=seed)

    open_ = planted_subgraph(graph, as_it_is, seed=4)
    assert open_.exposed == open_.people == 10
    assert planted_subgraph(graph, grouped, seed=4).exposed == 0
    release = sf.anonymize(graph, sf.KDegreeAnonymity(1))
    tried = sf.attack.precheck(release, publish=as_it_is)
    assert tried.outcome("planted subgraph").exposed > 0
    with pytest.raises(ParameterError, match="accounts"):
        planted_subgraph(graph, as_it_is, accounts=1)


def test_removed_edges_are_guessed_from_common_friends():
    # two groups of friends, in which everybody knows everybody; the publisher takes four edges out
    clubs = [pair for club in (range(8), range(8, 16)) for pair in combinations(club, 2)]
    graph = read_graph(clubs, nodes=range(16))

    def fewer(graph, seed):
        order = np.arange(len(graph))
        shuffle(order, RandomWords(seed))
        return read_graph(np.sort(order[graph.edges[4:]], axis=1).tolist(), nodes=range(16))

    found = edge_inference(graph, fewer)
    assert (found.people, found.exposed) == (4, 4)
    assert found.posterior == 1.0

    def added(graph, seed):
        return sf.anonymize(graph, sf.KDegreeAnonymity(3), edits="add", seed=seed)

    assert edge_inference(social(80), added).people == 0

    def edited(graph, seed):
        return sf.anonymize(graph, sf.KDegreeAnonymity(4), edits="remove", seed=seed)

    few = social(80)
    removed = len(sf.anonymize(few, sf.KDegreeAnonymity(4), edits="remove").decision.content.edges)
    assert edge_inference(few, edited).people == len(few.edges) - removed


def test_seeds_propagate():
    graph = social(250)
    same = propagate(graph, graph, {u: u for u in np.argsort(-graph.degrees)[:15].tolist()})
    right = sum(a == b for a, b in same.items())
    assert right == len(same)
    assert right > 60
    found = seed_propagation(graph, overlap=0.9)
    assert found.exposed > 0
    assert found.figures["share of them right"] > 0.5
    order = np.random.default_rng(0).permutation(len(graph))
    renamed = read_graph([(int(order[u]), int(order[v])) for u, v in graph.edges], nodes=range(250))
    known = {int(u): int(order[u]) for u in np.argsort(-graph.degrees)[:15]}
    matched = propagate(graph, renamed, known)
    assert sum(order[a] == b for a, b in matched.items()) == len(matched) > 60
    with pytest.raises(ParameterError, match="known="):
        seed_propagation(graph, auxiliary=graph)
