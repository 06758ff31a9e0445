"""Noise for whole numbers, as a value: its law, its interval, and a draw.

Contract: a :class:`Noise` is chosen before data are seen and drawn once per released number.

* ``geometric``: discrete Laplace with scale t. Added to a vector of whole numbers whose L1
  sensitivity is Δ it is Δ/t-differentially private (Ghosh, Roughgarden and Sundararajan 2009).
* ``gaussian``: continuous N(0, v) rounded to whole numbers. Added to whole numbers it is the
  rounded continuous mechanism, so with L2 sensitivity Δ it is Δ/√v-GDP exactly (the proof stands
  in :mod:`sfumato.dp.mechanisms.gaussian`).

Both are drawn exactly, from integers (:mod:`sfumato.dp.noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.normal import normal_cdf_bounds

if TYPE_CHECKING:
    import numpy.typing as npt

_UP = 1 + 1e-12


@dataclass(frozen=True)
class Noise:
    """A law of whole-number noise: the scale of a geometric one, the variance of a Gaussian."""

    kind: Literal["geometric", "gaussian"]
    size: Fraction

    def draw(self, count: int) -> npt.NDArray[Any]:
        """Draw independent noise for ``count`` numbers."""
        if self.kind == "geometric":
            return discrete_laplace(self.size, count)
        return rounded_gaussian(self.size, count)

    @property
    def deviation(self) -> float:
        """The standard deviation, rounding to whole numbers apart."""
        if self.kind == "gaussian":
            return math.sqrt(self.size)
        falls = -1 / float(self.size)
        return math.sqrt(2 * math.exp(falls)) / -math.expm1(falls)

    def half_width(self, confidence: float) -> float:
        """Give h with Pr[|noise| ≤ h] ≥ confidence."""
        beta = 1 - confidence
        if self.kind == "gaussian":
            return NormalDist().inv_cdf(1 - beta / 2) * math.sqrt(self.size) * _UP + 0.5
        # Pr[|X| > h] = 2·q^(h+1)/(1 + q) for whole h, with q = exp(−1/t).
        t = float(self.size)
        decay = math.exp(-1 / t)
        return max(0.0, math.ceil(t * math.log(2 / (beta * (1 + decay))) * _UP - 1))

    def threshold(self, chance: Fraction) -> int:
        """Give the least found T ≥ 1 with Pr[1 + noise ≥ T] ≤ chance, by proved bounds."""
        exceed = self._exceeds if self.kind == "geometric" else self._gaussian_exceeds
        low, high = 1, 2
        while not exceed(high - 1, chance):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if exceed(middle - 1, chance):
                high = middle
            else:
                low = middle
        return high

    def _exceeds(self, reach: int, chance: Fraction) -> bool:
        """Tell whether Pr[noise ≥ reach] = q^reach/(1 + q) ≤ chance, for reach ≥ 1."""
        from sfumato.dp.rounding import exp_bounds  # noqa: PLC0415 - used by one method

        above = exp_bounds(-reach / self.size)[1]
        below = exp_bounds(-1 / self.size)[0]
        return Fraction(above) / (1 + Fraction(below)) <= chance

    def _gaussian_exceeds(self, reach: int, chance: Fraction) -> bool:
        """Tell whether Pr[noise ≥ reach] = 1 − Φ((reach − ½)/σ) ≤ chance."""
        from sfumato.dp.rounding import sqrt_up  # noqa: PLC0415 - used by one method

        far = (Fraction(reach) - Fraction(1, 2)) / Fraction(sqrt_up(self.size))
        return Fraction(normal_cdf_bounds(-far)[1]) <= chance


def geometric(sensitivity: float, epsilon: Fraction) -> Noise:
    """Give the noise that makes an L1 sensitivity ε-private."""
    return Noise("geometric", _coarse(Fraction(sensitivity) / epsilon))


def gaussian(sensitivity: float, mu_squared: Fraction) -> Noise:
    """Give the noise that makes an L2 sensitivity μ-GDP."""
    return Noise("gaussian", _coarse(Fraction(sensitivity) ** 2 / mu_squared))


def _coarse(size: Fraction) -> Fraction:
    """Round up to 24 binary digits: sampling tables of short numbers are built faster."""
    digits = size.numerator.bit_length() - size.denominator.bit_length() - 24
    unit = Fraction(2) ** digits
    return math.ceil(size / unit) * unit
