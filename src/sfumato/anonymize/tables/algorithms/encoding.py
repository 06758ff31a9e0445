"""Hierarchies and prices laid out flat, so that compiled kernels can walk them.

The node of leaf `l` of attribute `a` on level `h` stands at
`start[a] + l * height[a] + h` of `node`, and what a record pays there, on average over the
records below that node, at the same place of `price`. For losses that depend on the node
alone (LM) the average is exact; for others it guides the search, and the loss of the
result is computed from the true costs. `text` numbers the labels in the same layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.hierarchies.hierarchy import Hierarchy

KEY_LIMIT = 2**62
"""Sorting keys stay below this; attributes that do not fit any more are left out of a key."""


class ValueTree(NamedTuple):
    """Leaves of the tuples, and all hierarchies with their prices, in the order of kernels."""

    leaves: NDArray[np.int32]
    start: NDArray[np.int64]
    height: NDArray[np.int64]
    node: NDArray[np.int32]
    price: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoding:
    """A problem's hierarchies, prices and leaves as flat arrays."""

    tree: ValueTree
    text: NDArray[np.int64]
    rank: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, problem: Problem) -> Encoding:
        """Lay out the hierarchies of a problem."""
        tables = [h.levels for h in problem.hierarchies]
        sizes = np.array([t.size for t in tables], dtype=np.int64)
        tree = ValueTree(
            leaves=np.ascontiguousarray(problem.table.quasi, dtype=np.int32),
            start=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
            height=np.array([t.shape[1] for t in tables], dtype=np.int64),
            node=np.concatenate([t.ravel() for t in tables]).astype(np.int32),
            price=np.concatenate([_node_prices(problem, a).ravel() for a in range(len(tables))]),
        )
        texts = np.concatenate([_texts(h).ravel() for h in problem.hierarchies])
        return cls(tree, texts, tuple(_tree_order(t) for t in tables))

    def at(self, level: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the nodes on these levels above these leaves stand in the flat arrays."""
        return self.tree.start + low * self.tree.height + level

    def keys(
        self, low: NDArray[np.int64], attributes: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return one sorting key per tuple of leaves, the first attribute counting most."""
        key = np.zeros(len(low), dtype=np.int64)
        room = KEY_LIMIT
        for a in attributes:
            size = len(self.rank[a])
            room //= size
            if room < 1:
                break
            key *= size
            key += self.rank[a][low[:, a]]
        return key


def _node_prices(problem: Problem, a: int) -> NDArray[np.float64]:
    """Return the mean cost of the records below each node, for every leaf and level."""
    costs = problem.costs[a]
    table = problem.hierarchies[a].levels
    records = np.bincount(
        problem.table.quasi[:, a], weights=problem.table.counts, minlength=len(costs)
    )
    # A leaf without records counts a little, so that its node has a price as well.
    weights = np.maximum(records, 1e-9)
    prices = np.empty(table.shape)
    for h in range(table.shape[1]):
        nodes = table[:, h]
        total = np.bincount(nodes, weights=weights)
        prices[:, h] = (np.bincount(nodes, weights=weights * costs[:, h]) / total)[nodes]
    return prices


def _texts(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """Return numbers for the labels of every leaf and level; equal text on two levels is one."""
    numbers: dict[str, int] = {}
    columns = [
        np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
        for labels in hierarchy.labels
    ]
    return np.stack([c[hierarchy.levels[:, h]] for h, c in enumerate(columns)], axis=1)


def _tree_order(table: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return numbers for the leaves so that leaves below one node are neighbours on every level."""
    rank = np.empty(len(table), dtype=np.int64)
    rank[np.lexsort(tuple(table.T))] = np.arange(len(table))
    return rank


def describe(
    tree: ValueTree, tuples: NDArray[np.int64], groups: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return level of the lowest common ancestor, lowest and highest leaf per group."""
    shape = (n, tree.leaves.shape[1])
    level, low, high = (np.full(shape, fill, dtype=np.int64) for fill in (0, -1, -1))
    _describe(*tree[:4], tuples, groups, level, low, high)
    return level, low, high


# Kernels take plain arrays: tuples of arrays would multiply the compiler's time, and would be
# named in its caches, where a later version might not know them.
@njit(cache=True)
def _describe(
    leaves: NDArray[np.int32],
    start: NDArray[np.int64],
    height: NDArray[np.int64],
    node: NDArray[np.int32],
    tuples: NDArray[np.int64],
    groups: NDArray[np.int64],
    level: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> None:
    """Fill in what `describe` returns; groups below 0 are left out."""
    for i in range(len(tuples)):
        g = groups[i]
        if g < 0:
            continue
        for a in range(len(start)):
            leaf = np.int64(leaves[tuples[i], a])
            if low[g, a] < 0:
                low[g, a] = leaf
                high[g, a] = leaf
                continue
            here = start[a] + leaf * height[a]
            there = start[a] + low[g, a] * height[a]
            h = level[g, a]
            while node[here + h] != node[there + h]:
                h += 1
            level[g, a] = h
            low[g, a] = min(low[g, a], leaf)
            high[g, a] = max(high[g, a], leaf)
