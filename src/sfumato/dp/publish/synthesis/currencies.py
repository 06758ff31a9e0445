"""What noise costs: two currencies in which a synthesis can be paid.

Contract: a currency turns an exact price into noise that costs exactly this price, for tables
of whole numbers and for a choice by scores of whole numbers. One unit owns at most ``rows`` rows.

Sensitivities. A table sorts rows into cells, one cell per row. Adding or removing a unit
changes it by a vector of whole numbers of one sign whose absolute sum is at most m = ``rows``; all
m may be in one cell, so Δ₁ = Δ₂ = m, and no more, since ‖·‖₂ ≤ ‖·‖₁. Replacing a unit is one
removal and one addition: Δ₁ = 2m, and Δ₂² ≤ 2m²: of u ≥ 0 added and v ≥ 0 removed, ‖u − v‖₂² ≤
‖u‖₂² + ‖v‖₂². Merging cells is a sum of coordinates, which increases neither bound.

*Concentrated*: discrete Gaussian noise of variance Δ₂²/(2ρ) is ρ-zCDP (Canonne, Kamath and Steinke
2020, Theorem 14 in the multivariate form). A choice with weights exp(ε₀·q/(2Δ)), where every q
moves by at most Δ, has its log-probabilities move within a range of ε₀, hence is ε₀²/8-zCDP (Dong,
Durfee and Rogers, "Optimal differential privacy composition for exponential mechanisms", 2020;
Cesar and Rogers 2021). ε₀ = √(8ρ) is rounded down to a rational, and what this leaves of ρ is
spent on the table that follows, so that a round costs what it is said to cost, to the last digit.

*Pure*: discrete Laplace noise of scale Δ₁/ε is ε-DP, the same choice with ε₀ = ε is ε-DP; prices
add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.dp.noise import discrete_gaussian, discrete_laplace
from sfumato.dp.noise.choice import Choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROOT_BITS = 30


@dataclass(frozen=True)
class Contribution:
    """How much one privacy unit can change: at most ``rows`` rows, added, removed or replaced."""

    rows: int = 1
    replaced: bool = False

    @property
    def l1(self) -> int:
        """Δ₁ of every table, and Δ of every ‖·‖₁ distance to a table."""
        return 2 * self.rows if self.replaced else self.rows

    @property
    def l2_squared(self) -> int:
        """Δ₂² of every table."""
        return 2 * self.rows**2 if self.replaced else self.rows**2


class Currency(Protocol):
    """Prices, and the noise they buy."""

    @property
    def unit(self) -> Contribution:
        """How much one privacy unit can change."""

    @property
    def name(self) -> str:
        """The letter of a price."""

    def price_of_choice(self, wanted: Fraction) -> Fraction:
        """Give the largest price of a choice, at most ``wanted``, that can be paid exactly."""

    def choose(self, scores: NDArray[np.int64], scale: int, price: Fraction) -> int:
        """Choose among scores that move by at most ``scale``·Δ₁ for this price."""

    def variance(self, price: Fraction) -> Fraction:
        """Give the variance of each number of a table at this price."""

    def mean_error(self, price: Fraction) -> float:
        """Give how far noise moves each number of a table at this price, on average."""

    def noise(self, size: int, price: Fraction) -> NDArray[Any]:
        """Draw the noise of a table."""


@dataclass(frozen=True)
class ConcentratedCurrency:
    """zCDP: prices are ρ, noise is discrete Gaussian."""

    unit: Contribution
    name: str = "ρ"

    def price_of_choice(self, wanted: Fraction) -> Fraction:
        """ε₀²/8 for the rational ε₀ next below √(8·wanted)."""
        return _root_down(8 * wanted) ** 2 / 8

    def choose(self, scores: NDArray[np.int64], scale: int, price: Fraction) -> int:
        """Choose by the exponential mechanism with ε₀ = √(8·price), which is rational."""
        epsilon = _root_down(8 * price)
        assert epsilon**2 == 8 * price
        return int(Choice(scores, epsilon / (2 * scale * self.unit.l1)).draw(1)[0])

    def variance(self, price: Fraction) -> Fraction:
        """Δ₂²/(2ρ)."""
        return self.unit.l2_squared / (2 * price)

    def mean_error(self, price: Fraction) -> float:
        """√(2/π)·σ."""
        return math.sqrt(2 / math.pi * float(self.variance(price)))

    def noise(self, size: int, price: Fraction) -> NDArray[Any]:
        """Draw discrete Gaussian noise."""
        return discrete_gaussian(self.variance(price), size)


@dataclass(frozen=True)
class Pure:
    """Pure differential privacy: prices are ε, noise is discrete Laplace."""

    unit: Contribution
    name: str = "ε"

    def price_of_choice(self, wanted: Fraction) -> Fraction:
        """Any price can be paid."""
        return wanted

    def choose(self, scores: NDArray[np.int64], scale: int, price: Fraction) -> int:
        """Choose by the exponential mechanism."""
        return int(Choice(scores, price / (2 * scale * self.unit.l1)).draw(1)[0])

    def variance(self, price: Fraction) -> Fraction:
        """2b² for b = Δ₁/ε, rounded up; the discrete law has a little less."""
        return 2 * (self.unit.l1 / price) ** 2

    def mean_error(self, price: Fraction) -> float:
        """Δ₁/ε, the scale."""
        return float(self.unit.l1 / price)

    def noise(self, size: int, price: Fraction) -> NDArray[Any]:
        """Draw discrete Laplace noise."""
        return discrete_laplace(self.unit.l1 / price, size)


def _root_down(value: Fraction) -> Fraction:
    """Give the square root, or the rational of about 30 significant bits next below it."""
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    shift = max(
        0, _ROOT_BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    )
    return Fraction(math.isqrt(math.floor(value * 4**shift)), 2**shift)
