"""Window response: a whole number near one's own, or any other one.

Contract: of ``outputs`` whole numbers a person reports one in the window of ``width`` numbers that
begins at her own start, with probability p, and one outside it otherwise, uniformly in both cases.
Starts run from 0 to outputs − width. It is the randomiser behind the piecewise mechanism and the
square wave.

Proof: a number has probability p/width or (1−p)/(outputs−width), whatever the start; the ratio is
p(outputs−width)/((1−p)·width). ``keep_down`` gives the largest coin for which it is at most e^ε.
A start drawn at random mixes windows and cannot raise the ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.local.protocols import coins

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK = 1 << 15


@dataclass(frozen=True)
class Window:
    """How many numbers there are, how many are near, and how often a near one is reported."""

    outputs: int
    width: int
    keep: Fraction

    @classmethod
    def for_epsilon(cls, outputs: int, width: int, epsilon: Fraction) -> Window:
        """Give the window whose ratio is at most e^ε."""
        favour = width * coins.power_down(epsilon)
        return cls(outputs, width, coins.coin_down(favour / (favour + outputs - width)))

    @property
    def near(self) -> Fraction:
        """The exact probability of each number in the window."""
        return self.keep / self.width

    @property
    def far(self) -> Fraction:
        """The exact probability of each number outside."""
        return (1 - self.keep) / (self.outputs - self.width)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities."""
        return self.near / self.far

    @property
    def lever(self) -> Fraction:
        """By how much the mean report moves when the start moves by one."""
        return self.keep - (1 - self.keep) * self.width / (self.outputs - self.width)

    def distribution(self, start: int) -> dict[int, Fraction]:
        """List the probability of every number."""
        span = range(start, start + self.width)
        return {j: self.near if j in span else self.far for j in range(self.outputs)}

    def respond(self, starts: npt.NDArray[np.int64], dtype: str) -> npt.NDArray[Any]:
        """Draw a report for every start."""
        out = np.empty(starts.size, dtype=dtype)
        limit, source = np.uint64(coins.threshold(self.keep)), stream()
        width = np.uint64(self.width)
        for first in range(0, starts.size, _BLOCK):
            start = starts[first : first + _BLOCK].astype(np.uint64)
            coin, rest = coins.split(source.uint64(start.size))
            near = start + coins.below(self.width, rest, source=source)
            far = coins.below(self.outputs - self.width, rest, source=source)
            far += width * (far >= start)
            out[first : first + start.size] = np.where(coin < limit, near, far)
        return out

    def variance_at(self, start: float) -> float:
        """Give the variance of a report whose start is rounded at random to a whole number."""
        low = int(np.floor(start))
        share = start - low
        squares = (1 - share) * self._mean_square(low)
        if share:
            squares += share * self._mean_square(low + 1)
        centre = (self.outputs - 1) / 2
        mean = centre + float(self.lever) * (start - (self.outputs - self.width) / 2)
        return squares - (mean - centre) ** 2

    def _mean_square(self, start: int) -> float:
        """Give the mean squared distance of a report from the centre."""
        centre = Fraction(self.outputs - 1, 2)
        near = _squares(start, self.width, centre)
        far = _squares(0, self.outputs, centre) - near
        return float(self.near * near + self.far * far)


def _squares(first: int, count: int, centre: Fraction) -> Fraction:
    """Give Σ (j − centre)² over ``count`` whole numbers from ``first`` on."""
    middle = first + Fraction(count - 1, 2)
    return count * (middle - centre) ** 2 + Fraction(count * (count * count - 1), 12)
