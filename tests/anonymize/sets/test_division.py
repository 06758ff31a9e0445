"""Division: what is subtracted leaves what plain counting finds; groups lower the loss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.sets.divide.tally_kernel import (
    ABOVE,
    ONLY,
    ONLY_ITEMS,
    REST,
    REST_ITEMS,
    count,
    discount,
    forget,
    set_up,
)
from sfumato.anonymize.sets.nested_partition import NestedPartition


def draw(rng, *, sets=60, items=20, longest=7):
    many = rng.integers(1, longest, size=sets)
    rows = [[f"{i:02}" for i in rng.choice(items, size, replace=False)] for size in many]
    return sf.read(rows, shape="sets", hierarchy=2)


def plain_tally(data, members, shown, price):
    """Count by looking at every node above every item of every set."""
    tree, found = data.tree, {}
    for t in members:
        places = range(data.starts[t], data.starts[t + 1])
        held = Counter(int(shown[p]) for p in places)
        below = Counter()
        for p in places:
            for u in tree.above(int(data.items[p])):
                if u == shown[p]:
                    break
                below[u, int(shown[p])] += 1
        paid = 0.1 * sum(price[shown[p]] for p in places)
        for (u, v), under in below.items():
            row = found.setdefault(u, [v, 0, 0, 0, 0, 0.0, 0.0])
            way = 1 if under == held[v] else 0
            row[1 + way] += 1
            row[3 + way] += under
            row[5 + way] += paid
    return found


def test_a_tally_without_those_who_left_is_that_of_those_who_stayed():
    rng = np.random.default_rng(31)
    for _ in range(30):
        data = draw(rng)
        search = NestedPartition(data, 2)
        ground = search._ground(0.1)
        order = rng.permutation(len(data))
        cut = int(rng.integers(1, len(data)))
        tally = set_up(data.tree.nodes, data.items.copy())
        met, total = count(order, 0, len(data), search.shown, ground, tally)
        total -= discount(order, cut, len(data), search.shown, ground, tally)
        expected = plain_tally(data, order[:cut], search.shown, ground.price)
        for u, row in expected.items():
            found = tally.many[u, [ABOVE, REST, ONLY, REST_ITEMS, ONLY_ITEMS]].tolist()
            assert found == row[:5]
            assert tally.cost[u].tolist() == pytest.approx(row[5:])
        others = set(range(data.tree.nodes)) - set(expected)
        assert not tally.many[sorted(others)][:, [REST, ONLY, REST_ITEMS, ONLY_ITEMS]].any()
        stay = np.isin(np.repeat(np.arange(len(data)), data.sizes), order[:cut])
        assert total == pytest.approx(0.1 * ground.price[search.shown[stay]].sum())
        forget(met, tally)
        assert not tally.many[:, REST:].any()
        assert not tally.cost.any()


def recurring(rng, *, sets, lists, items=625, departments=5):
    """Draw sets of nine items, half of them at random.

    The others are shopping lists that recur: six items from all over the shop, and three more, of
    the list's own departments. Each item is on many lists, so it tells none of them.
    """
    width = items // departments
    known = [
        (rng.choice(items, 6, replace=False), width * rng.integers(departments, size=3))
        for _ in range(lists)
    ]
    rows = [rng.choice(items, 9, replace=False).tolist() for _ in range(sets // 2)]
    for t in range(sets // 2):
        fixed, begins = known[t % lists]
        rows.append([*fixed.tolist(), *(begins + rng.integers(width, size=3)).tolist()])
    return [sorted({f"{i:03}" for i in row}) for row in rows]


def loss_of(data, *, grouped, monkeypatch):
    with monkeypatch.context() as patch:
        if not grouped:
            patch.setattr(
                NestedPartition, "_seed", lambda self, _: np.zeros(len(self.data), np.int64)
            )
        search = NestedPartition(data, 5)
        search.run()
    classes = search.class_of[search.class_of >= 0]
    assert np.unique(classes, return_counts=True)[1].min() >= 5
    return float(search.data.tree.price[search.shown].mean())


@pytest.mark.parametrize("seed", [32, *(pytest.param(s, marks=pytest.mark.soak) for s in (33, 34))])
def test_grouping_long_sets_lowers_the_loss(monkeypatch, seed):
    """Lists that recur are what division misses: it takes one item at a time."""
    rows = recurring(np.random.default_rng(seed), sets=6000, lists=300)
    data = sf.read(rows, shape="sets", hierarchy=5)
    without = loss_of(data, grouped=False, monkeypatch=monkeypatch)
    assert loss_of(data, grouped=True, monkeypatch=monkeypatch) < 0.96 * without
