"""Several numbers at once: histograms, bars of sums, separate counts, sums and means of vectors.

Contract: as in :mod:`sfumato.dp.queries.tables`, with vectors for answers. In the proofs, one
unit has at most m records, at most g of them in one bin and in at most c bins, so m ≤ c·g.

The counts one unit contributes to the bins, h, have ‖h‖₁ ≤ m. ‖h‖₂² = Σ hᵢ² is convex, so it is
largest when as many bins as possible are full: ⌊m/g⌋ bins of g and one of the rest r, which gives
S² = ⌊m/g⌋·g² + r². Unbounded neighbours add or remove h; bounded ones replace h by h′, and
since both are non-negative ‖h − h′‖₁ ≤ 2m and ‖h − h′‖₂² ≤ 2·S².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.neighbours import Unit
from sfumato.dp.queries.base import (
    Query,
    Records,
    Sensitivity,
    bounds_needed,
    check_count,
    read_bounds,
    read_number,
    sensitivity,
    total,
    truncation_needed,
    vector,
)
from sfumato.dp.rounding import float_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.neighbours import Neighbours
    from sfumato.dp.rounding import Real


@dataclass(frozen=True)
class Histogram(Query):
    """How many records fall into each of several disjoint bins, or into none.

    One row: unbounded Δ₁ = Δ₂ = 1; bounded Δ₁ = 2, Δ₂ = √2, since it may change its bin.
    """

    bins: int

    def __post_init__(self) -> None:
        check_count("The number of bins", self.bins)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive (m, S) unbounded and (2m, √2·S) bounded."""
        shape = _Shape.of(neighbours, self)
        if shape is None:
            return truncation_needed(neighbours)
        twice = 2 if neighbours.bounded and self.bins > 1 else 1
        why = f"one unit has at most {shape.most} records in the bins"
        return vector(twice * shape.most, twice * shape.squares, f"{why}{_MOVES[twice]}")

    def evaluate(self, data: Sequence[int | None]) -> list[int]:
        """Count the entries 0 … bins − 1; others are in no bin."""
        counts = [0] * self.bins
        for entry in data:
            if entry is not None and 0 <= entry < self.bins:
                counts[entry] += 1
        return counts


@dataclass(frozen=True)
class GroupedSum(Query):
    """The sum of values in [a, b] in each of several disjoint bins: bars of visits, not visitors.

    With B = max(|a|, |b|): unbounded Δ₁ = m·B and Δ₂ = S·B. Bounded: Δ₁ = 2m·B; Δ₂ = √2·S·B when
    all values have one sign, and else the triangle inequality's 2·S·B, or, when all m records may
    be in one bin (S = m), m·max(√2·B, b − a): ‖h − h′‖₂ is convex, so it is largest when h has all
    its records in one bin, and h′ too, in another bin or in the same with the opposite sign.
    """

    bins: int
    bounds: tuple[Real, Real] | None = None

    def __post_init__(self) -> None:
        check_count("The number of bins", self.bins)
        read_bounds(self.bounds)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive (m·B, S·B) unbounded, and what a move between bins costs bounded."""
        shape = _Shape.of(neighbours, self)
        bounds = read_bounds(self.bounds)
        if bounds is None:
            return bounds_needed("the summed attribute")
        if shape is None:
            return truncation_needed(neighbours)
        low, high = bounds
        size = max(abs(low), abs(high))
        why = f"one unit has at most {shape.most} values of size {float_up(size):g} in the bars"
        if not neighbours.bounded:
            return vector(shape.most * size, shape.squares * size**2, why)
        square = 2 * shape.squares * size**2
        if low < 0 < high:
            one_bin = shape.squares == shape.most**2
            spread = shape.squares * (high - low) ** 2
            square = max(square, spread) if one_bin else 2 * square
        return vector(2 * shape.most * size, square, f"{why}, and may move them")

    def evaluate(self, data: Sequence[tuple[int, float]]) -> list[Fraction]:
        """Add the clamped values of each bin exactly."""
        low, high = self.bounds or (-math.inf, math.inf)
        bars = [Fraction(0)] * self.bins
        for entry, value in data:
            if 0 <= entry < self.bins:
                bars[entry] += Fraction(min(max(value, low), high))
        return bars


@dataclass(frozen=True)
class Counts(Query):
    """Several counts with conditions that may overlap: each record may be in all of them.

    Every count moves by at most m, bounded or not: Δ₁ = q·m, Δ₂ = √q·m.
    """

    queries: int

    def __post_init__(self) -> None:
        check_count("The number of counts", self.queries)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive (q·m, √q·m)."""
        most = Records.of(neighbours, self).most
        if most is None:
            return truncation_needed(neighbours)
        why = f"each of {self.queries} counts moves by at most {most}"
        return vector(self.queries * most, self.queries * most**2, why)

    def evaluate(self, data: Sequence[Sequence[Any]]) -> list[int]:
        """Count the true entries per condition."""
        return [sum(1 for entry in data if entry[k]) for k in range(self.queries)]


