"""Numbers about a table: count, distinct count, sum, mean, variance.

Contract: data are a sequence with one entry per record (for ``Count`` a truth value, else a
value); entries outside the declared bounds are clamped. In the proofs, m is the most records of one
unit, values lie in [a, b], and R = b − a.

Rows may be left out of a sum by a filter (``where``) or because their value is missing
(``missing="skip"``); they then contribute 0, which need not lie in [a, b], and the derivation
allows for it. With ``missing="clamp"`` a missing value counts as the bound nearest to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from sfumato.dp.queries.base import (
    Query,
    Records,
    Sensitivity,
    bounds_needed,
    check_count,
    read_bounds,
    scalar,
    total,
    truncation_needed,
)
from sfumato.dp.rounding import float_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.neighbours import Neighbours
    from sfumato.dp.rounding import Real


@dataclass(frozen=True)
class Count(Query):
    """How many records satisfy a condition.

    Δ = m, bounded or not: at most m records of the unit leave, enter, or change their verdict. (All
    records together, a count without condition, do not move at all under bounded neighbours;
    the derivation does not use this, because a filter may stand before the count.)
    """

    where: str | None = None

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ = m."""
        most = Records.of(neighbours, self).most
        if most is None:
            return truncation_needed(neighbours)
        return scalar(most, f"at most {most} of one unit's records are counted or not")

    def evaluate(self, data: Sequence[Any]) -> int:
        """Count the true entries."""
        return sum(1 for entry in data if entry)


@dataclass(frozen=True)
class DistinctCount(Query):
    """How many different values occur; missing values are not counted.

    Δ = min(m, size of the domain): m records remove or add at most m values, and under bounded
    neighbours the values lost and gained, at most m each, count with opposite signs.
    """

    domain: int | None = None

    def __post_init__(self) -> None:
        if self.domain is not None:
            check_count("The domain of a distinct count", self.domain)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ = min(m, size of the domain)."""
        limits = [n for n in (Records.of(neighbours, self).most, self.domain) if n is not None]
        if not limits:
            return truncation_needed(neighbours)
        return scalar(min(limits), f"one unit brings at most {min(limits)} new values")

    def evaluate(self, data: Sequence[Any]) -> int:
        """Count the different values."""
        return len({entry for entry in data if entry is not None})


@dataclass(frozen=True)
class Sum(Query):
    """The sum of values in [a, b].

    Unbounded: at most m values come or go, so Δ = m·max(|a|, |b|). Bounded with one record per
    unit: a value in [a, b] becomes another, so Δ = R. Bounded otherwise, or when records may be
    left out: the unit's total lies in m·[min(a, 0), max(b, 0)] before and after, so Δ is the length
    of that interval.
    """

    bounds: tuple[Real, Real] | None = None
    where: str | None = None
    missing: Literal["clamp", "skip"] = "clamp"

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        _check_missing(self.missing)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ from the range of one unit's total."""
        records = Records.of(neighbours, self)
        bounds = read_bounds(self.bounds)
        if bounds is None:
            return bounds_needed("the summed attribute")
        if records.most is None:
            return truncation_needed(neighbours)
        low, high = bounds
        if not neighbours.bounded:
            size = max(abs(low), abs(high))
            why = f"one unit adds at most {records.most} values of size at most {float_up(size):g}"
        elif records.fixed and not _leaves_out(self):
            size = high - low
            why = f"one value moves by at most {float_up(size):g}"
        else:
            size = max(high, Fraction(0)) - min(low, Fraction(0))
            why = f"the total of one unit's {records.most} values moves within its range"
        return scalar(records.most * size, why)

    def evaluate(self, data: Sequence[float]) -> Fraction:
        """Add the clamped values exactly."""
        return total(_clamped(data, self.bounds))


