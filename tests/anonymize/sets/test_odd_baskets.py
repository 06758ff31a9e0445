"""Baskets that break weaker tools: empty ones, huge ones, all alike, fewer than k."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.sets.algorithms import ALGORITHMS
from sfumato.errors import DataError, ParameterError, Unsatisfiable

KM = sf.KmAnonymity(2, m=2)
SMALL = [["a", "b"], ["a", "b"], ["c"], [], ["a"]]


def shown(release):
    """Return released sets as lists, reconstructed ones where they were taken apart."""
    return release.data if isinstance(release.data, list) else release.sample()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_empty_basket_is_left_out_and_counted(algorithm):
    release = sf.anonymize(sf.read(SMALL, shape="sets"), KM, algorithm=algorithm)
    assert release.verify().holds
    assert all(shown(release))
    assert release.suppressed == len(SMALL) - len(shown(release)) >= 1


def test_few_items_are_lost_for_the_sake_of_an_odd_basket():
    """One set that nobody keeps company must not cost all others their items."""
    for sets, most in (([["a"], ["a"], ["a", "b"]], 1 / 2), (SMALL, 1 / 3)):
        release = sf.anonymize(sf.read(sets, shape="sets"), KM, algorithm="local")
        assert release.verify().holds
        assert release.loss["NCP"] <= most + 1e-9


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fewer_than_k_baskets_with_items_are_refused(algorithm):
    data = sf.read([["a", "b"], [], []], shape="sets")
    with pytest.raises(Unsatisfiable, match="only 1 that hold any item"):
        sf.anonymize(data, KM, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_baskets_that_are_all_alike_lose_nothing(algorithm):
    release = sf.anonymize(
        sf.read([["é", "日本", "😀"]] * 6, shape="sets"), KM, algorithm=algorithm
    )
    assert release.verify().holds
    assert sorted(map(sorted, shown(release))) == [sorted(["é", "日本", "😀"])] * 6


@pytest.fixture(scope="module")
def with_a_huge_basket():
    rng = np.random.default_rng(1)
    sets = [[f"i{j}" for j in rng.choice(10_000, 4, replace=False)] for _ in range(400)]
    return sf.read([[f"i{i}" for i in range(10_000)], *sets], shape="sets", hierarchy=5)


@pytest.mark.parametrize("algorithm", ["local", "global", "suppression", "disassociation"])
def test_a_basket_of_ten_thousand_items(with_a_huge_basket, algorithm):
    release = sf.anonymize(with_a_huge_basket, sf.KmAnonymity(3, m=2), algorithm=algorithm)
    assert release.verify().holds


@pytest.mark.parametrize("meaning", ["set", "bag"])
def test_a_basket_of_ten_thousand_items_among_alike_ones(with_a_huge_basket, meaning):
    release = sf.anonymize(with_a_huge_basket, sf.KAnonymity(3), meaning=meaning)
    assert release.verify().holds


def test_ten_thousand_items_are_joined_by_the_baskets_they_are_in():
    sets = [[f"i{i}" for i in range(10_000)]] * 2 + [["i1", "i2"]] * 3
    data = sf.read(sets, shape="sets")
    tree = data.tree
    assert tree.parent[tree.codes["i1"]] == tree.parent[tree.codes["i2"]]
    assert data.sizes.tolist() == [10_000, 10_000, 2, 2, 2]


def test_merging_says_how_many_items_are_too_many(with_a_huge_basket):
    with pytest.raises(ParameterError, match="use 'local' or 'global'"):
        sf.anonymize(with_a_huge_basket, KM, algorithm="merging")


@pytest.mark.parametrize("item", [None, float("nan"), ""])
def test_a_missing_item_is_no_item(item):
    with pytest.raises(DataError, match="Set 2 holds a missing item"):
        sf.read([["a"], [item, "a"]], shape="sets")


@pytest.mark.parametrize("item", [b"a", ["a"], {"a": 1}])
def test_an_item_is_a_text_or_a_number(item):
    with pytest.raises(DataError, match="items are texts or numbers"):
        sf.read([["a"], [item]], shape="sets")


def test_numbers_of_any_size_are_items():
    data = sf.read([[10**30, 2], [10**30, 2], [10**30]], shape="sets")
    assert sf.anonymize(data, KM).loss["NCP"] == 0


def test_an_itemset_with_an_item_that_nobody_knows_is_a_slip():
    data = sf.read([["milk", "bread"]] * 4, shape="sets")
    with pytest.raises(ParameterError, match="Did you mean 'milk'"):
        sf.anonymize(data, sf.ItemConstraints(2, [["mlik", "bread"]]))


FEW = [["a", "b", "c"], ["a", "b"], ["a", "b"], ["c", "a", "b"]]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_more_known_items_than_any_set_holds_are_all_of_them(algorithm):
    """A huge m asks for no more than the largest set has, of search, verifier and attack."""
    data = sf.read(FEW, shape="sets")
    release = sf.anonymize(data, sf.KmAnonymity(2, m=10**9), algorithm=algorithm)
    assert release.verify().holds
    assert sorted(map(sorted, shown(release))) == sorted(map(sorted, FEW))
    assert sf.attack.known_items(release, m=10**9).exposed == 0
    broken = sf.verify(FEW[1:], shape="sets", definition=sf.KmAnonymity(2, m=10**9))
    assert broken.promises[0].found == 1


def test_secrets_may_be_followed_from_as_many_items_as_there_are():
    data = sf.read(FEW, shape="sets")
    for promise in (sf.RhoUncertainty(0.5, ["c"], m=10**9), sf.Coherence(0.5, 2, 10**9, ["c"])):
        assert sf.anonymize(data, promise).verify().holds
        kept = sf.verify([["c", "a"], ["a"], ["a"]], shape="sets", definition=promise)
        assert kept.holds
    sure = sf.RhoUncertainty(0.5, ["c"], m=10**9)
    assert not sf.verify([["c", "a"], ["a"], ["b", "c"]], shape="sets", definition=sure).holds


@pytest.mark.parametrize("size", [62, 63, 64, 65, 70, 130])
def test_itemsets_of_any_size_are_counted(size):
    """They are told by bits, and a word has 64."""
    whole = [str(i) for i in range(size)]
    promise = sf.ItemConstraints(2, [whole])
    assert sf.verify([whole, whole, whole[:-1]], shape="sets", definition=promise).holds
    for gone in (0, size // 2, size - 1):
        part = [item for item in whole if item != str(gone)]
        found = sf.verify([whole, part, part], shape="sets", definition=promise)
        assert found.promises[0].found == 1
    data = sf.read([whole, *[whole[:-1]] * 3], shape="sets", hierarchy=5)
    release = sf.anonymize(data, promise, algorithm="suppression")
    assert release.verify().holds
    assert sum(set(whole) <= set(members) for members in release.data) == 0
