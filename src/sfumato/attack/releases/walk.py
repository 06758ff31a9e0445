"""Compiled walk of people down a tree of classes, and sums over them.

Contract: nodes of depth d have their children at `begin[begin_at[d] + node]` up to the next
entry, the label of a node of depth d is `label[label_at[d] + node]`, and children stand in
the order of their labels. The labels a value of depth d allows are a sorted stretch of
`cover_labels`. Nodes of the last depth are the groups of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


class ClassTree(NamedTuple):
    """The tree of classes: where children begin, and labels, per depth as the contract says."""

    begin: Integers
    begin_at: Integers
    label: Integers
    label_at: Integers


class Covers(NamedTuple):
    """The labels that allow a value of depth d: `labels` from `starts[at[d] + value]` on."""

    at: Integers
    starts: Integers
    labels: Integers


@njit(cache=True)
def walk(
    values: npt.NDArray[np.int32],
    weights: Integers,
    tree: ClassTree,
    covers: Covers,
    sums: Numbers,
    scores: Numbers,
) -> tuple[Integers, Numbers, Numbers, Integers, Integers]:
    """Follow each person down the tree of classes; those who share a beginning share the way."""
    begin, begin_at, label, label_at = tree
    cover_at, cover_starts, cover_labels = covers
    people, depth = values.shape
    widest = 1
    for d in range(depth + 1):
        widest = max(widest, label_at[d + 1] - label_at[d])
    reached = np.zeros((depth + 1, widest), dtype=np.int64)
    width = np.zeros(depth + 1, dtype=np.int64)
    width[0] = 1
    fits = np.zeros(people, dtype=np.int64)
    total = np.zeros(people, dtype=np.float64)
    best = np.full(people, -np.inf)
    where = np.full(people, -1, dtype=np.int64)
    counted = np.zeros(len(sums), dtype=np.int64)
    for i in range(people):
        shared = 0
        if i > 0:
            while shared < depth and values[i, shared] == values[i - 1, shared]:
                shared += 1
        for d in range(shared, depth):
            at = cover_at[d] + values[i, d]
            low, high = cover_starts[at], cover_starts[at + 1]
            width[d + 1] = _children(
                reached[d, : width[d]], reached[d + 1], begin, begin_at[d], label,
                label_at[d + 1], cover_labels, low, high,
            )  # fmt: skip
        fits[i] = width[depth]
        for j in range(width[depth]):
            group = reached[depth, j]
            total[i] += sums[group]
            counted[group] += weights[i]
            if scores[group] > best[i]:
                best[i] = scores[group]
                where[i] = group
    return fits, total, best, where, counted


@njit(cache=True)
def _children(
    nodes: Integers,
    deeper: Integers,
    begin: Integers,
    begin_at: int,
    label: Integers,
    label_at: int,
    wanted: Integers,
    low: int,
    high: int,
) -> int:
    """Collect the children whose label is wanted; search the longer list for the shorter."""
    width = 0
    for j in range(len(nodes)):
        first, last = begin[begin_at + nodes[j]], begin[begin_at + nodes[j] + 1]
        if last - first <= high - low:
            for child in range(first, last):
                place = low + np.searchsorted(wanted[low:high], label[label_at + child])
                if place < high and wanted[place] == label[label_at + child]:
                    deeper[width] = child
                    width += 1
        else:
            for w in range(low, high):
                found = np.searchsorted(label[label_at + first : label_at + last], wanted[w])
                child = first + found
                if child < last and label[label_at + child] == wanted[w]:
                    deeper[width] = child
                    width += 1
    return width


@njit(cache=True)
def sum_rows(group: Integers, rows: Numbers, weights: Numbers, groups: int) -> Numbers:
    """Return the weighted sum of the rows of each group."""
    total = np.zeros((groups, rows.shape[1]), dtype=np.float64)
    for i in range(len(group)):
        for v in range(rows.shape[1]):
            total[group[i], v] += weights[i] * rows[i, v]
    return total
