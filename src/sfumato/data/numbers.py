"""Numbers in the cells of a table, exactly.

Contract: a cell's text is read as a decimal number without rounding, so a value that lies
on a boundary is never pushed off it by binary fractions (0.3 is three times 0.1 here).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


def number(text: str) -> Decimal | None:
    """Return the finite number a cell holds, or None."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def plain(value: Decimal) -> str:
    """Return a number without exponent or needless zeros: `30`, `0.25`, `-1.5`."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def plain_scalar(value: Decimal) -> int | float | str:
    """Return the number in the simplest type of YAML that loses nothing."""
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else plain(value)


def by_size(texts: Iterable[str]) -> list[str] | None:
    """Return the texts by the size of their numbers (then as text); None if one is no number."""
    read = [(number(text), text) for text in texts]
    numbers = [(value, text) for value, text in read if value is not None]
    return [text for _, text in sorted(numbers)] if len(numbers) == len(read) else None
