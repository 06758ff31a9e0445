"""Order statistics: min, max, median, quantile. Noise is the wrong tool, and this module says so.

Contract: for values in [a, b] one record can move each of them from a to b (two records a and b,
or a majority that tips), so Δ = R = b − a, the whole range: noise of that scale drowns the
answer. ``mechanism`` is therefore ``"quantile"``: choose the answer by the exponential
mechanism, whose score (how far the rank is from the wanted one) moves by at most one per record.
Without bounds nothing can be said at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sfumato.dp.queries.base import (
    Query,
    Records,
    Sensitivity,
    bounds_needed,
    read_bounds,
    scalar,
)
from sfumato.dp.rounding import Real, Stated, stated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.neighbours import Neighbours

_ADVICE = (
    "Noise on this scale drowns the answer: use sf.dp.quantile, which chooses by the exponential "
    "mechanism and needs only the rank, which one record moves by one."
)


@dataclass(frozen=True)
class OrderStatistic(Query):
    """The ⌈q·n⌉-th smallest of n values in [a, b], and the smallest for q = 0; of none, a."""

    if TYPE_CHECKING:

        @property
        def share(self) -> Fraction:
            """The share q of values at or below the answer."""

        @property
        def bounds(self) -> tuple[Real, Real] | None:
            """The declared domain."""

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        if not 0 <= self.share <= 1:
            raise ParameterError(f"A quantile is between 0 and 1, and {self.share} was given.")

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ = R, and point to the mechanism that works."""
        Records.of(neighbours, self)
        bounds = read_bounds(self.bounds)
        if bounds is None:
            return bounds_needed("the attribute")
        return scalar(
            bounds[1] - bounds[0],
            "one record can move it from one end of the domain to the other",
            advice=_ADVICE,
            mechanism="quantile",
        )

    def evaluate(self, data: Sequence[float]) -> Fraction:
        """Look up the value of the wanted rank."""
        low, high = self.bounds or (None, None)
        ordered = sorted(data)
        if not ordered:
            return Fraction(low) if low is not None else Fraction(0)
        rank = max(1, math.ceil(self.share * len(ordered)))
        value = ordered[rank - 1]
        return Fraction(value if low is None or high is None else min(max(value, low), high))


@dataclass(frozen=True)
class Quantile(OrderStatistic):
    """The value at or below which a share ``q`` of the records lies."""

    q: Stated
    bounds: tuple[Real, Real] | None = None

    @property
    def share(self) -> Fraction:
        """The share q, as it was stated."""
        return stated(self.q)


@dataclass(frozen=True)
class Median(OrderStatistic):
    """The middle value: the ⌈n/2⌉-th smallest."""

    bounds: tuple[Real, Real] | None = None
    share: ClassVar[Fraction] = Fraction(1, 2)


@dataclass(frozen=True)
class Min(OrderStatistic):
    """The smallest value."""

    bounds: tuple[Real, Real] | None = None
    share: ClassVar[Fraction] = Fraction(0)


@dataclass(frozen=True)
class Max(OrderStatistic):
    """The largest value."""

    bounds: tuple[Real, Real] | None = None
    share: ClassVar[Fraction] = Fraction(1)
