"""Every algorithm × every definition, by brute force; minimal cuts and least labels, too."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from chance import rounds

import sfumato as sf
from sfumato.anonymize.sets import nested_partition
from sfumato.anonymize.sets.algorithms import ALGORITHMS
from sfumato.anonymize.sets.nested_partition import NestedPartition
from sfumato.anonymize.sets.partition import Partition, order_classes
from sfumato.anonymize.sets.recoding import SetRecoding
from sfumato.anonymize.sets.tighten.tightening import Tightening
from sfumato.data.tables.permutation import RandomWords
from sfumato.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))
import brute

SECRET = ("a0",)
TWO = ("a0", "b3")
NAMED = [["a2", "b1"], ["a0", "b3", "a4"]]
INPUTS = [2, pytest.param(24, marks=pytest.mark.soak)]
"""Random inputs for every algorithm × definition that fit; some 250 in all, 2,800 in a soak."""

WAYS = {
    **{name: {"algorithm": name} for name in ALGORITHMS},
    "cut": {"algorithm": "global", "deletion": False},
    "bags": {"algorithm": "partition", "meaning": "bag"},
}
PROMISES = {
    "k": lambda k, m, share: sf.KAnonymity(k),
    "km": lambda k, m, share: sf.KmAnonymity(k, m=m),
    "rho": lambda k, m, share: sf.RhoUncertainty(share, SECRET, m=m),
    "rho of all": lambda k, m, share: sf.RhoUncertainty(share, SECRET),
    "coherence": lambda k, m, share: sf.Coherence(share, k, m, SECRET),
    "constraints": lambda k, m, share: sf.ItemConstraints(k + 1, NAMED),
    "diversity": lambda k, m, share: sf.ItemDiversity(k, SECRET),
    "km and rho": lambda k, m, share: sf.KmAnonymity(k, m=m) & sf.RhoUncertainty(share, SECRET, 1),
    "k and diversity": lambda k, m, share: sf.KAnonymity(k) & sf.ItemDiversity(2, SECRET),
    "k and rho": lambda k, m, share: sf.KAnonymity(k) & sf.RhoUncertainty(share, SECRET, m=m),
    "km and constraints": lambda k, m, share: (
        sf.KmAnonymity(k, m=m) & sf.ItemConstraints(k + 2, NAMED[:1])
    ),
    "coherence of two": lambda k, m, share: sf.Coherence(share, k, m, TWO),
    "diversity of two": lambda k, m, share: sf.ItemDiversity(k, TWO),
    "rho of two and km": lambda k, m, share: (
        sf.RhoUncertainty(share, TWO, m=m) & sf.KmAnonymity(k, m=1)
    ),
    "k and diversity of two": lambda k, m, share: sf.KAnonymity(k) & sf.ItemDiversity(2, TWO),
    "diversity beside another secret": lambda k, m, share: (
        sf.ItemDiversity(k, SECRET) & sf.RhoUncertainty(share, TWO[1:], m=m)
    ),
    "all at once": lambda k, m, share: (
        sf.KmAnonymity(k, m=m)
        & sf.Coherence(share, 2, 2, TWO)
        & sf.RhoUncertainty(share, SECRET)
        & sf.ItemDiversity(2, TWO)
        & sf.ItemConstraints(k + 1, [["a2", "b1"], ["a4", "b3"]])
    ),
    "coherence and constraints": lambda k, m, share: (
        sf.Coherence(share, k, m, SECRET) & sf.ItemConstraints(k + 1, NAMED)
    ),
}
WHOLE = {"k", "k and diversity", "k and rho", "k and diversity of two"}
REFUSED = {
    **dict.fromkeys(("local", "global", "cut"), WHOLE),
    "merging": PROMISES.keys() - {"km", "constraints", "km and constraints"},
    "disassociation": PROMISES.keys() - {"km"},
}
"""What an algorithm is not made for, and says so."""


def copies(members):
    """Tell copies of a label apart: a label that stands twice is two items."""
    return [(label, list(members[:i]).count(label)) for i, label in enumerate(members)]


def surest(sets, secret, most, barred):
    """Return how surely a secret follows, copies of a label told apart."""
    first = [(item, 0) for item in secret]
    return brute.surest([copies(s) for s in sets], first, most, {(item, 0) for item in barred})


def holds(part, sets, covers, hidden=frozenset()):
    """Judge one part of a promise by the plainest counting; classes do not see what is hidden."""
    if isinstance(part, sf.KAnonymity):
        found = brute.smallest_class([[i for i in s if i not in hidden] for s in sets])
        return found is None or found >= part.k
    if isinstance(part, sf.KmAnonymity):
        found = brute.rarest([copies(s) for s in sets], part.m)
        return found is None or found >= part.k
    if isinstance(part, sf.RhoUncertainty):
        return surest(sets, part.sensitive_items, part.m, ()) <= part.rho + 1e-9
    if isinstance(part, sf.Coherence):
        shown = [copies([i for i in s if i not in part.private]) for s in sets]
        found = brute.rarest(shown, part.p)
        sure = surest(sets, part.private, part.p, part.private)
        return (found is None or found >= part.k) and sure <= part.h + 1e-9
    if isinstance(part, sf.ItemConstraints):
        return all(
            (n := sum(all(shows(s, i, covers) for i in wanted) for s in sets)) == 0 or n >= part.k
            for wanted in part.itemsets
        )
    secret = {*hidden, *part.sensitive_items}
    groups = {}
    for s in sets:
        groups.setdefault(tuple(sorted(i for i in s if i not in secret)), []).append(s)
    return all(
        sum(item in s for s in group) * part.l <= len(group)
        for group in groups.values() for item in part.sensitive_items
    )  # fmt: skip


def secrets_of(promise):
    """Return what some part of a promise calls secret."""
    named = ("sensitive_items", "private")
    return {item for part in promise.parts for name in named for item in getattr(part, name, ())}


def shows(members, item, covers):
    return any(label == "*" or label == item or item in covers.get(label, ()) for label in members)


def draw(rng):
    """Return baskets in which every named item occurs, with a hierarchy or one made of them."""
    sets = brute.random_sets(rng, sets=int(rng.integers(10, 24)))
    sets = [[*s, "a0"] if i % 4 == 0 and "a0" not in s else s for i, s in enumerate(sets)]
    fan = (2, 3, None)[rng.integers(3)]
    return sf.read([*sets, ["a2", "b1"], ["b3", "a4"]], shape="sets", hierarchy=fan)


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROMISES)
def test_what_is_released_keeps_what_is_promised(way, name, inputs):
    rng = np.random.default_rng([len(name), *map(ord, way)])
    for _ in range(inputs):
        k, m, share = int(rng.integers(2, 5)), int(rng.integers(1, 4)), rng.choice([0.34, 0.5, 0.7])
        promise = PROMISES[name](k, m, float(share))
        data = draw(rng)
        if name in REFUSED.get(way, ()):
            with pytest.raises(ParameterError, match="use '"):  # it says which algorithm can
                sf.anonymize(data, promise, **WAYS[way])
            continue
        release = sf.anonymize(data, promise, **WAYS[way])
        assert release.verify().holds
        if way == "disassociation":
            assert all(brute.rarest(chunk.rows, m) >= k for chunk in release.data.chunks)
            continue
        for part in promise.parts:
            assert holds(part, release.data, release.stands_for, secrets_of(promise)), part


def draw_raw(rng):
    """Return sets as they come: many alike, some with a label twice, few with the secrets."""
    sets = brute.random_sets(rng, sets=int(rng.integers(3, 9)), items=6, longest=3)
    sets = [s for s in sets for _ in range(int(rng.integers(1, 5)))]
    twice = [next((i for i in s if i not in TWO), None) for s in sets]
    return [[*s, i] if i and rng.random() < 0.1 else s for s, i in zip(sets, twice, strict=True)]


@pytest.mark.parametrize("name", PROMISES)
@rounds(40, 120)
def test_verification_says_what_plain_counting_says(name, rounds):
    """Of sets that nothing was done to: some keep a promise, some do not."""
    rng = np.random.default_rng([7, *map(ord, name)])
    verdicts = []
    for _ in range(rounds):
        k, m, share = int(rng.integers(1, 4)), int(rng.integers(1, 4)), rng.choice([0.5, 0.7, 0.9])
        promise = PROMISES[name](k, m, float(share))
        sets = draw_raw(rng)
        rows = sf.verify(sets, shape="sets", definition=promise).promises
        for part, row in zip(promise.parts, rows, strict=True):
            expected = holds(part, sets, {}, secrets_of(promise))
            assert row.holds == expected, (part, sets)
            verdicts.append(expected)
    assert 2 < sum(verdicts) < len(verdicts) - 2


def test_no_node_of_a_global_cut_can_be_split():
    rng = np.random.default_rng(3)
    split = 0
    for _ in range(40):
        data = sf.read(brute.random_sets(rng, sets=20), shape="sets", hierarchy=2)
        release = sf.anonymize(data, sf.KmAnonymity(3, m=2), algorithm="global", deletion=False)
        recoding = release.decision.content
        tree, nodes = recoding.data.tree, recoding.nodes
        starts, below = tree.children
        for node in np.unique(nodes[nodes >= tree.items]):
            children = below[starts[node] : starts[node + 1]]
            finer = nodes.copy()
            for child in children:
                inside = (nodes == node) & (recoding.data.items >= tree.first[child]) & (
                    recoding.data.items < tree.last[child])  # fmt: skip
                finer[inside] = child
            begins, shown = SetRecoding(recoding.data, finer).released
            flat = shown.tolist()
            sets = [flat[b:e] for b, e in pairwise(begins)]
            assert brute.rarest(sets, 2) < 3
            split += 1
    assert split > 20


def least_cost(data):
    """Try every set of labels, none above another, for one class of all sets."""
    tree = data.tree
    rows = [data.items[b:e] for b, e in zip(data.starts[:-1], data.starts[1:], strict=True)]
    best = float(data.occurrences)
    for size in range(1, tree.nodes + 1):
        for labels in combinations(range(tree.nodes), size):
            apart = all(tree.last[u] <= tree.first[v] or tree.last[v] <= tree.first[u]
                        for u, v in combinations(labels, 2))  # fmt: skip
            under = [[((tree.first[v] <= row) & (row < tree.last[v])).sum() for v in labels]
                     for row in rows]  # fmt: skip
            if apart and all(all(found) for found in under):
                cost = sum(
                    len(row) - sum(found) + np.dot(found, tree.price[list(labels)])
                    for row, found in zip(rows, under, strict=True)
                )
                best = min(best, float(cost))
    return best


@rounds(15, 40)
def test_a_class_shows_the_cheapest_labels(rounds):
    rng = np.random.default_rng(4)
    for _ in range(rounds):
        sets = brute.random_sets(rng, sets=3, items=5, longest=4)
        data = sf.read(sets, shape="sets", hierarchy=int(rng.integers(2, 4)))
        search = Partition(data, 3, RandomWords(1), bag=False)
        search.run()
        found = SetRecoding(data, search.nodes()).prices.sum()
        assert found == pytest.approx(least_cost(data))
        nested = NestedPartition(data, 3)
        nested.run()
        assert SetRecoding(data, nested.nodes()).prices.sum() <= found + 1e-9


@rounds(50, 150)
def test_nested_labels_stand_for_items_of_their_own(rounds):
    """{A1, A} says: an item of A1 and another of A; no label may be made up."""
    rng = np.random.default_rng(5)
    nested = 0
    for _ in range(rounds):
        sets = brute.random_sets(rng, sets=30, items=12, longest=7)
        data = sf.read(sets, shape="sets", hierarchy=2)
        recoding = sf.anonymize(data, sf.KAnonymity(3)).decision.content
        tree, items, nodes = recoding.data.tree, recoding.data.items, recoding.nodes
        shown = nodes >= 0
        covers = (tree.first[nodes] <= items) & (items < tree.last[nodes])
        assert covers[shown].all()
        starts, labels = recoding.released
        assert (np.diff(starts) <= recoding.data.sizes).all()
        classes = {}
        for b, e in pairwise(starts):
            classes[tuple(labels[b:e])] = classes.get(tuple(labels[b:e]), 0) + 1
        assert all(count >= 3 for found, count in classes.items() if found)
        nested += any(
            tree.first[u] <= tree.first[v] and tree.last[v] <= tree.last[u]
            for found in classes for u in found for v in found if u != v
        )  # fmt: skip
    assert nested > rounds / 8


@pytest.mark.parametrize("turns", [10, pytest.param(40, marks=pytest.mark.soak)])
def test_tightening_lowers_the_loss_and_breaks_no_class(monkeypatch, turns):
    """Random inputs; whoever shows what is recounted here, set by set."""
    monkeypatch.setattr(nested_partition, "LONG", 0)
    rng = np.random.default_rng(14)
    saved = 0
    for turn in range(turns):
        k = int(rng.integers(2, 5))
        many = rng.integers(2, 6, size=300)
        sets = [[f"{i:02}" for i in rng.choice(20, size, replace=False)] for size in many]
        data = sf.read(sets, shape="sets", hierarchy=int(rng.integers(2, 5)))
        search = NestedPartition(data, k)
        search._divide(np.flatnonzero(data.sizes > 0), np.zeros(len(data), np.int64))
        tightening = Tightening(data, search.shown)
        order_classes(search.class_of)
        for opening in (False, True):
            before = data.tree.price[search.shown].sum()
            ground = search._ground(np.inf)
            tightening.run(search.class_of, search.shown, ground, opening=opening)
            after = data.tree.price[search.shown].sum()
            assert after <= before + 1e-9
            saved += after < before - 1e-9
            check_classes(data, search.class_of, search.shown, k)
        if turn % 6 == 0:
            assert sf.anonymize(data, sf.KAnonymity(k), algorithm="partition").verify().holds
    assert saved > turns / 12


def check_classes(data, class_of, shown, k):
    """Every class has k sets that show the same, each item something above it."""
    tree = data.tree
    assert ((tree.first[shown] <= data.items) & (data.items < tree.last[shown])).all()
    classes = {}
    for t, (b, e) in enumerate(pairwise(data.starts.tolist())):
        if class_of[t] >= 0:
            labels = frozenset(shown[b:e].tolist()) - {tree.root}
            classes.setdefault(int(class_of[t]), []).append(labels)
    assert all(len(found) >= k and len({*found}) == 1 for found in classes.values())
