"""Nearest classes by added loss, exactly and without comparing all pairs.

The classes hang in a tree of cells. A cell splits on one attribute: the classes below
each child node go together, those already generalised to the cell's own node stay
behind. What it costs a query to join anything in a cell is bounded from below by

* the query's own price on the lowest level that can hold both, and
* the least that any class of the cell would pay for being raised there,

so whole cells are passed over when something nearer is already known (branch and bound,
as in a k-d tree; Bentley 1975).
"""

# ruff: noqa: ANN001, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.tables.algorithms.local.space import INNER, OUTER
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.algorithms.local.space import Space, Summary

LEAF_SIZE = 4
"""Cells of at most this many classes are not split."""

WORK = 1_600_000
"""How long a query looks before it is content with the nearest found. It is compared with at most
WORK / columns² classes and cells: two thousand with eight attributes of three or four levels, where
bounds end nearly every search long before, and two hundred with thirty attributes, where no bound
excludes much and a comparison costs four times as much."""

FEWEST = 64
"""Classes and cells a query is always compared with."""


class Index(NamedTuple):
    """The tree: `items` in order; per cell its range of items or of children."""

    items: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    child: NDArray[np.int64]
    children: NDArray[np.int64]
    rep: NDArray[np.int64]
    level: NDArray[np.int64]
    least: NDArray[np.float64]


class Queries(NamedTuple):
    """Classes, or shares taken as classes, that look for company; `skip` is not offered."""

    rep: NDArray[np.int64]
    level: NDArray[np.int64]
    sums: NDArray[np.float64]
    skip: NDArray[np.int64]

    @classmethod
    def of(cls, classes: Summary, chosen: NDArray[np.int64]) -> Queries:
        """Return some of the classes as queries that do not find themselves."""
        return cls(classes.rep[chosen], classes.level[chosen], classes.sums[chosen], chosen)


