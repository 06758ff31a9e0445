"""Kernels for classes of sets between which sets move: who fits where, and what it pays there.

Who fits where is seen from bits before it is looked at closely: a set that fits a class has the
nodes of all its labels, and no node that lies neither below nor above one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit, njit_inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAIN = 1e-9
"""What a step must save; less is rounding."""


class Clues(NamedTuple):
    """Bits that tell who cannot fit: `bit` of every node, and `span`, the bits near every node.

    Only nodes with one of the bits of `alone` have it for themselves; `span` has no others. Items
    have bits of another word, `item_bit`, which many share; other nodes have none of these.
    """

    bit: NDArray[np.uint64]
    span: NDArray[np.uint64]
    alone: np.uint64
    item_bit: NDArray[np.uint64]


SIGN, NEAR, ITEMS = 0, 1, 2
"""Columns of `Board.bits`."""


class Board(NamedTuple):
    """Classes as linked lists of sets, and what is known of each set and each class.

    `bits` of a class, side by side as they are looked at together: those of its labels (`SIGN`),
    those near them (`NEAR`), and those of its items (`ITEMS`); `has` of a set: those of its nodes
    and those of its items.
    ``live[:tally[0]]`` are the classes of the bucket at hand, ``free[:tally[1]]`` numbers that no
    class has.
    """

    head: NDArray[np.int64]
    size: NDArray[np.int64]
    bits: NDArray[np.uint64]
    after: NDArray[np.int64]
    class_of: NDArray[np.int64]
    has: NDArray[np.uint64]
    pays: NDArray[np.float64]
    live: NDArray[np.int64]
    free: NDArray[np.int64]
    tally: NDArray[np.int64]


class Members(NamedTuple):
    """The members of the class at hand, where each would go, and what it would pay there."""

    who: NDArray[np.int64]
    where: NDArray[np.int64]
    other: NDArray[np.float64]


@njit(cache=True)
def set_up(class_of, shown, ground, clues):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the board of all classes; sets of no class are in none of its lists."""
    starts, items, parent, k = ground.starts, ground.items, ground.parent, ground.k
    n = len(class_of)
    room = max(class_of.max() + 1, n // k) + 1
    board = Board(
        np.full(room, -1, np.int64), np.zeros(room, np.int64), np.zeros((room, 4), np.uint64),
        np.full(n, -1, np.int64), class_of, np.zeros((n, 2), np.uint64), np.zeros(n),
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip
    for t in range(n):
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            board.pays[t] += ground.price[shown[p]]
            board.has[t, 1] |= clues.item_bit[v]
            while parent[v] != v:
                board.has[t, 0] |= clues.bit[v]
                v = parent[v]
        if class_of[t] >= 0:
            link(t, class_of[t], board)
    for c in range(room - 1, -1, -1):
        if board.size[c] == 0:
            board.free[board.tally[1]] = c
            board.tally[1] += 1
        else:
            describe(c, board, shown, ground, clues)
    return board


@njit_inner
def describe(c, board, shown, ground, clues):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the bits of a class: those of its labels, and those near them."""
    t = board.head[c]
    sign = near = items = np.uint64(0)
    for p in range(ground.starts[t], ground.starts[t + 1]):
        sign |= clues.bit[shown[p]]
        near |= clues.span[shown[p]]
        items |= clues.item_bit[shown[p]]
    board.bits[c, SIGN] = sign
    board.bits[c, NEAR] = near | ~clues.alone
    board.bits[c, ITEMS] = items


@njit_inner
def link(t, c, board):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put a set into a class."""
    board.after[t] = board.head[c]
    board.head[c] = t
    board.size[c] += 1
    board.class_of[t] = c


@njit_inner
def unlink(t, board):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Take a set out of its class."""
    c = board.class_of[t]
    u = board.head[c]
    if u == t:
        board.head[c] = board.after[t]
    else:
        while board.after[u] != t:
            u = board.after[u]
        board.after[u] = board.after[t]
    board.size[c] -= 1


@njit_inner
def price_in(t, example, shown, ground, mark, below):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what a set would pay with the labels of an example; infinity if not less than `below`.

    Also infinity where it does not fit: each label must stand for an item, each item have a label.
    """
    starts, parent = ground.starts, ground.parent
    labels = 0
    for p in range(starts[example], starts[example + 1]):
        labels += mark[shown[p]] == 0
        mark[shown[p]] = 1
    cost = 0.0
    for p in range(starts[t], starts[t + 1]):
        v = ground.items[p]
        while mark[v] == 0:
            v = parent[v]
        labels -= mark[v] == 1
        mark[v] = 2
        cost += ground.price[v]
        if cost >= below or parent[v] == v:
            cost = np.inf
            break
    for p in range(starts[example], starts[example + 1]):
        mark[shown[p]] = 0
    return cost if labels == 0 else np.inf


@njit_inner
def transfer(t, c, example, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Move a set to a class, where it shows the labels of an example."""
    starts = ground.starts
    for p in range(starts[example], starts[example + 1]):
        mark[shown[p]] = 1
    board.pays[t] = 0.0
    for p in range(starts[t], starts[t + 1]):
        v = ground.items[p]
        while mark[v] == 0:
            v = ground.parent[v]
        shown[p] = v
        board.pays[t] += ground.price[v]
    for p in range(starts[example], starts[example + 1]):
        mark[shown[p]] = 0
    unlink(t, board)
    link(t, c, board)


@njit_inner
def look_around(c, members, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Find for every member the cheapest other class; return how much more they would pay."""
    bits = board.bits
    total = 0.0
    x = 0
    t = board.head[c]
    while t >= 0:
        has, has_items = board.has[t, 0], board.has[t, 1]
        best, where = np.inf, -1
        for i in range(board.tally[0]):
            d = board.live[i]
            lacks = (bits[d, SIGN] & ~has) | (has & ~bits[d, NEAR]) | (bits[d, ITEMS] & ~has_items)
            if lacks == 0 and d != c:
                cost = price_in(t, board.head[d], shown, ground, mark, best)
                if cost < best:
                    best, where = cost, d
        members.who[x], members.where[x], members.other[x] = t, where, best
        total += best - board.pays[t]
        x += 1
        t = board.after[t]
    return total


@njit_inner
def leave(x, members, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Send a member where it goes."""
    d = members.where[x]
    transfer(members.who[x], d, board.head[d], board, shown, ground, mark)


@njit_inner
def let_leave(c, members, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Let members leave that pay less elsewhere, as long as k are left."""
    x = 0
    while x < board.size[c] and board.size[c] > ground.k:
        if members.other[x] < board.pays[members.who[x]] - GAIN:
            leave(x, members, board, shown, ground, mark)
            y = board.size[c]
            members.who[x], members.where[x] = members.who[y], members.where[y]
            members.other[x] = members.other[y]
        else:
            x += 1


@njit_inner
def dissolve(i, members, board, shown, ground, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Send all members of the class at a place away."""
    c = board.live[i]
    for x in range(board.size[c]):
        leave(x, members, board, shown, ground, mark)
    board.tally[0] -= 1
    board.live[i] = board.live[board.tally[0]]
    board.free[board.tally[1]] = c
    board.tally[1] += 1
