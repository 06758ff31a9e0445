"""The smallest step into a half-space within a box: exact, for many rows at once.

`reach` solves, for every row, min ‖d‖ subject to g·d ≥ r and −down ≤ d ≤ up. For L2 and L∞ the
optimal d grows along one path in a single number t (d = clip(t·g) or clip(t·sign g)), along which
g·d is concave, piecewise linear and increasing; sorting the t at which cells hit the box gives the
first t that reaches r (water filling; this is the Karush–Kuhn–Tucker condition). For L1 the cells
with the largest |g| are moved first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Norm: TypeAlias = Literal[1, 2, "inf"]


def reach(
    gradient: NDArray[np.float64],
    need: NDArray[np.float64],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    norm: Norm = 2,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the smallest step per row, and whether it gets there; the longest where not.

    >>> down, up = np.zeros((1, 2)), np.ones((1, 2))
    >>> step, there = reach(np.array([[3.0, 4.0]]), np.array([5.0]), down, up)
    >>> step.round(3).tolist(), there.tolist()
    ([[0.6, 0.8]], [True])
    """
    room = np.where(gradient > 0, up, np.where(gradient < 0, down, 0.0))
    size = np.abs(gradient)
    most = (size * room).sum(axis=1)
    there = most >= need
    wanted = np.clip(need, 0.0, most)
    moved = _by_size(size, room, wanted) if norm == 1 else _by_time(size, room, wanted, norm)
    return np.sign(gradient) * np.minimum(moved, room), there


def length(steps: NDArray[np.float64], norm: Norm = 2) -> NDArray[np.float64]:
    """Return the length of each step."""
    order = np.inf if norm == "inf" else norm
    found: NDArray[np.float64] = np.linalg.norm(steps, ord=order, axis=1)
    return found


def reach_all(
    gradients: NDArray[np.float64],
    needs: NDArray[np.float64],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    sweeps: int = 6,
) -> NDArray[np.float64]:
    """Return the smallest L2 step into several half-spaces at once, within the box.

    `gradients[i, j]` and `needs[i, j]` state half-space j of row i. The dual, one multiplier per
    half-space, is raised coordinate by coordinate (Hildreth); each coordinate is a monotone
    piecewise linear equation, solved by bisection.
    """
    rows, spaces, _ = gradients.shape
    multipliers = np.zeros((rows, spaces))
    for _ in range(sweeps):
        for j in range(spaces):
            others = np.einsum("ij,ijd->id", multipliers, gradients)
            others -= multipliers[:, j, None] * gradients[:, j]
            multipliers[:, j] = _solve(others, gradients[:, j], needs[:, j], down, up)
    found: NDArray[np.float64] = np.clip(np.einsum("ij,ijd->id", multipliers, gradients), -down, up)
    return found


def _solve(
    others: NDArray[np.float64],
    gradient: NDArray[np.float64],
    need: NDArray[np.float64],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Find the least t ≥ 0 with g·clip(others + t·g) ≥ need; the largest tried where none does."""

    def value(t: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (
            gradient * np.clip(others + t[:, None] * gradient, -down, up)
        ).sum(axis=1)
        return found

    low = np.zeros(len(need))
    done = value(low) >= need
    square = np.maximum((gradient * gradient).sum(axis=1), 1e-300)
    high = np.maximum(need, 1e-12) / square + 1e-12
    for _ in range(40):
        short = ~done & (value(high) < need)
        if not short.any():
            break
        high[short] *= 3.0
    for _ in range(30):
        middle = (low + high) / 2
        enough = value(middle) >= need
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    return np.where(done, 0.0, high)


def _by_time(
    size: NDArray[np.float64],
    room: NDArray[np.float64],
    wanted: NDArray[np.float64],
    norm: Norm,
) -> NDArray[np.float64]:
    """Move all cells at their speed (g for L2, 1 for L∞) until the sum is reached."""
    speed = size if norm == 2 else (size > 0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        stop = np.where(speed > 0, room / speed, np.inf)
    order = np.argsort(stop, axis=1)
    stops = np.take_along_axis(stop, order, axis=1)
    full = np.cumsum(np.take_along_axis(size * room, order, axis=1), axis=1)
    rate = np.take_along_axis(size * speed, order, axis=1)
    left = rate.sum(axis=1, keepdims=True) - np.cumsum(rate, axis=1)
    finite = np.where(np.isfinite(stops), stops, 0.0)
    gained = full + np.maximum(left, 0.0) * finite  # at the moment when cell k stops
    gained = np.where(np.isfinite(stops), gained, np.inf)
    first = np.argmax(gained >= wanted[:, None] * (1 - 1e-15), axis=1)
    rows = np.arange(len(wanted))
    before = np.where(first > 0, full[rows, first - 1], 0.0)
    speed_left = np.where(first > 0, left[rows, first - 1], rate.sum(axis=1))
    time = (wanted - before) / np.maximum(speed_left, 1e-300)
    moved: NDArray[np.float64] = np.minimum(np.maximum(time, 0.0)[:, None] * speed, room)
    return moved


def _by_size(
    size: NDArray[np.float64], room: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move the cells that count most, one after the other."""
    order = np.argsort(-size, axis=1)
    sizes = np.take_along_axis(size, order, axis=1)
    gain = np.take_along_axis(size * room, order, axis=1)
    before = np.cumsum(gain, axis=1) - gain
    used = np.clip(wanted[:, None] - before, 0.0, gain)
    moved = np.zeros_like(size)
    np.put_along_axis(moved, order, used / np.maximum(sizes, 1e-300), axis=1)
    return moved
