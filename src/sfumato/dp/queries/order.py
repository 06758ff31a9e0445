"""Order statistics: min, max, median, quantile. Noise is the wrong tool, and this module says so.

Contract: for values in [a, b] one record can move each of them from a to b (two records a and b,
or a majority that tips), so Δ = R = b − a, the whole range: noise of that scale drowns the
answer. ``mechanism`` is therefore ``"quantile"``: choose the answer by the exponential
mechanism, whose score (how far the rank is from the wanted one) moves by at most one per record.
Without bounds nothing can be said at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

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
class Quantile(Query):
    """The value below which a share q of the records lies: the ⌈q·n⌉-th smallest; of none, a."""

    q: Stated
    bounds: tuple[Real, Real] | None = None

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        if not 0 <= stated(self.q) <= 1:
            raise ParameterError(f"A quantile is between 0 and 1, and {self.q} was given.")

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
        rank = max(1, -(-(stated(self.q) * len(ordered)) // 1))
        value = ordered[int(rank) - 1]
        return Fraction(value if low is None or high is None else min(max(value, low), high))


@dataclass(frozen=True)
class Median(Quantile):
    """The middle value: the ⌈n/2⌉-th smallest."""

    q: Stated = Fraction(1, 2)


@dataclass(frozen=True)
class Min(Quantile):
    """The smallest value."""

    q: Stated = 0


@dataclass(frozen=True)
class Max(Quantile):
    """The largest value."""

    q: Stated = 1
