"""Frequency tables: how often each distinct combination of values occurs.

Anonymisation needs no rows, only counts of distinct tuples. A `FrequencyTable` is that:
dictionary-encoded integer columns and a count per tuple. It is what an engine hands to
the algorithms, so their cost grows with distinct tuples and not with rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyTable:
    """Distinct tuples over quasi-identifiers and sensitive attributes, with counts.

    `quasi[i, a]` is the leaf code of tuple `i` in the hierarchy of the `a`-th
    quasi-identifier; `sensitive[i, s]` indexes `sensitive_values[s]`.
    """

    quasi_names: tuple[str, ...]
    sensitive_names: tuple[str, ...]
    quasi: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    counts: NDArray[np.int64]
    sensitive_values: tuple[tuple[str, ...], ...] = ()

    @property
    def distinct(self) -> int:
        """Number of distinct tuples."""
        return len(self.counts)

    @cached_property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())
