"""The piecewise mechanism on a grid: a number near one's own, or far from it.

Promise: ε-local differential privacy (Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu, "Collecting
and analyzing multidimensional data with local differential privacy", ICDE 2019).

The continuous mechanism reports a real number in [−C, C], near the true one with high density. Here
the reports are M whole numbers and "near" is a window of W of them (:mod:`.window_response`), which
makes every probability an exact rational. The window starts at a = (x+1)/2·(M−W), rounded at
random to a whole number so that its mean is kept. With p the probability of the window, a report j
has mean (M−1)/2 + κ(a − (M−W)/2), κ = p − (1−p)W/(M−W), so

    (j − (M−1)/2) · 2/(κ(M−W))    is an unbiased reading of x.

Proof of privacy: that of the window. W/M is near 1/(e^(ε/2)+1), which is the best for large M. Best
for large ε; see :mod:`.hybrid`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.means import OUTPUTS, MeanProtocol, scaled
from sfumato.local.protocols.window_response import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated


@dataclass(frozen=True, init=False, repr=False)
class Piecewise(MeanProtocol):
    """Report a number near the true one with high probability; ``grid`` is how many there are."""

    grid: int

    name: ClassVar[str] = "Piecewise"

    def __init__(
        self, bounds: tuple[float, float] = (-1.0, 1.0), *, epsilon: Stated, grid: int = OUTPUTS
    ) -> None:
        if isinstance(grid, bool) or not 2 <= grid <= OUTPUTS:
            raise ParameterError(f"The grid has 2 to {OUTPUTS} numbers, and {grid} was given.")
        object.__setattr__(self, "grid", int(grid))
        super().__init__(bounds, epsilon=epsilon)
        if self.window.lever <= 0:
            raise coins.too_small(self.epsilon, self.grid)

    @cached_property
    def window(self) -> Window:
        """The window of near numbers."""
        share = 1 / (math.exp(self.epsilon / 2) + 1)
        width = min(max(1, round(self.grid * share)), self.grid - 1)
        return Window.for_epsilon(self.grid, width, self.epsilon)

    @property
    def outputs(self) -> int:
        """How many numbers can be reported."""
        return self.grid

    @property
    def ratio(self) -> Fraction:
        """The ratio between a near and a far number."""
        return self.window.ratio

    @property
    def scales(self) -> tuple[float, float]:
        """What one step of the grid is worth; no answers of a coin."""
        free = self.window.outputs - self.window.width
        return float(2 / (self.window.lever * free)), 0.0

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Say which rows are numbers of the grid; there is no coin to answer."""
        return np.asarray(payload["code"] < self.outputs)

    def distribution(self, value: float) -> dict[int, Fraction]:
        """List the probability of every number, the random rounding of the start included."""
        low, limit = (int(part[0]) for part in self._starts(scaled([value], self.bounds)))
        first = self.window.distribution(low)
        if not limit:
            return first
        second, share = self.window.distribution(low + 1), Fraction(limit, coins.ONE)
        return {j: (1 - share) * first[j] + share * second[j] for j in first}

    def randomize(self, x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Round each start at random and draw a number."""
        low, limit = self._starts(x)
        coin, _ = coins.split(stream().uint64(x.size))
        return self.window.respond(low + (coin < limit), "uint16")

    def variance(self, n: int, x: float | None = None) -> float:
        """Give the variance of the mean of n people with value x; the worst x is a bound."""
        place, free = self._place(x), self.window.outputs - self.window.width
        start = float(free) if place is None else free * (place + 1) / 2
        variance = self.scales[0] ** 2 * self.window.variance_at(start)
        # At the bound the start is whole; elsewhere rounding it adds a quarter of a squared step.
        return self._in_units(variance + (place is None) / free**2, n)

    def _starts(
        self, x: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """Give the whole part of each start, and the threshold of the coin that raises it."""
        exact = (x + 1) / 2 * (self.window.outputs - self.window.width)
        low = np.floor(exact)
        return low.astype(np.int64), np.rint((exact - low) * coins.ONE).astype(np.uint64)
