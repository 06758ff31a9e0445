"""Divide users into groups of at least k with small boxes: a kd-tree that cuts where it pays most.

A group is cut at the place, along x or y, at which the sum over both sides of (users × area of
their box) is smallest; both sides keep as many users as any of them asks for. Orders along both
axes are sorted once and divided stably, so a level of the tree costs a pass. While a group is
large, cuts stay away from its ends, so that the depth stays logarithmic.

What results depends on the places of all users and on nothing else: not on who asks, nor on the
order in which users are given (users at one place are told apart by nothing, and stay together
wherever a cut between them is not forced).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LARGE, MARGIN = 4096, 16
"""Groups above this many users are cut no nearer to their ends than one part in this many."""


@njit(cache=True)
def _best_cut(
    x: Floats, y: Floats, k: Ints, order: Ints, begin: int, end: int, cost: Floats, need: Ints
) -> Any:
    """Return the cheapest place to cut one order, and its cost; −1 where none is allowed."""
    low_x = low_y = np.inf
    high_x = high_y = -np.inf
    most = 0
    for p in range(end - 1, begin, -1):  # the side above: cost and need of users p … end
        i = order[p]
        low_x, high_x = min(low_x, x[i]), max(high_x, x[i])
        low_y, high_y = min(low_y, y[i]), max(high_y, y[i])
        most = max(most, k[i])
        cost[p] = (end - p) * (high_x - low_x) * (high_y - low_y)
        need[p] = most
    low_x = low_y = np.inf
    high_x = high_y = -np.inf
    most = 0
    n = end - begin
    margin = n // MARGIN if n > LARGE else 0
    best, where = np.inf, -1
    for p in range(begin + 1, end):  # users begin … p − 1 below, p … end − 1 above
        i = order[p - 1]
        low_x, high_x = min(low_x, x[i]), max(high_x, x[i])
        low_y, high_y = min(low_y, y[i]), max(high_y, y[i])
        most = max(most, k[i])
        below = p - begin
        if below < max(most, margin) or end - p < max(need[p], margin):
            continue
        price = below * (high_x - low_x) * (high_y - low_y) + cost[p]
        if price < best:
            best, where = price, p
    return where, best


@njit(cache=True)
def divide(x: Floats, y: Floats, k: Ints, by_x: Ints, by_y: Ints) -> Any:
    """Return the group of each user; `by_x` and `by_y` are the users in the order of x and of y."""
    n = len(x)
    group = np.zeros(n, np.int64)
    groups = 0
    cost, need = np.empty(n), np.empty(n, np.int64)
    side, spare = np.empty(n, np.bool_), np.empty(n, np.int64)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        across, first = _best_cut(x, y, k, by_x, begin, end, cost, need)
        up, second = _best_cut(x, y, k, by_y, begin, end, cost, need)
        if across < 0 and up < 0:
            for p in range(begin, end):
                group[by_x[p]] = groups
            groups += 1
            continue
        cut, order, other = (across, by_x, by_y) if first <= second else (up, by_y, by_x)
        for p in range(begin, end):
            side[order[p]] = p >= cut
        _divide_stably(other, side, spare, begin, end)
        small, large = (begin, cut), (cut, end)
        if cut - begin > end - cut:
            small, large = large, small
        stack[depth, 0], stack[depth, 1] = large
        stack[depth + 1, 0], stack[depth + 1, 1] = small
        depth += 2
    return group


@njit(cache=True)
def _divide_stably(order: Ints, side: NDArray[np.bool_], spare: Ints, begin: int, end: int) -> None:
    """Bring those below a cut before those above it, otherwise in their order."""
    below, above = begin, 0
    for p in range(begin, end):
        i = order[p]
        if side[i]:
            spare[above] = i
            above += 1
        else:
            order[below] = i
            below += 1
    for p in range(above):
        order[below + p] = spare[p]
