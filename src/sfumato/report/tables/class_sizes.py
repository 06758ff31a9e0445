"""How large the classes are: sizes in bins that start at 1, 2, 3, 5, 10, 20, 50 and so on.

The bins are the same for a table before and after, so that two pictures can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.report.figures import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem

FEW_SIZES = 12
"""So many different sizes in a row are shown one by one."""


@dataclass(frozen=True)
class SizeBin:
    """Classes of `low` to `high` records (no upper end where None), and the people in them."""

    low: int
    high: int | None
    classes: int
    records: int

    @property
    def label(self) -> str:
        """The sizes in words."""
        return span(self.low, self.high)

    @property
    def tick(self) -> str:
        """The smallest size, short enough for an axis on a phone."""
        for unit, letter in ((1_000_000, "M"), (1_000, "k")):
            if self.low >= unit:
                return f"{self.low // unit}{letter}"
        return str(self.low)


def size_bins(
    sizes: NDArray[np.int64], *, start: int = 1, last: int | None = None
) -> tuple[SizeBin, ...]:
    """Count classes and records per bin, from the bin with `start` to the largest class.

    A few different sizes get a bin each. With `last` the bin that starts there is open above.
    """
    limit = int(sizes.max(initial=1)) if last is None else last
    if last is None and limit - start < FEW_SIZES:
        starts = list(range(start, limit + 2))
    else:
        starts = _starts(limit)
        while len(starts) > 2 and starts[1] <= start:
            starts.pop(0)
    bins = []
    for low, following in pairwise(starts):
        chosen = sizes[(sizes >= low) & ((sizes < following) | (low == last))]
        high = None if low == last else following - 1
        bins.append(SizeBin(low, high, len(chosen), int(chosen.sum())))
    return tuple(bins)


def _starts(limit: int) -> list[int]:
    """Return 1, 2, 3, 5, 10, 20, 50, … up to the first beyond the limit.

    3 is there because classes of 1 and 2 are told apart in the field from those of 3 and 4.
    """
    starts = [1, 2, 3, 5]
    factor = 10
    while starts[-1] <= limit:
        starts += [factor, 2 * factor, 5 * factor]
        factor *= 10
    return starts[: next(i for i, low in enumerate(starts) if low > limit) + 1]


def original_sizes(problem: Problem) -> NDArray[np.int64]:
    """Return the class sizes of the data as it came: people with the very same values."""
    table = problem.table
    columns = [table.quasi[:, a].astype(np.int64) for a in range(problem.attributes)]
    key = mixed_radix(columns, [h.size for h in problem.hierarchies], table.distinct)
    _, group = np.unique(key, return_inverse=True)
    return np.bincount(group.reshape(-1), weights=table.counts).astype(np.int64)
