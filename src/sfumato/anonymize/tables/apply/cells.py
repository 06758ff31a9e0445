"""What a recoding makes of each distinct tuple: the cells that will be released.

`released_cells` spells out a `FullDomain` or `Local` recoding share by share, so that loss
can be measured without applying it; `class_numbers` tells which shares will look alike.
Two classes of a local recoding with the same generalised tuple are one equivalence class,
because nobody who reads the release can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.anonymize.tables.recoding import SUPPRESSED, FullDomain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.recoding import Local, Recoding
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """Shares of distinct tuples, as released.

    Share `j` is `count[j]` records of tuple `tuple_[j]`; it has row `row[j]` of the arrays
    `level`, `low` and `high` (as in `Local`), or −1 when its records are suppressed.
    """

    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]
    row: NDArray[np.int64]
    level: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which shares are released."""
        return self.row >= 0

    @property
    def suppressed_records(self) -> int:
        """Number of records that are left out."""
        return int(self.count[~self.kept].sum())


def released_cells(
    table: FrequencyTable, hierarchies: Sequence[Hierarchy], recoding: Recoding
) -> ReleasedCells:
    """Spell out a recoding of the table."""
    if isinstance(recoding, FullDomain):
        return _full_domain(table, hierarchies, recoding)
    return _local(recoding)


def _full_domain(
    table: FrequencyTable, hierarchies: Sequence[Hierarchy], recoding: FullDomain
) -> ReleasedCells:
    """Give every distinct generalised tuple one row; the first tuple below stands for it."""
    codes = [
        h.levels[table.quasi[:, a], recoding.levels[a]].astype(np.int64)
        for a, h in enumerate(hierarchies)
    ]
    widths = [len(h.labels[recoding.levels[a]]) for a, h in enumerate(hierarchies)]
    key = mixed_radix(codes, widths, table.distinct)
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    low = table.quasi[first].astype(np.int64)
    level = np.broadcast_to(np.array(recoding.levels, dtype=np.int64), low.shape)
    kept = np.where(recoding.suppressed, SUPPRESSED, row.reshape(-1))
    return ReleasedCells(np.arange(table.distinct), table.counts, kept, level, low, low)


def _local(recoding: Local) -> ReleasedCells:
    return ReleasedCells(
        recoding.tuple_,
        recoding.count,
        np.where(recoding.class_ == SUPPRESSED, -1, recoding.class_),
        recoding.level,
        recoding.low,
        np.where(recoding.level < 0, recoding.high, recoding.low),
    )


def lowest_level(h: Hierarchy) -> NDArray[np.int64]:
    """Return for leaf `i` and level `v` the lowest level with the same leaves below the node.

    A branch that ends early repeats its label; on those levels nothing more is lost.
    """
    below = np.stack([c[h.levels[:, v]] for v, c in enumerate(h.leaf_counts)], axis=1)
    lowest = np.zeros(below.shape, dtype=np.int64)
    for v in range(1, h.height):
        lowest[:, v] = np.where(below[:, v] == below[:, v - 1], lowest[:, v - 1], v)
    return lowest


def class_numbers(
    cells: ReleasedCells, hierarchies: Sequence[Hierarchy]
) -> tuple[NDArray[np.int64], int]:
    """Return the equivalence class of each row of the cells, and how many there are."""
    codes: list[NDArray[np.int64]] = []
    widths: list[int] = []
    for a, h in enumerate(hierarchies):
        parts = _cell_codes(h, cells.level[:, a], cells.low[:, a], cells.high[:, a])
        codes += parts
        widths += [h.height + 1, h.size, h.size]
    key = mixed_radix(codes, widths, len(cells.level))
    distinct, numbers = np.unique(key, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(distinct)


def _cell_codes(
    h: Hierarchy, level: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return three codes per cell, equal for cells that are released as the same text.

    A range of one leaf shows the leaf; any other range shows its ends and so differs from
    every node.
    """
    single = (level < 0) & (low == high)
    level = np.where(single, 0, level)
    as_node = level >= 0
    on = lowest_level(h)[low, np.where(as_node, level, 0)]
    node = h.levels[low, on].astype(np.int64)
    return [
        np.where(as_node, on, h.height),
        np.where(as_node, node, low),
        np.where(as_node, 0, high),
    ]


def equivalence_class_sizes(
    cells: ReleasedCells, hierarchies: Sequence[Hierarchy]
) -> NDArray[np.int64]:
    """Return the number of records of every released equivalence class."""
    numbers, n_classes = class_numbers(cells, hierarchies)
    kept = cells.kept
    sizes = np.bincount(
        numbers[cells.row[kept]], weights=cells.count[kept], minlength=n_classes
    ).astype(np.int64)
    return sizes[sizes > 0]
