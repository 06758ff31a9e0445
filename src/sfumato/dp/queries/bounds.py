"""One spelling of bounds: ``(low, high)`` for an array, ``{column: (low, high)}`` for columns.

Contract: `read_interval` reads a pair, exactly, and refuses what is none; `interval_of` also takes
the older spelling with two names, which stays valid; `pair_columns` gives each column its pair from
one pair for all, a pair per column in their order, or a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from sfumato.dp.rounding import Stated

    Interval = tuple[Stated, Stated]


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
    return low, high


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
