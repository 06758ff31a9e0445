"""The Gaussian mechanism for real numbers, and the discrete Gaussian for whole numbers.

Promise: (ε, δ)-differential privacy, or ρ-zero-concentrated differential privacy when ``rho`` is
given instead. Sensitivities are in L2.

Proof for :class:`Gaussian`. The values, rounded to a grid, are integers z with ‖z−z′‖₂ ≤ Δ for
neighbours (:meth:`Grid.l2`). A continuous N(0, σ²) variable added to each and rounded to the
nearest integer is post-processing of the continuous Gaussian mechanism; and since z is whole,
rounding the sum equals adding rounded noise, which is drawn exactly (:func:`rounded_gaussian`).
So all theorems on the continuous mechanism hold for what is released, in every dimension and with
no approximation: with μ = Δ/σ it is μ-GDP and μ²/2-zCDP, and it is (ε, δ)-DP iff Φ(μ/2 − ε/μ) −
e^ε·Φ(−μ/2 − ε/μ) ≤ δ (Balle and Wang 2018). ``method="analytic"`` solves that for the smallest σ,
rounded up; ``method="classic"`` takes σ = Δ·√(2·ln(1.25/δ))/ε (Dwork and Roth 2014, Theorem A.1),
which is proved for ε ≤ 1 only and refused beyond.

Proof for :class:`DiscreteGaussian`. Noise with Pr[n] ∝ exp(−n²/(2σ²)) on integers is
Δ²/(2σ²)-zCDP in every dimension (Canonne, Kamath and Steinke 2020, Theorem 14). An (ε, δ) is
met by the largest ρ whose conversion gives at most δ at ε.

Error. σ·√(2/π) expected; the tail is that of the normal law, plus one step for rounding
(Canonne, Kamath and Steinke 2020, Proposition 25, for the discrete law).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from sfumato.dp.accounting.conversions import delta_at
from sfumato.dp.guarantees import GDP, ZCDP, ApproxDP, Guarantee
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.additive import WHOLE, Additive
from sfumato.dp.mechanisms.base import Error, smallest
from sfumato.dp.mechanisms.grid import Grid
from sfumato.dp.noise.gaussian import discrete_gaussian, rounded_gaussian
from sfumato.dp.normal import gaussian_epsilon_up, gaussian_sigma_up
from sfumato.dp.rounding import Stated, log_up, sqrt_up, stated, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

Method = Literal["analytic", "classic"]

_UP = 1 + 1e-12
_OUT_OF_REACH = (
    "The noise for this ε and δ (epsilon, delta) is beyond floating-point numbers; use an ε "
    "between 1e-100 and 1e9, and a δ above 1e-300."
)
_SUMMED = 100  # up to this σ the mean of the discrete law is summed


@dataclass(frozen=True, kw_only=True)
class Gaussian(Additive):
    """(ε, δ)-DP noise for real numbers on a fine binary grid, Δ in L2."""

    epsilon: Stated | None = None  # type: ignore[assignment]  # absent when rho is given
    delta: Stated | None = None
    rho: Stated | None = None
    method: Method = "analytic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in {"analytic", "classic"}:
            raise ParameterError(
                f"The method is 'analytic' or 'classic', and {self.method!r} was given."
            )
        parameters.exactly_one((self.epsilon, self.rho), "epsilon= (with delta=) and rho=")
        _ = self.variance  # every refusal happens here, before there is anything to release

    @property
    def variance(self) -> Fraction:
        """σ² for sensitivity 1: rational, rounded up."""
        if self.rho is not None:
            return 1 / (2 * parameters.positive(self.rho, "ρ (rho)"))
        return self.calibrated(*self._stated())

    def _stated(self) -> tuple[Fraction, Fraction]:
        if self.epsilon is None or self.delta is None:
            raise ParameterError(
                "Gaussian noise needs delta= beside epsilon=; use Laplace or Geometric for δ = 0."
            )
        return parameters.budget(self.epsilon), parameters.failure(self.delta)

    def calibrated(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Give σ² for sensitivity 1 that meets (ε, δ)."""
        if self.method == "classic":
            return Fraction(_classic(epsilon, delta)) ** 2
        return Fraction(_analytic(epsilon, delta)) ** 2

    @property
    def guarantee(self) -> Guarantee:
        """(ε, δ)-differential privacy, or ρ-zCDP when ρ was given."""
        if self.rho is not None:
            rho = parameters.positive(self.rho, "ρ (rho)")
            return ZCDP(stated_up(rho), neighbours=self.neighbours)
        epsilon, delta = self._stated()
        return ApproxDP(stated_up(epsilon), stated_up(delta), neighbours=self.neighbours)

    @property
    def gdp(self) -> GDP:
        """The same promise as a trade-off curve, which composes without loss."""
        mu = sqrt_up(1 / self.variance)
        return GDP(stated_up(Fraction(mu)), neighbours=self.neighbours)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise, in the units of the values."""
        size = self.size or 1
        return sqrt_up(self.steps_squared(size)) * float(self.grid_for(size).step)

    def grid_for(self, size: int) -> Grid:
        """Choose a grid 2⁻²⁰ times the sensitivity and σ, or finer for vectors."""
        sensitivity = parameters.bound(self.sensitivity)
        sigma = sensitivity * Fraction(sqrt_up(self.variance))
        return Grid.fine(sensitivity=sensitivity, scale=sigma, size=size)

    def steps_squared(self, size: int) -> Fraction:
        """Give the variance of the noise, in steps of the grid."""
        moved = self.grid_for(size).l2(parameters.bound(self.sensitivity), size)
        return moved**2 * self.variance

    def noise(self, size: int, count: int) -> npt.NDArray[Any]:
        """Draw rounded Gaussian noise."""
        return rounded_gaussian(self.steps_squared(size), size * count)

    def at(self, epsilon: Stated) -> Self:
        """Give the same mechanism with another ε, and the same δ."""
        return replace(self, epsilon=epsilon, rho=None)

    def epsilon_for(
        self, *, expected: float | None = None, tail: float | None = None, beta: float = 0.05
    ) -> float:
        """Find the ε, at this mechanism's δ, with which the error is as small as wanted.

        The error is a function of σ alone, so σ is found first, without calibrating anew at
        every step, and then turned into ε; one part in 10⁹ is added for rounding.
        """
        parameters.exactly_one((expected, tail), "expected= and tail=")
        wanted = float(parameters.positive(expected or tail or 0, "The wanted error"))
        delta = parameters.failure(self.delta if self.delta is not None else 0)

        def good(precision: float) -> bool:
            error = replace(self, epsilon=None, delta=None, rho=precision, method="analytic").error
            return (error.expected if tail is None else error.tail(beta)) <= wanted

        return self.epsilon_at(smallest(good, f"an error of {wanted:.4g}"), delta) * (1 + 1e-9)

    def epsilon_at(self, rho: float, delta: Fraction) -> float:
        """Give the ε at δ of noise with σ² = 1/(2ρ) per unit of sensitivity."""
        return gaussian_epsilon_up(sqrt_up(2 * Fraction(rho)), delta)

    @property
    def error(self) -> Error:
        """The absolute error of the values released."""
        size = self.size or 1
        step = float(self.grid_for(size).step)
        sigma = sqrt_up(self.steps_squared(size))

        def beyond(beta: float) -> float:
            # One step covers the rounding of the value and of the noise.
            return (-NormalDist().inv_cdf(beta / 2) * sigma + 1) * step * _UP

        return Error("absolute error", self.mean_steps(sigma) * step * _UP, size, beyond)

    def mean_steps(self, sigma: float) -> float:
        """Bound the mean absolute error, in steps."""
        return sigma * math.sqrt(2 / math.pi) + 1


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Gaussian):
    """ρ-zCDP or (ε, δ)-DP noise for whole numbers: Pr[n] ∝ exp(−n²/(2σ²)), Δ in L2."""

    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method != "analytic":
            raise ParameterError(
                "The discrete Gaussian has one calibration, through zCDP; leave method= out."
            )

    def calibrated(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Give σ² for sensitivity 1 by way of zCDP."""
        # The decimal reading is the one that was tested, and the smaller of both is safe.
        rho = _concentrated(epsilon, delta)
        return 1 / (2 * min(stated(rho), Fraction(rho)))

    @property
    def gdp(self) -> GDP:
        """Refuse: the discrete Gaussian has no known exact trade-off curve."""
        raise ParameterError(
            "The discrete Gaussian is zCDP and not exactly GDP; use Gaussian for a GDP guarantee."
        )

    @property
    def zcdp(self) -> ZCDP:
        """The promise that composes without loss."""
        return ZCDP(stated_up(1 / (2 * self.variance)), neighbours=self.neighbours)

    def grid_for(self, size: int) -> Grid:  # noqa: ARG002 - whole numbers have one grid
        """Give the grid of whole numbers."""
        return WHOLE

    def steps_squared(self, size: int) -> Fraction:  # noqa: ARG002 - no rounding, no dimension
        """Give the parameter σ² of the noise."""
        return parameters.bound_up(self.sensitivity) ** 2 * self.variance

    def epsilon_at(self, rho: float, delta: Fraction) -> float:
        """Give the ε at δ of ρ-zCDP."""
        return ZCDP(stated_up(Fraction(rho))).to(ApproxDP, delta=delta).epsilon

    def mean_steps(self, sigma: float) -> float:
        """Give the mean absolute value of the noise; 40σ hold all of it that a float shows."""
        if sigma > _SUMMED:
            return sigma * math.sqrt(2 / math.pi) + 1 / sigma
        weights = [math.exp(-((n / sigma) ** 2) / 2) for n in range(1, 2 + int(40 * sigma))]
        total = sum(n * weight for n, weight in enumerate(weights, start=1))
        return 2 * total / (1 + 2 * sum(weights))

    def noise(self, size: int, count: int) -> npt.NDArray[Any]:
        """Draw discrete Gaussian noise."""
        return discrete_gaussian(self.steps_squared(size), size * count)


