"""Quantiles and the median, by the exponential mechanism over ranges of the domain.

Promise: ε-differential privacy. The median itself may move by the whole domain when one value
changes, so noise on it is useless; its *rank* moves by one.

What it does. The domain [lower, upper], public, is cut into points ``step`` apart, and each value
is moved to the nearest point inside, what is no number to the middle. A point v has rank distance
d(v) = max(0, #{x < v} − q·n, q·n − #{x ≤ v}), which is 0 for the true quantile, and is picked with
probability ∝ exp(−ε·d(v)/(2Δ)). Between two neighbouring values d is constant, so whole ranges of
points are drawn, weighted by their number of points, and then a point inside uniformly: the work
grows with the values, not with the points (Smith, "Privacy-preserving statistical estimation with
optimal convergence rates", STOC 2011).

Proof. Moving each value to a point is done value by value and changes no neighbouring relation. If
a row is added, each count rises by 0 or 1 and q·n by q, so #{x < v} − q·n moves by at most
Δ = max(q, 1−q), and so does the other difference and the maximum with 0; a unit of k rows moves
them by k times as much, and replacing it is removing and adding k rows. If a row is
replaced, n stays and counts move by at most Δ = 1. The exponential mechanism over all points
with score −d is then ε-DP; drawing a range first and a point second gives the same distribution.

Error, in ranks. Of the N points one has d = 0, because the rank intervals of the moved values cover
everything from 0 to n. So the rank error is at most (2Δ/ε)·ln N expected, and above
(2Δ/ε)·(ln N + ln(1/β)) with probability below β.
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
_POINTS = 1024
_MOST_POINTS = 1 << 52
_LARGEST, _SMALLEST = Fraction(2) ** 1000, Fraction(2) ** -1000


@dataclass(frozen=True, kw_only=True)
class ExponentialQuantile(Mechanism):
    """Release the q-quantile of values in a public domain; q = ½ is the median.

    ``step`` is the distance of the points of the domain, 1/1024 of it unless given.
    """

    lower: Stated
    upper: Stated
    q: Stated = 0.5
    step: Stated | None = None

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
        self._check_floats()
        if self.points > _MOST_POINTS:
            raise ParameterError("The domain has more than 2^52 points; use a coarser step.")

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
        first, sizes, distances = cut
        scale = self._order().denominator  # distances are counted in units of 1/scale
        rate = parameters.budget(self.epsilon) / (2 * self.rank_sensitivity * scale)
        ranges = Choice(-distances, rate, sizes).draw(count)
        places = first[ranges] + below(sizes[ranges])
        return np.array([float(self._origin() + int(k) * self._step()) for k in places])

    def rank_distances(self, value: Any) -> npt.NDArray[np.float64]:
        """Give d(v) for every point, for study: it reveals the values."""
        _, sizes, distances = self._ranges(*self._counted(value))
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
        """Cut the points into ranges of equal rank distance: first point, size, distance."""
        upto = np.cumsum(counts)
        edges = np.concatenate([[-1], values, [self.points]])
        passed = np.concatenate([[0], upto])
        # Gap i lies before value i; every value is a range of one point.
        first = np.concatenate([edges[:-1] + 1, values])
        sizes = np.concatenate([np.diff(edges) - 1, np.ones(values.size, dtype=np.int64)])
        less = np.concatenate([passed, passed[:-1]])
        least = np.concatenate([passed, upto])
        distances = self._distances(less, least, int(counts.sum()))
        kept = sizes > 0
        order = np.argsort(first[kept], kind="stable")
        return (
            first[kept][order],
            sizes[kept][order],
            distances[kept][order],
        )

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
        entropy = math.log(self.points)

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
                "The step between the points of the domain lies between 2^-1000 and 2^1001; use a "
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
        return (upper - self._origin()) / _POINTS
