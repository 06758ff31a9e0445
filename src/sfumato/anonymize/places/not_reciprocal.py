"""Boxes that hold k users and still tell who asked: fast, well known, and here to be compared with.

Neither is reciprocal: among the users in a box some would have got another one, so they did not
ask. `sf.attack.who_asked` and `sf.attack.centre_of_box` show what that is worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVELS = 12
"""Levels of the pyramid; cells of the lowest are a 4096th of the side of the square."""


def casper(places: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Climb a pyramid of cells until a cell, or a cell with the one beside it, has k users.

    Mokbel, Chow, Aref: The new Casper, VLDB 2006. Of the two halves of the parent that a cell
    belongs to, the one with fewer users is taken where both have enough.
    """
    low = places.min(axis=0)
    side = max(float(np.ptp(places, axis=0).max()), 1e-9) * (1 + 1e-9)
    boxes = np.empty((len(places), 4))
    left = np.arange(len(places))
    for level in range(LEVELS, -1, -1):
        cells = 1 << level
        at = np.minimum(((places - low) / side * cells).astype(np.int64), cells - 1)
        counts = np.bincount(at[:, 1] * cells + at[:, 0], minlength=cells * cells)
        x, y = at[left, 0], at[left, 1]
        own = counts[y * cells + x]
        wide = own + (counts[y * cells + (x ^ 1)] if level else 0)
        tall = own + (counts[(y ^ 1) * cells + x] if level else 0)
        wanted = k[left]
        use_wide = (wide >= wanted) & ((tall < wanted) | (wide <= tall))
        alone = (own >= wanted) | (level == 0)
        done = alone | (wide >= wanted) | (tall >= wanted)
        step = side / cells
        x0 = np.where(alone | ~use_wide, x, x & ~1)
        y0 = np.where(alone | use_wide, y, y & ~1)
        x1, y1 = x0 + np.where(alone | ~use_wide, 1, 2), y0 + np.where(alone | use_wide, 1, 2)
        found = np.column_stack([low[0] + x0 * step, low[0] + x1 * step,
                                 low[1] + y0 * step, low[1] + y1 * step])  # fmt: skip
        boxes[left[done]] = found[done]
        left = left[~done]
        if not len(left):
            break
    return boxes


def nearest(places: NDArray[np.float64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Draw a box around each user and her k − 1 nearest; she is often in its middle."""
    from sfumato.anonymize.places.order_kernel import nearest_boxes  # noqa: PLC0415 - compiles

    x, y = np.ascontiguousarray(places[:, 0]), np.ascontiguousarray(places[:, 1])
    found: NDArray[np.float64] = nearest_boxes(x, y, k, np.argsort(x, kind="stable"))
    return found
