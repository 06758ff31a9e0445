"""Trees from JSON, JSON lines, XML and Python; what is refused, and what is suggested."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.commands import application
from sfumato.data.trees.json_files import write_json, write_json_lines
from sfumato.data.trees.nested import to_nested
from sfumato.data.trees.sources import read_trees
from sfumato.data.trees.suggestions import inspect_trees
from sfumato.data.trees.xml_files import write_xml
from sfumato.errors import DataError, ParameterError, SchemaError

RECORDS = [
    {"town": "a", "age": 30, "visits": [{"ward": "1", "drugs": ["x", "y"]}, {"ward": "2"}]},
    {"town": "b", "age": 31, "visits": []},
    {"town": None, "age": 32, "home": {"street": "s", "owner": True}},
]


def sorted_lists(value):
    """Nested values without the order of lists, and without what is missing."""
    if isinstance(value, dict):
        return {k: sorted_lists(v) for k, v in value.items() if v not in (None, [], "")}
    if isinstance(value, list):
        return sorted((sorted_lists(v) for v in value), key=repr)
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_types_and_labels():
    trees = read_trees(RECORDS)
    assert [kind.path for kind in trees.types] == ["", "home", "visits", "visits.drugs"]
    assert trees.labels == (
        "town", "age", "home.street", "home.owner", "visits.ward", "visits.drugs",
    )  # fmt: skip
    assert len(trees) == 3
    assert [len(places) for places in trees.of_type] == [3, 1, 2, 2]
    assert not trees.detached.any()
    assert trees.forms["age"] == "number"
    assert trees.forms["home.owner"] == "logical"
    assert list(trees.values["town"]) == ["a", "b", ""]
    assert "a" not in repr(trees.values["town"].tolist()[2])


def test_there_and_back(tmp_path):
    wanted = sorted_lists(RECORDS)
    trees = read_trees(RECORDS)
    assert sorted_lists(to_nested(trees)) == wanted
    write_json(tmp_path / "t.json", to_nested(trees))
    write_json_lines(tmp_path / "t.jsonl", to_nested(trees))
    write_xml(tmp_path / "t.xml", to_nested(trees), ("people", "person"))
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    for name in ("t.json", "t.jsonl", "t.xml", "t.jsonl.gz"):
        again = read_trees(tmp_path / name)
        expected = [
            {**r, "home": [r["home"]]} if name == "t.xml" and "home" in r else r for r in wanted
        ]
        assert sorted_lists(to_nested(again)) == sorted(expected, key=repr), name
        assert again.name == "t"
    assert read_trees(tmp_path / "t.xml").tags == ("people", "person")
    assert json.loads((tmp_path / "t.json").read_text())[0]["age"] == 30


def test_every_object_has_all_its_keys_in_one_order():
    trees = read_trees(RECORDS)
    first, second, third = to_nested(trees)
    assert list(first) == list(second) == list(third)
    assert second["home"] is None
    assert second["visits"] == third["visits"] == []
    assert list(first["visits"][0]) == list(first["visits"][1]) == ["ward", "drugs"]


def test_detached_children_keep_their_place():
    trees = read_trees([{"visits": [{"ward": "1", "drugs": []}], "visits.drugs": ["x"]}])
    assert trees.detached.tolist() == [False, False, True]
    assert to_nested(trees) == [{"visits": [{"ward": "1", "drugs": []}], "visits.drugs": ["x"]}]


def test_one_value_where_others_have_lists():
    trees = read_trees([{"drug": "x"}, {"drug": ["x", "y"]}, {"drug": None}])
    assert [len(places) for places in trees.of_type] == [3, 3]
    assert [record["drug"] for record in to_nested(trees)] == [["x"], ["x", "y"], []]


def test_numbers_keep_their_digits(tmp_path):
    path = tmp_path / "n.jsonl"
    path.write_text('{"pay": 1.10, "big": 12345678901234567890}\n')
    trees = read_trees(path)
    assert list(trees.values["pay"]) == ["1.10"]
    write_json_lines(tmp_path / "again.jsonl", to_nested(trees))
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()


def test_json_with_one_list_around_the_records(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps({"entry": [{"a": "1"}, {"a": "2"}]}))
    assert len(read_trees(tmp_path / "b.json")) == 2
    (tmp_path / "one.json").write_text(json.dumps({"a": "1", "b": [{"c": "2"}]}))
    assert len(read_trees(tmp_path / "one.json")) == 1


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", '{"secret": "ann"}\n{broken}\n', "line 2 is not valid JSON"),
        ("a.jsonl", '{"secret": 1, "secret": 2}\n', "a key twice"),
        ("a.jsonl", "[1, 2]\n", "record 1 is not an object"),
        ("a.json", '"secret"', "neither a list of records nor a record"),
        ("a.json", "[]", "no records"),
        ("a.jsonl", '{"a": [[1]]}\n', "a list within a list at 'a'"),
        ("a.jsonl", '{"a": [{"b": 1}, "secret"]}\n', "objects and plain values at 'a'"),
        ("a.jsonl", '{"a": {"b": 1}}\n{"a": "secret"}\n', "objects and plain values at 'a'"),
        ("a.jsonl", '{"": "secret"}\n', "a key is not a name"),
        ("a.jsonl", '{"a.b": "secret"}\n', "has a dot"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", '{"a":' * 60 + "{}" + "}" * 60 + "\n", "more than 50 levels"),
        ("a.xml", "<r><p>", "not well-formed"),
        ("a.xml", "<!DOCTYPE r><r><p/></r>", "document type"),
        ("a.xml", "<r><p/><q/></r>", "2 names"),
        ("a.xml", '<r><p b="secret"><b>1</b></p></r>', "attribute and an element"),
        ("a.xml", "<r><p>" + "<b>" * 60 + "</b>" * 60 + "</p></r>", "more than 50 levels"),
        ("a.csv", "a,b\n", "none of the endings"),
    ],
)
def test_bad_files(tmp_path, name, text, words):
    with pytest.raises(DataError) as caught:
        read_trees(write(tmp_path / name, text))
    assert words in str(caught.value)
    assert "secret" not in str(caught.value).replace(str(tmp_path), "")


def test_other_bad_input(tmp_path):
    loop = {"a": "1"}
    loop["again"] = [loop]
    with pytest.raises(DataError, match="contains itself"):
        read_trees([loop])
    with pytest.raises(DataError, match="not a file"):
        read_trees(tmp_path / "none.json")
    with pytest.raises(ParameterError, match="not from int"):
        read_trees(7)
    (tmp_path / "latin.json").write_bytes('["\xe4"]'.encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_trees(tmp_path / "latin.json")
    (tmp_path / "bad.json.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="cannot be read"):
        read_trees(tmp_path / "bad.json.gz")
    with pytest.raises(SchemaError, match="Did you mean 'town'"):
        read_trees(RECORDS, schema=sf.Schema(quasi=["towm"]))


def test_what_is_no_value_is_refused():
    for thing in (object(), b"secret", {"secret"}, len):
        with pytest.raises(DataError, match="'town' holds a value of the type") as caught:
            read_trees([{"town": thing}])
        assert "secret" not in str(caught.value)
    around = {"town": "x"}
    around["visits"] = [{"ward": "1", "of": around}]
    deep = {}
    inner = deep
    for _ in range(5_000):
        inner["a"] = inner = {}
    endless = []
    endless.append(endless)
    for records, words in (
        ([around], "The list of records has a record that contains itself"),
        ([deep], "more than 50 levels"),
        ([{"town": endless}], "a list within a list"),
        (endless, "record 1 is not an object"),
        ([], "The list of records has no records"),
    ):
        with pytest.raises(DataError, match=words):
            read_trees(records)


def test_mixed_types_and_missing_labels_are_shown_as_unknown():
    """Numbers beside text are labels like others; what is missing meets what is there at `*`."""
    schema = sf.Schema(quasi=["town", "visits.ward"])
    one = {"town": "x", "visits": [{"ward": "1"}]}
    whole = {"town": "*", "visits": [{"ward": "*"}]}
    for other in (
        {"town": 5, "visits": [{"ward": True}]},
        {"town": None, "visits": [{"ward": ""}]},
        {"visits": [{}]},
    ):
        release = sf.anonymize([one, other], sf.KAnonymity(2), shape="trees", schema=schema)
        assert release.verify().holds
        assert release.data == [whole, whole]
    bare = sf.anonymize([one, {}], sf.KAnonymity(2), shape="trees", schema=schema)
    assert bare.data == [{"town": "*", "visits": []}] * 2  # left out without a trace


def test_references_in_a_circle_are_labels_like_others(tmp_path):
    """Bundles as FHIR writes them, one per patient; what points back is an identifier."""
    bundles = [
        {
            "resourceType": "Bundle",
            "entry": [
                {"fullUrl": f"urn:{i}a", "resource": {"code": "flu", "of": f"urn:{i}b"}},
                {"fullUrl": f"urn:{i}b", "resource": {"code": "xyz"[i % 3], "of": f"urn:{i}a"}},
            ],
        }
        for i in range(6)
    ]
    path = tmp_path / "bundles.json"
    path.write_text(json.dumps(bundles))
    schema = sf.Schema(
        identifiers=["entry.fullUrl", "entry.resource.of"], quasi=["entry.resource.code"]
    )
    release = sf.anonymize(sf.read(path, shape="trees", schema=schema), sf.KAnonymity(2))
    assert release.verify().holds
    assert "urn" not in json.dumps(release.data)
    assert all(len(record["entry"]) == 2 for record in release.data)


def test_huge_trees_are_read():
    records = [{"visits": [{"ward": str(i % 7)} for i in range(20_000)]} for _ in range(3)]
    assert len(read_trees(records).type_of) == 60_003


def test_suggestions():
    records = [
        {"id": f"p{i}", "gender": "mf"[i % 2], "visits": [{"start": f"2020-01-{i % 28 + 1:02d}",
         "conditions": ["flu" if i % 3 else "gout"]}]}
        for i in range(60)
    ]  # fmt: skip
    found = inspect_trees(records)
    roles = {one.name: one.role for one in found.columns}
    assert roles == {
        "id": "identifier", "gender": "quasi", "visits.start": "quasi",
        "visits.conditions": "sensitive",
    }  # fmt: skip
    trees = read_trees(records, schema=found.schema)
    assert sf.anonymize(trees, sf.KAnonymity(3)).verify().holds


def test_from_file_to_release_on_the_command_line(tmp_path):
    records = [
        {"gender": "mf"[i % 2], "visits": [{"ward": str(i % 3), "diagnosis": "abc"[i // 2 % 3]}]}
        for i in range(24)
    ]
    data = tmp_path / "people.jsonl"
    data.write_text("".join(f"{json.dumps(record)}\n" for record in records))

    def run(*words):
        done = CliRunner().invoke(application(words), list(words), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    schema, out = str(tmp_path / "s.yaml"), str(tmp_path / "out")
    assert "visits.ward" in run("inspect", str(data), "--shape", "trees", "-o", schema)
    run("anonymize", str(data), "--shape", "trees", "-s", schema, "-k", "4",
        "-l", "2:visits.diagnosis", "-o", out)  # fmt: skip
    assert sf.verify(out).holds
    assert "holds" in run("verify", out, "--shape", "trees", "-s", schema, "-k", "4")
    run("attack", out, "--shape", "trees", "-s", schema, "--original", str(data))
    other = str(tmp_path / "other")
    run("anonymize", str(data), "--shape", "trees", "-s", schema, "--kmn", "3:2:1", "-o", other)
    assert sf.verify(other).holds
    assert "--kmn" in run("anonymize", "--shape", "trees", "--help")


def test_an_adversary_counts_children_of_every_type():
    # fan-out is part of what is known: the same labels, another number of tests
    schema = sf.Schema(quasi=["ward"], insensitive=["tests"])
    records = [{"ward": "1", "tests": ["p"]}, {"ward": "1", "tests": ["p", "p"]}]
    assert sf.verify(records, schema, sf.KAnonymity(2), shape="trees").found["k"] == 1
    release = sf.anonymize(read_trees(records, schema=schema), sf.KAnonymity(2))
    assert [len(record["tests"]) for record in release.data] == [1, 1]
    assert np.isclose(release.loss["vertices left out"], 1 / 5)
