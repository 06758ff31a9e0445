"""The verifier of sets against brute force, and its witnesses."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parents[2] / "anonymize" / "sets"))
import brute


def test_the_rarest_itemset_is_found_and_named():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sets = brute.random_sets(rng, sets=int(rng.integers(1, 20)))
        sets += sets[: int(rng.integers(0, 5))]
        for m in (1, 2, 3, 4):
            row = sf.verify(sets, shape="sets", definition=sf.KmAnonymity(2, m=m)).promises[0]
            assert row.found == brute.rarest(sets, m)
            assert row.holds == (row.found >= 2)
            named = row.bottleneck.cells["itemset"].strip("{}").split(", ")
            assert len(named) <= m
            assert sum(set(named) <= set(members) for members in sets) == row.found


def test_rules_are_measured_exactly():
    rng = np.random.default_rng(1)
    for _ in range(100):
        sets = brute.random_sets(rng, items=6, longest=4)
        for m in (1, 2, None):
            found = sf.verify(
                sets, shape="sets", definition=sf.RhoUncertainty(0.9, ["a0", "a2"], m=m)
            ).promises[0]
            assert found.found == pytest.approx(brute.surest(sets, ["a0", "a2"], m))


def test_copies_of_a_label_count_as_items():
    sets = [["A", "A"], ["A"], ["A"]]
    assert sf.verify(sets, shape="sets", definition=sf.KmAnonymity(2, m=1)).promises[0].found == 1
    assert sf.verify(sets, shape="sets", definition=sf.KAnonymity(2)).promises[0].found == 1


def test_an_item_in_a_group_counts_for_a_constraint(tmp_path):
    data = sf.read([["a"], ["b"], ["c"]] * 2, shape="sets", hierarchy=sf.Hierarchy.tree(
        {"AB": ["a", "b"], "C": ["c"]}))  # fmt: skip
    release = sf.anonymize(data, sf.KmAnonymity(3, m=1))
    release.save(tmp_path / "r", report=False)
    row = sf.verify(tmp_path / "r", definition=sf.ItemConstraints(3, [["a"]])).promises[0]
    covering = sum(bool({"a", "AB", "*"} & set(members)) for members in release.data)
    assert covering >= 3
    assert row.found == covering
    assert row.holds
