"""Signatures of trees: counts per vertex type and per coarse label, to find trees that are close.

The distance of two signatures is a cheap guess at what merging the trees costs: a vertex that one
has more than the other would be left out, and labels that differ would be generalised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trees.tree_arrays import Forest

COARSE = 24
"""Largest number of nodes by which the vertices of a label are counted."""


def sign(forest: Forest) -> NDArray[np.float64]:
    """Return one row per tree."""
    trees = forest.trees
    n = len(trees)
    columns = []
    for t in forest.kept:
        count = np.bincount(trees.record[trees.of_type[t]], minlength=n)
        columns.append(count[:, None].astype(np.float64))
    for label, leaf in forest.nodes.leaf.items():
        kind = next(t for t in forest.kept if label in trees.types[t].labels)
        nodes = _coarse(forest, leaf)
        used, place = np.unique(nodes, return_inverse=True)
        owner = trees.record[trees.of_type[kind]]
        cells = np.bincount(owner * len(used) + place.reshape(-1), minlength=n * len(used))
        root = forest.nodes.root(int(leaf[0]))
        columns.append(0.5 * forest.nodes.loss[root] * cells.reshape(n, len(used)))
    return np.concatenate(columns, axis=1)


def _coarse(forest: Forest, leaf: NDArray[np.int32]) -> NDArray[np.int32]:
    """Climb from the leaves, deepest first, until few enough nodes are left."""
    nodes, depth, parent = leaf.copy(), forest.nodes.depth, forest.nodes.parent
    while len(np.unique(nodes)) > COARSE:
        deepest = depth[nodes].max()
        if deepest <= 1:
            break
        nodes = np.where(depth[nodes] == deepest, parent[nodes], nodes)
    return nodes


def divide(signatures: NDArray[np.float64], most: int) -> list[NDArray[np.int64]]:
    """Cut trees into parts of at most `most` by halving along the widest column."""
    parts, waiting = [], [np.arange(len(signatures))]
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            parts.append(part)
            continue
        inside = signatures[part]
        widest = int(np.argmax(inside.std(axis=0)))
        order = np.argsort(inside[:, widest], kind="stable")
        half = len(part) // 2
        waiting += [part[order[half:]], part[order[:half]]]
    return parts
