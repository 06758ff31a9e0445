"""Nearest classes by added loss, exactly and without comparing all pairs.

The classes hang in a tree of cells. A cell splits on one attribute: the classes below
each child node go together, those already generalised to the cell's own node stay
behind. What it costs a query to join anything in a cell is bounded from below by

* the query's own price on the lowest level that can hold both, and
* the least that any class of the cell would pay for being raised there,

so whole cells are passed over when something nearer is already known (branch and bound,
as in a k-d tree; Bentley 1975).
"""

# ruff: noqa: ANN001, ANN201, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.local_space import Space, Summary

LEAF_SIZE = 4
"""Cells of at most this many classes are not split."""


@dataclass(frozen=True, eq=False)
class Index:
    """The tree: `items` in order; per cell its range of items or of children."""

    items: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    child: NDArray[np.int64]
    children: NDArray[np.int64]
    rep: NDArray[np.int64]
    level: NDArray[np.int64]
    least: NDArray[np.float64]


def build(space: Space, classes: Summary, items: NDArray[np.int64]) -> Index:
    """Hang the given classes in a tree."""
    room = 2 * len(items) + 1
    width, attributes = space.node.shape[1], classes.level.shape[1]
    low, high, child, children, rep = np.zeros((5, room), dtype=np.int64)
    level = np.zeros((room, attributes), dtype=np.int64)
    least = np.zeros((room, width))
    items = items.astype(np.int64)
    used = _build(
        space.start, space.node, classes.rep, classes.level, classes.sums, items,
        low, high, child, children, rep, level, least,
    )  # fmt: skip
    return Index(
        items, low[:used], high[:used], child[:used], children[:used], rep[:used],
        level[:used], least[:used],
    )  # fmt: skip


@njit(cache=True)
def _cover(start, node, c_rep, c_level, c_sums, items, lo, hi, level, least):  # type: ignore[no-untyped-def]
    """Set the level of a cell and what its classes pay at least above it."""
    rep = c_rep[items[lo]]
    for j in range(lo, hi):
        c = items[j]
        for a in range(len(level)):
            column = start[a] + max(level[a], c_level[c, a])
            while node[rep, column] != node[c_rep[c], column]:
                column += 1
            level[a] = column - start[a]
    least[:] = np.inf
    for j in range(lo, hi):
        c = items[j]
        for a in range(len(level)):
            base = c_sums[c, start[a] + level[a]]
            for column in range(start[a], start[a + 1]):
                least[column] = min(least[column], max(c_sums[c, column] - base, 0.0))
    return rep


@njit(cache=True)
def _axis(start, c_level, c_sums, items, lo, hi, level):  # type: ignore[no-untyped-def]
    """Choose the attribute whose split saves most; −1 when none saves anything."""
    best, axis = -1.0, -1
    for a in range(len(level)):
        if level[a] == 0:
            continue
        saved, below = 0.0, False
        top = start[a] + level[a]
        for j in range(lo, hi):
            c = items[j]
            if c_level[c, a] < level[a]:
                below = True
                saved += c_sums[c, top] - c_sums[c, top - 1]
        if below and saved > best:
            best, axis = saved, a
    return axis


@njit(cache=True)
def _build(start, node, c_rep, c_level, c_sums, items,  # type: ignore[no-untyped-def]
           low, high, child, children, rep, level, least):  # fmt: skip
    low[0], high[0] = 0, len(items)
    used, cell = 1, 0
    while cell < used:
        lo, hi = low[cell], high[cell]
        rep[cell] = _cover(start, node, c_rep, c_level, c_sums, items, lo, hi,
                           level[cell], least[cell])  # fmt: skip
        axis = -1
        if hi - lo > LEAF_SIZE:
            axis = _axis(start, c_level, c_sums, items, lo, hi, level[cell])
        if axis >= 0:
            top = level[cell, axis]
            key = np.empty(hi - lo, dtype=np.int64)
            for j in range(lo, hi):
                c = items[j]
                key[j - lo] = -1
                if c_level[c, axis] < top:
                    key[j - lo] = node[c_rep[c], start[axis] + top - 1]
            order = np.argsort(key, kind="mergesort")
            items[lo:hi] = items[lo:hi][order]
            child[cell] = used
            begin = 0
            for j in range(1, hi - lo + 1):
                if j == hi - lo or key[order[j]] != key[order[begin]]:
                    low[used], high[used] = lo + begin, lo + j
                    used += 1
                    begin = j
            children[cell] = used - child[cell]
        cell += 1
    return used


@njit(cache=True)
def _bound(start, node, q_rep, q_level, q_sums, x_rep, x_level, x_least):  # type: ignore[no-untyped-def]
    """Bound from below what the query adds to any class of the cell, its own price included."""
    total = 0.0
    for a in range(len(q_level)):
        column = start[a] + x_level[a]
        if node[q_rep, column] == node[x_rep, column]:
            column = start[a] + q_level[a]
            total += q_sums[column] + x_least[column]
        else:
            column += 1
            while node[q_rep, column] != node[x_rep, column]:
                column += 1
            own = max(column, start[a] + q_level[a])
            total += q_sums[own] + x_least[own]
    return total


@njit(cache=True)
def joined(start, node, rep, level, sums, other_rep, other_level, other_sums):  # type: ignore[no-untyped-def]
    """Return what two classes pay as one."""
    total = 0.0
    for a in range(len(level)):
        column = start[a] + max(level[a], other_level[a])
        while node[rep, column] != node[other_rep, column]:
            column += 1
        total += sums[column] + other_sums[column]
    return total


@njit(cache=True)
def nearest(start, node, c_rep, c_level, c_sums, c_paid,  # type: ignore[no-untyped-def]  # noqa: C901 - one loop, kept whole for speed
            items, low, high, child, children, x_rep, x_level, x_least,
            q_rep, q_level, q_sums, skip, radius, stack, bounds, found, added):  # fmt: skip
    """Fill `found` with the classes to which the query adds least, nearest first.

    Added is what both pay as one less what the class pays alone; only what stays below
    `radius` counts. Ties go to the class met first, so answers are reproducible.
    """
    found[:] = -1
    added[:] = radius
    keep = len(found)
    stack[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        x = stack[depth]
        if bounds[depth] >= added[keep - 1]:
            continue
        if children[x] == 0:
            for j in range(low[x], high[x]):
                c = items[j]
                if c == skip:
                    continue
                cost = joined(start, node, q_rep, q_level, q_sums, c_rep[c], c_level[c], c_sums[c])
                cost -= c_paid[c]
                if cost < added[keep - 1]:
                    at = keep - 1
                    while at > 0 and added[at - 1] > cost:
                        added[at], found[at] = added[at - 1], found[at - 1]
                        at -= 1
                    added[at], found[at] = cost, c
            continue
        base = depth
        for y in range(child[x], child[x] + children[x]):
            bound = _bound(start, node, q_rep, q_level, q_sums, x_rep[y], x_level[y], x_least[y])
            if bound < added[keep - 1]:
                stack[depth], bounds[depth] = y, bound
                depth += 1
        # The most promising child is opened first, so that the others can be passed over.
        best = base
        for j in range(base, depth):
            if bounds[j] < bounds[best]:
                best = j
        if depth > base:
            stack[best], stack[depth - 1] = stack[depth - 1], stack[best]
            bounds[best], bounds[depth - 1] = bounds[depth - 1], bounds[best]