@dataclass(frozen=True)
class Mean(Query):
    """The mean of values in [a, b]; of no values at all, a.

    With ``n`` records, a public number that neighbours share (bounded): at most min(m, n) of them
    move by R each, so Δ = min(m, n)·R/n. With n unknown, n may be 1, and the mean moves through
    all of [a, b]: Δ = R. A filter makes n unknown.
    """

    bounds: tuple[Real, Real] | None = None
    n: int | None = None
    where: str | None = None
    missing: Literal["clamp", "skip"] = "clamp"

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        _check_missing(self.missing)
        if self.n is not None:
            check_count("The number of records n", self.n)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ = min(m, n)·R/n for public n, else R."""
        records = Records.of(neighbours, self)
        bounds = read_bounds(self.bounds)
        if bounds is None:
            return bounds_needed("the averaged attribute")
        spread = bounds[1] - bounds[0]
        if self.n is not None and neighbours.bounded and not _leaves_out(self):
            moved = self.n if records.most is None else min(records.most, self.n)
            return scalar(moved * spread / self.n, f"{moved} of {self.n} values move")
        return scalar(spread, "with a single record the mean is its value", advice=_MEAN_ADVICE)

    def evaluate(self, data: Sequence[float]) -> Fraction:
        """Average the clamped values exactly."""
        values = _clamped(data, self.bounds)
        if not values:
            return Fraction(self.bounds[0]) if self.bounds else Fraction(0)
        return total(values) / len(values)


@dataclass(frozen=True)
class Variance(Query):
    """The variance of values in [a, b], dividing by n − ddof; of fewer than ddof + 1 values, 0.

    Let n be public (bounded), m records change, and z be the others. With the sum of squares
    about the mean split between z and the m, the variance moves by
    [SS(x′) + (n−m)·m/n·(mean x′ − mean z)²]/(n − ddof) at most, because the other data set can at
    best put its m values at the mean of z. This is convex in each x′, so at its largest every x′ is
    a or b and mean z is a or b: with j of them away from it, j·(n − j)·R²/(n·(n − ddof)). It
    grows with j up to n/2, so Δ takes j = min(m, ⌊n/2⌋). With n unknown (or unbounded), two
    records decide: Δ = R²/4 for ddof 0, R²/2 for ddof 1, the whole range of a variance.
    """

    bounds: tuple[Real, Real] | None = None
    n: int | None = None
    ddof: Literal[0, 1] = 0

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        if self.n is not None:
            check_count("The number of records n", self.n)
        if self.ddof not in {0, 1}:
            raise ParameterError(f"ddof is 0 or 1, and {self.ddof!r} was given.")

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ = j·(n − j)·R²/(n·(n − ddof)) for public n, else the range of a variance."""
        records = Records.of(neighbours, self)
        bounds = read_bounds(self.bounds)
        if bounds is None:
            return bounds_needed("the attribute")
        square = (bounds[1] - bounds[0]) ** 2
        if self.n is None or not neighbours.bounded:
            whole = square / (4 if self.ddof == 0 else 2)
            return scalar(whole, "with two records the variance spans its whole range")
        if self.n == 1:
            return scalar(0, "the variance of one record is 0")
        half = self.n // 2
        moved = half if records.most is None else min(records.most, half)
        size = moved * (self.n - moved) * square / (self.n * (self.n - self.ddof))
        return scalar(size, f"{moved} of {self.n} values move to the other bound")

    def evaluate(self, data: Sequence[float]) -> Fraction:
        """Compute the variance of the clamped values exactly."""
        values = [Fraction(value) for value in _clamped(data, self.bounds)]
        if len(values) <= self.ddof or not values:
            return Fraction(0)
        mean = total(values) / len(values)
        return total((value - mean) ** 2 for value in values) / (len(values) - self.ddof)


_MEAN_ADVICE = (
    "Ask for the sum and the count, and divide: for many records both have small relative noise."
)


def _leaves_out(query: Sum | Mean) -> bool:
    return query.where is not None or query.missing == "skip"


def _check_missing(missing: str) -> None:
    if missing not in {"clamp", "skip"}:
        raise ParameterError(
            f"A missing value is 'clamp' (the bound nearest to 0) or 'skip', and {missing!r} was "
            "given."
        )


def _clamped(data: Sequence[float], bounds: tuple[Real, Real] | None) -> list[Any]:
    if bounds is None:
        return list(data)
    return [min(max(value, bounds[0]), bounds[1]) for value in data]
