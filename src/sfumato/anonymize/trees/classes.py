"""A class of people whose trees are shown alike, with the one tree that is shown of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.trees.merge_kernel import common_marks, meeting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trees.tree_arrays import Forest, TreeArrays


@dataclass(frozen=True, eq=False)
class TreeClass:
    """Members and their representative; `vertices[v, i]` is member i's vertex behind vertex v."""

    forest: Forest
    tree: TreeArrays
    members: tuple[int, ...]
    vertices: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def kinds(self) -> NDArray[np.int32]:
        """The type of each vertex."""
        return np.repeat(np.arange(len(self.tree.start) - 1), np.diff(self.tree.start)).astype(
            np.int32
        )

    @cached_property
    def form(self) -> int:
        """A number that isomorphic representatives share, and no others."""
        return self.forest.whole_form(self.tree)

    def merge(self, record: int, other: TreeArrays) -> TreeClass:
        """Return the class with one more member."""
        pairs = meeting(self.forest.model, self.tree, other, len(self))
        marks = common_marks(self.forest.model, self.tree, other, pairs)
        order = np.argsort(pairs[:, 3], kind="stable")
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        parents = pairs[order, 2]
        up = np.where(parents >= 0, place[parents], -1).astype(np.int32)
        tree = self.forest.arrange(pairs[order, 3].astype(np.int32), up, marks[order])
        came = self.forest.originals[record][pairs[order, 1]]
        vertices = np.column_stack([self.vertices[pairs[order, 0]], came])
        return TreeClass(self.forest, tree, (*self.members, record), vertices)

    def orbits(self) -> NDArray[np.int64]:
        """Return for each vertex the number of those that nobody can tell it from.

        Two vertices can be exchanged by an automorphism if and only if their parents can, and the
        trees below them are isomorphic.
        """
        seen: dict[tuple[int, int], int] = {}
        found = np.zeros(len(self.tree.up), dtype=np.int64)
        forms = self.tree.form.tolist()
        for v, up in enumerate(self.tree.up.tolist()):
            above = -1 if up < 0 else int(found[up])
            found[v] = seen.setdefault((above, forms[v]), len(seen))
        return found

    def ordered(self) -> NDArray[np.int64]:
        """Return the vertices in an order that isomorphic representatives share."""
        tree = self.tree
        rank = self.forest.forms_of(self.kinds, tree.low, tree.high, tree.marks)
        order: list[int] = []
        waiting = [0]
        while waiting:
            vertex = waiting.pop(0)
            order.append(vertex)
            for s in range(tree.low.shape[1]):
                below = range(int(tree.low[vertex, s]), int(tree.high[vertex, s]))
                waiting += sorted(below, key=rank.__getitem__)
        return np.array(order, dtype=np.int64)


def single(forest: Forest, record: int, tree: TreeArrays) -> TreeClass:
    """Return the class of one person."""
    return TreeClass(forest, tree, (record,), forest.originals[record][:, None])
