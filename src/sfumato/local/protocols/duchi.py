"""Duchi's mechanism: one coin per person, for the mean of bounded numbers.

Promise: ε-local differential privacy (Duchi, Jordan and Wainwright, "Minimax optimal procedures for
locally private estimation", JASA 2018, in one dimension).

A person with x in [−1, 1] answers plus with probability 1/2 + x(p − 1/2), p = e^ε/(e^ε+1). Proof:
both answers have probabilities between 1−p and p. The reading ±1/(2p−1) has mean x and variance
1/(2p−1)² − x². p is rounded down to 32 binary digits, the probability of each x to the nearest
multiple between 1−p and p. Best for ε up to about 1.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError
from sfumato.local.protocols import coins
from sfumato.local.protocols.means import MeanProtocol, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sfumato.dp.rounding import Stated


@dataclass(frozen=True, init=False, repr=False)
class Duchi(MeanProtocol):
    """Answer plus or minus by a coin that leans towards the number."""

    name: ClassVar[str] = "Duchi"

    def __init__(self, bounds: tuple[float, float] = (-1.0, 1.0), *, epsilon: Stated) -> None:
        super().__init__(bounds, epsilon=epsilon)
        if self.lean <= Fraction(1, 2):
            raise coins.too_small(self.epsilon, 2)

    @property
    def lean(self) -> Fraction:
        """The exact probability of the answer plus for the upper bound."""
        favour = coins.power_down(self.epsilon)
        return coins.coin_down(favour / (favour + 1))

    @property
    def ratio(self) -> Fraction:
        """p/(1−p)."""
        return self.lean / (1 - self.lean)

    @property
    def scales(self) -> tuple[float, float]:
        """No numbers; an answer is worth 1/(2p−1)."""
        return 0.0, float(1 / (2 * self.lean - 1))

    def plausible(self, payload: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
        """Say which rows are answers of the coin; nothing else is ever sent."""
        return np.asarray(payload["code"] >= self.outputs)

    def distribution(self, value: float) -> dict[int, Fraction]:
        """Give the probabilities of minus and plus."""
        plus = Fraction(int(self._limits(scaled([value], self.bounds))[0]), coins.ONE)
        return {self.outputs: 1 - plus, self.outputs + 1: plus}

    def randomize(self, x: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """Toss each person's coin."""
        coin, _ = coins.split(stream().uint64(x.size))
        return self.outputs + (coin < self._limits(x)).astype(np.int64)

    def variance(self, n: int, x: float | None = None) -> float:
        """Give the variance of the mean of n people with value x; the worst x is the middle."""
        place = self._place(x) or 0.0
        return self._in_units(self.scales[1] ** 2 - place**2, n)

    def _limits(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """Give the threshold of each coin, between those of 1−p and p."""
        top = coins.threshold(self.lean)
        if top >= coins.ONE:
            raise ParameterError("ε (epsilon) is too large for a coin of 32 bits.")
        middle = coins.ONE / 2
        near = np.rint(middle + x * (top - middle))
        return np.clip(near, coins.ONE - top, top).astype(np.uint64)
