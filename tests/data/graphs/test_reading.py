"""Graphs from edge lists, GraphML, networkx, sparse matrices and pairs; what is refused."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.graphs.edge_files import write_edge_file
from sfumato.data.graphs.graphml import write_graphml
from sfumato.data.graphs.sources import read_graph
from sfumato.errors import DataError, ParameterError

EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]


def same(graph, edges=EDGES, n=4):
    assert len(graph) == n
    assert {tuple(edge) for edge in graph.edges.tolist()} == set(edges)


def test_every_source(tmp_path):
    same(read_graph(EDGES))
    path = tmp_path / "g.edges"
    path.write_text("# a comment\n0 1\n1\t2\n0,2\n2 3\n")
    same(read_graph(path))
    (tmp_path / "g.edges.gz").write_bytes(gzip.compress(path.read_bytes()))
    same(read_graph(tmp_path / "g.edges.gz"))
    same(read_graph(nx.Graph(EDGES)))
    matrix = np.zeros((4, 4))
    for u, v in EDGES:
        matrix[u, v] = matrix[v, u] = 1
    same(read_graph(csr_array(matrix)))
    graph = read_graph(EDGES, nodes={"0": {"job": "nurse"}})
    write_graphml(tmp_path / "g.graphml", graph)
    again = read_graph(tmp_path / "g.graphml")
    same(again)
    assert again.attributes["job"] == ("nurse", "", "", "")


def test_nodes_without_edges_are_not_lost(tmp_path):
    graph = read_graph(EDGES, nodes=range(6))
    assert len(graph) == 6
    write_edge_file(tmp_path / "g.edges", graph)
    same(read_graph(tmp_path / "g.edges"), n=6)
    lonely = nx.Graph(EDGES)
    lonely.add_node(9)
    assert len(read_graph(lonely)) == 5


def test_names_are_in_natural_order():
    graph = read_graph([("10", "9"), ("9", "anna")])
    assert graph.labels == ("9", "10", "anna")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 0\n0 1\n", "1 node to itself"),
        ("0 0\n1 1\n", "2 nodes to themselves"),
        ("0 1\n1 0\n", "more than once"),
        ("0 1 2\n", "two"),
        ("secret\n", "two"),
        ("", "at least 2"),
        ("# nodes 2\n0 5\n", "has others"),
    ],
)
def test_bad_files(tmp_path, text, words):
    path = tmp_path / "g.edges"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_graph(path)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value).replace(str(tmp_path), "")


def test_what_may_be_said_about_edges(tmp_path):
    path = tmp_path / "g.edges"
    path.write_text("0 0\n0 1\n1 0\n1 2\n")
    graph = read_graph(path, loops="drop", duplicates="merge")
    same(graph, [(0, 1), (1, 2)], 3)
    directed = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    kept = read_graph(directed)
    assert isinstance(kept, DirectedGraph)
    same(kept, [(0, 1), (1, 0), (1, 2)], 3)
    same(read_graph(directed, direction="ignore"), [(0, 1), (1, 2)], 3)
    with pytest.raises(ParameterError, match="can be 'drop'"):
        read_graph(path, loops="keep")


def test_directions(tmp_path):
    arcs = [(0, 1), (1, 0), (2, 1)]
    path = tmp_path / "g.edges"
    path.write_text("0 1\n1 0\n2 1\n")
    graph = read_graph(path, direction="keep")
    same(graph, arcs, 3)
    assert graph.degree_pairs.tolist() == [[1, 1], [2, 1], [0, 1]]
    assert graph.predecessors(1).tolist() == [0, 2]
    assert graph.successors(1).tolist() == [0]
    assert graph.underlying.edges.tolist() == [[0, 1], [1, 2]]
    assert "3 arcs" in repr(graph)
    write_edge_file(tmp_path / "out.edges", graph)
    write_graphml(tmp_path / "out.graphml", graph)
    for written in ("out.edges", "out.graphml"):
        again = read_graph(tmp_path / written)
        assert isinstance(again, DirectedGraph)
        same(again, arcs, 3)
    matrix = csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0]]))
    same(read_graph(matrix), arcs, 3)
    same(read_graph(arcs, direction="keep"), arcs, 3)
    assert read_graph(graph) is graph
    same(read_graph(graph, direction="ignore"), [(0, 1), (1, 2)], 3)


def test_directions_that_are_refused(tmp_path):
    with pytest.raises(DataError, match="no direction"):
        read_graph(nx.Graph([(0, 1)]), direction="keep")
    with pytest.raises(DataError, match="more than once; give"):
        read_graph([(0, 1), (0, 1)], direction="keep")
    with pytest.raises(DataError, match="1 node to itself"):
        read_graph([(0, 1), (1, 1)], direction="keep")
    with pytest.raises(ParameterError, match="'keep' or 'ignore'"):
        read_graph([(0, 1)], direction="both")
    path = tmp_path / "g.graphml"
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
    nodes = '<node id="a"/><node id="b"/>'
    path.write_text(
        f'{head}{nodes}<edge source="a" target="b" directed="false"/></graph></graphml>'
    )
    with pytest.raises(DataError, match="mixes"):
        read_graph(path)
    path.write_text(f'{head}{nodes}<node id="a"/></graph></graphml>')
    with pytest.raises(DataError, match="two with the same"):
        read_graph(path)


def test_other_bad_input(tmp_path):
    with pytest.raises(DataError, match="not a pair"):
        read_graph([(0, 1, 2)])
    for nobody in (None, float("nan"), ""):
        with pytest.raises(DataError, match="Edge 2 leaves out"):
            read_graph([(0, 1), (nobody, 1)])
    with pytest.raises(DataError, match="square"):
        read_graph(csr_array(np.ones((2, 3))))
    with pytest.raises(ParameterError, match="not from int"):
        read_graph(5)
    with pytest.raises(DataError, match="not a file"):
        read_graph(tmp_path / "none.edges")
    bad = tmp_path / "g.graphml"
    bad.write_text("<graphml><graph>")
    with pytest.raises(DataError, match="not well-formed"):
        read_graph(bad)
    bad.write_text('<!DOCTYPE x [<!ENTITY a "b">]><graphml/>')
    with pytest.raises(DataError, match="entities"):
        read_graph(bad)


def test_every_source_says_what_is_wrong_with_it():
    """Loops and edges that are there twice, in whatever kind they come."""
    loop, twice = [(0, 0), (0, 1)], [(0, 1), (1, 0)]
    sources = (
        (loop, "The list of edges joins 1 node to itself"),
        (nx.Graph(loop), "The networkx graph joins 1 node"),
        (csr_array(np.array([[1, 1], [1, 0]])), "The matrix joins 1 node"),
        (twice, "The list of edges names 1 edge more than once"),
        (nx.MultiGraph(twice), "The networkx graph names 1 edge more than once"),
        ([], "The list of edges has 0 nodes"),
        (csr_array((1, 1)), "The matrix has 1 node;"),
        (csr_array((0, 0)), "The matrix has 0 nodes"),
    )
    for source, words in sources:
        with pytest.raises(DataError, match=words):
            sf.read(source, shape="graph")


def test_nodes_without_edges_are_released_too(tmp_path):
    lonely = nx.Graph([(0, 1)])
    lonely.add_nodes_from(range(2, 7))
    for algorithm in ("edit", "group"):
        release = sf.anonymize(lonely, sf.KDegreeAnonymity(2), shape="graph", algorithm=algorithm)
        release.save(tmp_path / algorithm)
        checked = sf.verify(tmp_path / algorithm)
        assert checked.holds
        assert checked.records == 7
    everybody = sf.anonymize(lonely, sf.KDegreeAnonymity(7), shape="graph", edits="add")
    assert set(dict(everybody.data.degree).values()) == {2}  # an odd cycle: not all can have 1
    nobody = sf.anonymize(nx.empty_graph(5), sf.KDegreeAnonymity(5), shape="graph")
    assert nobody.loss["edits"] == 0


def test_more_than_a_graph_is_refused(tmp_path):
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    path = tmp_path / "g.graphml"
    for part, words in (
        ('<hyperedge><endpoint node="a"/></hyperedge>', "more than two nodes"),
        ('<node id="c"><graph edgedefault="undirected"/></node>', "graph within a node"),
        ('<edge source="a" target="secret"/>', "a node that it does not list"),
        ("<node/>", "nodes without an id"),
    ):
        nodes = '<node id="a"/><node id="b"/>'
        path.write_text(f"{head}{nodes}{part}</graph></graphml>")
        with pytest.raises(DataError, match=words) as caught:
            sf.read(path, shape="graph")
        assert "secret" not in str(caught.value)
    path.write_text("")
    with pytest.raises(DataError, match="not well-formed"):
        sf.read(path, shape="graph")


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_a_k_that_is_no_number_of_people(k):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        sf.KDegreeAnonymity(k)


def test_a_graph_of_two_nodes(tmp_path):
    for edges in ([], [(0, 1)]):
        graph = read_graph(edges, nodes=range(2))
        for algorithm in ("edit", "group"):
            release = sf.anonymize(graph, sf.KDegreeAnonymity(2), algorithm=algorithm)
            release.save(tmp_path / f"{algorithm}{len(edges)}")
            assert sf.verify(tmp_path / f"{algorithm}{len(edges)}").holds


def test_releases_come_back_in_kind():
    made = sf.anonymize(sf.read(nx.Graph(EDGES), shape="graph"), sf.KDegreeAnonymity(2)).data
    assert isinstance(made, nx.Graph)
    matrix = nx.to_scipy_sparse_array(nx.Graph(EDGES))
    made = sf.anonymize(sf.read(matrix, shape="graph"), sf.KDegreeAnonymity(2)).data
    assert made.shape == (4, 4)


def test_attributes_are_released_only_where_asked():
    people = {i: {"job": "nurse" if i % 2 else "clerk"} for i in range(4)}
    graph = read_graph(EDGES, nodes=people)
    plain = sf.anonymize(graph, sf.KDegreeAnonymity(2))
    assert not plain.artefact.graph.attributes
    kept = sf.anonymize(graph, sf.KDegreeAnonymity(2), keep=["job"])
    assert sorted(kept.artefact.graph.attributes["job"]) == ["clerk", "clerk", "nurse", "nurse"]
    assert any("job" in finding.text for finding in kept.verify().findings)


def test_a_first_line_that_names_the_columns_is_no_edge(tmp_path):
    path = tmp_path / "x.csv"
    for header in ("source,target", "From,To", '"src","dst"'):
        path.write_text(f"{header}\na,b\nb,c\n")
        assert len(read_graph(path)) == 3
    path.write_text("u,v\nv,w\n")  # people of these names, since one of them has another friend
    assert len(read_graph(path)) == 3


def test_a_matrix_without_a_number_is_refused():
    from scipy.sparse import coo_array

    with pytest.raises(DataError, match="no number in some cell"):
        read_graph(coo_array(np.array([[0, np.nan], [np.nan, 0]])))


def test_a_query_that_fails_is_said_to_be_the_users():
    graph = read_graph([(0, 1), (1, 2)])
    for query in (lambda _graph, _node: 1 / 0, lambda _graph, _node: []):
        with pytest.raises(ParameterError, match="query of NodeKAnonymity raised"):
            sf.verify(graph, definition=sf.NodeKAnonymity(2, query=query), shape="graph")


def test_a_networkx_graph_needs_no_shape():
    given = nx.Graph([("a", "b"), ("b", "c")])
    found = sf.read(given)
    assert (found.shape, found.labels, len(found.edges)) == ("graph", ("a", "b", "c"), 2)
    assert isinstance(sf.read(nx.DiGraph([(0, 1)])), DirectedGraph)