@dataclass(frozen=True)
class VectorSum(Query):
    """The sum of vectors with ‖x‖₂ ≤ norm, in ``dimension`` dimensions.

    Unbounded Δ₂ = m·norm; bounded 2m·norm, from x to −x. Δ₁ ≤ √dimension·Δ₂ (Cauchy and Schwarz).
    """

    norm: Real
    dimension: int

    def __post_init__(self) -> None:
        _check_norm(self.norm)
        check_count("The dimension", self.dimension)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ₂ = m·norm, twice that bounded."""
        most = Records.of(neighbours, self).most
        if most is None:
            return truncation_needed(neighbours)
        size = most * read_number(self.norm, "The norm") * (2 if neighbours.bounded else 1)
        return _of_norm(size, self.dimension, f"{most} vectors of length {self.norm}")

    def evaluate(self, data: Sequence[Sequence[float]]) -> list[Fraction]:
        """Add vectors exactly; the caller has clipped them."""
        return [total(entry[k] for entry in data) for k in range(self.dimension)]


@dataclass(frozen=True)
class VectorMean(Query):
    """The mean of vectors with ‖x‖₂ ≤ norm; of none, the zero vector.

    With ``n`` public (bounded): at most min(m, n) of them move by 2·norm each, so
    Δ₂ = 2·min(m, n)·norm/n. Else both means lie in the ball, so Δ₂ = 2·norm. Δ₁ ≤ √dimension·Δ₂.
    """

    norm: Real
    dimension: int
    n: int | None = None

    def __post_init__(self) -> None:
        _check_norm(self.norm)
        check_count("The dimension", self.dimension)
        if self.n is not None:
            check_count("The number of records n", self.n)

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive Δ₂ = 2·min(m, n)·norm/n for public n, else 2·norm."""
        most = Records.of(neighbours, self).most
        size = 2 * read_number(self.norm, "The norm")
        if self.n is None or not neighbours.bounded:
            return _of_norm(size, self.dimension, "the mean moves within the ball")
        moved = self.n if most is None else min(most, self.n)
        return _of_norm(size * moved / self.n, self.dimension, f"{moved} of {self.n} vectors move")

    def evaluate(self, data: Sequence[Sequence[float]]) -> list[Fraction]:
        """Average vectors exactly; the caller has clipped them."""
        count = max(1, len(data))
        return [total(entry[k] for entry in data) / count for k in range(self.dimension)]


@dataclass(frozen=True)
class Several(Query):
    """Several queries answered together: Δ₁ adds up, and so does Δ₂ squared."""

    queries: tuple[Query, ...]

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive the sum of the sensitivities."""
        if not self.queries:
            raise ParameterError("Several queries are at least one.")
        parts = [sensitivity(query, neighbours) for query in self.queries]
        for part in parts:
            if not part.finite:
                return part
        l1 = sum((Fraction(part.l1) for part in parts), Fraction(0))
        squares = sum((Fraction(part.l2) ** 2 for part in parts), Fraction(0))
        whole = vector(l1, squares, f"{len(parts)} queries, each moved by the same unit")
        for part in parts:
            if part.mechanism != "noise":  # one answer that noise would drown spoils them all
                return replace(whole, mechanism=part.mechanism, advice=part.advice)
        return whole

    def evaluate(self, data: Any) -> list[Any]:
        """Answer all of them on the same data."""
        return [query.evaluate(data) for query in self.queries]


@dataclass(frozen=True)
class _Shape:
    """The most records of one unit, and S²: the most ‖h‖₂² of its counts per bin."""

    most: int
    squares: int

    @classmethod
    def of(cls, neighbours: Neighbours, query: Query) -> _Shape | None:
        most = Records.of(neighbours, query).most
        if most is None:
            return None
        unit = neighbours.unit
        limit = unit.rows_per_group if isinstance(unit, Unit) else None
        full = most if limit is None else min(limit, most)
        return cls(most, most // full * full**2 + (most % full) ** 2)


_MOVES = {1: "", 2: ", and may move them"}


def _of_norm(size: Fraction, dimension: int, why: str) -> Sensitivity:
    wide = vector(size, size**2, why)
    l1 = vector(size * dimension, size**2 * dimension, why).l2
    return Sensitivity(l1, wide.l2, why)


def _check_norm(norm: Real) -> None:
    if read_number(norm, "The norm of clipped vectors") <= 0:
        raise ParameterError(f"The norm of clipped vectors is above 0, and {norm} was given.")
