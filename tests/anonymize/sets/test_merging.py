"""Merging without a hierarchy: known items, named itemsets, and which items may be merged."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))
import brute


@pytest.mark.parametrize("m", [1, 2, 3])
def test_no_itemset_is_rare(m):
    rng = np.random.default_rng(m)
    for _ in range(40):
        k = int(rng.integers(2, 5))
        sets = brute.random_sets(rng)
        data = sf.read(sets, shape="sets")
        release = sf.anonymize(data, sf.KmAnonymity(k, m=m), algorithm="merging")
        found = brute.rarest(release.data, m)
        assert found is None or found >= k
        assert release.verify().holds
        assert release.loss["deleted"] == 0  # whatever may be merged need not be deleted


def holders(release, wanted):
    """Count released sets that show every wanted item or a group that holds it."""
    covers = release.stands_for
    return sum(
        all(any(item == label or item in covers.get(label, ()) for label in members)
            for item in wanted)
        for members in release.data
    )  # fmt: skip


def test_named_itemsets_become_frequent_or_vanish():
    rng = np.random.default_rng(5)
    for _ in range(40):
        sets = brute.random_sets(rng)
        promise = sf.ItemConstraints(5, [["a0", "b1"], ["a2", "b3", "a4"]])
        release = sf.anonymize(sf.read(sets, shape="sets"), promise, algorithm="merging")
        for wanted in promise.itemsets:
            support = holders(release, wanted)
            assert support == 0 or support >= 5
        assert release.verify().holds


def test_only_items_of_one_utility_group_are_merged():
    rng = np.random.default_rng(6)
    groups = [["a0", "a2", "a4", "a6"], ["b1", "b3"]]
    for _ in range(30):
        sets = [*brute.random_sets(rng), ["b5"]]
        promise = sf.ItemConstraints(5, [["a0", "b1"], ["b5"]], groups)
        release = sf.anonymize(sf.read(sets, shape="sets"), promise, algorithm="merging")
        for covered in release.stands_for.values():
            assert any(set(covered) <= set(group) for group in groups)
        assert release.verify().holds
        shown = sum("b5" in members for members in release.data)
        assert shown == 0 or shown >= 5  # it may not be merged, so it is deleted or frequent


def test_a_group_outside_of_the_utility_groups_is_seen(tmp_path):
    sets = [["a", "b"], ["b", "c"], ["a", "c"], ["c"]]
    data = sf.read(sets, shape="sets", hierarchy=sf.Hierarchy.tree({"X": ["a", "c"], "Y": ["b"]}))
    release = sf.anonymize(data, sf.KmAnonymity(2, m=2), algorithm="global", deletion=False)
    release.save(tmp_path / "r", report=False)
    promise = sf.ItemConstraints(1, [["a"]], [["a", "b"]])
    assert not sf.verify(tmp_path / "r", definition=promise).holds


def test_what_it_cannot_promise_is_refused():
    data = sf.read([["a", "b"]] * 4, shape="sets")
    with pytest.raises(ParameterError, match="merging"):
        sf.anonymize(data, sf.KAnonymity(2), algorithm="merging")
    with pytest.raises(ParameterError, match="one utility group"):
        sf.ItemConstraints(2, [["a"]], [["a", "b"], ["b"]])
