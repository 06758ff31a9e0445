"""Every algorithm × every definition, by brute force; minimal cuts and least labels, too."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.sets.algorithms import ALGORITHMS
from sfumato.anonymize.sets.nested_partition import NestedPartition
from sfumato.anonymize.sets.partition import Partition
from sfumato.anonymize.sets.recoding import SetRecoding
from sfumato.data.tables.permutation import RandomWords
from sfumato.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))
import brute

SECRET = ("a0",)
PROMISES = {
    "k": sf.KAnonymity(3),
    "km": sf.KmAnonymity(3, m=2),
    "rho": sf.RhoUncertainty(0.5, SECRET, m=2),
    "coherence": sf.Coherence(0.6, 3, 2, SECRET),
    "constraints": sf.ItemConstraints(4, [["a2", "b1"]]),
    "diversity": sf.ItemDiversity(2, SECRET),
    "km and rho": sf.KmAnonymity(3, m=2) & sf.RhoUncertainty(0.5, SECRET, m=1),
    "k and diversity": sf.KAnonymity(3) & sf.ItemDiversity(2, SECRET),
    "km and constraints": sf.KmAnonymity(3, m=2) & sf.ItemConstraints(5, [["a2", "b1"]]),
}


def holds(part, sets, covers):
    """Judge one part of a promise by the plainest counting."""
    if isinstance(part, sf.KAnonymity):
        found = brute.smallest_class([sorted(set(s) - hidden(part, sets)) for s in sets])
        return found is None or found >= part.k
    if isinstance(part, sf.KmAnonymity):
        found = brute.rarest(sets, part.m)
        return found is None or found >= part.k
    if isinstance(part, sf.RhoUncertainty):
        return brute.surest(sets, SECRET, part.m) <= part.rho + 1e-9
    if isinstance(part, sf.Coherence):
        found = brute.rarest([set(s) - set(SECRET) for s in sets], part.p)
        sure = brute.surest(sets, SECRET, part.p, barred=set(SECRET))
        return (found is None or found >= part.k) and sure <= part.h + 1e-9
    if isinstance(part, sf.ItemConstraints):
        return all(
            (n := sum(all(shows(s, i, covers) for i in wanted) for s in sets)) == 0 or n >= part.k
            for wanted in part.itemsets
        )
    groups = {}
    for s in sets:
        groups.setdefault(tuple(sorted(set(s) - set(SECRET))), []).append(SECRET[0] in s)
    return all(sum(group) * part.l <= len(group) for group in groups.values())


def hidden(_part, _sets):
    return hidden.now


hidden.now = set()


def shows(members, item, covers):
    return any(label == "*" or label == item or item in covers.get(label, ()) for label in members)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", PROMISES)
def test_what_is_released_keeps_what_is_promised(algorithm, name):
    promise = PROMISES[name]
    hidden.now = set(SECRET) if "diversity" in name else set()
    rng = np.random.default_rng(len(name))
    for _ in range(6):
        sets = [[*s, "a0"] if i % 4 == 0 and "a0" not in s else s
                for i, s in enumerate(brute.random_sets(rng, sets=22))]  # fmt: skip
        data = sf.read([*sets, ["a2", "b1"]], shape="sets", hierarchy=2)
        try:
            release = sf.anonymize(data, promise, algorithm=algorithm)
        except ParameterError as error:
            if "use '" not in str(error):  # it says which algorithm can
                raise
            return
        assert release.verify().holds
        if algorithm != "disassociation":
            for part in promise.parts:
                assert holds(part, release.data, release.stands_for), part


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


def test_a_class_shows_the_cheapest_labels():
    rng = np.random.default_rng(4)
    for _ in range(40):
        sets = brute.random_sets(rng, sets=3, items=5, longest=4)
        data = sf.read(sets, shape="sets", hierarchy=int(rng.integers(2, 4)))
        search = Partition(data, 3, RandomWords(1), bag=False)
        search.run()
        found = SetRecoding(data, search.nodes()).prices.sum()
        assert found == pytest.approx(least_cost(data))
        nested = NestedPartition(data, 3)
        nested.run()
        assert SetRecoding(data, nested.nodes()).prices.sum() <= found + 1e-9


def test_nested_labels_stand_for_items_of_their_own():
    """{A1, A} says: an item of A1 and another of A; no label may be made up."""
    rng = np.random.default_rng(5)
    nested = 0
    for _ in range(150):
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
    assert nested > 20
