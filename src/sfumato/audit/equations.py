"""Two equations in two unknowns, and the digamma function: what fitting a model needs.

Small on purpose: the models of population uniqueness are all that use it, and they need
no more than a Newton iteration that gives up honestly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Pair = tuple[float, float]


def solve_pair(
    equations: Callable[[float, float], Pair],
    starts: Iterable[Pair],
    *,
    accuracy: float = 1e-9,
    steps: int = 200,
) -> Pair | None:
    """Return where both equations are 0, found by damped Newton steps; None if nowhere."""
    for start in starts:
        found = _newton(equations, start, accuracy, steps)
        if found is not None:
            return found
    return None


def _newton(
    equations: Callable[[float, float], Pair], start: Pair, accuracy: float, steps: int
) -> Pair | None:
    point, value = start, _safe(equations, start)
    for _ in range(steps):
        if value is None or not all(map(math.isfinite, point)):
            return None
        if max(abs(value[0]), abs(value[1])) < accuracy:
            return point
        move = _newton_move(equations, point, value)
        if move is None:
            return None
        point, value = _damped(equations, point, value, move)
    return None


def _newton_move(
    equations: Callable[[float, float], Pair], point: Pair, value: Pair
) -> Pair | None:
    """Solve the linearised equations; derivatives by small differences."""
    (x, y), width = point, 1e-6
    right, up = _safe(equations, (x + width, y)), _safe(equations, (x, y + width))
    if right is None or up is None:
        return None
    a, b = (right[0] - value[0]) / width, (up[0] - value[0]) / width
    c, d = (right[1] - value[1]) / width, (up[1] - value[1]) / width
    determinant = a * d - b * c
    if determinant == 0 or not math.isfinite(determinant):
        return None
    return (
        -(d * value[0] - b * value[1]) / determinant,
        -(a * value[1] - c * value[0]) / determinant,
    )


def _damped(
    equations: Callable[[float, float], Pair], point: Pair, value: Pair, move: Pair
) -> tuple[Pair, Pair | None]:
    """Go as far along the move as brings the equations closer to 0."""
    length = max(abs(move[0]), abs(move[1]), 1.0)
    share = min(1.0, 3.0 / length)
    before = math.hypot(*value)
    for _ in range(40):
        there = (point[0] + share * move[0], point[1] + share * move[1])
        found = _safe(equations, there)
        if found is not None and math.hypot(*found) < before:
            return there, found
        share /= 2
    return point, None


def _safe(equations: Callable[[float, float], Pair], point: Pair) -> Pair | None:
    try:
        value = equations(*point)
    except (OverflowError, ValueError, ZeroDivisionError):
        return None
    return value if all(map(math.isfinite, value)) else None


def digamma(x: float) -> float:
    """Return the derivative of log Γ at x > 0: recurrence up to 6, then the asymptotic series."""
    if x <= 0:
        raise ValueError("digamma is needed for positive numbers only")
    shift = 0.0
    while x < 6:
        shift -= 1 / x
        x += 1
    inverse = 1 / (x * x)
    series = inverse * (
        1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132)))
    )
    return shift + math.log(x) - 0.5 / x - series
