"""Classes of a node of the lattice, and how those of a coarser node are made from them.

A grouping lists the equivalence classes of one node: a representative tuple, the number of records,
and per sensitive attribute the values that occur with their counts. A node above is grouped from
the representatives alone (hierarchies nest), and its histograms are sums of histograms: nothing
is looked up in the table again. The groupings of evaluated nodes are kept for that.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

KEPT_GROUPINGS = 256
KEPT_SHARE = 6
"""How many groupings are kept for roll-up, and how many classes in all as a multiple of those of
the ungeneralised table; the oldest give way."""

NOTHING = int(np.iinfo(np.int64).max)
"""Size of a place where no grouping is kept."""


class Histogram(NamedTuple):
    """How often each value of one sensitive attribute occurs in each class; zeros are left out.

    Class `c` has `counts[j]` records of value `values[j]` for `starts[c] <= j < starts[c + 1]`.
    """

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]

    def dense(self, begin: int, end: int, n_values: int) -> NDArray[np.int64]:
        """Return the classes from `begin` to `end` as an array (classes × values)."""
        cells = slice(int(self.starts[begin]), int(self.starts[end]))
        table = np.zeros((end - begin, n_values), dtype=np.int64)
        classes = np.repeat(np.arange(end - begin), np.diff(self.starts[begin : end + 1]))
        table[classes, self.values[cells]] = self.counts[cells]
        return table


@dataclass(eq=False)
class Grouping:
    """The classes of a node: a representative tuple each, records, people of the population.

    Histograms are summed when they are first asked for: nodes whose sizes alone tell that they
    fail never need theirs.
    """

    representatives: NDArray[np.int64]
    sizes: NDArray[np.int64]
    people: NDArray[np.int64] | None
    made: Callable[[], Mapping[str, Histogram]]

    @cached_property
    def histograms(self) -> Mapping[str, Histogram]:
        """The histogram of each sensitive attribute."""
        found = self.made()
        self.made = dict  # lets go of the finer grouping it was made from
        return found

    @property
    def classes(self) -> int:
        """Number of classes, those without records included."""
        return len(self.sizes)


class Rollups:
    """Groupings kept for roll-up, found by the node they belong to."""

    def __init__(self, finest: Grouping, attributes: int) -> None:
        self.finest = finest
        self._levels = np.zeros((KEPT_GROUPINGS, attributes), dtype=np.int64)
        self._nodes = [(0,) * attributes] * KEPT_GROUPINGS  # the same, to be compared at once
        self._sizes = np.full(KEPT_GROUPINGS, NOTHING)
        self._kept: list[Grouping | None] = [None] * KEPT_GROUPINGS
        self._sizes[0] = finest.classes
        self._kept[0] = finest
        self._ages: deque[int] = deque()
        self._free = list(range(KEPT_GROUPINGS - 1, 0, -1))
        self._room = KEPT_SHARE * max(finest.classes, 1)

    def smallest_below(self, node: tuple[int, ...]) -> tuple[bool, Grouping]:
        """Return the smallest kept grouping a node can be made of, and whether it is its own."""
        fits = (self._levels <= np.array(node, dtype=np.int64)).all(axis=1)
        at = int(np.where(fits, self._sizes, NOTHING).argmin())
        found = self._kept[at]
        assert found is not None
        return self._nodes[at] == node, found

    def keep(self, node: tuple[int, ...], grouping: Grouping) -> None:
        """Remember a grouping; forget the oldest ones when there are too many."""
        self._room -= grouping.classes
        while self._ages and (not self._free or self._room < 0):
            oldest = self._ages.popleft()
            self._room += int(self._sizes[oldest])
            self._sizes[oldest] = NOTHING
            self._kept[oldest] = None
            self._free.append(oldest)
        at = self._free.pop()
        self._levels[at] = node
        self._nodes[at] = node
        self._kept[at] = grouping
        self._sizes[at] = grouping.classes  # last: an interrupt must not find a gap
        self._ages.append(at)


def _plain_sum_per_group(
    groups: NDArray[np.int64], weights: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    # Sums are counts of people, which doubles hold exactly.
    return np.bincount(groups, weights=weights, minlength=n).astype(np.int64)


@kernel(_plain_sum_per_group, loss=lambda groups, _weights, _n: 5e-6 + 2e-9 * len(groups))
def sum_per_group(groups, weights, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Sum integer weights per group."""
    total = np.zeros(n, dtype=np.int64)
    for i in range(len(groups)):
        total[groups[i]] += weights[i]
    return total


def merge_histograms(
    fine: Histogram, groups: NDArray[np.int64], n: int, n_values: int
) -> Histogram:
    """Return the histograms of `n` classes; class `c` of the fine ones is part of `groups[c]`."""
    return Histogram(*_merge(fine.starts, fine.values, fine.counts, groups, n, n_values))


def _plain_merge(
    starts: NDArray[np.int64],
    values: NDArray[np.int32],
    counts: NDArray[np.int64],
    groups: NDArray[np.int64],
    n: int,
    n_values: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    keys = np.repeat(groups, np.diff(starts)) * n_values + values
    found, where = np.unique(keys, return_inverse=True)
    sums = np.bincount(where.reshape(-1), weights=counts, minlength=len(found)).astype(np.int64)
    begins = np.searchsorted(found, np.arange(n + 1) * n_values).astype(np.int64)
    return begins, (found % max(n_values, 1)).astype(np.int32), sums


@kernel(_plain_merge, loss=lambda *a: 5e-5 + 1e-7 * len(a[1]))
def _merge(starts, values, counts, groups, n, n_values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901 - one loop in another
    """Add up the histograms of the classes in each group; values come out in their order.

    Classes are first put in the order of their groups (counting sort). Each group is then summed
    in `held`, one number per value, which is left at zero for the next group.
    """
    ends = np.zeros(n + 1, dtype=np.int64)
    for c in range(len(groups)):
        ends[groups[c] + 1] += 1
    for g in range(n):
        ends[g + 1] += ends[g]
    place = ends[:n].copy()
    order = np.empty(len(groups), dtype=np.int64)
    for c in range(len(groups)):
        order[place[groups[c]]] = c
        place[groups[c]] += 1
    held = np.zeros(n_values, dtype=np.int64)
    touched = np.empty(n_values, dtype=np.int32)
    begins = np.zeros(n + 1, dtype=np.int64)
    new_values = np.empty(len(values), dtype=np.int32)
    new_counts = np.empty(len(values), dtype=np.int64)
    filled = 0
    for g in range(n):
        met = 0
        for i in range(ends[g], ends[g + 1]):
            for j in range(starts[order[i]], starts[order[i] + 1]):
                value = values[j]
                if held[value] == 0:
                    touched[met] = value
                    met += 1
                held[value] += counts[j]
        if met * 4 > n_values:  # walking along all values costs less than sorting
            met = 0
            for v in range(n_values):
                if held[v] > 0:
                    touched[met] = v
                    met += 1
        elif ends[g + 1] - ends[g] > 1:
            touched[:met].sort()
        for j in range(met):
            value = touched[j]
            new_values[filled] = value
            new_counts[filled] = held[value]
            held[value] = 0
            filled += 1
        begins[g + 1] = filled
    return begins, new_values[:filled].copy(), new_counts[:filled].copy()
