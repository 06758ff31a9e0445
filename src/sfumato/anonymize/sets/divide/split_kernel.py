"""Kernels that weigh the splits of a class, and carry one out.

A class is split by one node u below a shown node v: *rest* are the sets with items of v both under
u and elsewhere, which then show u and v; *only* those whose items of v are all under u, which show
u instead of v; the others stay as they are. Absence of an item is never shown, so a split spends
company (entropy) that only sets with u are paid for: what is saved is weighed against the entropy
of the split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.sets.divide.tally_kernel import (
    ABOVE,
    ONLY,
    ONLY_ITEMS,
    REST,
    REST_ITEMS,
    clear,
)
from sfumato.compiler import njit, njit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

APART, ONLY_REST, ONLY_ONLY = 0, 1, 2
"""Which of the sets with u leave the others: both kinds, each for itself, or one of them."""
FREE = 1e9
"""Added to what a split saves that splits nobody off: it is always taken."""


class Splits(NamedTuple):
    """The best splits found, best first: node, the node it is below, way, score."""

    node: NDArray[np.int64]
    above: NDArray[np.int64]
    way: NDArray[np.int64]
    score: NDArray[np.float64]


@njit(cache=True)
def make_room(most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return room for the best splits."""
    return Splits(
        np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64),
        np.zeros(most),
    )  # fmt: skip


@njit_inner
def weigh(u, way, size, total, ground, tally, enough):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the score of a split, negative where it is impossible, or not above `enough`."""
    k, many = ground.k, tally.many
    rest, only = many[u, REST], many[u, ONLY]
    if (way == ONLY_REST and only == 0) or (way == ONLY_ONLY and rest == 0):
        return -1.0  # the same as both apart
    a = rest if way != ONLY_ONLY else 0
    b = only if way != ONLY_REST else 0
    left = size - a - b
    if a + b == 0 or 0 < a < k or 0 < b < k:
        return -1.0
    items = (many[u, REST_ITEMS] if a else 0) + (many[u, ONLY_ITEMS] if b else 0)
    saved = items * (ground.price[many[u, ABOVE]] - ground.price[u])
    if 0 < left < k:
        if ground.aside > 1.0:
            return -1.0
        paid = (tally.cost[u, 0] if a else 0.0) + (tally.cost[u, 1] if b else 0.0)
        saved -= total - paid
    if max(a, b) == size:
        return FREE + saved
    if saved <= enough * ground.patience * size:
        return -1.0
    logs = ground.logs
    entropy = logs[size] - logs[a] - logs[b] - logs[left]
    return saved / (entropy + ground.patience * size)


@njit_inner
def find_splits(met, size, total, ground, tally, splits, most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the best splits of a class that was counted, at most `most`.

    Returns how many there are, and how many nodes are left that k sets have; others are left out.
    """
    found = kept = 0
    for i in range(met):
        u = tally.met[i]
        if tally.many[u, REST] + tally.many[u, ONLY] < ground.k:
            clear(u, tally)
            continue
        tally.met[kept] = u
        kept += 1
        for way in range(3):
            enough = splits.score[found - 1] if found == most else 0.0
            score = weigh(u, way, size, total, ground, tally, enough)
            if score <= enough:
                continue
            found = min(found + 1, most)
            j = found - 1
            while j > 0 and splits.score[j - 1] < score:
                splits.node[j], splits.way[j] = splits.node[j - 1], splits.way[j - 1]
                splits.above[j], splits.score[j] = splits.above[j - 1], splits.score[j - 1]
                j -= 1
            splits.node[j], splits.way[j], splits.score[j] = u, way, score
            splits.above[j] = tally.many[u, ABOVE]
    return found, kept


@njit(cache=True)
def part(order, b, e, shown, ground, splits, choice, cuts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Order the sets of a class by kind: others, with rest, with only; write where kinds begin."""
    starts, items = ground.starts, ground.items
    node, above, way = splits.node[choice], splits.above[choice], splits.way[choice]
    first, last = ground.first[node], ground.last[node]
    kind = np.zeros(e - b, np.int8)
    for x in range(e - b):
        held = under = 0
        t = order[b + x]
        for p in range(starts[t], starts[t + 1]):
            if shown[p] == above:
                held += 1
                under += first <= items[p] < last
        if 0 < under < held and way != ONLY_ONLY:
            kind[x] = 1
        elif 0 < under == held and way != ONLY_REST:
            kind[x] = 2
    members = order[b:e].copy()
    place = b
    for which in range(3):
        cuts[which] = place
        for x in range(e - b):
            if kind[x] == which:
                order[place] = members[x]
                place += 1
    cuts[3] = place


@njit_inner
def show(order, b, e, shown, ground, splits, choice):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Show the node of a split in sets that have it."""
    node, above = splits.node[choice], splits.above[choice]
    first, last = ground.first[node], ground.last[node]
    for x in range(b, e):
        t = order[x]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            if shown[p] == above and first <= ground.items[p] < last:
                shown[p] = node
