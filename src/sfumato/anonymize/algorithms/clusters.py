"""Clusters of records that grow, lend and lose members: the state of bottom-up search.

A cluster is a list of shares (so many records of this tuple), the lowest common ancestor
of its members per attribute, its size, and the price one of its records pays. Clusters
live in flat arrays that compiled kernels change in place; a cluster without members is
dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from sfumato.anonymize.algorithms.encoding import describe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Shares:
    """Who is where: `count[j]` records of tuple `tuple_[j]` are in class `class_[j]`."""

    tuple_: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.int64]

    def compact(self) -> tuple[Shares, int]:
        """Number the classes 0, 1, … in order of first share; negative ones stay as they are."""
        kept = self.class_ >= 0
        names, first, inverse = np.unique(self.class_[kept], return_index=True, return_inverse=True)
        number = np.empty(len(names), dtype=np.int64)
        number[np.argsort(first, kind="stable")] = np.arange(len(names))
        class_ = self.class_.copy()
        class_[kept] = number[inverse]
        order = np.lexsort((self.tuple_, class_))
        return Shares(self.tuple_[order], class_[order], self.count[order]), len(names)

    def kept(self) -> Shares:
        """Return the shares that are released."""
        here = self.class_ >= 0
        return Shares(self.tuple_[here], self.class_[here], self.count[here])


class Clusters:
    """Mutable arrays over shares and clusters."""

    def __init__(self, encoding: Encoding, shares: Shares, n: int) -> None:
        """Take shares sorted by class, classes numbered 0 to n − 1."""
        e = self.encoding = encoding
        room = 2 * len(shares.tuple_) + 16
        self.tuple_ = np.zeros(room, dtype=np.int64)
        self.count = np.zeros(room, dtype=np.int64)
        self.next = np.full(room, -1, dtype=np.int64)
        used = len(shares.tuple_)
        self.tuple_[:used] = shares.tuple_
        self.count[:used] = shares.count
        self.used = np.array([used], dtype=np.int64)
        same = shares.class_[1:] == shares.class_[:-1]
        self.next[: used - 1][same] = np.flatnonzero(same) + 1
        self.head = np.searchsorted(shares.class_, np.arange(n)).astype(np.int64)
        self.tail = np.searchsorted(shares.class_, np.arange(n), side="right").astype(np.int64) - 1
        self.level, self.low, _ = describe(
            e.leaves, shares.tuple_, shares.class_, n, e.start, e.height, e.node
        )
        self.size = np.bincount(shares.class_, weights=shares.count, minlength=n).astype(np.int64)
        self.price = e.price[e.start + self.low * e.height + self.level].sum(axis=1)
        self.alive = np.ones(n, dtype=np.bool_)
        self.holds = np.zeros(n, dtype=np.bool_)

    @property
    def tree(self) -> tuple[Any, ...]:
        """The hierarchies, as kernels take them."""
        e = self.encoding
        return e.leaves, e.start, e.height, e.node, e.price

    @property
    def lists(self) -> tuple[Any, ...]:
        """The member lists, as kernels take them."""
        return self.tuple_, self.count, self.next, self.head, self.tail, self.used

    @property
    def tuples(self) -> tuple[Any, ...]:
        """The generalised tuples, as kernels take them."""
        return self.low, self.level, self.size, self.price

    def bags(
        self, first: NDArray[np.int64], second: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
        """Return the members of clusters, or of unions of two, as bags to be judged."""
        other = np.full(len(first), -1, dtype=np.int64) if second is None else second
        tuples, counts, groups = _members(first, other, *self.lists[:4])
        return tuples, counts, groups, len(first)

    def shares(self) -> Shares:
        """Return who is where; class numbers are those of living clusters, compacted."""
        living = np.flatnonzero(self.alive)
        tuples, counts, groups, _ = self.bags(living)
        return Shares(tuples, groups, counts)

    @property
    def total(self) -> float:
        """What all records together pay."""
        return float((self.size * self.price)[self.alive].sum())


@njit(cache=True)
def _members(first, second, tuple_, count, next_, head):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    total = 0
    for i in range(len(first)):
        j = head[first[i]]
        while j >= 0:
            total += 1
            j = next_[j]
        j = head[second[i]] if second[i] >= 0 else -1
        while j >= 0:
            total += 1
            j = next_[j]
    tuples = np.empty(total, dtype=np.int64)
    counts = np.empty(total, dtype=np.int64)
    groups = np.empty(total, dtype=np.int64)
    at = 0
    for i in range(len(first)):
        for side in range(2):
            c = first[i] if side == 0 else second[i]
            j = head[c] if c >= 0 else -1
            while j >= 0:
                tuples[at] = tuple_[j]
                counts[at] = count[j]
                groups[at] = i
                at += 1
                j = next_[j]
    return tuples, counts, groups
