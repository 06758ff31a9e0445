"""Bad files of sets, trees, graphs and traces: one clear message, nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli import run

TREES = """
attributes:
  town: {role: quasi}
  visits.ward: {role: quasi}
"""
PEOPLE = """
attributes:
  age: {role: quasi}
  films: {role: quasi, type: set}
"""
SETS = ["--shape", "sets", "--km", "2:2"]
TREE = ["--shape", "trees", "-s", "trees.yaml", "-k", "2"]
GRAPH = ["--shape", "graph", "--k-degree", "2"]
HYBRID = ["--shape", "hybrid", "-s", "people.yaml", "-k", "2", "--km", "2:2:films"]
TRACES = ["--shape", "trajectories", "-k", "2", "--bounds=0,100,0,100"]
POINTS = b"person,x,y,time\n"
FOREST = '{"town": "x", "visits": [{"ward": "1"}]}\n' * 3

CASES = {
    "sets, empty": ("x.dat", b"", SETS, "no set"),
    "sets, blank lines": ("x.dat", b"\n\n\n", SETS, "holds any item"),
    "sets, one": ("x.dat", b"a b\n", SETS, "only 1"),
    "sets, k above n": ("x.dat", b"a b\na b\n", ["--shape", "sets", "--km", "9:2"], "only 2"),
    "sets, few with items": ("x.dat", b"a b\n\n\n", SETS, "only 1 that hold any item"),
    "sets, unknown to the hierarchy": (
        "x.dat", b"a b\nc b\n", [*SETS, "--hierarchy", "goods.csv"], "does not cover 1 item"),
    "sets, encoding": ("x.dat", "é a\n".encode("latin-1"), SETS, "not text in utf-8"),
    "sets, nobody": ("x.csv", b"who,what\n1,a\n,b\n", SETS, "name nobody"),
    "sets, columns twice": ("x.csv", b"who,what,what\n1,a,b\n", SETS, "same name"),
    "sets, packed and torn": ("x.dat.gz", b"\x1f\x8bgarbage", SETS, "cannot be read"),
    "trees, empty": ("x.jsonl", b"", TREE, "no records"),
    "trees, one": ("x.jsonl", FOREST[: FOREST.index("\n")].encode(), TREE, "only 1"),
    "trees, torn": ("x.jsonl", FOREST[:-9].encode(), TREE, "line 3 is not valid JSON"),
    "trees, deep": ("x.jsonl", b'{"c":' * 99_999 + b"1" + b"}" * 99_999, TREE, "too deeply"),
    "trees, kinds": (
        "x.jsonl", FOREST.encode() + b'{"town": "x", "visits": "none"}\n', TREE, "one kind"),
    "trees, no label": ("x.jsonl", b'{"visits": [{"ward": "1"}]}\n' * 2, TREE, "'town'"),
    "trees, key twice": ("x.jsonl", b'{"town": 1, "town": 2}\n' * 2, TREE, "key twice"),
    "trees, entities": (
        "x.xml", b"<!DOCTYPE l [<!ENTITY a 'a'>]><l><r><town>&a;</town></r></l>", TREE, "entities"),
    "trees, empty list": ("x.json", b"[]", TREE, "no records"),
    "trees, empty json": ("x.json", b"", TREE, "not valid JSON"),
    "trees, empty xml": ("x.xml", b"", TREE, "not well-formed"),
    "trees, torn xml": ("x.xml", b"<l><r><town>hidden", TREE, "not well-formed"),
    "trees, deep xml": (
        "x.xml", b"<l><r>" + b"<a>" * 999 + b"</a>" * 999 + b"</r></l>", TREE, "50 levels"),
    "trees, k above n": ("x.jsonl", FOREST.encode(), [*TREE[:-1], "9"], "only 3"),
    "trees, facts of k above n": (
        "x.jsonl", FOREST.encode(), [*TREE[:-2], "--kmn", "9:2:1"], "only 3"),
    "trees, plain beside objects": (
        "x.jsonl", FOREST.encode() + b'{"town": {"hidden": 1}}\n', TREE, "plain values at 'town'"),
    "trees, lists in lists": ("x.jsonl", b'{"town": [["hidden"]]}\n', TREE, "list within a list"),
    "trees, no roles": ("x.jsonl", FOREST.encode(), ["--shape", "trees", "-k", "2"], "no roles"),
    "graph, empty": ("x.edges", b"", GRAPH, "0 nodes"),
    "graph, loop": ("x.edges", b"a a\na b\n", GRAPH, "loops='drop'"),
    "graph, edge twice": ("x.edges", b"a b\nb a\n", GRAPH, "duplicates='merge'"),
    "graph, k above n": ("x.edges", b"a b\n", ["--shape", "graph", "--k-degree", "3"], "3 nodes"),
    "graph, a name alone": ("x.edges", b"a b\nc\n", GRAPH, "line 2"),
    "graph, groups of k above n": (
        "x.edges", b"a b\n",
        ["--shape", "graph", "--node-k", "3:degree", "--algorithm", "group"], "3 nodes"),
    "graph, no k": ("x.edges", b"a b\n", ["--shape", "graph", "--k-degree", "0"], "at least 1"),
    "graph, bytes": ("x.edges", "é a\n".encode("latin-1"), GRAPH, "not UTF-8"),
    "graph, empty graphml": ("x.graphml", b"", GRAPH, "not well-formed"),
    "graph, no graph": ("x.graphml", b"<a/>", GRAPH, "holds no graph"),
    "graph, unknown end": (
        "x.graphml", (b"<graphml><graph><node id='a'/><edge source='a' target='hidden'/></graph>"
        b"</graphml>"), GRAPH, "does not list"),
    "graph, hyperedge": (
        "x.graphml", b"<graphml><graph><node id='a'/><node id='b'/><hyperedge/></graph></graphml>",
        GRAPH, "more than two nodes"),
    "graph, torn": ("x.graphml", b"<graphml><graph>", GRAPH, "not well-formed"),
    "hybrid, header only": ("x.csv", b"age,films\n", HYBRID, "no records"),
    "hybrid, k above n": ("x.csv", b"age,films\n1,a|b\n", HYBRID, "only 1"),
    "hybrid, no items": ("x.csv", b"age,films\n1,\n2,\n", HYBRID, "No record has an item"),
    "traces, empty": ("x.csv", b"", TRACES, "is empty"),
    "traces, header only": ("x.csv", POINTS, TRACES, "at least one is needed"),
    "traces, no number": (
        "x.csv", POINTS + b"a,1,1,5\nb,nan,2,6\nc,,3,9\n", TRACES, "2 row(s) have no finite"),
    "traces, no time": (
        "x.csv", POINTS + b"a,1,1,hidden\nb,1,1,5\n", TRACES, "no time that can be read"),
    "traces, nobody": ("x.csv", POINTS + b",1,1,5\nb,1,1,5\n", TRACES, "name no person"),
    "traces, one person": ("x.csv", POINTS + b"a,1,1,5\na,2,2,6\n", TRACES, "those of 1"),
    "traces, beyond the pole": (
        "x.csv", b"person,lon,lat,time\na,1,1,5\nb,1,95,6\n", TRACES, "latitude beyond 90"),
    "traces, all outside": (
        "x.csv", POINTS + b"a,900,1,5\nb,900,1,5\n", TRACES, "No point lies inside the bounds"),
    "traces, no such column": (
        "x.csv", POINTS + b"a,1,1,5\n", [*TRACES, "--person", "cab"], "no column 'cab'"),
}  # fmt: skip

TOO_FEW = {
    "sets, one", "sets, k above n", "sets, few with items", "trees, one", "graph, k above n",
    "hybrid, k above n", "trees, k above n", "trees, facts of k above n",
    "graph, groups of k above n", "traces, one person",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_files_are_refused_in_words(case, tmp_path, monkeypatch, capsys):
    name, content, words, expected = CASES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.yaml").write_text(TREES)
    (tmp_path / "people.yaml").write_text(PEOPLE)
    (tmp_path / "goods.csv").write_text("a,X,*\nb,X,*\n")
    (tmp_path / name).write_bytes(content)
    before = set(Path.cwd().iterdir())
    code = 1 if case in TOO_FEW else 2  # a promise that cannot be kept, or input that is wrong
    assert run(["anonymize", name, *words, "-o", "out", "-L", "book.sqlite"]) == code
    said = " ".join(capsys.readouterr().err.split())
    assert "Traceback" not in said
    assert expected in said
    assert "hidden" not in said
    assert set(Path.cwd().iterdir()) == before, "something was left behind"


READ_ON = {
    "two nodes": (b"a b\n", []),
    "two nodes without an edge": (b"# nodes 2\n", []),
    "isolated nodes": (b"# nodes 6\n0 1\n", []),
    "loops": (b"a a\na b\nb c\n", ["--loops", "drop"]),
    "edges twice": (b"a b\nb a\nb c\n", ["--duplicates", "merge"]),
}


@pytest.mark.parametrize("case", READ_ON)
@pytest.mark.parametrize("algorithm", ["edit", "group"])
def test_graphs_that_are_odd_but_no_mistake(case, algorithm, tmp_path, monkeypatch, capsys):
    content, words = READ_ON[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.edges").write_bytes(content)
    ways = [*GRAPH, "--algorithm", algorithm, *words, "-o", "out"]
    assert run(["anonymize", "x.edges", *ways]) == 0
    assert run(["verify", "out", *GRAPH]) == 0
    assert "Traceback" not in capsys.readouterr().err


ODD_TRACES = {
    "time goes backwards": b"a,1,1,9\na,2,2,3\nb,1,1,9\nb,2,2,3\n",
    "all at one place": b"a,1,1,5\nb,1,1,5\nc,1,1,5\n",
    "one point each": b"a,1,1,5\nb,70,8,905\nc,1,90,3\n",
    "some outside": b"a,1,1,5\nb,2,2,6\nb,900,2,7\n",
    "a moment twice": b"a,1,1,5\na,9,9,5\nb,2,2,6\n",
}


@pytest.mark.parametrize("case", ODD_TRACES)
def test_traces_that_are_odd_but_no_mistake(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_bytes(POINTS + ODD_TRACES[case])
    assert run(["anonymize", "x.csv", *TRACES, "-o", "out"]) == 0
    assert run(["verify", "out", "--shape", "trajectories", "-k", "2"]) == 0
    attack = ["attack", "out", "--shape", "trajectories", "--original", "x.csv"]
    assert run(attack) == 0
    assert "Traceback" not in capsys.readouterr().err
