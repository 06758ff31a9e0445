"""The square wave mechanism: the whole distribution of a number, not only its mean.

Promise: ε-local differential privacy (Li, Wang, Lopuhaä-Zwakenberg, Li and Skoric, "Estimating
numerical distributions under local differential privacy", SIGMOD 2020; the variant that puts
numbers into bins before perturbing).

The range between the bounds is cut into d equal bins. A person in bin v reports one of d + 2b
numbers: with probability p one of the 2b+1 around hers, otherwise another one
(:mod:`.window_response`, whose proof applies). b is d·(εe^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε)), rounded
down, which lets reports tell most about the bin.

The estimate is a maximum likelihood fit (:mod:`.em`), smoothed unless told otherwise. It is a
distribution by construction and biased; it has no intervals. Numbers outside the bounds count in
the outermost bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.guarantees import LocalDP
from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins, em
from sfumato.local.protocols.grr import tally
from sfumato.local.protocols.means import read_bounds, scaled
from sfumato.local.protocols.protocol import Protocol
from sfumato.local.protocols.window_response import Window
from sfumato.local.reports import Aggregate, Field, Reports
from sfumato.representation import Shown

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated

    Floats = npt.NDArray[np.float64]

_MOST_BINS = 1 << 20


@dataclass(frozen=True, eq=False)
class NumericDistribution(Shown):
    """An estimated distribution of a number over equal bins."""

    edges: Floats
    frequencies: Floats
    n: int
    smoothed: bool
    guarantee: LocalDP

    @property
    def bias(self) -> str:
        """How the estimate leans."""
        kind = "a smoothed" if self.smoothed else "a"
        return f"biased: {kind} maximum likelihood fit, without intervals"

    @property
    def mean(self) -> float:
        """The mean, every bin counted at its middle."""
        return float(self.frequencies @ (self.edges[1:] + self.edges[:-1])) / 2

    @property
    def variance(self) -> float:
        """The variance, every bin counted at its middle."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        return float(self.frequencies @ (middles - self.mean) ** 2)

    def quantile(self, share: float) -> float:
        """Give the number below which this share of people lies."""
        if not 0 <= share <= 1:
            raise ParameterError(f"A share is between 0 and 1, and {share} was given.")
        sums = np.concatenate([[0.0], np.cumsum(self.frequencies)])
        return float(np.interp(share, sums / sums[-1], self.edges))

    def share_between(self, low: float, high: float) -> float:
        """Give the share of people between two numbers, bins counted in proportion."""
        sums = np.concatenate([[0.0], np.cumsum(self.frequencies)])
        return float(np.interp(high, self.edges, sums) - np.interp(low, self.edges, sums))

    def __repr__(self) -> str:
        return (
            f"distribution of {self.n:,} reports over {self.frequencies.size} bins, "
            f"mean {self.mean:.6g}, median {self.quantile(0.5):.6g}; {self.bias}"
        )


@dataclass(frozen=True, init=False, repr=False)
class SquareWave(Protocol):
    """Report a bin near one's own with high probability; ``bins`` cut the range between bounds."""

    bounds: tuple[float, float]
    bins: int

    name: ClassVar[str] = "SquareWave"

    def __init__(
        self, bounds: tuple[float, float] = (0.0, 1.0), *, epsilon: Stated, bins: int = 256
    ) -> None:
        object.__setattr__(self, "epsilon", parameters.budget(epsilon))
        coins.refuse_extremes(self.epsilon)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        if isinstance(bins, bool) or not 2 <= bins <= _MOST_BINS:
            raise ParameterError(f"There are 2 to {_MOST_BINS} bins, and {bins} was given.")
        object.__setattr__(self, "bins", int(bins))
        if self.window.near <= self.window.far:
            raise coins.too_small(self.epsilon, self.bins)

    @cached_property
    def window(self) -> Window:
        """The numbers near a bin: b on either side."""
        half = int(self.bins * best_reach(float(self.epsilon)))
        return Window.for_epsilon(self.bins + 2 * half, 2 * half + 1, self.epsilon)

    @property
    def ratio(self) -> Fraction:
        """The ratio between a near and a far number."""
        return self.window.ratio

    @property
    def guarantee(self) -> LocalDP:
        """The ε of the probabilities really used, for each person."""
        return LocalDP(coins.stated_epsilon(self.ratio, self.epsilon))

    @property
    def fields(self) -> tuple[Field, ...]:
        """One number."""
        return (Field.number("bin", self.window.outputs),)

    def distribution(self, value: float) -> dict[int, Fraction]:
        """List the probability of every number."""
        return self.window.distribution(int(self._bin([value])[0]))

    def perturb(self, values: Any) -> Reports:
        """Make one report for the number of each person."""
        return Reports(self, {"bin": self.window.respond(self._bin(values), self.fields[0].dtype)})

    def sums(self, reports: Reports) -> npt.NDArray[np.int64]:
        """Count how often each number was reported."""
        return tally(reports.payload["bin"], self.window.outputs)

    def estimate(
        self, collected: Aggregate | Reports, *, smooth: bool = True
    ) -> NumericDistribution:
        """Fit the distribution over the bins."""
        found = self.aggregated(collected)
        return NumericDistribution(
            edges=np.linspace(*self.bounds, self.bins + 1),
            frequencies=em.fit(self.window, self.bins, found.sums, smooth=smooth),
            n=found.n,
            smoothed=smooth,
            guarantee=self.guarantee,
        )

    def _bin(self, values: Any) -> npt.NDArray[np.int64]:
        place = (scaled(values, self.bounds) + 1) / 2 * self.bins
        return np.minimum(place.astype(np.int64), self.bins - 1)

    def __repr__(self) -> str:
        low, high = self.bounds
        return (
            f"{self.name}(({low:g}, {high:g}), epsilon={float(self.epsilon):.6g}, bins={self.bins})"
        )


def best_reach(epsilon: float) -> float:
    """Give b for bounds 0 and 1: the reach at which a report tells most about the number."""
    if epsilon < 1e-3:
        return 0.5  # the limit; the formula loses its digits there
    grown = math.exp(epsilon)
    return (epsilon * grown - math.expm1(epsilon)) / (2 * grown * (math.expm1(epsilon) - epsilon))
