"""Clusters of records that grow, lend and lose members: the state of bottom-up search.

A cluster is a list of shares (so many records of this tuple), the lowest common ancestor
of its members per attribute, its size, and the price one of its records pays. Clusters
live in flat arrays that compiled kernels change in place; a cluster without members is
dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.tables.algorithms.encoding import describe
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Shares:
    """Who is where: `count[j]` records of tuple `tuple_[j]` are in class `class_[j]`."""

    tuple_: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.int64]

    def compact(self) -> tuple[Shares, int]:
        """Return the classes numbered 0, 1, … by their first tuple; negative ones stay as they are.

        The shares come back sorted by class and tuple.
        """
        order = np.argsort(self.tuple_, kind="stable")
        names = self.class_[order]
        kept = names >= 0
        found, first, inverse = np.unique(names[kept], return_index=True, return_inverse=True)
        number = np.empty(len(found), dtype=np.int64)
        number[np.argsort(first, kind="stable")] = np.arange(len(found))
        class_ = names.copy()
        class_[kept] = number[inverse]
        by_class = np.argsort(class_, kind="stable")
        order = order[by_class]
        return Shares(self.tuple_[order], class_[by_class], self.count[order]), len(found)

    def kept(self) -> Shares:
        """Return the shares that are released."""
        here = self.class_ >= 0
        return Shares(self.tuple_[here], self.class_[here], self.count[here])

    def and_suppressed(self, tuples: NDArray[np.int64], counts: NDArray[np.int64]) -> Shares:
        """Return these shares and more, whose records are suppressed."""
        return Shares(
            np.concatenate([self.tuple_, tuples]),
            np.concatenate([self.class_, np.full(len(tuples), -1, dtype=np.int64)]),
            np.concatenate([self.count, counts]),
        )


class State(NamedTuple):
    """Everything about shares and clusters that changes.

    Share `j` is `count[j]` records of tuple `tuple_[j]`; `next_[j]` is the next share of
    its cluster; `used[0]` shares are in use. Cluster `c` begins with share `head[c]`.
    """

    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]  # type: ignore[assignment] # hides tuple.count, unused here
    next_: NDArray[np.int64]
    used: NDArray[np.int64]
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    low: NDArray[np.int64]
    level: NDArray[np.int64]
    size: NDArray[np.int64]
    price: NDArray[np.float64]
    alive: NDArray[np.bool_]
    holds: NDArray[np.bool_]


class Clusters:
    """Clusters of one problem, made from shares sorted by class, classes 0 to n − 1."""

    def __init__(self, encoding: Encoding, shares: Shares, n: int) -> None:
        self.encoding = encoding
        used = len(shares.tuple_)
        # Borrowing splits at most one share per cluster that ever sought.
        room = used + n + 16
        tuple_, count, next_ = (np.full(room, -1, dtype=np.int64) for _ in range(3))
        tuple_[:used], count[:used] = shares.tuple_, shares.count
        same = np.flatnonzero(shares.class_[1:] == shares.class_[:-1])
        next_[same] = same + 1
        level, low, _ = describe(encoding.tree, shares.tuple_, shares.class_, n)
        numbers = np.arange(n)
        sizes = np.bincount(shares.class_, weights=shares.count, minlength=n)
        self.state = State(
            tuple_,
            count,
            next_,
            np.array([used], dtype=np.int64),
            np.searchsorted(shares.class_, numbers).astype(np.int64),
            np.searchsorted(shares.class_, numbers, side="right").astype(np.int64) - 1,
            low,
            level,
            sizes.astype(np.int64),
            encoding.tree.price[encoding.at(level, low)].sum(axis=1),
            np.ones(n, dtype=np.bool_),
            np.zeros(n, dtype=np.bool_),
        )

    @property
    def living(self) -> NDArray[np.int64]:
        """Numbers of the clusters that have members and are not suppressed."""
        return np.flatnonzero(self.state.alive)

    def bags(
        self, first: NDArray[np.int64], second: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
        """Return the members of clusters, or of unions of two, as bags to be judged."""
        other = np.full(len(first), -1, dtype=np.int64) if second is None else second
        lists = self.state.tuple_, self.state.count, self.state.next_, self.state.head
        tuples, counts, groups = _members(*lists, first, other)
        return tuples, counts, groups, len(first)

    def refresh(self, touched: NDArray[np.int64]) -> None:
        """Recompute the generalised tuples of clusters from their members."""
        tuples, _, groups, n = self.bags(touched)
        level, low, _ = describe(self.encoding.tree, tuples, groups, n)
        self.state.level[touched] = level
        self.state.low[touched] = low
        prices = self.encoding.tree.price[self.encoding.at(level, low)]
        self.state.price[touched] = prices.sum(axis=1)

    def shares(self, dropped: NDArray[np.int64]) -> Shares:
        """Return who is where; the members of `dropped` clusters are suppressed."""
        tuples, counts, groups, _ = self.bags(self.living)
        gone, gone_counts, _, _ = self.bags(dropped)
        return Shares(tuples, groups, counts).and_suppressed(gone, gone_counts)


@njit(cache=True)
def _members(
    tuple_: NDArray[np.int64],
    count: NDArray[np.int64],
    next_: NDArray[np.int64],
    head: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List the members of pairs of clusters; a second cluster of −1 is none."""
    total = 0
    for i in range(2 * len(first)):
        c = first[i // 2] if i % 2 == 0 else second[i // 2]
        j = head[c] if c >= 0 else -1
        while j >= 0:
            total += 1
            j = next_[j]
    tuples = np.empty(total, dtype=np.int64)
    counts = np.empty(total, dtype=np.int64)
    groups = np.empty(total, dtype=np.int64)
    at = 0
    for i in range(2 * len(first)):
        c = first[i // 2] if i % 2 == 0 else second[i // 2]
        j = head[c] if c >= 0 else -1
        while j >= 0:
            tuples[at] = tuple_[j]
            counts[at] = count[j]
            groups[at] = i // 2
            at += 1
            j = next_[j]
    return tuples, counts, groups
