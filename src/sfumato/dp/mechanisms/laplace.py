"""The Laplace mechanism for real numbers and the geometric mechanism for whole numbers.

Promise: ε-differential privacy (Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and
Sundararajan 2009 for the discrete law).

Proof. Both add discrete Laplace noise with Pr[n] ∝ exp(−|n|/t) to integers z: the geometric
mechanism to the values themselves, the Laplace mechanism to their multiples on a grid. For
neighbours with integers z and z′ and any output vector o, the product of the ratios is
exp(Σ(|o_i−z′_i| − |o_i−z_i|)/t) ≤ exp(‖z−z′‖₁/t) by the triangle inequality. With t = ‖z−z′‖₁/ε at
most, that is e^ε. For the geometric mechanism ‖z−z′‖₁ ≤ Δ, so t = Δ/ε; for the Laplace mechanism
‖z−z′‖₁ ≤ :meth:`Grid.l1`, which counts the rounding. t is an exact rational and the noise follows
its law exactly, so ε is not approximate. Multiplying by the step is post-processing.

Error. For q = exp(−1/t): E|n| = 2q/(1−q²) ≤ t and Pr[|n| > m] = 2·q^(m+1)/(1+q). On the fine grid
these are Δ/ε and exp(−m·ε/Δ) up to one part in a million: E‖error‖₁ = K·Δ/ε for K values, and
Pr[‖error‖∞ > (Δ/ε)·ln(K/β)] < β. Rounding to the grid adds at most half a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.dp.guarantees import PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.additive import WHOLE, Additive
from sfumato.dp.mechanisms.base import Error
from sfumato.dp.mechanisms.grid import Grid
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.rounding import stated_up

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

_UP = 1 + 1e-12  # statements of error are computed in floats and stay upper bounds


@dataclass(frozen=True, kw_only=True)
class Laplace(Additive):
    """ε-DP noise for real numbers: scale Δ/ε on a fine binary grid, Δ in L1."""

    @property
    def guarantee(self) -> PureDP:
        """ε-differential privacy, exactly."""
        return PureDP(stated_up(parameters.budget(self.epsilon)), neighbours=self.neighbours)

    @property
    def scale(self) -> float:
        """The scale of the noise, in the units of the values."""
        size = self.size or 1
        scale = self.steps(size) * self.grid_for(size).step
        return parameters.as_float(scale, "The scale of the noise")

    def grid_for(self, size: int) -> Grid:
        """Choose a grid 2⁻²⁰ times the sensitivity and the scale, or finer for vectors."""
        sensitivity = parameters.bound(self.sensitivity)
        scale = sensitivity / parameters.budget(self.epsilon)
        return Grid.fine(sensitivity=sensitivity, scale=scale, size=size)

    def steps(self, size: int) -> Fraction:
        """Give the scale t of the discrete noise, in steps of the grid."""
        moved = self.grid_for(size).l1(parameters.bound(self.sensitivity), size)
        return moved / parameters.budget(self.epsilon)

    def noise(self, size: int, count: int) -> npt.NDArray[Any]:
        """Draw discrete Laplace noise."""
        return discrete_laplace(self.steps(size), size * count)

    @property
    def error(self) -> Error:
        """The absolute error of the values released."""
        size = self.size or 1
        step = parameters.as_float(self.grid_for(size).step, "The step of the grid")
        return laplace_error(self.steps(size), step, 0.0 if self.whole else step / 2, size)


@dataclass(frozen=True, kw_only=True)
class Geometric(Laplace):
    """ε-DP noise for whole numbers: Pr[n] ∝ exp(−|n|·ε/Δ), Δ in L1."""

    whole: ClassVar[bool] = True

    def grid_for(self, size: int) -> Grid:  # noqa: ARG002 - whole numbers have one grid
        """Give the grid of whole numbers."""
        return WHOLE

    def steps(self, size: int) -> Fraction:  # noqa: ARG002 - whole numbers are not rounded
        """Give the scale t = Δ/ε."""
        return parameters.bound_up(self.sensitivity) / parameters.budget(self.epsilon)


def laplace_error(scale: Fraction, step: float, rounding: float, size: int) -> Error:
    """State the error of discrete Laplace noise of a scale given in steps."""
    t = parameters.as_float(scale, "The error of this mechanism")
    q = math.exp(-1 / t)
    mean = -2 * q / math.expm1(-2 / t)

    def beyond(beta: float) -> float:
        # the smallest m with 2·q^(m+1)/(1+q) < β
        most = t * (math.log(2 / (1 + q)) - math.log(beta))
        return max(0, math.floor(most * _UP)) * step + rounding

    return Error("absolute error", (mean * step + rounding) * _UP, size, beyond)
