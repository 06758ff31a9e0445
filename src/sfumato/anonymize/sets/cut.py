"""Global recoding for k^m-anonymity: one cut through the tree of items, the same for every set.

Up first: while itemsets are rare, the groups that would repair most of them for what they cost are
formed, a share at a time. Down again: every node of the cut is split into its children where that
leaves no itemset rare, the costliest first. Both use that a coarser cut never breaks what a
finer one keeps: an itemset of a coarse cut that occurs is shown by some set, whose finer items form
an itemset of the same size, which k sets share. So a node whose split breaks the promise once,
breaks it under every finer cut, and one attempt per node is enough: the result cannot be refined
further.

The way down alone, from the root, is tried as well; the better of the two results is taken.

Terrovitis, Mamoulis, Kalnis (VLDB 2008) go up only, by one itemset at a time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.supports import blame, invert, recode, split_breaks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets

STEP = 0.05
"""Share of the candidate groups that are formed at once on the way up."""
FEW = 400_000
"""Occurrences up to which the way up is tried as well; it costs many passes."""


@dataclass
class CutSearch:
    """A search for the cheapest cut under which no itemset of up to m nodes is rare.

    `cut[item]` is the node an item is shown as. `weight[v]` is the number of occurrences below a
    node, so v costs `weight[v] · price[v]`.
    """

    data: Sets
    k: int
    m: int
    cut: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        tree = self.data.tree
        self.m = min(self.m, self.data.longest)
        self.cut = np.arange(tree.items, dtype=np.int32)
        summed = np.concatenate([[0], np.cumsum(self.data.frequency)])
        self.weight = (summed[tree.last] - summed[tree.first]).astype(np.float64)
        self.cost_of = self.weight * tree.price
        self.index = invert(self.data.starts, self.data.items, tree.items)

    @property
    def cost(self) -> float:
        """NCP of the cut, summed over occurrences."""
        return float(self.cost_of[np.unique(self.cut)].sum())

    # -- up ------------------------------------------------------------------------------

    def rise(self) -> None:
        """Form groups until nothing is rare, smaller itemsets first."""
        for size in range(1, self.m + 1):
            while True:
                nodes = self.data.tree.nodes
                starts, items = recode(self.data.starts, self.data.items, self.cut, nodes)
                rare, guilt = blame(starts, items, nodes, self.k, size, False)
                if not rare:
                    break
                self._form(guilt)

    def _form(self, guilt: NDArray[np.int64]) -> None:
        """Replace nodes by the parents that repair most for their price."""
        tree = self.data.tree
        shown = np.unique(self.cut)
        gain = np.zeros(tree.nodes)
        below = np.zeros(tree.nodes)
        np.add.at(gain, tree.parent[shown], guilt[shown])
        for node in shown:
            for above in tree.above(int(node))[1:]:
                below[above] += self.cost_of[node]
        wanted = np.flatnonzero(gain)
        if not len(wanted):  # the root alone is rare: too few sets for k
            return
        price = self.cost_of[wanted] - below[wanted] + 1e-9
        order = wanted[np.argsort(-gain[wanted] / price)]
        for node in order[: max(1, int(STEP * len(order)))]:
            self.cut[tree.first[node] : tree.last[node]] = np.maximum(
                self.cut[tree.first[node] : tree.last[node]], node
            )

    # -- down ----------------------------------------------------------------------------

    def refine(self, rank: Callable[[int], float] | None = None) -> None:
        """Split nodes of the cut while that leaves nothing rare; those of highest rank first."""
        tree = self.data.tree
        score = rank or (lambda node: float(self.cost_of[node]))
        heap = [(-score(int(v)), int(v)) for v in np.unique(self.cut) if v >= tree.items]
        heapq.heapify(heap)
        while heap:
            _, node = heapq.heappop(heap)
            for child in self._split(node):
                if child >= tree.items:
                    heapq.heappush(heap, (-score(child), child))

    def _split(self, node: int) -> list[int]:
        """Split a node if nothing becomes rare; return its children, or nothing."""
        tree = self.data.tree
        starts, below = tree.children
        parts = below[starts[node] : starts[node + 1]]
        for child in parts:
            self.cut[tree.first[child] : tree.last[child]] = child
        data, (begin, sets) = self.data, self.index
        if split_breaks(
            data.starts, data.items, begin, sets, self.cut, tree.first, tree.last, parts,
            self.k, self.m,
        ):  # fmt: skip
            self.cut[tree.first[node] : tree.last[node]] = node
            return []
        return [int(child) for child in parts]

    def run(self) -> None:
        """Take the better of the two ways: from the root down, or up first and down again."""
        self.cut[:] = self.data.tree.root
        self.refine()
        down, cost = self.cut.copy(), self.cost
        if self.data.occurrences > FEW:
            return
        self.cut = np.arange(self.data.tree.items, dtype=np.int32)
        self.rise()
        self.refine()
        if cost < self.cost:
            self.cut = down
