"""Equivalence classes as arrays: all that a definition of anonymity gets to see.

An equivalence class is a set of records that look alike on the quasi-identifiers. A
definition judges classes in batches: sizes, and per sensitive attribute one histogram
row per class, beside the distribution in the whole table.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy


DENSE_CELLS = 8_000_000
"""Largest histogram (classes × values) held at once; more classes are judged in batches."""


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveHistogram:
    """How the values of one sensitive attribute are spread over a batch of classes.

    `counts[c, v]` records of class `c` have value `v`; `total[v]` is the same for the whole
    table. Values stand in their natural order (numbers by size, else as the schema's domain
    or hierarchy lists them), which the ordered distance relies on.
    """

    counts: NDArray[np.int64]
    total: NDArray[np.int64]
    values: tuple[str, ...] = ()
    hierarchy: Hierarchy | None = None

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Distribution of the attribute in each class; a class without records gets zeros."""
        size = self.counts.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = self.counts / np.maximum(size, 1)
        return shares

    def as_read(self) -> SensitiveHistogram:
        """Take values together that a reader takes for one: `hiv`, `HIV` and `hiv `."""
        first: dict[str, int] = {}
        like = [first.setdefault(read_as(value), i) for i, value in enumerate(self.values)]
        kept = sorted(first.values())
        joins = np.array([[int(i == k) for k in kept] for i in like], dtype=np.int64)
        return replace(
            self,
            counts=self.counts @ joins,
            total=self.total @ joins,
            values=tuple(self.values[k] for k in kept),
        )

    @cached_property
    def overall(self) -> NDArray[np.float64]:
        """Distribution of the attribute in the whole table."""
        return self.total / max(int(self.total.sum()), 1)


def read_as(text: str) -> str:
    """Return what a reader takes a value for: capitals, spaces and invisible signs are no more."""
    plain = unicodedata.normalize("NFKC", text)
    seen = [c for c in plain if c in "\t\n" or unicodedata.category(c) not in ("Cf", "Cc")]
    return unicodedata.normalize("NFKC", " ".join("".join(seen).casefold().split()))


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """A batch of equivalence classes, ready to be judged.

    `population` is the number of people in the declared population who fit each class;
    it is present only when a definition asks for it.
    """

    sizes: NDArray[np.int64]
    sensitive: Mapping[str, SensitiveHistogram] = field(default_factory=dict)
    population: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.sizes)


def histogram(
    groups: NDArray[np.int64],
    n_groups: int,
    values: NDArray[np.integer],
    n_values: int,
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count records per group and value; returns an array (groups × values)."""
    cells = np.bincount(groups * n_values + values, weights=counts, minlength=n_groups * n_values)
    return cells.astype(np.int64).reshape(n_groups, n_values)


def batches(
    groups: NDArray[np.int64], n_groups: int, n_values: int
) -> Iterator[tuple[slice, NDArray[np.int64] | slice]]:
    """Cut classes into batches whose histograms fit in memory.

    Gives for each batch its classes and the places of their tuples in `groups`.
    """
    step = max(1, DENSE_CELLS // max(n_values, 1))
    if n_groups <= step:
        yield slice(0, n_groups), slice(None)
        return
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    for begin in range(0, n_groups, step):
        end = min(begin + step, n_groups)
        low, high = np.searchsorted(ordered, [begin, end])
        yield slice(begin, end), order[low:high]
