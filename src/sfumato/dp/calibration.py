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
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.normal import gaussian_epsilon_up, gaussian_sigma_up
from sfumato.dp.queries.base import Query, Sensitivity, sensitivity
from sfumato.dp.rounding import Stated, div_up, float_up, mul_up, sqrt_up, stated_up
from sfumato.errors import MissingExtra, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MEAN = math.sqrt(2 / math.pi)
_PRECISION = 1e-3
_MOST_FACTOR = 2.0**60


@dataclass(frozen=True)
class Calibration(Shown):
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

    For a query give ``guarantee`` or ``error`` (Laplace noise; Gaussian with ``delta``, which no
    Gaussian noise brings to 0: a guarantee with δ = 0 gets Laplace noise). For accounting steps
    give an (ε, δ) or pure ``guarantee``: the multipliers are scaled together, and ``scale`` is the
    multiplier of the first step. A pure one is for Laplace steps, whose ε add up.
    """
    if (guarantee is None) == (error is None):
        raise ParameterError("Give either the guarantee to keep or the error to reach.")
    if guarantee is not None and not isinstance(guarantee, Guarantee):
        raise ParameterError(
            f"guarantee= is a promise such as PureDP(1) or ApproxDP(1, 1e-6), and a "
            f"{type(guarantee).__name__} was given."
        )
    if not isinstance(what, (Query, Sensitivity)):
        steps = _listed(what)
        if not isinstance(guarantee, (ApproxDP, PureDP)):
            raise ParameterError(
                "Accounting steps are calibrated to a guarantee ApproxDP(ε, δ) or PureDP(ε)."
            )
        if guarantee.epsilon <= 0:
            raise ParameterError("No noise reaches ε = 0; give a guarantee with ε above 0.")
        if isinstance(guarantee, PureDP):
            return _pure_steps(steps, guarantee, accountant)
        return _steps(steps, guarantee, accountant)
    if guarantee is not None:
        return _noise_for(_finite(what, guarantee.neighbours), guarantee)
    assert error is not None
    return _promise_for(_finite(what, Neighbours.of(neighbours)), error, delta)


def _noise_for(size: Sensitivity, guarantee: Guarantee) -> Calibration:
    if isinstance(guarantee, PureDP) or (isinstance(guarantee, ApproxDP) and not guarantee.delta):
        if guarantee.epsilon <= 0:
            raise ParameterError(f"No noise reaches ε = 0; give a larger ε.{_NOTHING}")
        scale = _held(div_up(_norm(size.l1, size), guarantee.exact_epsilon))
        return Calibration("laplace", scale, guarantee, scale)
    if isinstance(guarantee, ApproxDP):
        sigma = gaussian_sigma_up(guarantee.exact_epsilon, guarantee.exact_delta, _l2(size))
    elif isinstance(guarantee, ZCDP):
        if guarantee.rho <= 0:
            raise ParameterError(f"No noise reaches ρ = 0; give a larger ρ.{_NOTHING}")
        sigma = mul_up(_l2(size), sqrt_up(1 / (2 * guarantee.exact_rho)))
    elif isinstance(guarantee, GDP):
        if guarantee.mu <= 0:
            raise ParameterError(f"No noise reaches μ = 0; give a larger μ.{_NOTHING}")
        sigma = div_up(_l2(size), guarantee.exact_mu)
    else:
        raise ParameterError(
            f"Noise is not calibrated to {guarantee.kind}; use PureDP, ApproxDP, ZCDP or GDP."
        )
    return Calibration("gaussian", _held(sigma), guarantee, _MEAN * sigma)


_NOTHING = " For no loss of privacy at all release nothing, or a constant."


def _promise_for(size: Sensitivity, error: Stated, delta: Stated | None) -> Calibration:
    exact = parameters.positive(error, "A wanted error")
    wanted = _held(float(exact) if float_up(exact) < math.inf else math.inf)
    if delta is None:
        epsilon = stated_up(_norm(size.l1, size) / Fraction(wanted))
        pure = PureDP(_held(epsilon), neighbours=size.neighbours)
        return Calibration("laplace", wanted, pure, wanted)
    failure = parameters.failure(delta)
    sigma = _held(wanted / _MEAN)
    promise = ApproxDP(
        stated_up(Fraction(gaussian_epsilon_up(_l2(size) / Fraction(sigma), failure))),
        stated_up(failure),
        neighbours=size.neighbours,
    )
    return Calibration("gaussian", sigma, promise, wanted)


def _norm(bound: float, size: Sensitivity) -> Fraction:
    if not math.isfinite(bound):
        raise ParameterError(f"Noise cannot be calibrated here: {size.why}. {size.advice}".strip())
    return Fraction(bound)


def _l2(size: Sensitivity) -> Fraction:
    return _norm(size.l2, size)


def _held(number: float) -> float:
    if not 0 < number < math.inf:
        raise ParameterError(
            "The noise or the ε that this needs is beyond what a float holds; state less extreme "
            "parameters."
        )
    return number


def _listed(what: object) -> list[Step]:
    steps = [what] if isinstance(what, Step) else what
    if not isinstance(steps, (list, tuple)) or not all(isinstance(step, Step) for step in steps):
        raise ParameterError(
            "Noise is calibrated for a query such as Count(), its sensitivity(…), or a list of "
            f"accounting steps such as Step.gaussian(1), and a {type(what).__name__} was given."
        )
    return list(steps)


def _steps(steps: list[Step], guarantee: ApproxDP, accountant: str | None) -> Calibration:
    names = [accountant] if accountant else _applicable(steps, guarantee)

    def total(factor: float) -> Account:
        scaled = [step.scaled(factor) for step in steps]
        return account(
            scaled, delta=guarantee.delta, neighbours=guarantee.neighbours, accountants=names
        )

    def epsilon(factor: float) -> float:
        return total(factor).epsilon

    high = _least_factor(epsilon, guarantee.epsilon)
    first = steps[0].scaled(high)
    kept = total(high)
    mean = _MEAN if first.is_gaussian else 1.0
    return Calibration(
        first.noise, first.multiplier, kept.guarantee, mean * first.multiplier, kept.best
    )


def _pure_steps(steps: list[Step], guarantee: PureDP, accountant: str | None) -> Calibration:
    """Scale steps whose every run is pure by itself; by the basic theorem their ε add up."""
    if accountant not in {None, "basic"}:
        raise ParameterError("A pure guarantee is accounted for by basic composition alone.")
    if any(step.is_gaussian or step.delta for step in steps):
        raise ParameterError(
            "No Gaussian noise, and no step with a δ of its own, keeps a pure guarantee; use "
            "Laplace steps, or a guarantee ApproxDP(ε, δ)."
        )

    # Refuses neighbours under which such steps cannot be accounted for; the δ plays no part.
    account(steps, delta=0.5, neighbours=guarantee.neighbours, accountants=["basic"])

    def total(factor: float) -> Fraction:
        scaled = [step.scaled(factor) for step in steps]
        return sum(
            (step.approximately(Fraction(0)).exact_epsilon * step.times for step in scaled),
            Fraction(0),
        )

    factor = _least_factor(lambda f: stated_up(total(f)), guarantee.epsilon)
    first = steps[0].scaled(factor)
    kept = PureDP(stated_up(total(factor)), neighbours=guarantee.neighbours)
    return Calibration(first.noise, first.multiplier, kept, first.multiplier, "basic")


def _least_factor(epsilon: Callable[[float], float], limit: float) -> float:
    """Give a factor on the noise that keeps ε within the limit, the least to a thousandth."""
    low, high = 1.0, 1.0
    while epsilon(high) > limit:
        low, high = high, 2 * high
        if high > _MOST_FACTOR:
            raise ParameterError(
                "No noise up to 2⁶⁰ times as large keeps this guarantee; give a larger ε or δ."
            )
    while low == high and high > 2.0**-30:
        half = high / 2
        if epsilon(half) > limit:
            low = half
        else:
            low = high = half
    while high > low * (1 + _PRECISION):
        middle = math.sqrt(low * high)
        if epsilon(middle) <= limit:
            high = middle
        else:
            low = middle
    return high


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
