"""Patterns that division starts from: found as plain counting finds them, and worth having."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.sets.nested_partition import NestedPartition
from sfumato.anonymize.sets.seed import patterns
from sfumato.anonymize.sets.seed.pattern_kernel import Candidates, Terms, find_patterns
from sfumato.anonymize.sets.seed.patterns import find_crown, find_groups, rank_items

K = 3


def draw(rng, *, sets=80, items=12, shortest=1, longest=7):
    many = rng.integers(shortest, longest, size=sets)
    rows = [[f"{i:02}" for i in rng.choice(items, size, replace=False)] for size in many]
    return sf.read(rows, shape="sets", hierarchy=2)


def rows_of(data):
    return [data.items[b:e].tolist() for b, e in zip(data.starts, data.starts[1:], strict=False)]


def count_patterns(data, least):
    """Count every itemset by the crown nodes of what is left, wherever `least` sets have it."""
    crown = find_crown(data.tree)
    found = {}
    for row in rows_of(data):
        for size in range(2, len(row) + 1):
            for pattern in combinations(sorted(row), size):
                left = frozenset(crown[[i for i in row if i not in pattern]].tolist())
                found.setdefault(pattern, Counter())[left] += 1
    return Counter(
        (pattern, size)
        for pattern, profiles in found.items() if sum(profiles.values()) >= least
        for size in profiles.values() if size >= K
    )  # fmt: skip


def test_patterns_are_those_that_plain_counting_finds():
    rng = np.random.default_rng(21)
    many = 0
    for _ in range(20):
        data = draw(rng, sets=300, items=8)
        baskets, items = rank_items(data, find_crown(data.tree))
        room = 50_000
        found = Candidates(
            np.empty(room), np.empty(room, np.int64), np.empty((room, 14), np.int32),
            np.zeros(room + 1, np.int64), np.empty(20 * room, np.int32), np.zeros(1, np.int64),
        )  # fmt: skip
        find_patterns(baskets, Terms(K, 4, 0.1, -1.0, 10**6), found)
        listed = Counter()
        rows = rows_of(data)
        for c in range(found.tally[0]):
            pattern = tuple(sorted(items[found.items[c, : found.length[c]]].tolist()))
            members = found.sets[found.starts[c] : found.starts[c + 1]]
            assert len(set(members.tolist())) == len(members)
            assert all({*pattern} <= {*rows[t]} for t in members)
            listed[pattern, len(members)] += 1
        assert listed == count_patterns(data, 4)
        many += len(listed)
    assert many > 1000


def test_a_group_has_k_sets_with_the_items_it_shows():
    rng = np.random.default_rng(22)
    grouped = 0
    for _ in range(20):
        data = draw(rng, sets=200)
        group, exact = find_groups(data, K, expected=0.3, slope=0.05)
        shown = {}
        for t, (b, e) in enumerate(zip(data.starts, data.starts[1:], strict=False)):
            if group[t] >= 0:
                shown.setdefault(group[t], []).append(tuple(data.items[b:e][exact[b:e]]))
            else:
                assert not exact[b:e].any()
        for members in shown.values():
            assert len(members) >= K
            assert len({*members}) == 1
            assert len(members[0]) >= 2
        grouped += len(shown)
    assert grouped > 40


def test_a_search_that_takes_too_long_ends_early(monkeypatch):
    """Sets of hundreds of common items have more patterns than anybody can list."""
    monkeypatch.setattr(patterns, "EFFORT", 5)
    rows = [[f"{i:03}" for i in range(300) if (i * t) % 7] for t in range(1, 25)]
    data = sf.read(rows, shape="sets", hierarchy=5)
    group, _ = find_groups(data, K, expected=1.0, slope=0.1)
    assert len(group) == 24


def planted(rng, *, sets, items, patterns):
    """Sets that each have most of two patterns of six items, and three items more."""
    known = [rng.choice(items, 6, replace=False) for _ in range(patterns)]
    out = []
    for _ in range(sets):
        two = np.concatenate([known[i] for i in rng.choice(patterns, 2)])
        kept = two[rng.random(12) < 0.8]
        out.append([f"{i:03}" for i in {*kept.tolist(), *rng.choice(items, 3).tolist()}])
    return out


@pytest.fixture(scope="module")
def patterned():
    rows = planted(np.random.default_rng(23), sets=3000, items=300, patterns=60)
    return sf.read(rows, shape="sets", hierarchy=5)


def smallest(search):
    return np.unique(search.class_of[search.class_of >= 0], return_counts=True)[1].min()


def paid(search):
    return float(search.data.tree.price[search.shown].sum()) / search.data.occurrences


def test_patterns_do_no_harm_where_division_does_as_well(patterned, monkeypatch):
    search = NestedPartition(patterned, 5)
    search.run()
    with_patterns = paid(search)
    monkeypatch.setattr(
        NestedPartition, "_seed", lambda self, _: np.zeros(len(self.data), dtype=np.int64)
    )
    search = NestedPartition(patterned, 5)
    search.run()
    assert with_patterns < 1.005 * paid(search)


def test_tightening_gains(patterned, monkeypatch):
    """It lowers the loss of what was divided by far more than rounding could."""
    losses = []
    real = NestedPartition._tighten
    monkeypatch.setattr(NestedPartition, "_tighten", lambda self: losses.append(paid(self)))
    NestedPartition(patterned, 5).run()
    monkeypatch.setattr(NestedPartition, "_tighten", real)
    whole = NestedPartition(patterned, 5)
    whole.run()
    losses.append(paid(whole))
    assert losses[1] < 0.98 * losses[0]
    assert smallest(whole) >= 5


def test_fewer_sets_than_k_outside_of_all_groups_wait(monkeypatch):
    """They are no group of their own: a class of fewer than k would be shown."""
    rows = [[f"{i:02}" for i in range(8)]] * 12 + [[f"{i:02}" for i in range(20, 29)]] * 2
    data = sf.read(rows, shape="sets", hierarchy=3)
    group = np.array([0] * 12 + [-1] * 2)
    monkeypatch.setattr(NestedPartition, "_seed", lambda *_: group.copy())
    search = NestedPartition(data, 5)
    search.run()
    assert smallest(search) >= 5
    assert sf.anonymize(data, sf.KAnonymity(5), algorithm="partition").verify().holds