def search(
    space: Space,
    classes: Summary,
    index: Index,
    queries: Queries,
    radius: NDArray[np.float64] | float,
    *,
    keep: int,
    clock: Clock,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the classes to which each query adds least, nearest first, and how much.

    Added is what both pay as one less what the class pays alone; only what stays below the
    radius counts, and places without a find hold −1. Queries whose turn comes after the time is
    up find nothing. A query compares itself with some `WORK`, the most promising
    cells first: with many attributes no bound excludes much, and the nearest are met early.
    """
    n = len(queries.rep)
    radii = np.broadcast_to(radius, n).astype(np.float64)
    found = np.full((n, keep), -1, dtype=np.int64)
    added = np.repeat(radii[:, None], keep, axis=1)
    for some in clock.pieces(n):
        asked = Queries(
            queries.rep[some], queries.level[some], queries.sums[some], queries.skip[some]
        )
        _search(space.ancestors, classes, index, asked, found[some], added[some])
    return found, added


def build(space: Space, classes: Summary, items: NDArray[np.int64]) -> Index:
    """Hang the given classes in a tree."""
    room = 2 * len(items) + 1
    width, attributes = space.node.shape[1], classes.level.shape[1]
    low, high, child, children, rep = np.zeros((5, room), dtype=np.int64)
    level = np.zeros((room, attributes), dtype=np.int64)
    least = np.zeros((room, width))
    whole = Index(items.astype(np.int64), low, high, child, children, rep, level, least)
    used = _build(space.ancestors, space.nodes, classes, whole)
    return Index(
        whole.items, low[:used], high[:used], child[:used], children[:used], rep[:used],
        level[:used], least[:used],
    )  # fmt: skip


@njit(**INNER)
def _cover(ancestors, classes, items, lo, hi, level, least):  # type: ignore[no-untyped-def]
    """Set the level of a cell and what its classes pay at least above it.

    The level is the lowest on which all classes of the cell share a node; `least[column]` the
    least that any of them pays more there than on the cell's level. Return a tuple below it.
    """
    start, node, _ = ancestors
    c_rep, c_level, c_sums = classes.rep, classes.level, classes.sums
    rep = c_rep[items[lo]]
    for j in range(lo, hi):
        c = items[j]
        for a in range(len(level)):
            column = start[a] + max(level[a], c_level[c, a])
            while node[rep, column] != node[c_rep[c], column]:
                column += 1
            level[a] = column - start[a]
    for column in range(len(least)):
        least[column] = np.inf
    for j in range(lo, hi):
        c = items[j]
        for a in range(len(level)):
            base = c_sums[c, start[a] + level[a]]
            for column in range(start[a], start[a + 1]):
                least[column] = min(least[column], max(c_sums[c, column] - base, 0.0))
    return rep


@njit(**INNER)
def _axis(start, classes, items, lo, hi, level):  # type: ignore[no-untyped-def]
    """Choose the attribute whose split saves most; −1 when none saves anything."""
    c_level, c_sums = classes.level, classes.sums
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


@njit(**INNER)
def _split(ancestors, classes, index, cell, axis, bucket, spare, used):  # type: ignore[no-untyped-def]
    """Reorder a cell's items by their node below the top of the axis; return the cells in use.

    Items that stay on the top have a part of their own, numbered by the last place of
    `bucket`. Parts come in the order in which their first items do. The first pass counts the items
    of each part in `high` and keeps them in `spare`; the second puts them in place. What
    `bucket` holds of earlier splits is below `begin`, so it need not be cleared.
    """
    start, node, _ = ancestors
    c_rep, c_level = classes.rep, classes.level
    items, low, high = index.items, index.low, index.high
    lo, hi, top = low[cell], high[cell], index.level[cell, axis]
    begin = used
    for pass_ in range(2):
        for j in range(lo, hi):
            c = items[j] if pass_ == 0 else spare[j]
            key = len(bucket) - 1
            if c_level[c, axis] < top:
                key = node[c_rep[c], start[axis] + top - 1]
            if pass_ == 0:
                if bucket[key] < begin:
                    bucket[key] = used
                    high[used] = 0
                    used += 1
                high[bucket[key]] += 1
                spare[j] = c
            else:
                items[high[bucket[key]]] = c
                high[bucket[key]] += 1
        if pass_ == 0:
            at = lo
            for x in range(begin, used):
                low[x] = at
                at += high[x]
                high[x] = low[x]
    return used


@njit(**OUTER)
def _build(ancestors, nodes, classes, index):  # type: ignore[no-untyped-def]
    """Split cells breadth first until none should be; return how many there are.

    Children stand one after the other behind all cells made before them, so a cell is met
    after its parent, and the loop ends when it has caught up with the last cell made.
    """
    items, low, high, child, children, rep, level, least = index
    bucket = np.zeros(nodes + 1, dtype=np.int64)
    spare = np.empty(len(items), dtype=np.int64)
    low[0], high[0] = 0, len(items)
    used, cell = np.int64(1), np.int64(0)
    while cell < used:
        lo, hi = low[cell], high[cell]
        rep[cell] = _cover(ancestors, classes, items, lo, hi, level[cell], least[cell])
        axis = -1
        if hi - lo > LEAF_SIZE:
            axis = _axis(ancestors.start, classes, items, lo, hi, level[cell])
        if axis >= 0:
            child[cell] = used
            used = _split(ancestors, classes, index, cell, axis, bucket, spare, used)
            children[cell] = used - child[cell]
        cell += 1
    return used


@njit(**INNER)
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


@njit(**INNER)
def _joined(start, node, rep, level, sums, other_rep, other_level, other_sums):  # type: ignore[no-untyped-def]
    """Return what two classes pay as one."""
    total = 0.0
    for a in range(len(level)):
        column = start[a] + max(level[a], other_level[a])
        while node[rep, column] != node[other_rep, column]:
            column += 1
        total += sums[column] + other_sums[column]
    return total


@njit(**INNER)
def _insert(found, added, cost, item):  # type: ignore[no-untyped-def]
    """Put a find in its place; ties go to the one met first, so answers are reproducible."""
    at = len(found) - 1
    while at > 0 and added[at - 1] > cost:
        added[at], found[at] = added[at - 1], found[at - 1]
        at -= 1
    added[at], found[at] = cost, item


@njit(**INNER)
def _open(ancestors, index, queries, i, x, limit, stack, bounds, depth):  # type: ignore[no-untyped-def]
    """Push the children of a cell that may hold something nearer, the most promising last."""
    start, node, _ = ancestors
    rep, level, sums = queries.rep[i], queries.level[i], queries.sums[i]
    base, best = depth, depth
    for y in range(index.child[x], index.child[x] + index.children[x]):
        bound = _bound(start, node, rep, level, sums, index.rep[y], index.level[y], index.least[y])
        if bound < limit:
            stack[depth], bounds[depth] = y, bound
            if bound < bounds[best]:
                best = depth
            depth += 1
    if depth > base:
        stack[best], stack[depth - 1] = stack[depth - 1], stack[best]
        bounds[best], bounds[depth - 1] = bounds[depth - 1], bounds[best]
    return depth


@njit(**OUTER)
def _search(ancestors, classes, index, queries, found, added):  # type: ignore[no-untyped-def]
    """Fill in `found` and `added`, which hold −1 and the radius, row by row.

    Cells wait on a stack with their bounds. A cell is opened only if its bound is below the
    worst find so far, and children are pushed so that the most promising comes off first. So
    what is passed over cannot be nearer than what is kept, unless `most` ended the search.
    """
    start, node, _ = ancestors
    stack, bounds = np.empty(len(index.low), dtype=np.int64), np.empty(len(index.low))
    last = found.shape[1] - 1
    most = max(WORK // node.shape[1] ** 2, FEWEST)
    for i in range(len(queries.rep)):
        rep, level, sums = queries.rep[i], queries.level[i], queries.sums[i]
        stack[0], bounds[0], depth, compared = 0, 0.0, 1, 0
        while depth > 0 and compared < most:
            depth -= 1
            x = stack[depth]
            if bounds[depth] >= added[i, last]:
                continue
            if index.children[x] > 0:
                depth = _open(ancestors, index, queries, i, x, added[i, last], stack, bounds, depth)
                compared += 1
                continue
            for c in index.items[index.low[x] : index.high[x]]:
                if c != queries.skip[i]:
                    compared += 1
                    cost = _joined(start, node, rep, level, sums, classes.rep[c],
                                   classes.level[c], classes.sums[c]) - classes.paid[c]  # fmt: skip
                    if cost < added[i, last]:
                        _insert(found[i], added[i], cost, c)
