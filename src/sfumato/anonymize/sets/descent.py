"""Local recoding for k^m-anonymity: from the root down, each set as far as its company reaches.

All items start as the root, which keeps the promise if there are k sets. Then nodes are split, the
costliest first. Sets in which a child would be part of a rare itemset keep the node, as long as
those that keep it are company enough for one another; sets that would need too much company, such
as one very large basket, lose the items instead. A split is done if it lowers the loss; if it does
not because too many stay for the sake of a few, these lose the items.
Nothing is rare at any time (`descent_kernel` has the argument), so the result keeps the promise
whenever the search ends.

With `staying=False` all sets that show items below a node show them alike, except for deletions:
one cut for everybody.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.sets.descent_kernel import (
    DROP,
    SPLIT,
    Rows,
    Shown,
    Split,
    weigh_split,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets


@dataclass
class Descent:
    """A search from the root down; `shown` is the node of every item of every set."""

    data: Sets
    k: int
    m: int
    staying: bool = True
    shown: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        data, tree = self.data, self.data.tree
        self.m = min(self.m, data.longest)
        self.shown = np.full(data.occurrences, tree.root, dtype=np.int32)
        self.order = np.argsort(data.items, kind="stable")
        self.begin = np.concatenate([[0], np.cumsum(data.frequency)]).astype(np.int64)
        self.set_of = np.repeat(np.arange(len(data)), data.sizes)

    @property
    def cost(self) -> float:
        """NCP summed over occurrences."""
        price = self.data.tree.price
        return float(np.where(self.shown < 0, 1.0, price[self.shown]).sum())

    def run(self, progress: Any = None) -> None:
        """Split nodes while that lowers the loss; `progress` hears of every hundredth."""
        tree = self.data.tree
        heap = [(-1.0, tree.root)]
        seen = 0
        while heap:
            _, node = heapq.heappop(heap)
            seen += 1
            if progress is not None and seen % 100 == 0:
                left = len(heap)
                loss = self.cost / max(self.data.occurrences, 1)
                progress(seen / (seen + left), loss, f"{left:,} groups to look at")
            for child in self._split(node):
                if child >= tree.items:
                    weight = self.begin[tree.last[child]] - self.begin[tree.first[child]]
                    heapq.heappush(heap, (-float(tree.price[child] * weight), child))

    def _split(self, node: int) -> list[int]:
        """Split a node where that lowers the loss; return the children shown now."""
        tree = self.data.tree
        places = np.sort(self.order[self.begin[tree.first[node]] : self.begin[tree.last[node]]])
        places = places[self.shown[places] == node]
        if not len(places):
            return []
        starts, below = tree.children
        children = below[starts[node] : starts[node + 1]]
        child = children[np.searchsorted(tree.last[children], self.data.items[places], "right")]
        rows, row = np.unique(self.set_of[places], return_inverse=True)
        row = row.reshape(-1)
        for staying in (True, False) if self.staying else (False,):
            state = self._weigh(node, children, child, rows, row, staying=staying)[row]
            after = np.where(state == SPLIT, tree.price[child], tree.price[node])
            after = np.where(state == DROP, 1.0, after)
            if after.sum() < tree.price[node] * len(places) - 1e-12:
                break  # where odd sets held back everybody, they may lose the items instead
        else:
            return []
        self.shown[places] = np.where(
            state == SPLIT, child, np.where(state == DROP, -1, node)
        ).astype(np.int32)
        return [int(c) for c in np.unique(child[state == SPLIT])]

    def _weigh(
        self,
        node: int,
        children: NDArray[np.int32],
        child: NDArray[np.int32],
        rows: NDArray[np.int64],
        row: NDArray[np.int64],
        *,
        staying: bool,
    ) -> NDArray[np.int64]:
        """Hand the kernel each row's children, and each child's rows."""
        tree = self.data.tree
        entries = np.unique(row * tree.nodes + child)  # a row and a child of it
        e_row, e_child = entries // tree.nodes, entries % tree.nodes
        r_first = np.searchsorted(e_row, np.arange(len(rows) + 1))
        order = np.argsort(e_child, kind="stable")
        kids = np.sort(children).astype(np.int64)
        group = np.searchsorted(e_child[order], np.append(kids, kids[-1] + 1))
        price = float(tree.price[node])
        return np.asarray(
            weigh_split(
                Shown(self.data.starts, self.shown),
                Rows(rows, r_first, e_child, np.bincount(row, minlength=len(rows))),
                Split(node, kids, group, e_row[order]),
                self.k,
                self.m,
                (1 - price) / (price * self.k),
                staying,
                tree.nodes,
            )
        )
