"""Loops over the boxes of every group: how far from what is known, and in which order.

`first[g]` is a trace of group g; its boxes are rows `starts[first[g]]` up to the next start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@njit(cache=True)
def misfits(
    starts: Ints, boxes: Floats, spans: Floats, first: Ints, known: Floats, speed: float
) -> Floats:
    """Return how far each group is from all known points: metres, with time as metres."""
    groups = len(first)
    found = np.zeros(groups)
    for g in range(groups):
        for p in range(len(known)):
            best = np.inf
            for r in range(starts[first[g]], starts[first[g] + 1]):
                late = max(0.0, spans[r, 0] - known[p, 2], known[p, 2] - spans[r, 1]) * speed
                if late >= best:
                    continue
                dx = max(0.0, boxes[r, 0] - known[p, 0], known[p, 0] - boxes[r, 1])
                dy = max(0.0, boxes[r, 2] - known[p, 1], known[p, 1] - boxes[r, 3])
                best = min(best, late + np.hypot(dx, dy))
            found[g] += best
    return found


@njit(cache=True)
def pass_in_order(
    starts: Ints, boxes: Floats, first: Ints, low: Floats, cell: float
) -> NDArray[np.bool_]:
    """Tell for each group whether its boxes meet the known cells in their order."""
    groups = len(first)
    found = np.zeros(groups, np.bool_)
    for g in range(groups):
        met = 0
        for r in range(starts[first[g]], starts[first[g] + 1]):
            while (
                met < len(low)
                and boxes[r, 0] < low[met, 0] + cell
                and boxes[r, 1] >= low[met, 0]
                and boxes[r, 2] < low[met, 1] + cell
                and boxes[r, 3] >= low[met, 1]
            ):
                met += 1
        found[g] = met == len(low)
    return found
