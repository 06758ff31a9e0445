"""Hierarchy files and trees: what is read, what is written, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.hierarchies.hierarchy import MISSING, Hierarchy
from sfumato.data.hierarchies.nested_trees import tree_of_rows
from sfumato.errors import DataError, HierarchyError

ADULT = Path(__file__).resolve().parents[4] / "shared" / "data" / "adult"

WORKCLASS = {
    "*": {
        "government": ["state", "local", "federal"],
        "private": None,
        "self-employed": ["inc", "not-inc"],
        "unemployed": ["without-pay", "never-worked"],
    }
}


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    file = tmp_path / "age.csv"
    rows = [["30", "30-34", "*"], ["35", "35-39", "*"]]
    file.write_text("\n".join(delimiter.join(row) for row in rows))
    assert Hierarchy.read(file).rows() == [tuple(row) for row in rows]


def test_commas_in_labels_do_not_mislead(tmp_path):
    file = tmp_path / "age.csv"
    file.write_text("30;[30,35);*\n35;[35,40);*\n")
    assert Hierarchy.read(file).rows() == [("30", "[30,35)", "*"), ("35", "[35,40)", "*")]


def test_byte_order_mark_quotes_blank_lines_and_trailing_delimiters(tmp_path):
    file = tmp_path / "x.csv"
    file.write_bytes(b'\xef\xbb\xbf"a;b";"say ""x""";*;\r\n\r\nc;d;*;\r\n')
    assert Hierarchy.read(file).rows() == [("a;b", 'say "x"', "*"), ("c", "d", "*")]


def test_a_missing_cell_can_be_listed(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(";unknown;*\na;known;*\n")
    built = Hierarchy.read(file)
    assert built.over([MISSING, "a"], "x") is built
    assert built.label(built.codes[MISSING], 1) == "unknown"


@pytest.mark.real_data
def test_every_hierarchy_of_adult_survives_writing(tmp_path):
    if not ADULT.is_dir():
        pytest.skip(f"real data is absent: {ADULT}")
    files = sorted(ADULT.glob("adult_hierarchy_*.csv"))
    assert len(files) == 9
    for file in files:
        read = Hierarchy.read(file)
        read.write(tmp_path / file.name)
        assert (tmp_path / file.name).read_text().split() == file.read_text().split()
        assert Hierarchy.read(tmp_path / file.name).rows() == read.rows()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("a;b;*\nc;*\n", ["row 2", "2 levels", "3"]),
        ("a;*\na;*\n", ["row 2", "row 1"]),
        ("a;x\nb;y\n", ["2 roots"]),
        ("a\nb\n", ["row 1", "one level"]),
        ("a;x;p;*\nb;x;q;*\n", ["rows 1 and 2", "two different parents"]),
    ],
)
def test_what_is_not_a_tree_is_refused_with_file_and_row(tmp_path, text, words):
    file = tmp_path / "broken.csv"
    file.write_text(text)
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.read(file)
    assert all(word in str(caught.value) for word in [*words, "broken.csv"])


