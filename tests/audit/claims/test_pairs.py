"""Pairs that are tried are neighbours under the claim, told by an independent definition."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.claims.neighbours import are_neighbours, same
from sfumato.audit.claims.pairs import Pairs
from sfumato.dp import Group, Neighbours, Unit
from sfumato.errors import ParameterError

POOLS = [(0, 1), (0, 1, 5), ("a",), ((0, 1), (1, 0), (1, 1)), tuple(range(12))]
PEOPLE = tuple({"user": user, "spent": spent} for user in "abc" for spent in (1, 2, 9))


def rng():
    return np.random.default_rng(0)


def reached_by_one_step(a, b, *, bounded, size=1):
    """Brute force over all places, on the sequences themselves."""
    if bounded:
        return len(a) == len(b) and 1 <= sum(x != y for x, y in zip(a, b, strict=True)) <= size
    if len(a) < len(b):
        a, b = b, a
    reached = [list(a)]
    for _ in range(len(a) - len(b)):
        reached = [r[:i] + r[i + 1 :] for r in reached for i in range(len(r))]
    return 1 <= len(a) - len(b) <= size and list(b) in reached


@pytest.mark.parametrize("records", POOLS, ids=repr)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_built_in_families_and_their_variations_are_neighbours(relation, records):
    pairs = Pairs(Neighbours(relation), records=records)
    found = pairs.first(rng())
    assert len(found) <= 24
    if relation == "unbounded" or len(records) > 1:
        assert len(found) >= 4
    varied = [near for pair in found for near in pairs.near(pair, rng())]
    for pair in found + varied:
        assert pair.verified
        assert reached_by_one_step(pair.first, pair.second, bounded=relation == "bounded")
    if relation == "unbounded":  # in front, behind, and the empty one, which comes late
        assert found[0].second == [records[0]]
        assert any(not pair.second for pair in found)
        assert found[0].second
        assert varied


def test_groups_change_several_records():
    for relation in ("unbounded", "bounded"):
        pairs = Pairs(Neighbours(relation, Group(sf.dp.Row(), 3))).first(rng())
        assert pairs
        for pair in pairs:
            bounded = relation == "bounded"
            assert reached_by_one_step(pair.first, pair.second, bounded=bounded, size=3)
        assert any(abs(len(p.first) - len(p.second)) == 3 or bounded for p in pairs)


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_a_unit_comes_and_goes_with_all_its_rows(relation):
    unit = Unit("user", rows=2)
    pairs = Pairs(Neighbours(relation, unit), records=PEOPLE).first(rng())
    assert pairs
    most = 0
    for pair in pairs:
        users = [{r["user"] for r in side} for side in (pair.first, pair.second)]
        changed = [
            user for user in users[0] | users[1]
            if [r for r in pair.first if r["user"] == user]
            != [r for r in pair.second if r["user"] == user]
        ]  # fmt: skip
        assert len(changed) == 1
        rows = [sum(r["user"] == changed[0] for r in side) for side in (pair.first, pair.second)]
        assert max(rows) <= 2
        assert min(rows) >= 1 if relation == "bounded" else min(rows) == 0
        most = max(most, abs(rows[0] - rows[1]))
    assert most == (1 if relation == "bounded" else 2)


def test_neighbours_of_a_users_own_data_set():
    data = [3, 1, 4, 1, 5, 9, 2, 6]
    for relation in ("unbounded", "bounded"):
        pairs = Pairs(Neighbours(relation), datasets=(data,)).first(rng())
        assert 3 <= len(pairs) <= 12
        for pair in pairs:
            assert pair.first == data
            assert reached_by_one_step(pair.first, pair.second, bounded=relation == "bounded")


@pytest.mark.parametrize("count", [1, 2, 5, 10])
def test_answers_move_by_one_at_most(count):
    pairs = Pairs(Neighbours("unbounded"), answers=count).first(rng())
    assert pairs
    for pair in pairs:
        assert len(pair.first) == len(pair.second) == count
        moved = np.abs(np.array(pair.first) - np.array(pair.second))
        assert moved.max() == 1


@pytest.mark.parametrize(
    ("a", "b", "relation", "right"),
    [
        ([1, 2, 3], [1, 3], "unbounded", True),
        ([1, 3], [1, 2, 3], "unbounded", True),
        ([1, 2, 3], [1, 2, 3], "unbounded", False),
        ([1, 2, 3], [3, 1], "unbounded", False),  # a shuffle besides
        ([1, 2, 3], [1], "unbounded", False),
        ([1, 2, 3], [1, 2, 4], "unbounded", False),
        ([1, 2, 3], [1, 2, 4], "bounded", True),
        ([1, 2, 3], [1, 5, 4], "bounded", False),
        ([1, 2, 3], [1, 2], "bounded", False),
        ([1], [True], "bounded", True),  # another record, by its type
        ([[1, 2]], [[1, 2]], "bounded", False),
        ([float("nan")], [float("nan")], "bounded", False),
    ],
)
def test_who_is_a_neighbour(a, b, relation, right):
    assert are_neighbours(a, b, Neighbours(relation)) is right


def test_same_looks_into_records():
    assert same({"a": np.array([1, 2])}, {"a": np.array([1, 2])})
    assert not same({"a": np.array([1, 2])}, {"a": np.array([1, 3])})
    assert not same(1, 1.0)
    assert not same((1, 2), [1, 2])


def test_pairs_that_are_not_neighbours_are_refused():
    claim = sf.PureDP(1.0)
    with pytest.raises(ParameterError, match="not neighbouring"):
        sf.audit.check(sum, claim, pairs=[([1, 2, 3], [1])])
    with pytest.raises(ParameterError, match="not neighbouring"):
        sf.audit.check(sum, claim, pairs=[([1, 2], [2, 2])])
    with pytest.raises(ParameterError, match="moves by more than 1"):
        sf.audit.check(sum, claim, inputs="answers", pairs=[([1, 2], [3, 2])])
    unit = sf.PureDP(1.0, neighbours=Unit("user"))
    with pytest.raises(ParameterError, match="every record needs the key"):
        sf.audit.check(sum, unit)
    with pytest.raises(ParameterError, match="give some with"):
        sf.audit.check(len, sf.PureDP(1.0, neighbours="vertex"))


def test_pairs_that_cannot_be_judged_are_marked():
    claim = sf.PureDP(1.0, neighbours="node")
    graphs = ({1: {2}, 2: {1}}, {2: set()})
    verdict = sf.audit.check(len, claim, pairs=[graphs])
    assert verdict.refuted
    assert not verdict.witness.verified
