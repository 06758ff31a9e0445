"""The loop that clips traces at a box (Liang and Barsky 1984) and pairs entries with exits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@njit(cache=True)
def _clip(x: float, y: float, dx: float, dy: float, box: Floats) -> Any:
    """Return from where to where (0 … 1) a step is in a box, and the sides crossed (−1: none)."""
    first, last = 0.0, 1.0
    side_in, side_out = -1, -1
    for side in range(4):
        along = dx if side < 2 else dy
        start = x if side < 2 else y
        # how far inside the half-plane of this side the step begins, and how fast it leaves it
        depth = start - box[side] if side % 2 == 0 else box[side] - start
        speed = along if side % 2 == 0 else -along
        if speed == 0.0:
            if depth < 0.0:
                return 1.0, 0.0, -1, -1
            continue
        where = -depth / speed
        if speed > 0.0:
            if where > first:
                first, side_in = where, side
        elif where < last:
            last, side_out = where, side
    return first, last, side_in, side_out


@njit(cache=True)
def cross(places: Floats, times: Floats, starts: Ints, box: Floats) -> Any:
    """Return rows (trace, moment in, moment out, side in, side out) of passages through a box."""
    found = np.empty((64, 5))
    count = 0
    for trace in range(len(starts) - 1):
        entered, side = -1.0, -1
        inside = False
        for p in range(starts[trace], starts[trace + 1] - 1):
            x, y = places[p, 0], places[p, 1]
            dx, dy = places[p + 1, 0] - x, places[p + 1, 1] - y
            first, last, side_in, side_out = _clip(x, y, dx, dy, box)
            if first >= last:
                inside = False
                continue
            lasts = times[p + 1] - times[p]
            if side_in >= 0:
                inside, entered, side = True, times[p] + first * lasts, side_in
            if side_out >= 0 and inside:
                if count == len(found):
                    larger = np.empty((2 * count, 5))
                    larger[:count] = found
                    found = larger
                found[count, 0], found[count, 1] = trace, entered
                found[count, 2], found[count, 3] = times[p] + last * lasts, side
                found[count, 4] = side_out
                count += 1
                inside = False
    return found[:count]
