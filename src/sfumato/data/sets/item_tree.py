"""The hierarchy of items as arrays: what set algorithms walk.

Items are leaves ``0 … n − 1`` in an order in which every node covers a run of neighbours; inner
nodes follow, children before parents, the root last. A branch of a hierarchy that repeats its label
is one node here, so trees may be as unbalanced as they like.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False, repr=False)
class ItemTree:
    """A tree over items.

    `parent[v]` is the node above v (the root is its own); v covers the leaves from `first[v]` up
    to, not including, `last[v]`; `labels[v]` is what a released file calls it.
    """

    parent: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    labels: tuple[str, ...]
    items: int
    source: str = "code"

    @property
    def nodes(self) -> int:
        """Number of nodes, items included."""
        return len(self.parent)

    @property
    def root(self) -> int:
        """The node above everything."""
        return self.nodes - 1

    @cached_property
    def price(self) -> NDArray[np.float64]:
        """NCP of a node: the share of all items it may stand for; 0 for an item itself."""
        covered = (self.last - self.first) / max(self.items, 1)
        return np.where(np.arange(self.nodes) < self.items, 0.0, covered)

    @cached_property
    def children(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Children of every node in the order of their items: `below[starts[v]:starts[v + 1]]`."""
        below = np.arange(self.nodes - 1, dtype=np.int32)
        order = np.lexsort([self.first[:-1], self.parent[:-1]])
        counts = np.bincount(self.parent[:-1], minlength=self.nodes)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), below[order]

    @cached_property
    def codes(self) -> dict[str, int]:
        """Item by its text."""
        return {label: code for code, label in enumerate(self.labels[: self.items])}

    def leaves(self, node: int) -> tuple[str, ...]:
        """Return the items that a node stands for."""
        return self.labels[int(self.first[node]) : int(self.last[node])]

    def above(self, node: int) -> list[int]:
        """Return the node and all nodes above it, the root last."""
        way = [node]
        while way[-1] != self.root:
            way.append(int(self.parent[way[-1]]))
        return way


def tree_of_hierarchy(hierarchy: Hierarchy) -> ItemTree:
    """Return the tree that a hierarchy over the items describes."""
    levels = hierarchy.levels
    order = np.lexsort([levels[:, h] for h in range(hierarchy.height)])
    labels = [hierarchy.labels[0][i] for i in order]
    runs: list[tuple[NDArray[np.int64], tuple[str, ...]]] = []
    for h in range(1, hierarchy.height):
        column = levels[order, h]
        starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
        texts = tuple(hierarchy.labels[h][column[s]] for s in starts)
        runs.append((starts.astype(np.int64), texts))
    return build_tree(labels, runs, hierarchy.source)


def build_tree(
    labels: Sequence[str],
    runs: Sequence[tuple[NDArray[np.int64], Sequence[str]]],
    source: str = "code",
) -> ItemTree:
    """Return the tree over items whose levels above them are given as runs.

    Each level holds where its runs of leaves start and what they are called, the finest level
    first, the single root last. A run that equals one below it is the same node.
    """
    items = len(labels)
    first, last = [np.arange(items)], [np.arange(items) + 1]
    names: list[str] = list(labels)
    parent = np.full(items, -1, dtype=np.int64)
    top = np.arange(items)  # the highest node made so far above each leaf
    parents = [parent]
    made = items
    for starts, texts in runs:
        ends = np.append(starts[1:], items)
        low = np.concatenate(first)[top[starts]]
        high = np.concatenate(last)[top[starts]]
        new = np.flatnonzero((low != starts) | (high != ends))
        numbers = np.arange(made, made + len(new))
        whole = np.concatenate(parents)
        for number, run in zip(numbers, new, strict=True):
            below = np.unique(top[starts[run] : ends[run]])
            whole[below] = number
            top[starts[run] : ends[run]] = number
        parents = [whole, np.full(len(new), -1, dtype=np.int64)]
        first.append(starts[new])
        last.append(ends[new])
        names += [texts[run] for run in new.tolist()]
        made += len(new)
    whole = np.concatenate(parents)
    if items == 1 and made == 1:  # a single item needs a root above it
        return ItemTree(
            np.array([1, 1], dtype=np.int32), np.zeros(2, dtype=np.int32),
            np.ones(2, dtype=np.int32), (names[0], "*"), 1, source,
        )  # fmt: skip
    whole[-1] = made - 1
    _check_labels(names, source)
    return ItemTree(
        whole.astype(np.int32),
        np.concatenate(first).astype(np.int32),
        np.concatenate(last).astype(np.int32),
        tuple(names),
        items,
        source,
    )


def _check_labels(names: Sequence[str], source: str) -> None:
    """Refuse two nodes of one label: a released label must have one meaning."""
    twice = len(names) - len(set(names))
    if twice:
        raise HierarchyError(
            f"The item hierarchy ({source}) gives {twice} node(s) a label that another node has; "
            "every item and every group needs a label of its own."
        )
