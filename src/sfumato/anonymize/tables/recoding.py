"""What an algorithm decided, apart from doing it.

A `Recoding` says how each distinct tuple of a frequency table is released. Deciding and
applying are separate: the decision is small, can be looked at and saved; applying it is
one pass in the engine.

* `FullDomain`: one level per quasi-identifier for the whole table, and the tuples whose
  records are suppressed.
* `Local`: classes of their own generalised tuple. The records of one distinct tuple may
  be shared between several classes, so a recoding is a list of shares: so many records
  of this tuple go to that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.decision import SearchRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SUPPRESSED", "FullDomain", "Local", "Recoding", "SearchRecord"]

SUPPRESSED = -1
"""Class number of records that are left out of the release."""


@dataclass(frozen=True, eq=False, repr=False)
class FullDomain:
    """One level per quasi-identifier, and which distinct tuples are suppressed."""

    levels: tuple[int, ...]
    suppressed: NDArray[np.bool_]
    record: SearchRecord


@dataclass(frozen=True, eq=False, repr=False)
class Local:
    """Classes with a generalised tuple each, and who belongs to them.

    Share `j` says: `count[j]` records of distinct tuple `tuple_[j]` are in class `class_[j]`
    (`SUPPRESSED` for none). Shares of one tuple add up to its count.

    Class `c` releases for quasi-identifier `a`: the node on level `level[c, a]` above leaf
    `low[c, a]`; or, where `level[c, a]` is −1, the range of leaves `low[c, a]` to
    `high[c, a]`. A cell suppressed on its own is released on the root level.
    """

    tuple_: NDArray[np.int64]
    class_: NDArray[np.int64]
    count: NDArray[np.int64]
    level: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    record: SearchRecord

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.level.shape[0])


Recoding = FullDomain | Local
