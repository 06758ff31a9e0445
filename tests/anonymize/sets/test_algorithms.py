"""Every algorithm × definition on hundreds of small inputs, against brute force."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from chance import rounds

import sfumato as sf
from sfumato.errors import ParameterError, Unsatisfiable

sys.path.insert(0, str(Path(__file__).parent))
import brute

SHOP = [
    ["Beer", "Diapers"],
    ["Wine", "Diapers", "Pregnancy Test"],
    ["Beer", "Wine", "Pregnancy Test"],
    ["Beer", "Wine", "Diapers", "Pregnancy Test"],
]
GOODS = {"Alcohol": ["Beer", "Wine"], "Health Care": ["Diapers", "Pregnancy Test"]}
LETTERS = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]


def shop():
    return sf.read(SHOP, shape="sets", hierarchy=sf.Hierarchy.tree(GOODS))


def test_it_keeps_diapers_and_deletes_the_pregnancy_test():
    release = sf.anonymize(shop(), sf.KAnonymity(2))
    assert release.verify().holds
    assert sorted(map(sorted, release.data))[:2] == [["Alcohol", "Diapers"]] * 2
    # two items as Alcohol at ½, one item deleted, in each class one of these
    assert release.loss["NCP"] == pytest.approx((2 * 0.5 + 1 + 1) / 12)


def test_it_finds_the_published_k_m_anonymous_sets():
    tree = sf.Hierarchy.tree({"A": ["a1", "a2"], "B": ["b1", "b2"]})
    letters = sf.read(LETTERS, shape="sets", hierarchy=tree)
    release = sf.anonymize(letters, sf.KmAnonymity(2, m=2), algorithm="global", deletion=False)
    expected = [["A", "b1"], ["A", "b1", "b2"], ["A", "b1", "b2"], ["A", "b2"]]
    assert sorted(sorted(members) for members in release.data) == expected
    assert sf.verify(release.data, shape="sets", definition=sf.KmAnonymity(2, m=3)).holds
    broken = sf.verify(release.data, shape="sets", definition=sf.KmAnonymity(3, m=2))
    assert not broken.holds
    assert broken.promises[0].found == 2


@pytest.mark.parametrize("algorithm", ["global", "local", "partition", "suppression", "cut"])
@pytest.mark.parametrize("m", [1, 2, 3])
@rounds(12, 40)
def test_no_itemset_is_rare(algorithm, m, rounds):
    rng = np.random.default_rng(m)
    for _ in range(rounds):
        sets = brute.random_sets(rng)
        k = int(rng.integers(2, 5))
        options = {"algorithm": algorithm} if algorithm != "cut" else {
            "algorithm": "global", "deletion": False
        }  # fmt: skip
        data = sf.read(sets, shape="sets", hierarchy=int(rng.integers(2, 4)))
        release = sf.anonymize(data, sf.KmAnonymity(k, m=m), **options)
        found = brute.rarest(release.data, m)
        assert found is None or found >= k
        checked = release.verify()
        assert checked.holds
        assert checked.promises[0].found == found
        if algorithm == "cut":
            assert release.loss["deleted"] == 0
        assert release.suppressed == len(sets) - len(release.data)


@pytest.mark.parametrize("algorithm", ["local", "global"])
@rounds(15, 60)
def test_no_itemset_is_rare_among_many_sets_of_very_different_sizes(algorithm, rounds):
    """Large sets lose items, and then those who stayed for their sake may lack company."""
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        items, m, k = int(rng.integers(10, 60)), int(rng.integers(2, 4)), int(rng.integers(2, 6))
        share = rng.pareto(1.0, items) + 0.05
        sets = [
            rng.choice(items, min(items, int(rng.geometric(0.2))), False, share / share.sum())
            for _ in range(int(rng.integers(30, 300)))
        ]
        data = sf.read([[str(i) for i in members] for members in sets], shape="sets", hierarchy=3)
        assert sf.anonymize(data, sf.KmAnonymity(k, m=m), algorithm=algorithm).verify().holds


@pytest.mark.parametrize("meaning", ["set", "bag"])
@rounds(30, 100)
def test_sets_are_alike_in_classes_of_k(meaning, rounds):
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        sets = brute.random_sets(rng, sets=20)
        k = int(rng.integers(2, 6))
        data = sf.read(sets, shape="sets", hierarchy=int(rng.integers(2, 4)))
        release = sf.anonymize(data, sf.KAnonymity(k), meaning=meaning)
        found = brute.smallest_class(release.data)
        assert found is None or found >= k
        assert release.verify().holds
        assert 0 <= release.loss["NCP"] <= 1
        if meaning == "set":
            assert all(len(set(members)) == len(members) for members in release.data)


def test_labels_cover_what_was_bought():
    rng = np.random.default_rng(6)
    for algorithm in ("local", "global", "partition"):
        sets = brute.random_sets(rng, sets=30)
        data = sf.read(sets, shape="sets", hierarchy=2)
        release = sf.anonymize(data, sf.KmAnonymity(3, m=2), algorithm=algorithm)
        recoding = release.decision.content
        tree = recoding.data.tree
        shown = recoding.nodes >= 0
        items, nodes = recoding.data.items[shown], recoding.nodes[shown]
        assert ((tree.first[nodes] <= items) & (items < tree.last[nodes])).all()


@pytest.mark.parametrize("bound", [1, 2, None])
@rounds(20, 40)
def test_secrets_do_not_follow_too_surely(bound, rounds):
    rng = np.random.default_rng(7)
    for _ in range(rounds):
        sets = brute.random_sets(rng, items=6, longest=4)
        secret = ("a0", "b1")
        if not {"a0", "b1"} <= {item for members in sets for item in members}:
            continue
        data = sf.read(sets, shape="sets", hierarchy=2)
        release = sf.anonymize(data, sf.RhoUncertainty(0.5, secret, m=bound))
        assert brute.surest(release.data, secret, bound) <= 0.5 + 1e-9
        checked = release.verify()
        assert checked.holds
        assert checked.found["ρ"] == pytest.approx(brute.surest(release.data, secret, bound))


def test_coherence_holds_for_public_items():
    rng = np.random.default_rng(8)
    for _ in range(30):
        sets = [[*members, "a0"] if i % 3 == 0 else members
                for i, members in enumerate(brute.random_sets(rng))]  # fmt: skip
        sets = [sorted(set(members)) for members in sets]
        data = sf.read(sets, shape="sets", hierarchy=2)
        release = sf.anonymize(data, sf.Coherence(0.6, 2, 2, ("a0",)))
        public = [[item for item in members if item != "a0"] for members in release.data]
        found = brute.rarest(public, 2)
        assert found is None or found >= 2
        assert brute.surest(release.data, ("a0",), 2, barred={"a0"}) <= 0.6 + 1e-9
        assert release.verify().holds


def test_named_itemsets_are_absent_or_frequent():
    rng = np.random.default_rng(9)
    for _ in range(30):
        sets = brute.random_sets(rng)
        promise = sf.ItemConstraints(4, [["a0", "b1"], ["a2", "b3", "a4"]])
        release = sf.anonymize(sf.read(sets, shape="sets", hierarchy=2), promise)
        for wanted in promise.itemsets:
            support = sum(set(wanted) <= set(members) for members in release.data)
            assert support == 0 or support >= 4
        assert release.verify().holds


def test_sensitive_items_are_spread_over_sets_that_look_alike():
    rng = np.random.default_rng(10)
    for _ in range(30):
        sets = brute.random_sets(rng, sets=24)
        sets[0] = ["a0", "b1"]
        release = sf.anonymize(
            sf.read(sets, shape="sets", hierarchy=2), sf.KAnonymity(3) & sf.ItemDiversity(2, ["a0"])
        )
        groups = {}
        for members in release.data:
            groups.setdefault(tuple(sorted(set(members) - {"a0"})), []).append("a0" in members)
        assert all(len(group) >= 3 and sum(group) * 2 <= len(group) for group in groups.values())
        assert release.verify().holds


def test_a_promise_that_cannot_be_kept_is_refused():
    with pytest.raises(Unsatisfiable, match="only 4"):
        sf.anonymize(shop(), sf.KmAnonymity(5))
    with pytest.raises(ParameterError, match="no item 'Bear'"):
        sf.anonymize(shop(), sf.RhoUncertainty(0.5, ["Bear"]))
    with pytest.raises(ParameterError, match="partition"):
        sf.anonymize(shop(), sf.KAnonymity(2), algorithm="global")
    with pytest.raises(ParameterError, match="says nothing"):
        sf.anonymize(shop(), sf.TCloseness(0.2, "items"))


def test_a_release_can_be_saved_and_verified_from_its_folder(tmp_path):
    release = sf.anonymize(shop(), sf.KAnonymity(2))
    path = release.save(tmp_path / "out", report=False)
    assert path.name == "release.csv"  # a label has a blank
    assert sf.verify(tmp_path / "out").holds
    for form in ("parquet", "csv"):
        release.save(tmp_path / form, file_format=form, report=False)
        assert sf.verify(tmp_path / form).holds
    assert "seed" not in (tmp_path / "out" / "release.json").read_text()
