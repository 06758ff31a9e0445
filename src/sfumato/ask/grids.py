"""Which grid values are summed on: whole numbers, fine enough not to be seen beside the noise.

Contract: chosen from public bounds and the kind of the term alone. Whole numbers keep step 1 as
long as their range allows, so that sums of them are exact. Other values are rounded to one part in
2²⁰ of the reach of their bounds, far below the noise of any sum.

Means and variances are taken about the centre of the bounds: a value then moves a sum by half its
range instead of by its whole size, which halves the noise, and the centre is added back afterwards.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.request import Grid
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.ask.language import Bounds, Kind

_FINE = 20
_FINE_SQUARED = 12  # squares of numbers up to 2¹² leave room for 2³⁹ rows in 64 bits
_FINEST = -120  # powers of two below which no engine needs to divide
_MOST_WHOLE = 1 << 30
_MOST_WHOLE_SQUARED = 1 << 16


def grid_for(bounds: Bounds, kind: Kind, *, centred: bool, squared: bool = False) -> Grid:
    """Choose the grid of a summed term."""
    low, high = _as_doubles(bounds)
    centre = (low + high) / 2 if centred else Fraction(0)
    if centred and kind == "integer":
        centre = Fraction(math.floor(centre))
    centre = Fraction(float(centre))
    reach = max(abs(low - centre), abs(high - centre))
    most = _MOST_WHOLE_SQUARED if squared else _MOST_WHOLE
    if kind == "integer" and reach <= most:
        return Grid((low, high), Fraction(1), centre)
    digits = _FINE_SQUARED if squared else _FINE
    power = math.floor(math.log2(reach)) if reach else 0
    return Grid((low, high), Fraction(2) ** max(power - digits, _FINEST), centre)


def point_grid(bounds: Bounds, kind: Kind, points: int = 1024) -> Grid:
    """Choose the points among which a quantile is picked: about ``points`` of them."""
    low, high = _as_doubles(bounds)
    spread = high - low
    if kind == "integer" and spread <= 1 << 20:
        return Grid((low, high), Fraction(1), low)
    power = math.ceil(math.log2(spread / points)) if spread else 0
    return Grid((low, high), Fraction(2) ** max(power, _FINEST), low)


def _as_doubles(bounds: Bounds) -> Bounds:
    low, high = (Fraction(float(end)) for end in bounds)
    if low > high:
        raise ParameterError(
            f"Bounds are two numbers with low ≤ high, and ({float(low):g}, {float(high):g}) "
            "was given."
        )
    if max(abs(low), abs(high)) > 2**53:
        raise ParameterError(
            "Bounds lie within ±2^53, beyond which doubles are not whole; use the range that "
            "values can really have."
        )
    return low, high
