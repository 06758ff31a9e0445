"""Kernels that count, for every node below a shown one, the sets of a class that have it.

What a class is told apart by is counted once; when some of its sets leave, theirs is subtracted,
and the others need not be counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit, njit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD, UNDER, ABOVE, REST, ONLY, REST_ITEMS, ONLY_ITEMS = 0, 1, 2, 3, 4, 5, 6
"""Columns of `Tally.many`. Of the set at hand: items shown by the node, and items under it; of the
class: the shown node above, sets with rest, sets with only, and their items under the node."""
COLUMNS = 8
"""One more than are used: a row fills half a line of the cache."""


class Ground(NamedTuple):
    """What is divided: sets, the tree of their items, and how a split is weighed.

    The items of a set and those of a node are neighbours: node v covers `first[v]` up to, not
    including, `last[v]`.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    parent: NDArray[np.int32]
    price: NDArray[np.float64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    k: int
    patience: float
    """Entropy per set that a split is charged in any case."""
    aside: float
    """What putting a set aside costs, as a share of what the set pays now; above 1: never done."""
    logs: NDArray[np.float64]
    """n log n for every number of sets: an entropy is looked up, not computed."""


class Tally(NamedTuple):
    """Counts per node, clear between uses; nodes counted; the lowest useful node of each item.

    `cost` is what putting the sets aside would cost that have rest, and those that have only.
    """

    many: NDArray[np.int32]
    cost: NDArray[np.float64]
    met: NDArray[np.int64]
    low: NDArray[np.int32]


@njit(cache=True)
def set_up(width, low):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return a tally of nothing for so many nodes."""
    return Tally(
        np.zeros((width, COLUMNS), np.int32), np.zeros((width, 2)), np.empty(width, np.int64), low
    )


@njit_inner
def hold(t, shown, ground, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count the items of a set by node; return what it would cost to put it aside."""
    many, parent = tally.many, ground.parent
    cost = 0.0
    for p in range(ground.starts[t], ground.starts[t + 1]):
        v, u = shown[p], tally.low[p]
        cost += ground.price[v]
        many[v, HELD] += 1
        while u != v:
            many[u, UNDER] += 1
            u = parent[u]
    return min(ground.aside, 1.0) * cost


@njit_inner
def count(order, b, e, shown, ground, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Count a class; return how many nodes were met, and what putting all of it aside would cost.

    Nodes that fewer than k sets have are left out from now on: no part of the class can show them.
    """
    many, cost, parent, low = tally.many, tally.cost, ground.parent, tally.low
    met = 0
    total = 0.0
    for x in range(b, e):
        t = order[x]
        paid = hold(t, shown, ground, tally)
        total += paid
        for p in range(ground.starts[t], ground.starts[t + 1]):
            v, u = shown[p], low[p]
            while u != v and many[u, UNDER] > 0:
                under = many[u, UNDER]
                if many[u, REST] + many[u, ONLY] == 0:
                    tally.met[met] = u
                    met += 1
                    many[u, ABOVE] = v
                way = 0 if under < many[v, HELD] else 1
                many[u, REST + way] += 1
                many[u, REST_ITEMS + way] += under
                cost[u, way] += paid
                many[u, UNDER] = 0
                u = parent[u]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            many[shown[p], HELD] = 0
    return met, total


@njit_inner
def discount(order, b, e, shown, ground, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Take sets out of what was counted of their class; return what putting them aside costs."""
    many, cost, parent, low = tally.many, tally.cost, ground.parent, tally.low
    total = 0.0
    for x in range(b, e):
        t = order[x]
        paid = hold(t, shown, ground, tally)
        total += paid
        for p in range(ground.starts[t], ground.starts[t + 1]):
            v, u = shown[p], low[p]
            while u != v and many[u, UNDER] > 0:
                under = many[u, UNDER]
                if many[u, REST] + many[u, ONLY] > 0:  # else it was left out
                    way = 0 if under < many[v, HELD] else 1
                    many[u, REST + way] -= 1
                    many[u, REST_ITEMS + way] -= under
                    cost[u, way] -= paid
                many[u, UNDER] = 0
                u = parent[u]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            many[shown[p], HELD] = 0
    return total


@njit_inner
def rise(order, b, e, shown, ground, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Pass over nodes that fewer than k sets of the class have: no part of it can show them."""
    many = tally.many
    for x in range(b, e):
        t = order[x]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            u = tally.low[p]
            while u != shown[p] and many[u, REST] + many[u, ONLY] < ground.k:
                u = ground.parent[u]
            tally.low[p] = u


@njit_inner
def forget(met, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Clear what was counted."""
    for i in range(met):
        clear(tally.met[i], tally)


@njit_inner
def clear(u, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Clear what was counted of a node."""
    tally.many[u, REST:COLUMNS] = 0
    tally.cost[u, 0] = tally.cost[u, 1] = 0.0
