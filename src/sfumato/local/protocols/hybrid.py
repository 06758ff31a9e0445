"""The hybrid mechanism: Duchi's coin or the piecewise number, whichever a public coin says.

Promise: ε-local differential privacy (Wang et al., ICDE 2019, as in :mod:`.piecewise`).

For ε above 0.61 a person uses the piecewise mechanism with probability β = 1 − e^(−ε/2) and Duchi's
otherwise; below, always Duchi's. Proof: the choice does not depend on the value, and either report
keeps ε. The worst variance is lower than that of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.local.protocols import coins
from sfumato.local.protocols.duchi import Duchi
from sfumato.local.protocols.means import OUTPUTS, MeanProtocol
from sfumato.local.protocols.piecewise import Piecewise

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated

_TURN = Fraction(61, 100)


@dataclass(frozen=True, init=False, repr=False)
class Hybrid(MeanProtocol):
    """Mix Duchi's and the piecewise mechanism."""

    grid: int

    name: ClassVar[str] = "Hybrid"

    def __init__(
        self, bounds: tuple[float, float] = (-1.0, 1.0), *, epsilon: Stated, grid: int = OUTPUTS
    ) -> None:
        object.__setattr__(self, "grid", grid)
        super().__init__(bounds, epsilon=epsilon)
        object.__setattr__(self, "grid", self.piecewise.grid)
        assert self.duchi.ratio > 1

    @cached_property
    def duchi(self) -> Duchi:
        """The coin."""
        return Duchi(self.bounds, epsilon=self.epsilon)

    @cached_property
    def piecewise(self) -> Piecewise:
        """The number."""
        return Piecewise(self.bounds, epsilon=self.epsilon, grid=self.grid)

    @property
    def share(self) -> Fraction:
        """The probability of the piecewise mechanism; it carries no privacy."""
        if self.epsilon <= _TURN:
            return Fraction(0)
        return coins.coin_near(Fraction(-math.expm1(-self.epsilon / 2)))

    @property
    def outputs(self) -> int:
        """How many codes stand for numbers; two more for the answers of the coin."""
        return self.grid

    @property
    def ratio(self) -> Fraction:
        """The larger of both ratios."""
        return max(self.duchi.ratio, self.piecewise.ratio) if self.share else self.duchi.ratio

    @property
    def scales(self) -> tuple[float, float]:
        """What one step of the grid, and what an answer of the coin is worth."""
        return self.piecewise.scales[0], self.duchi.scales[1]

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Say which rows could be; where the coin alone is used, only its answers."""
        return super().plausible(payload) if self.share else payload["code"] >= self.outputs

    def distribution(self, value: float) -> dict[int, Fraction]:
        """List the probability of every code."""
        shift = self.outputs - self.duchi.outputs
        coin = {j + shift: (1 - self.share) * p for j, p in self.duchi.distribution(value).items()}
        number = self.piecewise.distribution(value)
        return {j: self.share * p for j, p in number.items()} | coin

    def randomize(self, x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Choose a mechanism for each person, in public, and use it."""
        out = self.duchi.randomize(x) + (self.outputs - self.duchi.outputs)
        chosen = np.flatnonzero(coins.toss(self.share, x.size))
        out[chosen] = self.piecewise.randomize(x[chosen])
        return out

    def variance(self, n: int, x: float | None = None) -> float:
        """Give the variance of the mean of n people with value x; the worst if not given."""
        share = float(self.share)
        if x is None:
            # Up to the rounding of starts it is a constant plus a multiple of x².
            middle, high = sum(self.bounds) / 2, self.bounds[1]
            window = self.piecewise.window
            rounding = share / (window.outputs - window.width) ** 2
            ends = max(self.variance(n, middle), self.variance(n, high))
            return ends + self._in_units(rounding, n)
        # Both are unbiased for the same x, so variances mix as they are.
        return share * self.piecewise.variance(n, x) + (1 - share) * self.duchi.variance(n, x)
