"""The inverse of accounting: the least noise for a promise, the least ε for an error.

Contract: ``calibrate`` takes a query or accounting steps, and either a guarantee or a wanted
expected error. What it returns was checked by the forward calculation, so a search that stops early
costs accuracy and never privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.dp.accounting.accountants import PROVED, Account, account
from sfumato.dp.accounting.steps import Step
from sfumato.dp.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.normal import gaussian_epsilon_up, gaussian_sigma_up
from sfumato.dp.queries.base import Query, Sensitivity, sensitivity
from sfumato.dp.rounding import Stated, div_up, mul_up, sqrt_up, stated, stated_up
from sfumato.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEAN = math.sqrt(2 / math.pi)
_PRECISION = 1e-3


@dataclass(frozen=True)
class Calibration:
    """What noise to add, what it promises, and what error to expect."""

    mechanism: str
    scale: float
    guarantee: Guarantee
    error: float
    accountant: str = ""  # empty when one theorem decides

    @property
    def proved(self) -> bool:
        """Whether the guarantee rests on theorems and directed rounding alone."""
        return self.accountant in {"", *PROVED}

    def __str__(self) -> str:
        by = f" (by {self.accountant}{'' if self.proved else ', numerical'})"
        return (
            f"{self.mechanism} noise of scale {self.scale:.6g}: expected error {self.error:.4g}, "
            f"{self.guarantee}{by if self.accountant else ''}"
        )


def calibrate(
    what: Query | Sensitivity | Step | Sequence[Step],
    *,
    guarantee: Guarantee | None = None,
    error: Stated | None = None,
    delta: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
    accountant: str | None = None,
) -> Calibration:
    """Find the least noise that keeps a guarantee, or the least ε that reaches an expected error.

    For a query give ``guarantee`` or ``error`` (Laplace noise; Gaussian with ``delta``). For
    accounting steps give an (ε, δ) ``guarantee``: the multipliers are scaled together, and
    ``scale`` is the multiplier of the first step.
    """
    if (guarantee is None) == (error is None):
        raise ParameterError("Give either the guarantee to keep or the error to reach.")
    if not isinstance(what, (Query, Sensitivity)):
        steps = [what] if isinstance(what, Step) else list(what)
        if not isinstance(guarantee, ApproxDP):
            raise ParameterError("Accounting steps are calibrated to a guarantee ApproxDP(ε, δ).")
        if guarantee.epsilon <= 0:
            raise ParameterError("No noise reaches ε = 0; give a guarantee with ε above 0.")
        return _steps(steps, guarantee, accountant)
    if guarantee is not None:
        return _noise_for(_finite(what, guarantee.neighbours), guarantee)
    assert error is not None
    return _promise_for(_finite(what, Neighbours.of(neighbours)), stated(error), delta)


def _noise_for(size: Sensitivity, guarantee: Guarantee) -> Calibration:
    if isinstance(guarantee, PureDP):
        scale = div_up(Fraction(size.l1), guarantee.exact_epsilon)
        return Calibration("laplace", scale, guarantee, scale)
    if isinstance(guarantee, ApproxDP):
        sigma = gaussian_sigma_up(guarantee.exact_epsilon, guarantee.exact_delta, size.l2)
    elif isinstance(guarantee, ZCDP):
        sigma = mul_up(size.l2, sqrt_up(1 / (2 * guarantee.exact_rho)))
    elif isinstance(guarantee, GDP):
        sigma = div_up(size.l2, guarantee.exact_mu)
    else:
        raise ParameterError(f"Noise is not calibrated to {guarantee.kind}.")
    return Calibration("gaussian", sigma, guarantee, _MEAN * sigma)


def _promise_for(size: Sensitivity, error: Fraction, delta: Stated | None) -> Calibration:
    if error <= 0:
        raise ParameterError(f"A wanted error is above 0, and {float(error):g} was given.")
    if delta is None:
        scale = float(error)
        pure = PureDP(stated_up(Fraction(size.l1) / Fraction(scale)), neighbours=size.neighbours)
        return Calibration("laplace", scale, pure, scale)
    sigma = float(error) / _MEAN
    epsilon = gaussian_epsilon_up(Fraction(size.l2) / Fraction(sigma), stated(delta))
    promise = ApproxDP(
        stated_up(Fraction(epsilon)), stated_up(stated(delta)), neighbours=size.neighbours
    )
    return Calibration("gaussian", sigma, promise, float(error))


def _steps(steps: list[Step], guarantee: ApproxDP, accountant: str | None) -> Calibration:
    names = [accountant] if accountant else _applicable(steps, guarantee)

    def total(factor: float) -> Account:
        scaled = [step.scaled(factor) for step in steps]
        return account(
            scaled, delta=guarantee.delta, neighbours=guarantee.neighbours, accountants=names
        )

    def epsilon(factor: float) -> float:
        return total(factor).epsilon

    low, high = 1.0, 1.0
    while epsilon(high) > guarantee.epsilon:
        low, high = high, 2 * high
    while low == high and high > 2.0**-30:
        half = high / 2
        if epsilon(half) > guarantee.epsilon:
            low = half
        else:
            low = high = half
    while high > low * (1 + _PRECISION):
        middle = math.sqrt(low * high)
        if epsilon(middle) <= guarantee.epsilon:
            high = middle
        else:
            low = middle
    first = steps[0].scaled(high)
    kept = total(high)
    mean = _MEAN if first.is_gaussian else 1.0
    return Calibration(
        first.noise, first.multiplier, kept.guarantee, mean * first.multiplier, kept.best
    )


def _applicable(steps: list[Step], guarantee: ApproxDP) -> list[str]:
    """Choose the tightest accountant that applies: proved ones when nothing is sampled."""
    if any(step.rate < 1 for step in steps):
        try:
            account(steps, delta=guarantee.delta, accountants=["pld"])
        except MissingExtra:
            return ["advanced"]
        return ["pld"]
    usable = []
    for name in PROVED:
        try:
            account(steps, delta=guarantee.delta, accountants=[name])
        except ParameterError:
            continue
        usable.append(name)
    return ["gdp"] if "gdp" in usable else usable  # where gdp applies it is exact


def _finite(what: Query | Sensitivity, neighbours: Neighbours) -> Sensitivity:
    size = sensitivity(what, neighbours) if isinstance(what, Query) else what
    if size.neighbours != neighbours:
        raise ParameterError(
            f"The sensitivity is for {size.neighbours}, and the guarantee for {neighbours}."
        )
    if size.mechanism != "noise" or size.l1 <= 0:
        raise ParameterError(f"Noise cannot be calibrated here: {size.why}. {size.advice}")
    return size