@lru_cache(maxsize=256)
def _analytic(epsilon: Fraction, delta: Fraction) -> float:
    try:
        return gaussian_sigma_up(epsilon, delta)
    except ArithmeticError:
        raise ParameterError(_OUT_OF_REACH) from None


def _classic(epsilon: Fraction, delta: Fraction) -> float:
    if epsilon > 1:
        raise ParameterError(
            f"The classic σ = Δ·√(2·ln(1.25/δ))/ε is proved for ε ≤ 1 only, and ε = "
            f"{float(epsilon):g} was given; use method='analytic', which is valid for every ε and "
            "adds less noise."
        )
    root = Fraction(sqrt_up(2 * Fraction(log_up(Fraction(5, 4) / delta))))
    return math.nextafter(float(root / epsilon), math.inf)


@lru_cache(maxsize=256)
def _concentrated(epsilon: Fraction, delta: Fraction) -> float:
    """Find the largest ρ, up to one part in 10⁹, for which ρ-zCDP implies (ε, δ)-DP."""

    def good(rho: float) -> bool:
        try:
            return delta_at(ZCDP(rho), epsilon) <= delta
        except ArithmeticError:
            raise ParameterError(_OUT_OF_REACH) from None

    high = 1.0
    while good(high):
        high *= 2
    low = high / 2
    while not good(low):
        low, high = low / 2, low
    while high > low * (1 + 1e-9):
        middle = (low + high) / 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low
