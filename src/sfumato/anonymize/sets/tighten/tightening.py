"""Classes of sets tightened: what the kernel needs to see quickly who may fit where.

Sets whose items lie under the same nodes of the *crown*, a few nodes below the root, are a bucket:
a set fits only classes of its bucket. Below the crown, nodes have bits; those that cover most items
one each, the others share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.tighten.board_kernel import Clues
from sfumato.anonymize.sets.tighten.tightening_kernel import tighten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.sets.divide.tally_kernel import Ground
    from sfumato.data.sets.item_tree import ItemTree
    from sfumato.data.sets.sets import Sets

CROWN = 30
"""Most nodes of the crown."""
SHOWN = 0.01
"""The crown lies below nodes by which a smaller share of items is shown."""
ALONE = 40
"""How many nodes have one of 64 bits for themselves."""
NEIGHBOURS = 4000
"""Most classes of a bucket: every set of it is held against each."""
LARGEST = 62
"""Classes of more sets are not tightened: who stays is told by the bits of a word."""


class Tightening:
    """Tightens the classes of a partition, again and again."""

    def __init__(self, data: Sets, shown: NDArray[np.int32]) -> None:
        self.data = data
        self.set_of = np.repeat(np.arange(len(data)), data.sizes)
        tree = data.tree
        share = np.bincount(shown, minlength=tree.nodes) / max(len(shown), 1)
        crown = choose_crown(tree, share < SHOWN)
        self.top = find_top(tree, crown)
        place = np.zeros(tree.nodes, dtype=np.int64)
        place[crown] = 1 << np.arange(len(crown))
        bits = np.where(self.top >= 0, place[self.top], 0)[data.items]
        self.profile = np.zeros(len(data), dtype=np.int64)
        full = data.sizes > 0
        if full.any():
            self.profile[full] = np.bitwise_or.reduceat(bits, data.starts[:-1][full])
        self.clues = list_clues(tree, self.top)

    def run(
        self,
        class_of: NDArray[np.int64],
        shown: NDArray[np.int32],
        ground: Ground,
        *,
        opening: bool,
    ) -> None:
        """Tighten classes, which are numbered without gaps, in place."""
        buckets, begins = self._bucket(class_of, shown)
        largest = min(3 * ground.k, LARGEST)
        tighten(buckets, begins, class_of, shown, ground, self.clues, largest, opening)

    def _bucket(
        self, class_of: NDArray[np.int64], shown: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the classes by bucket; those with items shown above the crown are in none."""
        inside = np.flatnonzero(class_of >= 0)
        classes = int(class_of.max(initial=-1)) + 1
        profile = np.zeros(classes, dtype=np.int64)
        profile[class_of[inside]] = self.profile[inside]
        example = np.zeros(classes, dtype=np.int64)
        example[class_of[inside]] = inside
        above = (self.top[shown] < 0) | (shown == self.data.tree.root)
        loose = class_of[self.set_of[above]]
        tight = np.ones(classes, dtype=np.bool_)
        tight[loose[loose >= 0]] = False
        sign = np.zeros(len(self.data), dtype=np.uint64)
        np.bitwise_or.at(sign, self.set_of, self.clues.bit[shown])
        order = np.lexsort([sign[example], profile])
        order = order[tight[order]]
        begins = np.flatnonzero(np.diff(profile[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
        begins = np.flatnonzero(rank % NEIGHBOURS == 0)
        return order, np.append(begins, len(order)).astype(np.int64)


def choose_crown(tree: ItemTree, rare: NDArray[np.bool_]) -> list[int]:
    """Return up to `CROWN` nodes that cover all items: rare ones are opened, the widest first."""
    starts, below = tree.children
    crown = [tree.root]
    while True:
        found = [v for v in crown if rare[v] and v >= tree.items]
        if not found:
            return crown
        widest = max(found, key=lambda v: int(tree.last[v] - tree.first[v]))
        children = below[starts[widest] : starts[widest + 1]].tolist()
        if len(crown) - 1 + len(children) > CROWN:
            return crown
        crown.remove(widest)
        crown += children


def find_top(tree: ItemTree, crown: list[int]) -> NDArray[np.int64]:
    """Return the node of the crown above every node, −1 for nodes above the crown."""
    top = np.full(tree.nodes, -1, dtype=np.int64)
    top[crown] = crown
    for v in range(tree.nodes - 2, -1, -1):
        if top[v] < 0:
            top[v] = top[tree.parent[v]]
    return top


def list_clues(tree: ItemTree, top: NDArray[np.int64]) -> Clues:
    """Return the bits of the nodes below the crown."""
    nodes = np.arange(tree.nodes)
    wide = np.argsort(tree.first - tree.last, kind="stable")
    wide = wide[(top[wide] >= 0) & (top[wide] != wide)]
    rank = np.arange(len(wide))
    bit = np.zeros(tree.nodes, dtype=np.uint64)
    place = np.where(rank < ALONE, rank, ALONE + rank % (64 - ALONE)).astype(np.uint64)
    bit[wide] = np.left_shift(np.uint64(1), place)
    alone = np.uint64((1 << ALONE) - 1)
    below, above = bit & alone, bit & alone
    for v in nodes[:-1]:
        below[tree.parent[v]] |= below[v]
    for v in nodes[-2::-1]:
        above[v] |= above[tree.parent[v]]
    shared = np.where(nodes < tree.items, nodes % 64, 0).astype(np.uint64)
    item_bit = np.where(nodes < tree.items, np.left_shift(np.uint64(1), shared), np.uint64(0))
    return Clues(bit, below | above, alone, item_bit)
