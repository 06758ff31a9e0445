"""What an engine hands over of a table: distinct combinations, as integers, with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """Distinct combinations of some columns, dictionary-encoded, and how often each occurs.

    `codes[c][i]` indexes `values[c]`; values are sorted texts.
    """

    columns: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    values: tuple[tuple[str, ...], ...]
    counts: NDArray[np.int64]
