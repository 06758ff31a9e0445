"""Deletion: breaches counted on the go as when counted afresh, and few items deleted."""

from __future__ import annotations

import sys
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.sets.breaches import Breach, project, tally
from sfumato.anonymize.sets.supports import invert

sys.path.insert(0, str(Path(__file__).parent))
import brute


def rows_of(rng, sets=16, items=7):
    members = [np.sort(rng.choice(items, rng.integers(0, 6), replace=False)) for _ in range(sets)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in members])]).astype(np.int64)
    flat = np.concatenate([*members, np.zeros(0, dtype=np.int64)]).astype(np.int32)
    return starts, flat, [set(row.tolist()) for row in members]


def plain(sets, marked, breach):
    """Count breaches and guilt by looking at every itemset that occurs."""
    found = set(chain.from_iterable(
        combinations(sorted(s), n) for s in sets
        for n in range(max(breach.smallest, 1), breach.largest + 1)
    ))  # fmt: skip
    guilt, total = np.zeros(7, dtype=np.int64), 0
    for known in found:
        having = [m for s, m in zip(sets, marked, strict=True) if set(known) <= s]
        if len(having) < breach.k or sum(having) > breach.share * len(having):
            total += 1
            guilt[list(known)] += 1
    return total, guilt


BREACHES = [Breach(3, 1.0, 2, 2), Breach(2, 1.0, 3, 3), Breach(0, 0.4, 1, 2), Breach(0, 0.3, 1, 3)]


@pytest.mark.parametrize("breach", BREACHES)
def test_breaches_are_those_that_plain_counting_finds(breach):
    rng = np.random.default_rng(2)
    for _ in range(40):
        starts, items, sets = rows_of(rng)
        marked = rng.random(len(sets)) < (0.3 if breach.k == 0 else 0)
        guilt = np.zeros(7, dtype=np.int64)
        left = tally(starts, items, marked, breach, guilt, 1)
        total, expected = plain(sets, marked, breach)
        assert left == total
        assert guilt.tolist() == expected.tolist()
        begin, where = invert(starts, items, 7)
        inner = breach._replace(smallest=breach.smallest - 1, largest=breach.largest - 1)
        gone = np.zeros(7, dtype=np.bool_)
        for item in rng.permutation(7)[:3]:  # deleted one after the other
            gone[item] = True
            rows = where[begin[item] : begin[item + 1]]
            left -= tally(*project(starts, items, rows, gone), marked[rows], inner, guilt, -1)
            guilt[item] = 0
            rest = [s - set(np.flatnonzero(gone).tolist()) for s in sets]
            total, expected = plain(rest, marked, breach)
            assert left == total
            assert guilt.tolist() == expected.tolist()


def fewest(sets, k, m):
    """Return the least number of occurrences to delete so that nothing is rare, by trying all."""
    items = sorted({item for members in sets for item in members})
    best = None
    for size in range(len(items) + 1):
        for gone in combinations(items, size):
            rest = [set(members) - set(gone) for members in sets]
            found = brute.rarest(rest, m)
            if found is None or found >= k:
                lost = sum(len(set(s) & set(gone)) for s in sets)
                best = lost if best is None else min(best, lost)
    return best


def test_few_occurrences_are_deleted_beside_the_fewest():
    rng = np.random.default_rng(3)
    over = []
    for _ in range(60):
        sets = brute.random_sets(rng, sets=12, items=6, longest=4)
        release = sf.anonymize(
            sf.read(sets, shape="sets", hierarchy=2),
            sf.KmAnonymity(3, m=2),
            algorithm="suppression",
        )
        lost = round(release.loss["deleted"] * sum(map(len, sets)))
        over.append(lost - fewest(sets, 3, 2))
    assert min(over) >= 0
    assert np.mean(over) < 1.5


def test_a_secret_stays_where_it_is_not_too_frequent():
    sets = [["milk"]] * 6 + [["milk", "test"]] * 2 + [["beer"]] * 2 + [["beer", "test"]] * 2
    promise = sf.KAnonymity(2) & sf.ItemDiversity(4, ["test"])
    release = sf.anonymize(sf.read(sets, shape="sets", hierarchy=2), promise)
    assert release.verify().holds
    kept = sorted(sorted(members) for members in release.data if "test" in members)
    assert kept == [["beer", "test"], ["milk", "test"], ["milk", "test"]]
    assert len(release.data) == len(sets)


def test_secrets_alone_in_a_basket_are_not_told():
    sets = [["test"], ["milk"], ["milk"], ["milk"], ["milk", "test"]]
    promise = sf.KAnonymity(2) & sf.ItemDiversity(2, ["test"])
    release = sf.anonymize(sf.read(sets, shape="sets", hierarchy=2), promise)
    assert release.verify().holds
    assert ["test"] not in release.data
    assert ["milk", "test"] in [sorted(members) for members in release.data]


def test_secrets_of_thousands_of_baskets_are_kept_in_seconds():
    """Every definition is met on baskets of a shop, not on toys alone."""
    rng = np.random.default_rng(4)
    share = 1 / np.arange(1, 301)
    sets = [
        [str(i) for i in rng.choice(300, rng.integers(1, 12), False, share / share.sum())]
        for _ in range(4000)
    ]
    data = sf.read(sets, shape="sets", hierarchy=5)
    secret = ["3", "40", "250"]
    for promise in (
        sf.KmAnonymity(5, m=3),
        sf.RhoUncertainty(0.3, secret, m=2),
        sf.Coherence(0.3, 5, 2, secret),
        sf.KAnonymity(5) & sf.ItemDiversity(3, secret),
    ):
        assert sf.anonymize(data, promise, algorithm="suppression").verify().holds
