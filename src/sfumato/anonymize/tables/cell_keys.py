"""One number per row for several columns of codes, so that rows can be compared at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LARGEST_KEY = 2**62


def mixed_radix(
    codes: Sequence[NDArray[np.int64]], widths: Sequence[int], length: int
) -> NDArray[np.int64]:
    """Return one number per row that is equal exactly where all the codes are equal."""
    key = np.zeros(length, dtype=np.int64)
    largest = 1
    for code, width in zip(codes, widths, strict=True):
        if largest * max(width, 1) >= _LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
            largest = int(key.max(initial=0)) + 1
        key = key * max(width, 1) + code
        largest *= max(width, 1)
    return key
