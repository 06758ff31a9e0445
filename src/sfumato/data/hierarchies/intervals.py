"""Hierarchies over numbers: equal widths, quantiles, own cut points.

Contract: intervals are half open, `[30,40)` holds 30 and not 40, and the arithmetic is
exact, so a value on a boundary is always in the interval its label says. Ends that are
open read `<20` and `>=60`, so that no label reveals the smallest or largest value in the
data. Leaves stand in numeric order. For whole numbers a node's span is the number of
integers it stands for.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal, InvalidOperation, localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from sfumato.data.hierarchies.bins import Bin, Numbers, comfortable_width
from sfumato.data.hierarchies.levels import Level, Rule, build
from sfumato.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy

PRECISION = 60
"""Digits of decimal arithmetic: enough for the difference and quotient of any two cells."""

_LARGEST_POSITION = 2**62


class Intervals(Rule):
    """Equal widths, `fanout` neighbours joined on each further level.

    Without `low`, intervals start at multiples of their width; with it they start there.
    Values below `low` or from `high` on have nodes of their own (`<low`, `>=high`).
    """

    name: ClassVar[str] = "intervals"

    width: Decimal | None = Field(default=None, gt=0, allow_inf_nan=False)
    fanout: int = Field(default=2, ge=2)
    levels: int | None = Field(default=None, ge=1, le=60)
    low: Decimal | None = Field(default=None, allow_inf_nan=False)
    high: Decimal | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _upwards(self) -> Self:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(
                f"'low' must be below 'high', but low {self.low} and high {self.high} were given."
            )
        return self

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - widths ignore frequencies
    ) -> Hierarchy:
        """Return the nested intervals over the distinct `values`."""
        with localcontext(prec=PRECISION):
            numbers = Numbers.of(values, attribute)
            levels = self._levels(numbers, attribute) if numbers.values else []
            return build(
                numbers.texts, levels, missing=numbers.missing, source=self.name, ordered=True
            )

    def _levels(self, numbers: Numbers, attribute: str) -> list[Level]:
        width = self.width or comfortable_width(
            numbers.values[0] if self.low is None else self.low,
            numbers.values[-1] if self.high is None else self.high,
            whole=numbers.whole,
        )
        below, above = self._coded_ends(numbers.values)
        base = self._positions(numbers.values[below:above], width, attribute)
        levels: list[Level] = []
        before = len(base) + 1 if self.width else len(base)
        for step in range(self.levels or 4096):
            size = self.fanout**step
            distinct, nodes = np.unique(base // min(size, _LARGEST_POSITION), return_inverse=True)
            if self.levels is None and self._finished(distinct, width * size, before):
                break
            if self.width is None and self.levels is None and len(distinct) == before:
                continue  # a level that joins nothing is no step of its own
            before = len(distinct)
            bins = [self._bin(int(position), width * size) for position in distinct]
            levels.append(self._with_ends(numbers, bins, nodes, below, above))
        return levels

    def _coded_ends(self, values: Sequence[Decimal]) -> tuple[int, int]:
        """Return where the values between `low` and `high` begin and end."""
        below = sum(self.low is not None and value < self.low for value in values)
        above = sum(self.high is None or value < self.high for value in values)
        return below, above

    def _positions(
        self, values: Sequence[Decimal], width: Decimal, attribute: str
    ) -> NDArray[np.int64]:
        """Return the number of the base interval of each value."""
        start = self.low or Decimal(0)
        try:
            positions = [_floor_divided(value - start, width) for value in values]
        except InvalidOperation:
            positions = [_LARGEST_POSITION]
        if any(abs(position) >= _LARGEST_POSITION for position in positions):
            raise HierarchyError(
                f"Attribute '{attribute}' holds numbers too large for intervals of width {width}; "
                "give a larger width, or 'low' near the data."
            )
        return np.array(positions, dtype=np.int64)

    def _finished(self, distinct: NDArray[np.int64], width: Decimal, before: int) -> bool:
        """Whether the root comes next: by the declared domain, else by the data.

        Intervals on both sides of zero never join, so two of them are the last level.
        """
        if self.low is not None and self.high is not None:
            return width >= self.high - self.low
        around_zero = distinct.tolist() == [-1, 0] and before == 2
        return len(distinct) <= 1 or around_zero

    def _bin(self, position: int, width: Decimal) -> Bin:
        start = (self.low or Decimal(0)) + position * width
        end = start + width
        return Bin(start, end if self.high is None else min(end, self.high))

    def _with_ends(
        self, numbers: Numbers, bins: list[Bin], nodes: NDArray[np.int64], below: int, above: int
    ) -> Level:
        """Put the nodes `<low` and `>=high` around the intervals, where values lie there."""
        first = int(below > 0)
        last = len(bins) + first
        beyond = len(numbers.values) - above
        every = [*([Bin(None, self.low)] * first), *bins, *([Bin(self.high, None)] * (beyond > 0))]
        padded = np.concatenate([np.zeros(below, np.int64), nodes + first, np.full(beyond, last)])
        return numbers.level(padded, every)


def _floor_divided(value: Decimal, width: Decimal) -> int:
    quotient, rest = divmod(value, width)
    return int(quotient) - (rest < 0)


class Quantiles(Rule):
    """`n` groups of about equally many records, `fanout` neighbours joined on each level."""

    name: ClassVar[str] = "quantiles"

    n: int = Field(ge=2, le=10_000, description="the number of groups, 'n'")
    fanout: int = Field(default=2, ge=2)

    def over(
        self, values: Iterable[str], attribute: str, counts: Mapping[str, int] | None = None
    ) -> Hierarchy:
        """Return intervals cut at the quantiles of the records (of the values, without counts)."""
        with localcontext(prec=PRECISION):
            numbers = Numbers.of(values, attribute)
            cuts = self._cut_points(numbers, counts or {})
            lists = []
            while cuts:
                lists.append(cuts)
                cuts = cuts[self.fanout - 1 :: self.fanout]
            return _cut(numbers, lists, self.name)

    def _cut_points(self, numbers: Numbers, counts: Mapping[str, int]) -> list[Decimal]:
        """Return the values at which a further n-th of the records is reached."""
        heights = [counts.get(text, 0) if counts else 1 for text in numbers.texts]
        total = sum(heights)
        cuts: list[Decimal] = []
        before = reached = 0
        for value, height in zip(numbers.values, heights, strict=True):
            parts = before * self.n // max(total, 1)
            if parts > reached and value not in cuts[-1:]:
                cuts.append(value)
                reached = parts
            before += height
        return cuts


class Cuts(Rule):
    """Own cut points: one list per level, each taken from the list before it."""

    name: ClassVar[str] = "cuts"

    points: tuple[tuple[Decimal, ...], ...] = Field(
        min_length=1, description="the cut points, a list per level, the finest first"
    )

    @field_validator("points", mode="before")
    @classmethod
    def _one_list_is_one_level(cls, points: Any) -> Any:
        if isinstance(points, list | tuple) and not any(
            isinstance(p, list | tuple) for p in points
        ):
            return (points,)
        return points

    @model_validator(mode="after")
    def _nested(self) -> Self:
        for number, level in enumerate(self.points, start=1):
            if not level or any(low >= high for low, high in pairwise(level)):
                raise ValueError(
                    f"The cut points of level {number} must be numbers, each larger than the one "
                    "before it."
                )
        for number, (finer, coarser) in enumerate(pairwise(self.points), start=1):
            if not set(coarser) < set(finer):
                raise ValueError(
                    f"The cut points of level {number + 1} must be some of those of level "
                    f"{number}, so that intervals nest."
                )
        return self

    def over(
        self,
        values: Iterable[str],
        attribute: str,
        counts: Mapping[str, int] | None = None,  # noqa: ARG002 - the cuts are given
    ) -> Hierarchy:
        """Return the intervals between the cut points over the distinct `values`."""
        with localcontext(prec=PRECISION):
            return _cut(Numbers.of(values, attribute), self.points, self.name)


def _cut(numbers: Numbers, lists: Sequence[Sequence[Decimal]], source: str) -> Hierarchy:
    levels = []
    for cuts in lists if numbers.values else ():
        ends = [None, *cuts, None]
        positions = [bisect_right(cuts, value) for value in numbers.values]
        distinct, nodes = np.unique(np.array(positions), return_inverse=True)
        bins = [Bin(ends[p], ends[p + 1]) for p in distinct]
        levels.append(numbers.level(nodes.astype(np.int64), bins))
    return build(numbers.texts, levels, missing=numbers.missing, source=source, ordered=True)
