"""One spelling of bounds: ``(low, high)`` for an array, ``{column: (low, high)}`` for columns.

Contract: `read_interval` reads a pair, exactly, and refuses what is none; `read_ends` reads one as
floats; `interval_of` also takes the older spelling with two names, which stays valid;
`pair_columns` gives each column its pair from one pair for all, a pair per column in their order,
or a mapping. Bounds so far apart, or so close, that arithmetic between them could overflow or
vanish are refused here, before a row is looked at: later it would fail for some rows only.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.rounding import Stated

    Interval = tuple[Stated, Stated]

_LARGEST = Fraction(sys.float_info.max)
_FINEST = Fraction(2) ** -900  # widths below it vanish when they are divided


def read_interval(bounds: Any, name: str = "bounds") -> tuple[Fraction, Fraction]:
    """Read a pair (low, high) of finite numbers with low below high.

    >>> read_interval((0, "0.5"))
    (Fraction(0, 1), Fraction(1, 2))
    """
    pair = not isinstance(bounds, (str, bytes, Mapping)) and hasattr(bounds, "__len__")
    if not pair or len(bounds) != 2:
        raise ParameterError(f"{name} are a pair (low, high) of public numbers, as in (0, 100).")
    low, high = (parameters.read(end, f"An end of {name}", "a finite number") for end in bounds)
    if not low < high:
        raise ParameterError(f"{name} need a low end below their high end, as in (0, 100).")
    check_width(low, high, name)
    return low, high


def read_ends(bounds: Any, name: str = "bounds") -> tuple[float, float]:
    """Read a pair (low, high) of finite numbers with low below high, as floats.

    >>> read_ends((0, "0.5"))
    (0.0, 0.5)
    """
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(
            f"The {name} are two finite numbers (low, high) with low below high, and {bounds!r} "
            "was given."
        )
    check_width(Fraction(low), Fraction(high), f"The {name}")
    return low, high


def check_width(low: Fraction, high: Fraction, name: str) -> None:
    """Refuse bounds between which doubles would overflow or vanish."""
    reach = max(abs(low), abs(high), 2 * (high - low))
    if reach > _LARGEST or high - low < _FINEST or not float(low) < float(high):
        raise ParameterError(
            f"{name} are too far apart or too close for doubles; give the values in another unit."
        )


def interval_of(bounds: Any = None, lower: Any = None, upper: Any = None) -> tuple[Stated, Stated]:
    """Take bounds in either spelling: a pair, or `lower` and `upper`."""
    if bounds is None:
        if lower is None or upper is None:
            raise ParameterError("Give the public bounds of the values, as in bounds=(0, 100).")
        return lower, upper
    if lower is not None or upper is not None:
        raise ParameterError("Give bounds=(low, high), or lower= and upper=, but not both.")
    read_interval(bounds)
    low, high = bounds
    return low, high


def pair_columns(bounds: Any, names: Sequence[Any]) -> Any:
    """Give a pair per column: a list of pairs in the order of the columns becomes a mapping."""
    if bounds is None or isinstance(bounds, Mapping):
        return bounds
    pairs = [pair for pair in bounds if hasattr(pair, "__len__") and not isinstance(pair, str)]
    if len(pairs) != len(bounds):
        return bounds
    if len(pairs) != len(names):
        raise ParameterError(
            f"bounds have {len(pairs)} pairs, and there are {len(names)} columns; give (low, high) "
            "for all, a pair per column in their order, or {column: (low, high)}."
        )
    return dict(zip(names, pairs, strict=True))
