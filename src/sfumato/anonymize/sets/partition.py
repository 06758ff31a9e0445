"""Local recoding for full k-anonymity of bags: classes that show the same labels as often.

Divided from the root down in the manner of He and Naughton (Anonymization of set-valued data via
top-down, local generalization, VLDB 2009), then made better in three ways: each class shows the
cheapest labels its members allow, deletion of items included (`partition_kernel`); sets that are
too few for a class of their own are not pressed into another one but divided again among
themselves; and sets move to classes that fit them better, until that saves little
(`reassignment_kernel`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.partition_kernel import divide, label, list_labels
from sfumato.anonymize.sets.reassignment_kernel import (
    ClassLabels,
    find_above,
    find_alternatives,
    move,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets
    from sfumato.data.tables.permutation import RandomWords

ROUNDS = 6
"""Most rounds of moving sets between classes."""
WORTH = 0.02
"""What a round must save for another one to be worth its time."""
OWN_BITS = 48
"""How many nodes have one of 64 bits for themselves."""


@dataclass
class Partition:
    """A partition of sets into classes of at least k; `class_of` is −1 for sets left out."""

    data: Sets
    k: int
    words: RandomWords
    bag: bool = True

    def __post_init__(self) -> None:
        self.class_of = np.full(len(self.data), -1, dtype=np.int64)
        self.keys = self.words.take(self.data.tree.nodes).copy()

    def run(self, rounds: int = ROUNDS) -> None:
        """Divide, and move sets while that saves more than `WORTH` of what was paid."""
        self._divide()
        for _ in range(rounds):
            saved, paid = self._move()
            if saved < WORTH * paid:
                break

    def nodes(self) -> NDArray[np.int32]:
        """Return the node of every item of every set, −1 where it is deleted."""
        out = np.full(self.data.occurrences, -1, dtype=np.int32)
        order, begins, ends = order_classes(self.class_of)
        label(order, begins, ends, *self._arrays(), out)
        return out

    def _arrays(self) -> tuple[object, ...]:
        data, tree = self.data, self.data.tree
        return data.starts, data.items, tree.parent, tree.price, self.bag

    def _divide(self) -> None:
        """Divide all sets, then those put aside, until too few are left for a class."""
        data, tree = self.data, self.data.tree
        waiting = np.flatnonzero(data.sizes > 0)
        made = 0
        while len(waiting) >= self.k:
            order = waiting.copy()
            begins, ends, aside = divide(
                order, data.starts, data.items, tree.parent, tree.price, self.k, self.bag, self.keys
            )
            for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
                self.class_of[order[begin:end]] = made + number
            made += len(begins)
            if len(aside) == len(waiting):
                break
            waiting = aside

    def _move(self) -> tuple[float, float]:
        """Move sets to better classes; return what that saved and what was paid before."""
        order, begins, ends = order_classes(self.class_of)
        found, nodes, copies = list_labels(order, begins, ends, *self._arrays())
        labels = list_heads(self.data, found, nodes, copies)
        look = np.ones(len(self.data), dtype=np.bool_)
        pays, other, target = find_alternatives(*self._arrays(), self.class_of, look, labels)
        saved = move(self.class_of, (ends - begins).copy(), pays, other, target, self.k)
        return float(saved), float(pays.sum())


def order_classes(
    class_of: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return sets ordered by class, and where each class begins and ends; renumber classes."""
    inside = np.flatnonzero(class_of >= 0)
    _, numbers = np.unique(class_of[inside], return_inverse=True)
    class_of[inside] = numbers.reshape(-1)
    order = inside[np.argsort(class_of[inside], kind="stable")]
    classes = int(class_of.max(initial=-1)) + 1
    bounds = np.searchsorted(class_of[order], np.arange(classes + 1))
    return order, bounds[:-1], bounds[1:]


def list_heads(
    data: Sets,
    found: NDArray[np.int64],
    nodes: NDArray[np.int64],
    copies: NDArray[np.int64],
) -> ClassLabels:
    """List the classes by their rarest label; those that show nothing are left out."""
    tree = data.tree
    until = np.concatenate([[0], np.cumsum(data.frequency)])
    often = until[tree.last] - until[tree.first]
    classes = np.flatnonzero(np.diff(found))
    rank = often[nodes] * tree.nodes + nodes
    rarest = np.minimum.reduceat(rank, found[classes]) % tree.nodes if len(classes) else classes
    order = np.argsort(rarest, kind="stable")
    head = np.searchsorted(rarest[order], np.arange(tree.nodes + 1))
    above = find_above(found, nodes, tree.parent)
    bit = _spread_bits(np.bincount(nodes, minlength=tree.nodes) * (1 - often / max(len(data), 1)))
    signs = np.bitwise_or.reduceat(bit[nodes], found[classes]) if len(classes) else bit[:0]
    return ClassLabels(found, nodes, copies, above, head, classes[order], bit, signs[order])


def _spread_bits(weight: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return a bit for every node: one of their own for those of most weight, shared by others."""
    rank = np.empty(len(weight), dtype=np.int64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(len(weight))
    place = np.where(rank < OWN_BITS, rank, OWN_BITS + rank % (64 - OWN_BITS))
    return np.left_shift(np.uint64(1), place.astype(np.uint64))
