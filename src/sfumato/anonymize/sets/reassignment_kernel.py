"""Kernels that better a partition: sets move to classes whose labels fit them more closely.

A set fits a class if it has an item of its own for each of its labels (for bags: enough items). It
then shows those labels; its other items are deleted. The labels of the class it joins stay valid,
and what is left of its own class can show at least what it showed, so a move changes the loss by
what the set itself pays. A class must keep k members, or lose all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ClassLabels(NamedTuple):
    """The labels of all classes, those of class c at ``starts[c]:starts[c + 1]``, children first.

    `copies` tells how often each stands, `above` where the next label above it stands, or −1.
    ``classes[head[v]:head[v + 1]]`` are the classes whose rarest label is v: whoever fits a class
    has an item under that label, so only those classes are looked at. Each node has a `bit`, and
    `signs` holds the bits of the labels of each of `classes`: a set whose nodes lack one of them
    does not fit, which is seen without looking at labels.
    """

    starts: NDArray[np.int64]
    nodes: NDArray[np.int64]
    copies: NDArray[np.int64]
    above: NDArray[np.int64]
    head: NDArray[np.int64]
    classes: NDArray[np.int64]
    bit: NDArray[np.uint64]
    signs: NDArray[np.uint64]


@njit(cache=True)
def find_above(starts, nodes, parent):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return for every label where the next label of its class above it stands, −1 for none."""
    at = np.full(len(parent), -1, np.int64)
    above = np.full(len(nodes), -1, np.int64)
    for c in range(len(starts) - 1):
        for q in range(starts[c], starts[c + 1]):
            at[nodes[q]] = q
        for q in range(starts[c], starts[c + 1]):
            v = nodes[q]
            while parent[v] != v and above[q] < 0:
                v = parent[v]
                above[q] = at[v]
        for q in range(starts[c], starts[c + 1]):
            at[nodes[q]] = -1
    return above


@njit(cache=True)
def find_alternatives(starts, items, parent, price, bag, class_of, look, labels):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Return for every set what it pays in its class, the best other class, and its price there.

    Other classes are looked for where `look` says so.
    """
    n = len(starts) - 1
    pays, other = np.zeros(n, np.float64), np.full(n, np.inf)
    target = np.full(n, -1, np.int64)
    below = np.zeros(len(parent), np.int64)  # items of the set at hand under each node
    met = np.empty(len(parent), np.int64)
    left = np.empty(len(parent), np.int64)
    for t in range(n):
        length = starts[t + 1] - starts[t]
        known = 0
        has = np.uint64(0)
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while True:
                if below[v] == 0:
                    met[known] = v
                    known += 1
                    has |= labels.bit[v]
                below[v] += 1
                if parent[v] == v:
                    break
                v = parent[v]
        own = class_of[t]
        pays[t] = length
        if own >= 0:
            pays[t] = _price_of(own, length, below, price, bag, labels, left)
        if pays[t] > 0.0 and look[t]:
            for i in range(known):
                v = met[i]
                for q in range(labels.head[v], labels.head[v + 1]):
                    if labels.signs[q] & ~has:
                        continue
                    c = labels.classes[q]
                    if c != own:
                        cost = _price_of(c, length, below, price, bag, labels, left)
                        if cost < other[t]:
                            other[t], target[t] = cost, c
        for i in range(known):
            below[met[i]] = 0
    return pays, other, target


@njit(cache=True)
def _price_of(c, length, below, price, bag, labels, left):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return what a set pays in a class; infinity where it does not fit."""
    first, last = labels.starts[c], labels.starts[c + 1]
    for q in range(first, last):
        left[q - first] = below[labels.nodes[q]]
        if left[q - first] < labels.copies[q]:
            return np.inf
    cost = 0.0
    covered = 0
    for q in range(first, last):  # labels above come later: theirs is what no label below took
        kept = left[q - first]
        if kept < labels.copies[q]:
            return np.inf
        if labels.above[q] >= 0:
            left[labels.above[q] - first] -= below[labels.nodes[q]]
        kept = labels.copies[q] if bag else kept
        covered += kept
        cost += price[labels.nodes[q]] * kept
    return cost + (length - covered)


@njit(cache=True)
def show_lowest(moved, class_of, starts, items, parent, labels, shown):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Show the items of these sets by the lowest label of their class above each, or the root."""
    marked = np.zeros(len(parent), np.bool_)
    marked[len(parent) - 1] = True
    for t in moved:
        c = class_of[t]
        for q in range(labels.starts[c], labels.starts[c + 1]):
            marked[labels.nodes[q]] = True
        for p in range(starts[t], starts[t + 1]):
            v = items[p]
            while not marked[v]:
                v = parent[v]
            shown[p] = v
        for q in range(labels.starts[c], labels.starts[c + 1]):
            marked[labels.nodes[q]] = False


@njit(cache=True)
def move(class_of, sizes, pays, other, target, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Empty classes and move sets where that saves; return how much is saved.

    Classes that lose from staying are emptied first, the worst first; then single sets move out of
    classes of more than k. A class that somebody was sent to is not emptied in the same round.
    """
    classes = len(sizes)
    saving = np.zeros(classes, np.float64)
    for t in range(len(class_of)):
        if class_of[t] >= 0:
            saving[class_of[t]] += pays[t] - other[t]
    by_class = np.argsort(class_of)
    begin = np.searchsorted(class_of[by_class], np.arange(classes + 1))
    needed = np.zeros(classes, np.bool_)
    gone = np.zeros(classes, np.bool_)
    total = 0.0
    for c in np.argsort(-saving):
        if not saving[c] > 1e-12:
            break
        if needed[c]:
            continue
        free = True
        for x in range(begin[c], begin[c + 1]):
            free = free and not gone[target[by_class[x]]]
        if not free:
            continue
        gone[c] = True
        total += saving[c]
        for x in range(begin[c], begin[c + 1]):
            t = by_class[x]
            needed[target[t]] = True
            class_of[t] = target[t]
            sizes[target[t]] += 1
        sizes[c] = 0
    gains = np.where(np.isfinite(other), pays - other, -1.0)
    for t in np.argsort(-gains):
        if not gains[t] > 1e-12:
            break
        own, c = class_of[t], target[t]
        if own == c or gone[c] or (own >= 0 and (gone[own] or sizes[own] <= k)):
            continue
        if own >= 0 and needed[own] and pays[t] <= other[t]:
            continue
        if own >= 0:
            sizes[own] -= 1
        class_of[t] = c
        sizes[c] += 1
        total += gains[t]
    return total
