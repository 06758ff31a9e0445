"""Kernels that divide sets from the root down, label by label, with a look ahead.

All sets of a class show the same nodes, each item as the lowest of them above it. Nodes shown may
lie above one another: ``{A1, A}`` is an item of A1 and another one of A that is not told more
closely. A class is split by one node u below a shown node v: *rest* are the sets with items of v
both under u and elsewhere, which then show u and v; *only* those whose items of v are all under u,
which show u instead of v; the others stay as they are. Absence of an item is never shown, so a
split spends company (entropy) that only sets with u are paid for: what is saved is weighed against
the entropy of the split. The best few splits of a small class are tried out to the end before one
is taken. Fewer than k others are put aside, at a price, to be divided among themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

APART, REST, ONLY = 0, 1, 2
"""Which of the sets with u leave the others: both kinds, each for itself, or one of them."""
FREE = 1e9
"""Added to what a split saves that splits nobody off: it is always taken."""


class Ground(NamedTuple):
    """What is divided: sets, the tree of their items, and how a split is weighed."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    parent: NDArray[np.int32]
    price: NDArray[np.float64]
    k: int
    patience: float
    """Entropy per set that a split is charged in any case."""
    aside: float
    """What putting a set aside costs, as a share of what the set pays now; above 1: never done."""
    leave: NDArray[np.float64]
    """What each set would pay elsewhere; empty where there is nowhere else yet."""
    regret: NDArray[np.float64]
    """How much more that is than the set pays in the class it comes from."""
    logs: NDArray[np.float64]
    """n log n for every number of sets: an entropy is looked up, not computed."""


class Desk(NamedTuple):
    """Room for counts per node, clear between uses; `low` is the lowest useful node per item."""

    counts: NDArray[np.int64]
    costs: NDArray[np.float64]
    met: NDArray[np.int64]
    low: NDArray[np.int32]


class Splits(NamedTuple):
    """The best splits found, best first: node, the node it is below, way, score."""

    node: NDArray[np.int64]
    above: NDArray[np.int64]
    way: NDArray[np.int64]
    score: NDArray[np.float64]


@njit(cache=True)
def count_below(order, b, e, shown, ground, desk):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count for every node below a shown one the sets that have it; return nodes met.

    Also returns what putting all sets aside would cost.

    Rows of `counts`: items held by the shown node, items under the node (both of the set at
    hand), sets with rest, sets with only, their items, the shown node above.
    """
    held, under, rest, only = desk.counts[0], desk.counts[1], desk.counts[2], desk.counts[3]
    rest_items, only_items, above = desk.counts[4], desk.counts[5], desk.counts[6]
    rest_cost, only_cost = desk.costs[0], desk.costs[1]
    starts, parent, low = ground.starts, ground.parent, desk.low
    met = 0
    total = 0.0
    spare = min(ground.aside, 1.0)
    for x in range(b, e):
        first, last = starts[order[x]], starts[order[x] + 1]
        cost = 0.0
        for p in range(first, last):
            v, u = shown[p], low[p]
            cost += ground.price[v]
            held[v] += 1
            while u != v:
                under[u] += 1
                u = parent[u]
        cost = ground.regret[order[x]] if len(ground.regret) > 0 else spare * cost
        total += cost
        for p in range(first, last):
            v, u = shown[p], low[p]
            while u != v and under[u] > 0:
                if rest[u] + only[u] == 0:
                    desk.met[met] = u
                    met += 1
                    above[u] = v
                if under[u] < held[v]:
                    rest[u] += 1
                    rest_items[u] += under[u]
                    rest_cost[u] += cost
                else:
                    only[u] += 1
                    only_items[u] += under[u]
                    only_cost[u] += cost
                under[u] = 0
                u = parent[u]
        for p in range(first, last):
            held[shown[p]] = 0
    return met, total


@njit(cache=True)
def rise(order, b, e, shown, ground, desk):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Leave out nodes that fewer than k sets of the class have: no part of it can show them."""
    rest, only = desk.counts[2], desk.counts[3]
    for x in range(b, e):
        t = order[x]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            u = desk.low[p]
            while u != shown[p] and rest[u] + only[u] < ground.k:
                u = ground.parent[u]
            desk.low[p] = u


