"""Which grid values are summed on: whole numbers, fine enough not to be seen beside the noise.

Contract: chosen from public bounds and the kind of the term alone. Whole numbers within whole
bounds keep step 1 as long as their range allows, so that sums of them are exact. Other values are
rounded to one part in 2⁴⁴ of the reach of their bounds or finer, and to one in 2²⁹ where they are
squared.

Bits. A number of a sum is at most 2⁴⁶ and there are at most ``MOST_ROWS`` = 2³³ rows, so sums stay
within 2⁷⁹: 127 bits (DuckDB), 38 digits (Spark) and DECIMAL (Postgres) hold them, and so do the two
halves of the compiled kernel. Squares are at most 2⁶², and the kernel multiplies in 63 bits; their
sums are within 2⁹⁵. The doubles on the way are whole up to 2⁵², also after ½ was added.

All rows may round the same way. :func:`rounding` says how far one value can be off, and the
intervals of answers count it.

Means and variances are taken about the centre of the bounds: a value then moves a sum by half its
range instead of by its whole size, which halves the noise, and the centre is added back afterwards.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from sfumato.ask.language.request import Grid
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.ask.language.language import Bounds, Kind

MOST_ROWS = 2**33
"""The rows for which totals fit the engines' numbers, and intervals hold."""

_FINE = 45
_FINE_SQUARED = 30
_FINEST = -120  # powers of two below which no engine needs to divide
_MOST_WHOLE = 1 << 46
_MOST_WHOLE_SQUARED = 1 << 31
_MOST_POINTS = 1 << 24
_OFF = 0.52  # steps: ½, and what subtracting the centre and adding ½ in doubles may round


@lru_cache(maxsize=1024)
def grid_for(bounds: Bounds, kind: Kind, *, centred: bool, squared: bool = False) -> Grid:
    """Choose the grid of a summed term."""
    low, high = _as_doubles(bounds)
    centre = (low + high) / 2 if centred else Fraction(0)
    if centred and kind == "integer":
        centre = Fraction(math.floor(centre))
    centre = Fraction(float(centre))
    reach = max(abs(low - centre), abs(high - centre))
    most = _MOST_WHOLE_SQUARED if squared else _MOST_WHOLE
    if kind == "integer" and reach <= most and _whole(low, high):
        return Grid((low, high), Fraction(1), centre)
    digits = _FINE_SQUARED if squared else _FINE
    power = (math.floor(math.log2(reach)) if reach else 0) - digits
    fine = max(power or 1, _FINEST)  # step 1 says that values are whole, and ½ takes a bit more
    return Grid((low, high), Fraction(2) ** fine, centre)


def rounding(grid: Grid) -> float:
    """Give the farthest that a clamped value can be from the point it is rounded to.

    Step 1 is for whole numbers only, which are their own points. Otherwise the value less the
    centre is at most 2⁴⁶ steps, so that its double is off by at most 2⁻⁷ of a step, and by as much
    again once ½ is added.
    """
    return 0.0 if grid.step == 1 else _OFF * float(grid.step)


def _whole(*numbers: Fraction) -> bool:
    return all(number.denominator == 1 for number in numbers)


def point_grid(bounds: Bounds, kind: Kind) -> Grid:
    """Choose the points among which a quantile is picked: at most 2²⁴ + 1 of them.

    An engine gives back a row per point that occurs, so that there can be no more of them however
    many rows there are. Whole numbers that are few enough are their own points.
    """
    low, high = _as_doubles(bounds)
    spread = high - low
    if kind == "integer" and spread <= _MOST_POINTS:
        return Grid((low, high), Fraction(1), low)
    power = math.ceil(math.log2(spread / _MOST_POINTS)) if spread else 0
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
