"""Intervals of numbers as nodes of a hierarchy: their labels, their spans, a comfortable width."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Self

from sfumato.data.hierarchies.levels import Level, present_values
from sfumato.data.numbers import number, plain
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

_MOST_BASE_INTERVALS = 20


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
            spans = [bin_.integers(self.values[0], self.values[-1]) for bin_ in bins]
        return Level(nodes, [bin_.label for bin_ in bins], spans)


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