@njit(cache=True)
def weigh(u, way, size, total, ground, desk, enough):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the score of a split, negative where it is impossible, or not above `enough`."""
    k = ground.k
    rest, only = desk.counts[2, u], desk.counts[3, u]
    if (way == REST and only == 0) or (way == ONLY and rest == 0):
        return -1.0  # the same as both apart
    a = rest if way != ONLY else 0
    b = only if way != REST else 0
    left = size - a - b
    if a + b == 0 or 0 < a < k or 0 < b < k:
        return -1.0
    items = (desk.counts[4, u] if a else 0) + (desk.counts[5, u] if b else 0)
    saved = items * (ground.price[desk.counts[6, u]] - ground.price[u])
    if 0 < left < k:
        if ground.aside > 1.0:
            return -1.0
        paid = (desk.costs[0, u] if a else 0.0) + (desk.costs[1, u] if b else 0.0)
        saved -= total - paid
    if max(a, b) == size:
        return FREE + saved
    if saved <= enough * ground.patience * size:
        return -1.0
    logs = ground.logs
    entropy = logs[size] - logs[a] - logs[b] - logs[left]
    return saved / (entropy + ground.patience * size)


@njit(cache=True)
def find_splits(order, b, e, shown, ground, desk, splits, most, lift):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the best splits of a class, at most `most`; return how many there are."""
    met, total = count_below(order, b, e, shown, ground, desk)
    if lift:
        rise(order, b, e, shown, ground, desk)
    found = 0
    for i in range(met):
        u = desk.met[i]
        if desk.counts[2, u] + desk.counts[3, u] < ground.k:
            continue
        for way in range(3):
            enough = splits.score[found - 1] if found == most else 0.0
            score = weigh(u, way, e - b, total, ground, desk, enough)
            if score <= enough:
                continue
            found = min(found + 1, most)
            j = found - 1
            while j > 0 and splits.score[j - 1] < score:
                splits.node[j], splits.way[j] = splits.node[j - 1], splits.way[j - 1]
                splits.above[j], splits.score[j] = splits.above[j - 1], splits.score[j - 1]
                j -= 1
            splits.node[j], splits.way[j], splits.score[j] = u, way, score
            splits.above[j] = desk.counts[6, u]
    for i in range(met):
        u = desk.met[i]
        desk.counts[2, u] = desk.counts[3, u] = desk.counts[4, u] = desk.counts[5, u] = 0
        desk.costs[0, u] = desk.costs[1, u] = 0.0
    return found


