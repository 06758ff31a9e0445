"""Means of bounded numbers: what the protocols for them share.

Contract: a :class:`MeanProtocol` takes one number per person. Numbers outside the declared bounds
are moved to the nearest bound on the device (so every person can take part, and a bound that is too
tight biases the mean); then they are scaled to x in [−1, 1]. Each report is a whole number and has
a reading, an estimate of x without bias (beyond 2⁻³¹ of its range). The server keeps four sums: of
the codes below ``outputs``, of their squares, and of two answers of a coin, minus and plus. A
protocol that uses only one kind leaves the other at 0.

The standard error of :class:`MeanEstimate` comes from the spread of the readings, and is at least
what the mechanism's coins give to people who all have the estimated mean: different values only add
to it, and few readings may be alike by chance. It holds for the population from which the people
were drawn, and more than holds for the people themselves.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.rounding import stated
from sfumato.errors import DataError, ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.protocol import Protocol
from sfumato.local.reports import Aggregate, Field, Reports
from sfumato.representation import Shown

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated

    Floats = npt.NDArray[np.float64]

_FEW = 10
_MANY = 1000
OUTPUTS = (1 << 16) - 2
"""Codes of numbers; the two beside them are the answers of a coin, so two bytes hold all."""


@dataclass(frozen=True, eq=False)
class MeanEstimate(Shown):
    """An unbiased estimate of a mean, with its standard error."""

    mean: float
    standard_error: float
    n: int
    bounds: tuple[float, float]
    guarantee: LocalDP

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Give bounds on the mean, by the normal approximation; within those of the values.

        The sum of fewer than ten reports is not near enough to normal: of it Chebyshev's
        inequality is used, with the largest variance that the promise allows.
        """
        if not 0 < level < 1:
            raise ParameterError(f"A level is above 0 and below 1, and {level} was given.")
        normal = NormalDist().inv_cdf((1 + level) / 2)
        width = (1 / math.sqrt(1 - level) if self.n < _FEW else normal) * self.standard_error
        low, high = (
            min(max(self.mean + w, self.bounds[0]), self.bounds[1]) for w in (-width, width)
        )
        return low, high

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"mean {self.mean:.6g} ± {self.standard_error:.4g} (95 %: {low:.6g} … {high:.6g}) "
            f"from {self.n:,} reports, ε = {self.guarantee.epsilon:.6g} each; unbiased within "
            f"the bounds {self.bounds[0]:g} … {self.bounds[1]:g}"
        )

    __repr__ = __str__


@dataclass(frozen=True, init=False, repr=False)
class MeanProtocol(Protocol):
    """A protocol for the mean of numbers between two bounds."""

    bounds: tuple[float, float]

    def __init__(self, bounds: tuple[float, float] = (-1.0, 1.0), *, epsilon: Stated) -> None:
        object.__setattr__(self, "epsilon", parameters.budget(epsilon))
        coins.refuse_extremes(self.epsilon)
        object.__setattr__(self, "bounds", read_bounds(bounds))

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio between the probabilities of one report under two values."""

    @abstractmethod
    def randomize(self, x: Floats) -> npt.NDArray[Any]:
        """Make one code for each number in [−1, 1]."""

    @abstractmethod
    def distribution(self, value: float) -> dict[int, Fraction]:
        """List every possible code of a value with its exact probability."""

    @abstractmethod
    def variance(self, n: int, x: float | None = None) -> float:
        """Give the variance of the mean if all have the value x; the worst one if not given."""

    @property
    @abstractmethod
    def scales(self) -> tuple[float, float]:
        """What one code is worth in x, and what an answer of the coin is worth."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """One code of two bytes: a number, or an answer of a coin."""
        return (Field("code", "uint16", 1, self.outputs + 2),)

    @property
    def outputs(self) -> int:
        """How many codes stand for numbers."""
        return OUTPUTS

    @property
    def guarantee(self) -> LocalDP:
        """The ε of the probabilities really used, for each person."""
        return LocalDP(coins.stated_epsilon(self.ratio, self.epsilon))

    def perturb(self, values: Any) -> Reports:
        """Make one report for the number of each person."""
        codes = self.randomize(scaled(values, self.bounds))
        return Reports(self, {"code": codes.astype(self.fields[0].dtype)})

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Add up codes and their squares, and count the answers of the coin."""
        codes = reports.payload["code"].astype(np.int64)
        numbers = codes[codes < self.outputs]
        minus, plus = (int((codes == self.outputs + side).sum()) for side in (0, 1))
        return np.array([numbers.sum(), (numbers * numbers).sum(), minus, plus], dtype=np.int64)

    def estimate(self, collected: Aggregate | Reports) -> MeanEstimate:
        """Estimate the mean, without bias within the bounds."""
        found = self.aggregated(collected)
        total, squares, minus, plus = found.sums.tolist()
        step, answer = self.scales
        numbers, centre = found.n - minus - plus, (self.outputs - 1) / 2
        mean = (step * (total - centre * numbers) + answer * (plus - minus)) / found.n
        spread = step**2 * (squares - 2 * centre * total + centre**2 * numbers)
        variance = max((spread + answer**2 * (plus + minus)) / found.n - mean**2, 0.0)
        half = (self.bounds[1] - self.bounds[0]) / 2
        value = self.bounds[0] + half * (1 + mean)
        seen = half**2 * variance / max(found.n - 1, 1)
        # Few reports may happen to be all the same, which says little about how they vary.
        stated = self.variance(found.n, value if found.n >= _MANY else None)
        return MeanEstimate(
            mean=value,
            standard_error=math.sqrt(max(seen, stated)),
            n=found.n,
            bounds=self.bounds,
            guarantee=self.guarantee,
        )

    def _place(self, x: float | None) -> float | None:
        """Scale a public value to [−1, 1]."""
        return None if x is None else float(scaled([x], self.bounds)[0])

    def _in_units(self, variance: float, n: int) -> float:
        if n < 1:
            raise ParameterError("A variance needs n of at least 1.")
        return ((self.bounds[1] - self.bounds[0]) / 2) ** 2 * variance / n

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"{self.name}(({low:g}, {high:g}), epsilon={float(self.epsilon):.6g})"


def read_bounds(bounds: Any) -> tuple[float, float]:
    """Read a lower and an upper bound."""
    try:
        low, high = (float(stated(bound)) for bound in bounds)
    except (TypeError, ValueError):
        raise ParameterError("Bounds are two finite numbers, as in bounds=(0, 100).") from None
    if not low < high or not math.isfinite(high - low):
        raise ParameterError(
            f"The lower bound is below the upper one, and ({low:g}, {high:g}) was given."
        )
    return low, high


def scaled(values: Any, bounds: tuple[float, float]) -> Floats:
    """Clamp numbers to the bounds and scale them to [−1, 1]."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("Give one number per person, in a list or an array.") from None
    if array.ndim != 1:
        raise DataError("Give one number per person, in a list or an array of one dimension.")
    missing = int(np.isnan(array).sum())
    if missing:
        raise DataError(
            f"{missing} of {array.size} values are missing (NaN); leave those people out, or "
            "declare a number for them."
        )
    low, high = bounds
    inside = np.clip(array, low, high)
    return np.clip((inside - low) / ((high - low) / 2) - 1, -1.0, 1.0)
