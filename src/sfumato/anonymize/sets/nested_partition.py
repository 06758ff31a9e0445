"""Local recoding for full k-anonymity of sets whose labels may lie above one another.

Long sets are first grouped by items that they have together (`seed`). Each group, and all sets of
none, are divided from the root down with a look ahead (`division_kernel`), which puts some aside;
those are divided among themselves, and then move to the classes that fit them best
(`reassignment_kernel`). Classes of long sets are tightened instead, label by label
(`tightening_kernel`). Classes that lost or won members are divided on. Where the cheapest labels
of a class that do not overlap (`partition_kernel`: exact, with deletion) cost less than
what was found, the class shows those. Every step lowers the loss or leaves it.

Every label of a set stands for at least one item of its own: a released set never has more labels
than the set had items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.divide.division_kernel import divide_deeply
from sfumato.anonymize.sets.divide.tally_kernel import Ground
from sfumato.anonymize.sets.partition import list_heads, order_classes
from sfumato.anonymize.sets.partition_kernel import label
from sfumato.anonymize.sets.reassignment_kernel import find_alternatives, move, show_lowest
from sfumato.anonymize.sets.recoding import DELETED, sort_distinct
from sfumato.anonymize.sets.seed.patterns import find_crown, find_groups
from sfumato.anonymize.sets.tighten.tightening import Tightening

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.sets import Sets

PATIENCE = 0.8
ASIDE = 0.12
"""What putting a set aside counts, as a share of what it pays; see `tally_kernel.Ground`."""
SMALL = 100
"""Classes of at most so many sets try splits out before they choose."""
TRIES = 4
"""Most splits that are tried out; where sets are short, fewer are worth it."""
LONG = 7
"""Mean number of items from which classes are tightened; with fewer it takes too long."""
SAMPLE = 1600
"""How many sets, as a multiple of k, are divided to learn what division saves."""
ROUNDS = 6
"""Most rounds of tightening before classes are opened."""
OPENINGS = 2
"""Rounds in which classes are opened."""
WORTH = 0.01
"""What a round must save, as a share of what was paid, for another one to be worth its time."""


@dataclass
class NestedPartition:
    """A partition of sets into classes of at least k; `class_of` is −1 for sets left out."""

    data: Sets
    k: int

    def __post_init__(self) -> None:
        data, tree = self.data, self.data.tree
        self.class_of = np.full(len(data), -1, dtype=np.int64)
        self.shown = np.full(data.occurrences, tree.root, dtype=np.int32)
        self.set_of = np.repeat(np.arange(len(data)), data.sizes)
        self.made = 0
        numbers = np.arange(len(data) + 1, dtype=np.float64)
        self.logs = numbers * np.log(np.maximum(numbers, 1))

    def run(self) -> None:
        """Divide, divide what was put aside, and move sets to where they fit best."""
        waiting = np.flatnonzero(self.data.sizes > 0)
        late = np.zeros(len(self.data), dtype=np.bool_)
        group = np.zeros(len(self.data), dtype=np.int64)
        long = self.mean >= LONG
        if long and len(waiting) >= self.k:
            group = self._seed(waiting)
        while len(waiting) >= self.k:
            aside = self._divide(waiting, group)
            group[:] = 0
            late[aside] = True
            if len(aside) == len(waiting):
                break
            waiting = aside
        self._settle(np.flatnonzero(self.class_of >= 0))
        moving = self.class_of < 0 if long else late | (self.class_of < 0)
        if moving.any():
            self._move(moving)
        if long:
            self._tighten()

    def nodes(self) -> NDArray[np.int32]:
        """Return the node of every item of every set, −1 where it is deleted."""
        return np.where(self.shown == self.data.tree.root, DELETED, self.shown).astype(np.int32)

    @property
    def tries(self) -> int:
        """How many splits of a small class are tried out."""
        return max(2, min(TRIES, round(0.6 * self.mean)))

    @property
    def mean(self) -> float:
        """The mean number of items of a set."""
        return self.data.occurrences / max(len(self.data), 1)

    def _ground(self, aside: float) -> Ground:
        data, tree = self.data, self.data.tree
        return Ground(
            data.starts, data.items, tree.parent, tree.price, tree.first, tree.last, self.k,
            PATIENCE, aside, self.logs,
        )  # fmt: skip

    def _seed(self, waiting: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group from which division starts, of every set; show what it has in common.

        What division saves grows with the logarithm of how many sets there are to a class. That is
        learnt from some of the sets, and from a quarter of those.
        """
        some = waiting[:: -(-len(waiting) // (SAMPLE * self.k))]
        few, many = self._try_division(some[::4]), self._try_division(some)
        slope = max(many - few, 0.0) / np.log(4)
        expected = max(many, 0.0) + slope * np.log(len(waiting) / len(some))
        group, exact = find_groups(self.data, self.k, expected, slope)
        self.shown[exact] = self.data.items[exact]
        return group

    def _try_division(self, some: NDArray[np.int64]) -> float:
        """Return what division saves some of the sets, on average, against the crown alone."""
        data, tree = self.data, self.data.tree
        sample = NestedPartition(data, self.k)
        sample._divide(some, np.zeros(len(data), dtype=np.int64))
        inside = (sample.class_of >= 0)[self.set_of]
        crown = tree.price[find_crown(tree)[data.items[inside]]]
        saved = (crown - tree.price[sample.shown[inside]]).sum()
        return float(saved) / max(int((sample.class_of >= 0).sum()), 1)

    def _divide(self, waiting: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
        """Divide sets that are in no class yet, each group for itself; return those put aside.

        Groups of fewer than k sets are put aside as they are.
        """
        _, whose, size = np.unique(group[waiting], return_inverse=True, return_counts=True)
        large = size[whose] >= self.k
        order = waiting[large][np.argsort(whose[large], kind="stable")]
        begins = np.flatnonzero(np.diff(group[order], prepend=-2))
        ends = np.append(begins[1:], len(order))[: len(begins)]
        ground = self._ground(ASIDE)
        found = divide_deeply(order, begins, ends, self.shown, ground, self.tries, SMALL)
        self.class_of[order] = np.where(found < 0, -1, found + self.made)
        self.made += int(found.max(initial=-1)) + 1
        aside: NDArray[np.int64] = np.concatenate([order[found < 0], waiting[~large]])
        put = np.zeros(len(self.data), dtype=np.bool_)
        put[aside] = True
        self.shown[put[self.set_of]] = self.data.tree.root
        return aside

    def _settle(self, sets: NDArray[np.int64]) -> None:
        """Divide classes further where nobody is put aside, then take cheaper plain labels.

        `sets` are all members of the classes that are looked at.
        """
        data, tree = self.data, self.data.tree
        settled = np.full(len(data), -1, dtype=np.int64)
        settled[sets] = self.class_of[sets]
        order, begins, ends = order_classes(settled)
        if not len(order):
            return
        ground = self._ground(np.inf)
        settled[order] = divide_deeply(order, begins, ends, self.shown, ground, self.tries, SMALL)
        order, begins, ends = order_classes(settled)
        plain = self.shown.copy()
        label(order, begins, ends, data.starts, data.items, tree.parent, tree.price, False, plain)
        plain[plain == DELETED] = tree.root
        price = tree.price[plain] - tree.price[self.shown]
        inside = settled[self.set_of]
        more = np.bincount(inside[inside >= 0], weights=price[inside >= 0])
        better = (inside >= 0) & (np.append(more, 0.0)[inside] < -1e-12)
        self.shown[better] = plain[better]
        self.class_of[order] = settled[order] + self.class_of.max(initial=-1) + 1

    def _find_changed(
        self, class_of: NDArray[np.int64], shown: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Return all members of classes that lost or won a set or changed a label since then."""
        differs = self.class_of != class_of
        differs[self.set_of[self.shown != shown]] = True
        changed = np.zeros(max(self.class_of.max(initial=-1), class_of.max(initial=-1)) + 2, bool)
        changed[self.class_of[differs]] = changed[class_of[differs]] = True
        changed[-1] = False
        return np.flatnonzero(changed[self.class_of])

    def _move(self, look: NDArray[np.bool_]) -> None:
        """Move sets that `look` names, or their classes, to classes that fit them better."""
        data, tree = self.data, self.data.tree
        order, begins, ends = order_classes(self.class_of)
        found, nodes = self._list_labels(order[begins])
        labels = list_heads(data, found, nodes, np.ones(len(nodes), dtype=np.int64))
        pays, other, target = find_alternatives(
            data.starts, data.items, tree.parent, tree.price, False, self.class_of, look, labels
        )
        before = self.class_of.copy()
        move(self.class_of, (ends - begins).copy(), pays, other, target, self.k)
        moved = np.flatnonzero(before != self.class_of)
        shown = self.shown.copy()
        show_lowest(moved, self.class_of, data.starts, data.items, tree.parent, labels, self.shown)
        self._settle(self._find_changed(before, shown))

    def _tighten(self) -> None:
        """Tighten classes while that saves enough; if it did, open more of them at last."""
        ground = self._ground(np.inf)
        tightening = Tightening(self.data, self.shown)
        before = first = self._paid()
        for _ in range(ROUNDS):
            self._tighten_once(tightening, ground, opening=False)
            paid, before = before, self._paid()
            if before > (1 - WORTH) * paid:
                break
        if before > (1 - WORTH) * first:
            return
        for _ in range(OPENINGS):
            self._tighten_once(tightening, ground, opening=True)

    def _tighten_once(self, tightening: Tightening, ground: Ground, *, opening: bool) -> None:
        order_classes(self.class_of)
        class_of, shown = self.class_of.copy(), self.shown.copy()
        tightening.run(self.class_of, self.shown, ground, opening=opening)
        self._settle(self._find_changed(class_of, shown))

    def _paid(self) -> float:
        return float(self.data.tree.price[self.shown].sum())

    def _list_labels(
        self, examples: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labels of every class, of which an example is given, as compressed rows."""
        width = self.data.tree.nodes
        class_of = np.full(len(self.data), -1, dtype=np.int64)
        class_of[examples] = np.arange(len(examples))
        whose = class_of[self.set_of]
        kept = (whose >= 0) & (self.shown != self.data.tree.root)
        keys = sort_distinct(whose[kept] * width + self.shown[kept])
        found = np.searchsorted(keys, np.arange(len(examples) + 1) * width)
        return found, keys % width