def test_a_single_value_is_its_own_root_and_an_empty_row_is_no_tree():
    assert Hierarchy.from_rows([("*",)]).height == 1
    with pytest.raises(HierarchyError, match="one level"):
        Hierarchy.from_rows([()])


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(HierarchyError, match=r"gone\.csv cannot be read"):
        Hierarchy.read(tmp_path / "gone.csv")
    (tmp_path / "latin.csv").write_bytes("é;*\n".encode("latin-1"))
    with pytest.raises(HierarchyError, match="UTF-8"):
        Hierarchy.read(tmp_path / "latin.csv")
    (tmp_path / "bad.yaml").write_text("a: [b\n")
    with pytest.raises(HierarchyError, match=r"bad\.yaml, line \d+: not valid YAML"):
        Hierarchy.read(tmp_path / "bad.yaml")


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    built = Hierarchy.flat(["a"])
    with pytest.raises(DataError, match="cannot be written"):
        built.write(tmp_path / "no" / "x.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        built.write(tmp_path / "folder.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv"]


# -- trees -----------------------------------------------------------------------------


def test_the_tree_of_the_worked_example():
    built = Hierarchy.tree(WORKCLASS)
    assert built.rows()[0] == ("state", "government", "*")
    assert built.rows()[3] == ("private", "private", "*")
    losses = dict(zip(built.leaves, built.loss[:, 1].tolist(), strict=True))
    assert losses["private"] == 0
    assert losses["without-pay"] == 1 / 7
    assert losses["state"] == 2 / 7


def test_ragged_branches_repeat_the_leaf_upward():
    built = Hierarchy.tree({"*": {"a": {"b": {"c": ["d"]}}, "e": ["f"], "g": []}})
    assert built.rows() == [
        ("d", "c", "b", "a", "*"),
        ("f", "f", "f", "e", "*"),
        ("g", "g", "g", "g", "*"),
    ]


def test_several_tops_get_a_root_and_lists_may_hold_branches():
    built = Hierarchy.tree(["x", {"y": ["z", 7]}])
    assert built.rows() == [("x", "x", "*"), ("z", "y", "*"), ("7", "y", "*")]


def test_yaml_trees_keep_texts_as_they_are(tmp_path):
    file = tmp_path / "country.yaml"
    file.write_text("'*':\n  north: [NO, SE, 007]\n  none:\n    - ''\n    - yes\n  ~x: ~\n")
    assert Hierarchy.read(file).rows() == [
        ("NO", "north", "*"), ("SE", "north", "*"), ("007", "north", "*"),
        ("", "none", "*"), ("yes", "none", "*"), ("~x", "~x", "*"),
    ]  # fmt: skip


def test_a_name_that_stands_twice_is_refused(tmp_path):
    file = tmp_path / "twice.yaml"
    file.write_text("'*':\n  north: [NO]\n  north: [SE]\n")
    with pytest.raises(HierarchyError, match=r"twice\.yaml, line 3: 'north' stands in line 2"):
        Hierarchy.read(file)


def test_wrong_nodes_are_refused():
    with pytest.raises(HierarchyError, match="bool"):
        Hierarchy.tree({"*": [True]})
    with pytest.raises(HierarchyError, match="empty"):
        Hierarchy.tree({})


def test_yaml_is_written_where_a_tree_can_say_it(tmp_path):
    built = Hierarchy.tree(WORKCLASS)
    built.write(tmp_path / "w.yml")
    assert Hierarchy.read(tmp_path / "w.yml").rows() == built.rows()
    knotted = Hierarchy.from_rows([("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")])
    assert tree_of_rows(knotted.rows()) is None
    with pytest.raises(HierarchyError, match=r"\.csv"):
        knotted.write(tmp_path / "k.yaml")
    assert not (tmp_path / "k.yaml").exists()


words = st.text("abé", min_size=1, max_size=3)
trees = st.recursive(
    st.lists(words, min_size=1, max_size=3),
    lambda below: st.dictionaries(words, below, min_size=1, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(trees)
def test_a_tree_goes_to_csv_and_back(tmp_path_factory, tree):
    try:
        built = Hierarchy.tree({"*": tree})
    except HierarchyError:
        return  # the same leaf twice, or a label with two parents: refused, as it should be
    folder = tmp_path_factory.mktemp("tree")
    built.write(folder / "t.csv")
    assert Hierarchy.read(folder / "t.csv", delimiter=";").rows() == built.rows()
    again = tree_of_rows(built.rows())
    if again is not None:
        assert Hierarchy.tree(again).rows() == built.rows()


# -- binding to data -------------------------------------------------------------------


def test_values_outside_the_leaves_are_counted_and_not_quoted():
    built = Hierarchy.flat(["39", "40"], source="age.csv")
    with pytest.raises(HierarchyError, match=r"'age' \(age.csv\).*2 value") as caught:
        built.over(["39", "secret", "41"], "age")
    assert "secret" not in str(caught.value)
    with pytest.raises(HierarchyError, match="1 of them are numbers"):
        built.over(["39.0", "hello"], "age")


def test_a_missing_cell_gets_a_branch_and_keeps_the_spans():
    built = Hierarchy.mask(2).over(["12", "13"], "code").over(["12", MISSING], "code")
    assert built.rows()[-1] == (MISSING, MISSING, "*")
    assert [level.tolist() for level in built.spans] == [[1, 1, 1], [10, 1], [11]]