@njit(cache=True)
def split(order, b, e, shown, ground, node, above, way, cuts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Split a class: order its sets by kind, write where kinds begin, show the node."""
    starts, items, parent = ground.starts, ground.items, ground.parent
    kind = np.zeros(e - b, np.int8)
    members = order[b:e].copy()
    for x in range(e - b):
        first, last = starts[members[x]], starts[members[x] + 1]
        held = under = 0
        for p in range(first, last):
            if shown[p] == above:
                held += 1
                u = items[p]
                while u < node:
                    u = parent[u]
                under += u == node
        if under > 0 and under < held and way != ONLY:
            kind[x] = 1
        elif under > 0 and under == held and way != REST:
            kind[x] = 2
        if kind[x] > 0:
            for p in range(first, last):
                if shown[p] == above:
                    u = items[p]
                    while u < node:
                        u = parent[u]
                    if u == node:
                        shown[p] = node
    place = b
    for which in range(3):
        cuts[which] = place
        for x in range(e - b):
            if kind[x] == which:
                order[place] = members[x]
                place += 1
    cuts[3] = place


@njit(cache=True)
def price_of(order, b, e, shown, ground):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what the sets of a class pay."""
    cost = 0.0
    for x in range(b, e):
        t = order[x]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            cost += ground.price[shown[p]]
    return cost


@njit(cache=True)
def price_aside(order, b, e, shown, ground):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how much more sets pay that are put aside than they would as they are."""
    cost = price_of(order, b, e, shown, ground)
    if len(ground.leave) == 0:
        return ground.aside * cost
    there = 0.0
    for x in range(b, e):
        there += ground.leave[order[x]]
    return there - cost


@njit(cache=True)
def try_out(members, shown, ground, desk, splits, choice, cuts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what a class would pay if it were split so, and then always by the best split."""
    order = members.copy()
    next_split = Splits(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    )
    aside = 0.0
    stack = [(0, 0)]
    stack.pop()
    node, above, way = splits.node[choice], splits.above[choice], splits.way[choice]
    b, e = 0, len(order)
    while True:
        split(order, b, e, shown, ground, node, above, way, cuts)
        for i in range(3):
            if cuts[i + 1] - cuts[i] >= ground.k:
                stack.append((cuts[i], cuts[i + 1]))
            elif cuts[i + 1] > cuts[i]:
                aside += price_aside(order, cuts[i], cuts[i + 1], shown, ground)
        found = 0
        while found == 0 and len(stack) > 0:
            b, e = stack.pop()
            found = find_splits(order, b, e, shown, ground, desk, next_split, 1, False)
        if found == 0:
            return price_of(order, 0, len(order), shown, ground) + aside
        node, above, way = next_split.node[0], next_split.above[0], next_split.way[0]


@njit(cache=True)
def choose_split(members, shown, ground, desk, splits, found, cuts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Try every split out, and return the one after which the class pays least."""
    size = 0
    for t in members:
        size += ground.starts[t + 1] - ground.starts[t]
    before = np.empty(size, np.int32)
    best, choice = np.inf, 0
    for i in range(-1, found):
        if i >= 0:
            cost = try_out(members, shown, ground, desk, splits, i, cuts)
            if cost < best - 1e-12:
                best, choice = cost, i
        place = 0
        for t in members:
            for p in range(ground.starts[t], ground.starts[t + 1]):
                if i < 0:
                    before[place] = shown[p]
                else:
                    shown[p] = before[place]
                place += 1
    return choice


@njit(cache=True)
def divide_deeply(order, begins, ends, shown, ground, tries, small):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Divide classes of `order`, which is permuted in place, as far as that saves.

    `shown`, the node of every item, is kept up to date. Up to `tries` splits are tried out in
    classes of at most `small` sets. Returns the class of every place of `order`, −1 for sets that
    were put aside.
    """
    width = len(ground.parent)
    desk = Desk(
        np.zeros((7, width), np.int64), np.zeros((2, width)), np.empty(width, np.int64),
        ground.items.copy(),
    )  # fmt: skip
    splits = Splits(
        np.zeros(tries, np.int64), np.zeros(tries, np.int64), np.zeros(tries, np.int64),
        np.zeros(tries),
    )  # fmt: skip
    cuts = np.zeros(4, np.int64)
    class_at = np.full(len(order), -1, np.int64)
    made = 0
    stack = [(begins[c], ends[c]) for c in range(len(begins))]
    while len(stack) > 0:
        b, e = stack.pop()
        most = tries if e - b <= small else 1
        found = find_splits(order, b, e, shown, ground, desk, splits, most, True)
        if found == 0:
            class_at[b:e] = made
            made += 1
            continue
        choice = 0
        if found > 1 and splits.score[0] < FREE:
            choice = choose_split(order[b:e], shown, ground, desk, splits, found, cuts)
        split(
            order, b, e, shown, ground,
            splits.node[choice], splits.above[choice], splits.way[choice], cuts,
        )  # fmt: skip
        for i in range(3):
            if cuts[i + 1] - cuts[i] >= ground.k:
                stack.append((cuts[i], cuts[i + 1]))  # noqa: PERF401 - compiled
    return class_at
