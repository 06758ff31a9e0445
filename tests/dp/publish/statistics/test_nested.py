"""Statistics of sets and trees: what one unit changes, by brute force, and worst pairs audited."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.data.trees.sources import read_trees
from sfumato.dp.neighbours import Customer, Item, Subtree, Transaction, Tree, Vertex
from sfumato.dp.publish.statistics import nested
from sfumato.dp.publish.statistics.nested import (
    Enrolments,
    ItemsBought,
    LabelCounts,
    OwnedSets,
    SetsWith,
    TreesWith,
    VerticesPerLevel,
    keep,
)
from sfumato.errors import DataError, ParameterError

HUGE = Fraction(10**6)
"""So much ε that noise is nothing, to look at what is counted."""

STUDENTS = [
    {"born": "1996", "courses": [{"id": "CS1"}, {"id": "CS2"}, {"id": "CS1"}]},
    {"born": "1997", "courses": [{"id": "CS1"}]},
    {"born": "1996", "courses": []},
]


def test_trees_are_counted():
    trees = read_trees(STUDENTS)
    ask = lambda s, unit: s.measure(trees, unit, HUGE).value  # noqa: E731 - short for a table
    assert ask(TreesWith("born", "1996"), Tree()) == 2
    assert ask(Enrolments("courses.id", "CS1"), Tree()) == 2
    assert ask(Enrolments("courses.id", "CS1", most=2), Tree()) == 3
    assert ask(Enrolments("courses.id", "CS1"), Vertex()) == 3
    counts = LabelCounts("courses.id", ["CS1", "CS2", "CS9"])
    assert ask(counts, Vertex()) == {"CS1": 3, "CS2": 1, "CS9": 0}
    assert sum(ask(LabelCounts("courses.id", ["CS1", "CS2"]), Tree(vertices=1)).values()) == 2
    assert ask(VerticesPerLevel(["courses"]), Vertex()) == {"courses": 4}
    assert ask(VerticesPerLevel(["courses"]), Tree(vertices=2)) == {"courses": 3}


def test_sets_are_counted():
    sets = OwnedSets([["a", "b"], ["a"], ["b"], ["a", "b"]], np.array([0, 0, 1, 1]))
    ask = lambda s, unit: s.measure(sets, unit, HUGE).value  # noqa: E731 - short for a table
    assert ask(SetsWith(["a", "b"]), Transaction()) == 2
    assert ask(SetsWith(["a"]), Item()) == 3
    assert ask(ItemsBought(["a", "b"]), Item()) == {"a": 3, "b": 3}
    assert sum(ask(ItemsBought(["a", "b"]), Transaction(items=1)).values()) == 4
    assert sum(ask(ItemsBought(["a", "b"]), Customer(transactions=1, items=1)).values()) == 2


def test_worked_sensitivities():
    # born in 1996: tree 1, vertex 1; enrolments in one course: how often it may be taken, vertex 1
    assert TreesWith("born", "1996").sensitivity(Tree()) == 1
    assert TreesWith("born", "1996").sensitivity(Vertex()) == 1
    assert Enrolments("courses.id", "CS1", most=3).sensitivity(Tree()) == 3
    assert Enrolments("courses.id", "CS1", most=3).sensitivity(Vertex()) == 1
    assert LabelCounts("courses.id", ["CS1"]).sensitivity(Tree(vertices=4)) == 4
    assert LabelCounts("courses.id", ["CS1"]).sensitivity(Subtree(vertices=4)) == 8
    # aspirins: item 1; transaction: most in one; customer: that times her transactions
    assert ItemsBought(["aspirin", "tea"]).sensitivity(Item()) == 1
    assert ItemsBought(["aspirin", "tea"]).sensitivity(Transaction(items=2)) == 2
    assert ItemsBought(["aspirin", "tea"]).sensitivity(Customer(transactions=5, items=2)) == 10
    assert SetsWith(["aspirin"]).sensitivity(Customer(transactions=5)) == 5


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_at_most_so_many_are_kept_evenly(limit):
    owners = np.repeat([0, 1, 2], [5, 2, 1])
    seen = np.zeros(8)
    for _ in range(3000):
        kept = keep(owners, limit)
        assert (np.bincount(owners[kept], minlength=3) == np.minimum([5, 2, 1], limit)).all()
        seen[kept] += 1
    expected = 3000 * np.minimum(limit, [5, 2, 1]) / [5, 2, 1]
    assert np.abs(seen[:5] - expected[0]).max() < 200
    assert seen[7] == 3000


def test_a_subtree_changes_no_more_than_twice_what_is_kept(monkeypatch):
    """Kept vertices are those of the smallest random words; a subtree takes its own away."""
    chance = np.random.default_rng(0)
    for _ in range(200):
        words = chance.integers(0, 1000, 8).astype(np.uint64)
        size, limit = int(chance.integers(1, 8)), int(chance.integers(1, 4))
        codes = chance.integers(0, 3, 8)

        class Fixed:
            def __init__(self, given):
                self.given = given

            def uint64(self, count):
                return self.given[:count]

        monkeypatch.setattr(nested, "stream", lambda: Fixed(words))  # noqa: B023 - used at once
        whole = np.bincount(codes[keep(np.zeros(8, dtype=np.int64), limit)], minlength=3)
        rest = np.arange(size, 8)
        monkeypatch.setattr(nested, "stream", lambda: Fixed(words[rest]))  # noqa: B023 - the same
        part = np.bincount(
            codes[rest[keep(np.zeros(8 - size, dtype=np.int64), limit)]], minlength=3
        )
        assert np.abs(whole - part).sum() <= 2 * limit


def asked(statistic, unit, first, second):
    def ask(data):
        return statistic.measure(data, unit, Fraction(1)).value

    return ask, sf.PureDP(1, neighbours=sf.dp.Neighbours("unbounded", unit)), [(first, second)]


@audited
def test_worst_pairs(refuted):
    small, large = read_trees(STUDENTS[:2]), read_trees([*STUDENTS[:2], STUDENTS[0]])
    assert not refuted(*asked(Enrolments("courses.id", "CS1", most=2), Tree(), small, large))
    fewer = read_trees([{**STUDENTS[0], "courses": STUDENTS[0]["courses"][:2]}, STUDENTS[1]])
    assert not refuted(*asked(Enrolments("courses.id", "CS1"), Vertex(), fewer, small))
    counts = LabelCounts("courses.id", ["CS1", "CS2"])
    assert not refuted(*asked(counts, Tree(vertices=2), small, large))
    mine, more = OwnedSets([["a"]]), OwnedSets([["a"], ["a", "b"]])
    assert not refuted(*asked(ItemsBought(["a", "b"]), Transaction(items=2), mine, more))
    owned = OwnedSets([["a"], ["a", "b"], ["a", "b"]], np.array([0, 1, 1]))
    less = OwnedSets([["a"]], np.array([0]))
    assert not refuted(*asked(SetsWith(["a"]), Customer(transactions=2), less, owned))


@audited
def test_a_limit_that_is_not_kept_is_refuted(refuted):
    class Careless(Enrolments):
        def sensitivity(self, unit):
            return 1  # whatever `most` says

    small, large = read_trees(STUDENTS[:2]), read_trees([*STUDENTS[:2], STUDENTS[0]])
    assert refuted(*asked(Careless("courses.id", "CS1", most=2), Tree(), small, large))


def test_refusals():
    trees = read_trees(STUDENTS)
    with pytest.raises(ParameterError, match="vertices=10"):
        LabelCounts("courses.id", ["CS1"]).sensitivity(Tree())
    # which labels there are is told by the trees alone: a label that is none counts nothing
    assert Enrolments("course.id", "CS1").measure(trees, Tree(), HUGE).value == 0
    with pytest.raises(ParameterError, match="people="):
        SetsWith(["a"]).measure(OwnedSets([["a"]]), Customer(transactions=1), HUGE)
    with pytest.raises(ParameterError, match="list of texts"):
        ItemsBought("ab")


@pytest.mark.parametrize(
    "more",
    [{"diagnosis": ["a", "b"]}, {"brca": "pos", "diagnosis": "b"}, {"born": "1990"}, {}],
    ids=str,
)
def test_one_tree_changes_only_what_it_holds_whatever_structure_it_brings(more):
    """A list, a new label or a missing one in one record shows nothing of the others' structure."""
    few = [{"diagnosis": "a"}, {"diagnosis": "a"}, {"diagnosis": ""}, {"born": "1980"}]
    asked = [
        VerticesPerLevel(["diagnosis"]), LabelCounts("diagnosis", ["a", "b", ""]),
        TreesWith("brca", "pos"), TreesWith("diagnosis", ""), Enrolments("diagnosis", ""),
    ]  # fmt: skip
    for statistic in asked:
        unit = Tree(vertices=1)
        before, after = (
            statistic.measure(read_trees(rows), unit, HUGE).value for rows in (few, [*few, more])
        )
        sizes = [list(v.values()) if isinstance(v, dict) else [v] for v in (before, after)]
        moved = sum(abs(a - b) for a, b in zip(*sizes, strict=True))
        assert moved <= statistic.sensitivity(unit)


def test_plain_values_with_something_below_are_refused():
    with pytest.raises(DataError, match="something below"):
        read_trees([{"a": "1"}, {"a.b": ""}])
