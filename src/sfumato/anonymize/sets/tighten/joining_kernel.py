"""Kernels that find sets to join a class: from classes of more than k, the cheapest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.sets.tighten.board_kernel import ITEMS, NEAR, SIGN, price_in
from sfumato.compiler import njit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Joiners(NamedTuple):
    """Sets that could join, cheapest first, and how much more each would pay."""

    who: NDArray[np.int64]
    more: NDArray[np.float64]


@njit_inner
def insert(t, more, joiners, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Insert a set among those who join; return how many there are now."""
    found = min(found + 1, len(joiners.who))
    z = found - 1
    while z > 0 and joiners.more[z - 1] > more:
        joiners.more[z], joiners.who[z] = joiners.more[z - 1], joiners.who[z - 1]
        z -= 1
    joiners.more[z], joiners.who[z] = more, t
    return found


@njit_inner
def list_fitting(c, fitting, board, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """List the sets of classes above k that may fit a class, by their bits; return how many.

    Whoever fits the class with one more label, below one of its own, is among them: a set with a
    node has what is above it, and what is near the new label is near the one above it.
    """
    sign, near, items = board.bits[c, SIGN], board.bits[c, NEAR], board.bits[c, ITEMS]
    found = 0
    for i in range(board.tally[0]):
        d = board.live[i]
        if board.size[d] <= k or d == c or board.bits[d, SIGN] & ~near:
            continue
        t = board.head[d]
        while t >= 0:
            has = board.has[t, 0]
            if (sign & ~has) | (has & ~near) | (items & ~board.has[t, 1]) == 0:
                fitting[found] = t
                found += 1
            t = board.after[t]
    return found


@njit_inner
def list_joiners(c, fitting, joiners, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """List sets that could join a class as it is, of those that may fit; return how many."""
    first = board.head[c]
    found = 0
    for t in fitting:
        pays = board.pays[t]
        last = joiners.more[found - 1] if found == len(joiners.who) else 0.5
        cost = price_in(t, first, shown, ground, mark, pays + last)
        if cost < pays + last:
            found = insert(t, cost - pays, joiners, found)
    return found


@njit_inner
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


@njit_inner
def price_with(t, labels, ground, mark, seen):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what a set would pay with the marked labels; infinity where it does not fit."""
    parent = ground.parent
    seen[0] += 1
    cost = 0.0
    met = 0
    for p in range(ground.starts[t], ground.starts[t + 1]):
        v = ground.items[p]
        while mark[v] == 0:
            v = parent[v]
        if seen[v + 1] != seen[0]:
            seen[v + 1] = seen[0]
            met += 1
        cost += ground.price[v] if parent[v] != v else np.inf
    return cost if met == labels else np.inf


@njit_inner
def find_joiners(c, j, need, fitting, options, movers, board, shown, ground, clues):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Find `need` of the sets that may fit, one of each class, for a class with one more label.

    Returns how much more they pay in all, infinity where there are too few.
    """
    starts, joiners, mark = ground.starts, movers.joiners, movers.mark
    labels = mark_labels(c, j, options, board, shown, ground, mark)
    node, first = options.node[j], board.head[c]
    sign, items, near = clues.bit[node], clues.item_bit[node], clues.span[node] | ~clues.alone
    for p in range(starts[first], starts[first + 1]):
        if mark[shown[p]] == 1:
            near |= clues.span[shown[p]]
    joiners.more[:need] = np.inf
    least, who = np.inf, -1
    for i in range(len(fitting)):
        t = fitting[i]
        has = board.has[t, 0]
        if (sign & ~has) | (has & ~near) | (items & ~board.has[t, 1]) == 0:
            more = price_with(t, labels, ground, mark, movers.seen) - board.pays[t]
            if more < least:
                least, who = more, t
        if i + 1 == len(fitting) or board.class_of[fitting[i + 1]] != board.class_of[t]:
            if least < joiners.more[need - 1]:
                insert(who, least, Joiners(joiners.who[:need], joiners.more[:need]), need)
            least, who = np.inf, -1
    for p in range(starts[first], starts[first + 1]):
        mark[shown[p]] = 0
    mark[node] = 0
    return joiners.more[:need].sum()


@njit_inner
def is_among(t, joiners, need):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Tell whether a set is one of the first of those who join."""
    for q in range(need):  # noqa: SIM110 - compiled
        if joiners.who[q] == t:
            return True
    return False


@njit_inner
def fill_up(fill, need, joiners, back, listed, chosen, taken, board, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Choose who joins those that remain, beside `joiners`; return how much more they pay."""
    cost = 0.0
    got = 0
    for q in range(need):
        taken[board.class_of[joiners.who[q]]] += 1
    for i in range(listed):
        t = back.who[i]
        d = board.class_of[t]
        if got < fill and board.size[d] - taken[d] > k and not is_among(t, joiners, need):
            taken[d] += 1
            chosen[got] = t
            got += 1
            cost += back.more[i]
    for q in range(need):
        taken[board.class_of[joiners.who[q]]] = 0
    for q in range(got):
        taken[board.class_of[chosen[q]]] = 0
    return cost if got == fill else np.inf
