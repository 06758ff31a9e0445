"""Kernels that find sets to join a class: from classes of more than k, the cheapest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.sets.tighten.board_kernel import price_in
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Joiners(NamedTuple):
    """Sets that could join, cheapest first, and how much more each would pay."""

    who: NDArray[np.int64]
    more: NDArray[np.float64]


@njit(cache=True)
def insert(t, more, joiners, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Insert a set among those who join; return how many there are now."""
    found = min(found + 1, len(joiners.who))
    z = found - 1
    while z > 0 and joiners.more[z - 1] > more:
        joiners.more[z], joiners.who[z] = joiners.more[z - 1], joiners.who[z - 1]
        z -= 1
    joiners.more[z], joiners.who[z] = more, t
    return found


@njit(cache=True)
def list_joiners(c, joiners, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """List sets of classes above k that could join a class as it is; return how many."""
    sign, near, first = board.sign[c], board.near[c], board.head[c]
    items = board.item_sign[c]
    found = 0
    for i in range(board.tally[0]):
        d = board.live[i]
        if board.size[d] <= ground.k or d == c:
            continue
        t = board.head[d]
        while t >= 0:
            has, pays = board.has[t], board.pays[t]
            if (sign & ~has) | (has & ~near) | (items & ~board.has_items[t]) == 0:
                last = joiners.more[found - 1] if found == len(joiners.who) else 0.5
                cost = price_in(t, first, shown, ground, mark, pays + last)
                if cost < pays + last:
                    found = insert(t, cost - pays, joiners, found)
            t = board.after[t]
    return found


@njit(cache=True)
def mark_labels(c, j, options, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Mark the labels of a class with one more; return how many there are, and where they lie."""
    first = board.head[c]
    labels = 1
    for p in range(ground.starts[first], ground.starts[first + 1]):
        v = shown[p]
        if not (options.only[j] and v == options.above[j]):
            labels += mark[v] == 0
            mark[v] = 1
    mark[options.node[j]] = 1
    return labels


@njit(cache=True)
def find_joiners(c, j, need, options, movers, board, shown, ground, clues):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Find `need` sets, of classes above k, one of each, for a class with one more label.

    Returns how much more they pay in all, infinity where there are too few.
    """
    starts, parent, items = ground.starts, ground.parent, ground.items
    joiners, mark, seen = movers.joiners, movers.mark, movers.seen
    labels = mark_labels(c, j, options, board, shown, ground, mark)
    sign, near = clues.bit[options.node[j]], clues.span[options.node[j]] | ~clues.alone
    item_sign = clues.item_bit[options.node[j]]
    first = board.head[c]
    for p in range(starts[first], starts[first + 1]):
        if mark[shown[p]] == 1:
            item_sign |= clues.item_bit[shown[p]]
            sign |= clues.bit[shown[p]]
            near |= clues.span[shown[p]]
    joiners.more[:need] = np.inf
    for i in range(board.tally[0]):
        d = board.live[i]
        if board.size[d] <= ground.k or d == c:
            continue
        least, who = np.inf, -1
        t = board.head[d]
        while t >= 0:
            has = board.has[t]
            if (sign & ~has) | (has & ~near) | (item_sign & ~board.has_items[t]) == 0:
                seen[0] += 1
                more = -board.pays[t]
                met = 0
                for p in range(starts[t], starts[t + 1]):
                    v = items[p]
                    while mark[v] == 0:
                        v = parent[v]
                    if seen[v + 1] != seen[0]:
                        seen[v + 1] = seen[0]
                        met += 1
                    more += ground.price[v] if parent[v] != v else np.inf
                if met == labels and more < least:
                    least, who = more, t
            t = board.after[t]
        if least < joiners.more[need - 1]:
            z = need - 1
            while z > 0 and joiners.more[z - 1] > least:
                joiners.more[z], joiners.who[z] = joiners.more[z - 1], joiners.who[z - 1]
                z -= 1
            joiners.more[z], joiners.who[z] = least, who
    for p in range(starts[first], starts[first + 1]):
        mark[shown[p]] = 0
    mark[options.node[j]] = 0
    return joiners.more[:need].sum()


@njit(cache=True)
def fill_up(fill, need, joiners, back, listed, chosen, taken, board, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Choose who joins those that remain, beside `joiners`; return how much more they pay."""
    cost = 0.0
    got = 0
    for q in range(need):
        taken[board.class_of[joiners.who[q]]] += 1
    for i in range(listed):
        t = back.who[i]
        d = board.class_of[t]
        if got < fill and board.size[d] - taken[d] > k and not np.any(joiners.who[:need] == t):
            taken[d] += 1
            chosen[got] = t
            got += 1
            cost += back.more[i]
    for q in range(need):
        taken[board.class_of[joiners.who[q]]] = 0
    for q in range(got):
        taken[board.class_of[chosen[q]]] = 0
    return cost if got == fill else np.inf
