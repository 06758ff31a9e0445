"""The normal distribution, enclosed between bounds that are proved.

Contract: :func:`normal_cdf_bounds` gives two decimals with Φ(x) between them, equal in their
first 25 digits or more, in both tails. From it follow the tight conversions of Gaussian noise
(Balle and Wang, "Improving the Gaussian mechanism", ICML 2018): with μ = sensitivity / σ,

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε · Φ(−μ/2 − ε/μ),

decreasing in ε and increasing in μ. It is above 0 for every μ > 0 and every ε, because the loss
of a normal variable has no bound: Gaussian noise is never pure differential privacy.
``gaussian_delta_up`` rounds δ up, so to no less than the smallest float above 0; the two inverses
return a number for which the rounded-up δ was checked to be small enough, or refuse.

Why the bounds hold. Below 3, Φ(x) = 1/2 + φ(x)·Σ x^(2n+1)/(2n+1)!!, a series of positive terms
whose rest is below its first term times 1/(1 − x²/(2n+3)). From 3 on, the upper tail is
φ(x)/(x + 1/(x + 2/(x + …))), whose truncations lie above and below in turn (Abramowitz and
Stegun 26.2.14). Both use only sums, products and quotients of positive numbers, so at most
10⁵ operations with 60 digits lose less than one part in 10⁵⁰, which is added at the end. Where a
tail is too small for that precision it is enclosed between 0 and the smallest normal decimal.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.dp.rounding import (
    Real,
    decimal_bounds,
    decimal_down,
    decimal_up,
    exp_bounds,
    float_up,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 60
_SLACK = Decimal("1e-50")
_GAP = Decimal("1e-30")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781")
_CONTEXT = decimal.Context(
    prec=_DIGITS,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
_LEAST = Decimal((0, (1,), decimal.MIN_EMIN))  # below it decimals lose digits
_FAR = 3
_STEPS = 200
_NEAR = (2.0**-42, 2.0**-36, 2.0**-28)  # how far a guess in floats may be off
_TIGHT = 2.0**-41
_GREAT_EPSILON = 10**17  # e to a power ten times larger no longer is a decimal


def normal_cdf_bounds(x: Real) -> tuple[Decimal, Decimal]:
    """Enclose Φ(x), the probability that a standard normal variable is at most x."""
    low, high = decimal_bounds(x, 40)
    return _cdf(low)[0], _cdf(high)[1]


def normal_cdf_up(x: Real) -> float:
    """Give Φ(x), rounded up."""
    return min(1.0, decimal_up(normal_cdf_bounds(x)[1]))


def normal_cdf_down(x: Real) -> float:
    """Give Φ(x), rounded down."""
    return max(0.0, decimal_down(normal_cdf_bounds(x)[0]))


def gaussian_delta_up(mu: Real, epsilon: Real) -> float:
    """Give the δ that Gaussian noise with μ = sensitivity / σ has at ε, rounded up.

    Only μ = 0, which is no release at all, has δ = 0.
    """
    if mu == 0:
        return 0.0
    exact_mu, exact_epsilon = Fraction(mu), Fraction(epsilon)
    above = normal_cdf_bounds(exact_mu / 2 - exact_epsilon / exact_mu)[1]
    below = Decimal(0)  # subtracting less than there is errs upwards
    if exact_epsilon <= _GREAT_EPSILON:
        below = normal_cdf_bounds(-exact_mu / 2 - exact_epsilon / exact_mu)[0]
    with decimal.localcontext(_CONTEXT) as context:
        context.prec = 2 * _DIGITS
        context.rounding = decimal.ROUND_FLOOR
        subtracted = exp_bounds(exact_epsilon)[0] * below if below else Decimal(0)
        context.rounding = decimal.ROUND_CEILING
        delta = above - subtracted
    return min(1.0, max(math.ulp(0.0), decimal_up(delta)))


def gaussian_epsilon_up(mu: Real, delta: Real) -> float:
    """Give an ε, the smallest but for rounding, at which Gaussian noise has at most ``delta``."""
    if gaussian_delta_up(mu, 0.0) <= delta:
        return 0.0
    _check_delta(delta)
    return _smallest(
        lambda epsilon: gaussian_delta_up(mu, epsilon) <= delta,
        start=1.0,
        near=lambda epsilon: _gaussian_delta_near(float(mu), epsilon) <= float(delta),
    )


def gaussian_sigma_up(epsilon: Real, delta: Real, sensitivity: Real = 1) -> float:
    """Give a σ, the smallest but for rounding, that makes Gaussian noise (ε, δ)-private."""
    _check_delta(delta)
    return _smallest(
        lambda sigma: gaussian_delta_up(Fraction(sensitivity) / Fraction(sigma), epsilon) <= delta,
        start=float_up(sensitivity),
        near=lambda sigma: (
            _gaussian_delta_near(float(sensitivity) / sigma, float(epsilon)) <= float(delta)
        ),
    )


def _gaussian_delta_near(mu: float, epsilon: float) -> float:
    """Give δ in floats, to begin a search with: what it finds is checked."""
    ratio = epsilon / mu
    return normal_cdf(mu / 2 - ratio) - math.exp(epsilon) * normal_cdf(-mu / 2 - ratio)


def _check_delta(delta: Real) -> None:
    if delta <= 0:
        raise ParameterError(
            "δ (delta) is 0, which Gaussian noise cannot give for any σ; use Laplace (real "
            "numbers) or Geometric (whole numbers) for pure differential privacy."
        )
    if delta >= 1:
        raise ParameterError(
            "δ (delta) is a probability below 1, far below 1 / number of people; δ ≥ 1 would "
            "promise nothing."
        )
    if delta < math.ulp(0.0):
        raise ParameterError("δ (delta) is below every positive float; give a larger one.")


def _smallest(
    holds: Callable[[float], bool], start: float, near: Callable[[float], bool] | None = None
) -> float:
    """Find the smallest float, but for rounding, for which a condition holds and stays true.

    Only a value that was checked is returned, so a condition that is not quite monotone
    costs tightness in the last digits and never safety. ``near`` is about the same condition,
    quicker to tell: where it leads to a value between one that fails and one that holds, and the
    two lie close together, few checks are enough.
    """
    if near is not None:
        found = _guessed(near, start)
        for apart in () if found is None else _NEAR:
            assert found is not None
            low, high = found * (1 - apart), found * (1 + apart)
            if holds(high) and not holds(low):
                return _narrowed(holds, low, high)
    return _searched(holds, start)


def _guessed(near: Callable[[float], bool], start: float) -> float | None:
    try:
        found = _searched(near, start)
    except (ArithmeticError, ParameterError):
        return None
    return found if math.isfinite(found) else None


def _searched(holds: Callable[[float], bool], start: float) -> float:
    high = start
    while not holds(high):
        high *= 2
        if math.isinf(high):
            raise ParameterError(
                "No float is large enough for the noise or the ε that this needs; give a larger "
                "ε or δ, or less extreme noise."
            )
    low = high / 2
    while low > 0 and holds(low):
        high, low = low, low / 2
    return _narrowed(holds, low, high, 2**-50)


def _narrowed(
    holds: Callable[[float], bool], low: float, high: float, tight: float = _TIGHT
) -> float:
    for _ in range(_STEPS):
        middle = low + (high - low) / 2
        if not low < middle < high or high - low <= high * tight:
            break
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _cdf(x: Decimal) -> tuple[Decimal, Decimal]:
    with decimal.localcontext(_CONTEXT):
        if abs(x) < _FAR:
            low, high = _centre(abs(x))
            half = Decimal("0.5")
            low, high = (half + low, half + high) if x >= 0 else (half - high, half - low)
        else:
            low, high = _tail(abs(x))
            low, high = (low, high) if x < 0 else (1 - high, 1 - low)
        return low * (1 - _SLACK), high * (1 + _SLACK)


def _centre(x: Decimal) -> tuple[Decimal, Decimal]:
    """Enclose Φ(x) − 1/2 for 0 ≤ x < 3."""
    term, total, odd = x, x, 1
    while odd < 2 * _FAR**2 or term > _GAP * total:
        odd += 2
        term = term * x * x / odd
        total += term
    rest = term * x * x / (odd + 2) / (1 - x * x / (odd + 4))
    low, high = _density(x)
    return low * total * (1 - _SLACK), high * (total + rest) * (1 + _SLACK)


def _tail(x: Decimal) -> tuple[Decimal, Decimal]:
    """Enclose 1 − Φ(x) for x ≥ 3."""
    depth = 16
    while True:
        above, below = _fraction(x, depth + 1), _fraction(x, depth)  # odd depth: larger fraction
        if above - below <= _GAP * below:
            break
        depth *= 2
    low, high = _density(x)
    low, high = low / above * (1 - _SLACK), high / below * (1 + _SLACK)
    return (low if low > _LEAST else Decimal(0)), max(_LEAST, high)


def _fraction(x: Decimal, depth: int) -> Decimal:
    value = x
    for k in range(depth, 0, -1):
        value = x + k / value
    return value


def _density(x: Decimal) -> tuple[Decimal, Decimal]:
    low, high = exp_bounds(-(Fraction(x) ** 2) / 2, _DIGITS)
    root = (2 * _PI).sqrt()
    return low / root * (1 - _SLACK), high / root * (1 + _SLACK)


def normal_cdf(x: float) -> float:
    """Give Φ(x) to the nearest floats, for pictures and estimates that decide nothing."""
    return 0.5 * math.erfc(-x / math.sqrt(2))
