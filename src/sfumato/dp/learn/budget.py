"""What a fit may spend, and the noise that its parts get of it.

Contract: a :class:`Budget` holds (ε, δ) and the neighbours. ``variance(l2², share)`` is the
variance, rational and rounded up, of Gaussian noise for whole numbers that one row moves by at
most √l2², so that all parts whose shares add up to 1 keep (ε, δ) together.

Proof. With σ₁ = σ(ε, δ) of the analytic Gaussian mechanism for sensitivity 1 (Balle and Wang 2018),
μ = 1/σ₁ is the largest Gaussian trade-off that implies (ε, δ). A unit owns at most k rows, so it
moves a sum over rows by at most k·√l2² when added or removed, and by 2k·√l2² when replaced (the
triangle inequality). Noise of variance (k·√l2²)²·σ₁²/share is √share·μ-GDP, and adaptive
composition adds squares: Σ share·μ² = μ² (Dong, Roth and Su 2022, corollary 3.3). The totals are
whole numbers, so rounded noise equals a rounded sum: post-processing of the continuous mechanism.

Pure ε (δ = 0): discrete Laplace noise of scale l1/(ε·share) for totals that one row moves by at
most l1 in L1; ε is additive.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import ApproxDP, Guarantee, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.normal import gaussian_sigma_up
from sfumato.dp.rounding import Stated, float_up, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Budget:
    """(ε, δ) for neighbours, divided among the parts of a fit."""

    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    @classmethod
    def of(
        cls,
        epsilon: Stated,
        delta: Stated | None,
        neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
        *,
        pure: bool = False,
    ) -> Budget:
        """Read parameters; ``pure`` tells that δ = 0 is possible."""
        exact = parameters.budget(epsilon)
        if pure and not delta:
            return cls(exact, Fraction(0), Neighbours.of(neighbours))
        if not delta:
            raise ParameterError(
                "This model is learnt with Gaussian noise, which needs delta=, such as 1e-6 and "
                "well below one over the number of rows; with ε alone there is NaiveBayes."
            )
        return cls(exact, parameters.failure(delta), Neighbours.of(neighbours))

    @property
    def guarantee(self) -> Guarantee:
        """What the whole fit promises."""
        if not self.delta:
            return PureDP(stated_up(self.epsilon), neighbours=self.neighbours)
        return ApproxDP(stated_up(self.epsilon), stated_up(self.delta), neighbours=self.neighbours)

    @property
    def rows(self) -> int:
        """By how many rows neighbours differ, counting a replaced row twice."""
        return parameters.rows_per_unit(self.neighbours) * (1 + self.neighbours.bounded)

    def variance(self, l2_squared: Fraction | int, share: Fraction | int = 1) -> Fraction:
        """Give the variance of Gaussian noise for totals that a row moves by √l2² at most."""
        sigma = Fraction(_sigma(self.epsilon, self.delta))
        exact = self.rows**2 * Fraction(l2_squared) * sigma**2 / share
        return Fraction(float_up(exact))  # short numbers are quicker to draw with

    def gaussian(
        self, totals: NDArray[np.int64], l2_squared: Fraction | int, share: Fraction | int = 1
    ) -> NDArray[Any]:
        """Add rounded Gaussian noise to whole totals."""
        noise = rounded_gaussian(self.variance(l2_squared, share), totals.size)
        noisy: NDArray[Any] = totals + noise.reshape(totals.shape)
        return noisy

    def laplace(
        self, totals: NDArray[np.int64], l1: int, share: Fraction | int = 1
    ) -> NDArray[Any]:
        """Add discrete Laplace noise to whole totals."""
        noise = discrete_laplace(self.scale(l1, share), totals.size)
        noisy: NDArray[Any] = totals + noise.reshape(totals.shape)
        return noisy

    def scale(self, l1: int, share: Fraction | int = 1) -> Fraction:
        """Give the scale of Laplace noise for totals that a row moves by l1 at most."""
        return self.rows * Fraction(l1) / (self.epsilon * share)


@lru_cache(maxsize=256)
def _sigma(epsilon: Fraction, delta: Fraction) -> float:
    return gaussian_sigma_up(epsilon, delta)
