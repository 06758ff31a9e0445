"""Tuples, generalisation and price as flat arrays: what the kernels of local recoding share.

Column `start[a] + h` of `node` and `price` speaks of quasi-identifier `a` on level `h`:
the node that stands for the tuple's leaf there (numbered across all attributes, so equal
numbers mean equal nodes) and what one record pays for it. A class is then

* a representative tuple and a level per attribute: its lowest common ancestor;
* `sums`, the members' prices added up per column, so that what the class pays on any
  level vector, and what it would pay after records join, is a sum of one cell per
  attribute. This is exact for every loss that `Problem.costs` can express, also where
  two leaves under one node pay differently.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem

OUTER = {"cache": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
"""How kernels called from Python are compiled: nothing that is not needed, for a quick start."""
INNER = {"no_cfunc_wrapper": True, "error_model": "numpy", "no_cpython_wrapper": True}
"""How kernels called from kernels are compiled: they are kept as part of those."""


class Ancestors(NamedTuple):
    """The tuples as kernels see them: every level of every attribute is a column.

    Column `start[a] + h` is level h of attribute a; `node[t, column]` is what tuple t is
    generalised to there and `price[t, column]` what a record of it pays. Equal nodes are numbered
    equally, and tuples that share a node share all above it: so a loop that climbs until nodes
    agree stops at the lowest common ancestor, at the root at the latest.
    """

    start: NDArray[np.int64]
    node: NDArray[np.int32]
    price: NDArray[np.float64]


class Members(NamedTuple):
    """Who is where, for kernels: `Shares` says what the arrays mean; `records` are its counts."""

    tuple_: NDArray[np.int64]
    records: NDArray[np.int64]
    first: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Space:
    """The problem's tuples as arrays."""

    start: NDArray[np.int64]
    nodes: int
    node: NDArray[np.int32]
    price: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def ancestors(self) -> Ancestors:
        """The tuples as kernels see them."""
        return Ancestors(self.start, self.node, self.price)

    @classmethod
    def of(cls, problem: Problem) -> Space:
        """Lay out the tuples of a problem."""
        quasi, heights = problem.table.quasi, problem.heights
        start = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
        node = np.empty((len(quasi), int(start[-1])), dtype=np.int32)
        price = np.empty(node.shape, dtype=np.float64)
        nodes = 0
        for a, hierarchy in enumerate(problem.hierarchies):
            for h in range(hierarchy.height):
                node[:, start[a] + h] = hierarchy.levels[quasi[:, a], h] + nodes
                nodes += len(hierarchy.labels[h])
            price[:, start[a] : start[a + 1]] = problem.costs[a][quasi[:, a]]
        return cls(start, nodes, node, price, problem.table.counts.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Shares:
    """Who is where: `count[j]` records of `tuple_[j]` are in a class; grouped by class.

    The shares of class `c` are `first[c]` to `first[c + 1]`, in the order of their tuples;
    a class without shares is empty and means nothing.
    """

    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]
    first: NDArray[np.int64]

    @property
    def members(self) -> Members:
        """The same, for kernels."""
        return Members(self.tuple_, self.count, self.first)

    @property
    def classes(self) -> int:
        """Number of classes, empty ones included."""
        return len(self.first) - 1

    @cached_property
    def width(self) -> NDArray[np.int64]:
        """Number of shares of each class."""
        return np.diff(self.first)

    @cached_property
    def class_(self) -> NDArray[np.int64]:
        """Class of each share."""
        return np.repeat(np.arange(self.classes), self.width)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        ends = np.concatenate([[0], np.cumsum(self.count)])
        size: NDArray[np.int64] = ends[self.first[1:]] - ends[self.first[:-1]]
        return size

    def take(self, chosen: NDArray[np.int64]) -> Shares:
        """Return some classes, renumbered in the order given."""
        width = self.width[chosen]
        first = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        at = np.repeat(self.first[chosen] - first[:-1], width) + np.arange(first[-1])
        return Shares(self.tuple_[at], self.count[at], first)

    def compact(self) -> Shares:
        """Return the same without empty classes."""
        return self.take(np.flatnonzero(self.width))


class Summary(NamedTuple):
    """What the kernels know of each class; an empty one has representative −1."""

    rep: NDArray[np.int64]
    level: NDArray[np.int64]
    sums: NDArray[np.float64]
    size: NDArray[np.int64]
    paid: NDArray[np.float64]


def gather(
    tuple_: NDArray[np.int64], class_: NDArray[np.int64], count: NDArray[np.int64], classes: int
) -> Shares:
    """Group shares by class, add up those of the same tuple, drop those of no records."""
    key = class_ * (int(tuple_.max(initial=0)) + 1) + tuple_
    order = np.argsort(key, kind="stable")
    key = key[order]
    at = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
    total = np.add.reduceat(count[order], at) if len(at) else count
    at = order[at[total > 0]]
    first = np.concatenate([[0], np.cumsum(np.bincount(class_[at], minlength=classes))])
    return Shares(tuple_[at], total[total > 0], first.astype(np.int64))


def summarize(space: Space, shares: Shares) -> Summary:
    """Compute every class's lowest common ancestor, sums, size and price."""
    n, attributes = shares.classes, len(space.start) - 1
    level = np.zeros((n, attributes), dtype=np.int64)
    sums = np.zeros((n, space.node.shape[1]))
    size, paid = np.zeros(n, dtype=np.int64), np.zeros(n)
    rep = np.full(n, -1)
    rep[shares.width > 0] = shares.tuple_[shares.first[:-1][shares.width > 0]]
    _summarize(
        space.start, space.node, space.price, shares.tuple_, shares.count, shares.first,
        level, sums, size, paid,
    )  # fmt: skip
    return Summary(rep, level, sums, size, paid)


def unite(space: Space, shares: Shares) -> Shares:
    """Make classes with the same generalised tuple one: nobody could tell them apart."""
    shares = shares.compact()
    classes = summarize(space, shares)
    columns = space.start[:-1] + classes.level
    nodes = space.node[classes.rep[:, None], columns]
    _, into = np.unique(nodes, axis=0, return_inverse=True)
    class_ = into.ravel().astype(np.int64)[shares.class_]
    return gather(shares.tuple_, class_, shares.count, shares.classes).compact()


@njit(**INNER)
def widen(start, node, rep, level, other):  # type: ignore[no-untyped-def]
    """Raise `level` in place until the tuple `rep` on it also stands for the tuple `other`."""
    for a in range(len(level)):
        column = start[a] + level[a]
        while node[rep, column] != node[other, column]:
            column += 1
        level[a] = column - start[a]


@njit(**OUTER)
def _summarize(start, node, price, tuple_, count, first, level, sums, size, paid):  # type: ignore[no-untyped-def]
    for c in range(len(size)):
        if first[c] == first[c + 1]:
            continue
        rep = tuple_[first[c]]
        for j in range(first[c], first[c + 1]):
            widen(start, node, rep, level[c], tuple_[j])
            size[c] += count[j]
            for w in range(sums.shape[1]):
                sums[c, w] += count[j] * price[tuple_[j], w]
        for a in range(level.shape[1]):
            paid[c] += sums[c, start[a] + level[c, a]]
