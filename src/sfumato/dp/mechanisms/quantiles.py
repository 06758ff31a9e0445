"""Quantiles and the median, by the exponential mechanism over ranges of the domain.

Promise: ε-differential privacy. The median itself may move by the whole domain when one value
changes, so noise on it is useless; its *rank* moves by one.

What it does. The domain [lower, upper], public, is cut into points ``step`` apart, and each value
is moved to the nearest point inside, what is no number to the middle. A point v has rank distance
d(v) = max(0, #{x < v} − q·n, q·n − #{x ≤ v}), which is 0 for the true quantile, and is picked with
probability ∝ π(v)·exp(−ε·d(v)/(2Δ)). Between two neighbouring values d is constant, so whole ranges
of points are drawn, weighted by their π, and then a point inside in proportion to π: the work grows
with the values, not with the points (Smith, "Privacy-preserving statistical estimation with optimal
convergence rates", STOC 2011).

The base measure π is public and whole: with ``levels`` = L, a point that is a multiple of 2^ℓ steps
from the lower bound counts 2^ℓ for each ℓ ≤ L. So each of the L+1 grids, from the finest to the
one that is 2^L times as coarse, has about the same share of π. Values that lie close together are
told apart by the fine points; values that repeat on a coarse grid (years of age, whole
units of money) have weight there that a fine grid would give to the gaps beside them. Which
resolution an answer has follows in this way from ε and the values, inside the mechanism, and costs
at most (2Δ/ε)·ln(L+1) ranks. L = 0 is the uniform measure.

Proof. Moving each value to a point is done value by value and changes no neighbouring relation. If
a row is added, each count rises by 0 or 1 and q·n by q, so #{x < v} − q·n moves by at most
Δ = max(q, 1−q), and so does the other difference and the maximum with 0; a unit of k rows moves
them by k times as much, and replacing it is removing and adding k rows. If a row is
replaced, n stays and counts move by at most Δ = 1. The exponential mechanism over all points
with score −d and a base measure that does not depend on the values is then ε-DP: each
π(v)·exp(−ε·d(v)/(2Δ)), and so their sum, moves by a factor within exp(±ε/2). Drawing a range
first and a point second gives the same distribution.

Error, in ranks. Of all points one has d = 0, because the rank intervals of the moved values cover
everything from 0 to n, and it has π ≥ 1 of W = Σπ (W is the number of points where L = 0). So
the rank error is at most (2Δ/ε)·ln W expected, and above (2Δ/ε)·(ln W + ln(1/β)) with probability
below β. These are ranks among the moved values. For the values themselves, clamped to the
domain: if d(v) ≤ r, then #{x < v − step} ≤ q·n + r and #{x ≤ v + step} ≥ q·n − r, so that some
number within one step of v is at most r ranks away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import as_numbers
from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Error, Mechanism
from sfumato.dp.noise.choice import Choice
from sfumato.dp.noise.uniform import below
from sfumato.dp.rounding import Stated, stated_up
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

_UP = 1 + 1e-12
_POINTS = 1024  # of the coarsest grid, at most
_LEVELS = 32
_MOST_POINTS = 1 << 52
_MOST_WEIGHT = 1 << 60
_LARGEST, _SMALLEST = Fraction(2) ** 1000, Fraction(2) ** -1020


@dataclass(frozen=True, kw_only=True)
class ExponentialQuantile(Mechanism):
    """Release the q-quantile of values in a public domain; q = ½ is the median.

    ``step`` is the distance of the points of the domain, and ``levels`` says how many coarser
    grids, each of every second point of the one before, have as much weight as all points. Unless
    a step is given, the coarsest of 33 grids has at most 1,025 points, and the finest 2^32 times
    as many; with a step, all points weigh the same.
    """

    lower: Stated
    upper: Stated
    q: Stated = 0.5
    step: Stated | None = None
    levels: int | None = None

    reads_cells: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._origin() < parameters.read(self.upper, "The upper bound", "a finite number"):
            raise ParameterError(
                f"The domain needs a lower bound below its upper bound, and {self.lower} and "
                f"{self.upper} were given."
            )
        if not 0 <= self._order() <= 1:
            raise ParameterError(f"A quantile q lies between 0 and 1, and {self.q} was given.")
        parameters.rows_per_unit(self.neighbours)
        if self.levels is not None and not 0 <= self.levels <= _LEVELS:
            raise ParameterError(
                f"A quantile has from 0 to {_LEVELS} coarser grids, and levels={self.levels} "
                "was given."
            )
        self._check_floats()
        if self.points > _MOST_POINTS:
            raise ParameterError("The domain has more than 2^52 points; use a coarser step.")
        if self.weight > _MOST_WEIGHT:
            raise ParameterError("The points weigh more than 2^60; use fewer levels.")

    @property
    def guarantee(self) -> PureDP:
        """ε-differential privacy, exactly."""
        return PureDP(stated_up(parameters.budget(self.epsilon)), neighbours=self.neighbours)

    @property
    def points(self) -> int:
        """How many points the domain has."""
        upper = parameters.read(self.upper, "The upper bound", "a finite number")
        return math.floor((upper - self._origin()) / self._step()) + 1

    @property
    def weight(self) -> int:
        """W, the weight of all points together; a single point weighs at least 1."""
        points = self.points
        return sum((-(-points >> level) << level) for level in range(self._coarser() + 1))

    @property
    def rank_sensitivity(self) -> Fraction:
        """How much a rank distance moves between neighbours.

        A record that comes or goes moves #{x < v} − q·n by −q or 1 − q. If k₁ records are
        replaced by k₂, both at most k, it rises by at most (1 − q)·k₂ + q·k₁ ≤ k and falls by at
        most (1 − q)·k₁ + q·k₂ ≤ k.
        """
        rows = parameters.rows_per_unit(self.neighbours)
        if self.neighbours.bounded:
            return Fraction(rows)
        return rows * max(self._order(), 1 - self._order())

    def release(self, value: Any) -> float:
        """Release the quantile of the values, spending the guarantee once."""
        return float(self.simulate(value, 1)[0])

    def release_counted(
        self, points: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> float:
        """Release the quantile of values given as numbers of points, each with how often it is."""
        order = np.argsort(points)
        ranges = self._ranges(points[order], counts[order])
        return float(self._drawn(ranges, 1)[0])

    def simulate(self, value: Any, count: int) -> npt.NDArray[np.float64]:
        """Make ``count`` independent releases for the same values, for study."""
        return self._drawn(self._ranges(*self._counted(value)), count)

    def _drawn(
        self,
        cut: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[Any]],
        count: int,
    ) -> npt.NDArray[np.float64]:
        first, weights, distances = cut
        scale = self._order().denominator  # distances are counted in units of 1/scale
        rate = parameters.budget(self.epsilon) / (2 * self.rank_sensitivity * scale)
        ranges = Choice(-distances, rate, weights).draw(count)
        places = self._inside(first[ranges], _ends(first, self.points)[ranges])
        origin, step = self._origin(), self._step()
        return np.array([float(origin + place * step) for place in places.tolist()])

    def rank_distances(self, value: Any) -> npt.NDArray[np.float64]:
        """Give d(v) for every point, for study: it reveals the values."""
        first, _, distances = self._ranges(*self._counted(value))
        sizes = _ends(first, self.points) - first
        return np.repeat((distances / self._order().denominator).astype(np.float64), sizes)

    def _places(self, value: Any) -> npt.NDArray[np.int64]:
        """Move every value to the number of its nearest point."""
        if isinstance(value, np.ndarray) and value.ndim > 1:
            raise DataError(f"Values come as a list, and the given ones have shape {value.shape}.")
        with np.errstate(over="ignore"):  # what overflows lies outside the domain
            shares = (as_numbers(value) - float(self._origin())) / float(self._step())
        shares = np.where(np.isnan(shares), (self.points - 1) // 2, np.rint(shares))
        return np.clip(shares, 0, self.points - 1).astype(np.int64)

    def _counted(self, value: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        values, counts = np.unique(self._places(value), return_counts=True)
        return values, counts.astype(np.int64)

    def _ranges(
        self, values: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Cut the points into ranges of equal rank distance: first point, weight, distance."""
        upto = np.cumsum(counts)
        edges = np.concatenate([[-1], values, [self.points]])
        passed = np.concatenate([[0], upto])
        # Gap i lies before value i; every value is a range of one point.
        first = np.concatenate([edges[:-1] + 1, values])
        sizes = np.concatenate([np.diff(edges) - 1, np.ones(values.size, dtype=np.int64)])
        less = np.concatenate([passed, passed[:-1]])
        least = np.concatenate([passed, upto])
        distances = self._distances(less, least, int(counts.sum()))
        kept = np.flatnonzero(sizes)
        kept = kept[np.argsort(first[kept], kind="stable")]
        first, sizes = first[kept], sizes[kept]
        weights = np.zeros(first.size, dtype=np.int64)
        for level in range(self._coarser() + 1):
            weights += _multiples(first, first + sizes, level) << level
        return first, weights, distances[kept]

    def _inside(
        self, first: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Draw a point of each range first … ends−1 in proportion to its weight.

        A multiple of 2^ℓ has 2^ℓ tickets at level ℓ, and tickets are numbered level by level.
        """
        each = [_multiples(first, ends, level) << level for level in range(self._coarser() + 1)]
        tickets = below(np.sum(each, axis=0))
        places = np.empty(first.size, dtype=np.int64)
        for level, size in enumerate(each):
            here = (tickets >= 0) & (tickets < size)
            nearest = -(-first[here] >> level) + (tickets[here] >> level)
            places[here] = nearest << level
            tickets = np.where(here, -1, tickets - size * (tickets >= 0))
        return places

    def _distances(
        self, less: npt.NDArray[np.int64], least: npt.NDArray[np.int64], rows: int
    ) -> npt.NDArray[Any]:
        """Give d in units of 1/denominator of q, as integers of the length they need."""
        q = self._order()
        if q.denominator * (rows + 1) >= 1 << 62:
            less, least = less.astype(object), least.astype(object)
        target = q.numerator * rows
        farther = np.maximum(less * q.denominator - target, target - least * q.denominator)
        distances: npt.NDArray[Any] = np.maximum(farther, 0)
        return distances

    @property
    def error(self) -> Error:
        """The distance of the released point from the true quantile, in ranks."""
        per_log = parameters.as_float(
            2 * self.rank_sensitivity / parameters.budget(self.epsilon), "The rank error"
        )
        entropy = math.log(self.weight)

        def beyond(beta: float) -> float:
            return per_log * (entropy - math.log(beta)) * _UP

        return Error("rank error", per_log * entropy * _UP, 1, beyond)

    def _check_floats(self) -> None:
        """Refuse a domain whose points are no floats: values are placed with them."""
        upper = parameters.read(self.upper, "The upper bound", "a finite number")
        if max(abs(self._origin()), abs(upper)) > _LARGEST:
            raise ParameterError(
                "The bounds of the domain lie within ±2^1000; use the range that values can have."
            )
        if not _SMALLEST <= self._step() <= 2 * _LARGEST:
            raise ParameterError(
                "The step between the points of the domain lies between 2^-1020 and 2^1001; use a "
                "coarser step, or scale the values and their bounds."
            )

    def _origin(self) -> Fraction:
        return parameters.read(self.lower, "The lower bound", "a finite number")

    def _order(self) -> Fraction:
        return parameters.read(self.q, "The quantile q", "a number between 0 and 1")

    def _step(self) -> Fraction:
        if self.step is not None:
            return parameters.positive(self.step, "The step")
        upper = parameters.read(self.upper, "The upper bound", "a finite number")
        return power_above((upper - self._origin()) / _POINTS) / (1 << self._coarser())

    def _coarser(self) -> int:
        if self.levels is not None:
            return self.levels
        return 0 if self.step is not None else _LEVELS


def power_above(number: Fraction) -> Fraction:
    """Give the smallest power of two that is at least as large."""
    power = number.numerator.bit_length() - number.denominator.bit_length()
    least = Fraction(2) ** (power - 1)
    while least < number:
        least *= 2
    return least


def _multiples(
    first: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], level: int
) -> npt.NDArray[np.int64]:
    """Count the multiples of 2^level in first … ends−1."""
    return (-first >> level) - (-ends >> level)


def _ends(first: npt.NDArray[np.int64], points: int) -> npt.NDArray[np.int64]:
    return np.append(first[1:], points)
