"""Numbers in the cells of a table, exactly.

Contract: a cell's text is read as a decimal number without rounding, so a value that lies
on a boundary is never pushed off it by binary fractions (0.3 is three times 0.1 here).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Self

from sfumato.data.hierarchies.levels import Level, present_values
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_MOST_BASE_INTERVALS = 20


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


class Bin(NamedTuple):
    """An interval, half open; None is an open end."""

    low: Decimal | None
    high: Decimal | None

    @property
    def label(self) -> str:
        """The text that stands in a release."""
        low = "" if self.low is None else plain(self.low)
        high = "" if self.high is None else plain(self.high)
        if self.low is None:
            return f"<{high}"
        return f">={low}" if self.high is None else f"[{low},{high})"

    def integers(self, least: Decimal, most: Decimal) -> float:
        """Return how many integers it holds, open ends closed at the extremes of the data."""
        low = least if self.low is None else self.low
        high = most + 1 if self.high is None else self.high
        return float(max(high.__ceil__() - low.__ceil__(), 1))


@dataclass(frozen=True)
class Numbers:
    """The distinct values of an attribute, by size."""

    texts: list[str]
    values: list[Decimal]
    missing: bool
    whole: bool

    @classmethod
    def of(cls, cells: Iterable[str], attribute: str) -> Self:
        """Read the cells as numbers, or say how many are not."""
        present, missing = present_values(cells, attribute)
        read = [(number(text), text) for text in present]
        numbers = sorted((value, text) for value, text in read if value is not None)
        wrong = len(read) - len(numbers)
        if wrong:
            raise HierarchyError(
                f"Attribute '{attribute}' has {wrong} distinct value(s) that are not finite "
                "numbers; intervals need numbers. Use another rule, or mend the data (an empty "
                "cell counts as missing and is allowed)."
            )
        values = [value for value, _ in numbers]
        whole = all(value == value.to_integral_value() for value in values)
        return cls([text for _, text in numbers], values, missing, whole)

    def level(self, nodes: NDArray[np.int64], bins: Sequence[Bin]) -> Level:
        """Return one level whose nodes number the bins in ascending order without gaps."""
        spans = None
        if self.whole:
            spans = [one.integers(self.values[0], self.values[-1]) for one in bins]
        return Level(nodes, [one.label for one in bins], spans)


def comfortable_width(low: Decimal, high: Decimal, *, whole: bool) -> Decimal:
    """Return the smallest of 1, 2, 5, 10, 20, … (or tenths of them) that makes few intervals."""
    least = (high - low) / _MOST_BASE_INTERVALS
    if least <= 0 or (whole and least <= 1):
        return Decimal(1)
    exponent = least.adjusted()
    for digit in (1, 2, 5):
        width = Decimal(digit).scaleb(exponent)
        if width >= least:
            return width
    return Decimal(1).scaleb(exponent + 1)
