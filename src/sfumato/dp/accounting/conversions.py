"""One kind of guarantee in the words of another, and which of two is stronger.

Contract: ``convert`` returns a guarantee that the given one implies, rounded so that it never
promises more; ``implies`` is true only when the promise provably carries over.

The theorems, for the same neighbours throughout:

* ε-DP is (ε, δ)-DP for every δ, ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4), Rényi-DP with
  min(ε, α·ε²/2) at order α, and μ-GDP with μ = −2·Φ⁻¹(1/(1 + e^ε)): the trade-off curve of ε-DP
  runs straight from (0, 1) to its fixed point, where the convex curve of μ-GDP meets it.
* (ε, δ)-DP is (ε′, δ′)-DP for ε′ ≤ ε with δ′ = δ + (1 − δ)·(e^ε − e^ε′)/(1 + e^ε): every
  (ε, δ)-private pair is a post-processing of one that reveals everything with probability δ and
  else is randomised response (Kairouz, Oh and Viswanath, ICML 2015).
* A Rényi divergence τ of order α gives (ε, δ)-DP with ε = τ + ln((α−1)/α) − (ln δ + ln α)/(α−1)
  (Balle et al., AISTATS 2020, Theorem 21; Canonne, Kamath and Steinke, NeurIPS 2020). ρ-zCDP has
  τ = ρ·α at every α. Each α gives a valid ε, so the α found by a floating-point search is good
  enough: only the formula at that α must be rounded up.
* μ-GDP is (ε, δ)-DP by the exact curve of the Gaussian, and μ²/2-zCDP (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, cast

from sfumato.dp.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.normal import gaussian_delta_up, gaussian_epsilon_up, normal_cdf_bounds
from sfumato.dp.rounding import Stated, exp_bounds, log_bounds, stated, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

G = TypeVar("G", bound=Guarantee)

ORDERS = (1.25, 1.5, 1.75, *(float(k) for k in range(2, 65)), 96.0, 128.0, 256.0, 512.0, 1024.0)
"""The Rényi orders at which a curve is tabulated when none are given."""

_LEAST_LOG = Fraction(-2000)  # no δ below e^-2000 is ever needed
_GREAT_EPSILON = 1000
_GOLDEN = (math.sqrt(5) - 1) / 2


def convert(guarantee: Guarantee, kind: type[G], *, delta: Stated | None = None) -> G:
    """Convert to another kind of guarantee that this one implies."""
    if kind is type(guarantee) and (delta is None or not isinstance(guarantee, ApproxDP)):
        return guarantee
    if issubclass(kind, ApproxDP):
        return cast("G", _to_approx(guarantee, delta))
    if issubclass(kind, RDP):
        return cast("G", to_rdp(guarantee, ORDERS))
    makers: dict[type[Guarantee], Callable[[Guarantee], Guarantee]] = {
        PureDP: _to_pure,
        ZCDP: _to_zcdp,
        GDP: _to_gdp,
    }
    if kind not in makers:
        raise ParameterError(
            f"A guarantee cannot be converted to {kind.__name__}; choose PureDP, ApproxDP, ZCDP, "
            "RDP or GDP."
        )
    return cast("G", makers[kind](guarantee))


def implies(strong: Guarantee, weak: Guarantee) -> bool:
    """Tell whether ``strong`` provably promises at least as much as ``weak``."""
    try:
        same = strong if strong.neighbours == weak.neighbours else strong.under(weak.neighbours)
        if isinstance(weak, ApproxDP):
            return delta_at(same, weak.epsilon) <= weak.exact_delta
        if isinstance(weak, RDP):
            mine = dict(to_rdp(same, weak.orders).curve)
            return all(mine.get(order, math.inf) <= bound for order, bound in weak.curve)
        converted = convert(same, PureDP if isinstance(weak, LocalDP) else type(weak))
    except ParameterError:
        return False
    if isinstance(weak, LocalDP) and not isinstance(strong, LocalDP):
        return False  # a promise of a trusted collector is no promise of the person's own device
    return _parameter(converted) <= _parameter(weak)


def delta_at(guarantee: Guarantee, epsilon: Stated) -> Fraction:
    """Bound the δ for which the guarantee implies (ε, δ)-DP, rounded up."""
    exact = stated(epsilon)
    if isinstance(guarantee, GDP):
        return Fraction(gaussian_delta_up(guarantee.exact_mu, exact))
    if isinstance(guarantee, ZCDP):
        if guarantee.rho == 0:
            return Fraction(0)
        rho = guarantee.exact_rho
        order = _best_order(lambda a: _log_delta_estimate(a, float(rho) * a, float(exact)))
        return delta_from_renyi(order, rho * order, exact)
    if isinstance(guarantee, RDP):
        return min(delta_from_renyi(stated(a), stated(t), exact) for a, t in guarantee.curve)
    return _delta_of_pair(_epsilon_delta(guarantee), exact)


def delta_from_renyi(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """Give δ = e^((α−1)(τ−ε)) / (α−1) · (1 − 1/α)^α, rounded up and at most 1."""
    log_high = (
        (order - 1) * (divergence - epsilon)
        - Fraction(log_bounds(order - 1)[0])
        + order * Fraction(log_bounds(1 - 1 / order)[1])
    )
    if log_high >= 0:
        return Fraction(1)
    return Fraction(exp_bounds(max(log_high, _LEAST_LOG))[1])


def epsilon_from_renyi(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """Give ε = τ + ln((α−1)/α) − (ln δ + ln α)/(α−1), rounded up and at least 0."""
    log_ratio = Fraction(log_bounds((order - 1) / order)[1])
    log_product = Fraction(log_bounds(delta * order)[0])
    return max(Fraction(0), divergence + log_ratio - log_product / (order - 1))


def to_rdp(guarantee: Guarantee, orders: Sequence[float]) -> RDP:
    """Tabulate the Rényi divergence a guarantee implies at the given orders."""
    if isinstance(guarantee, RDP):
        bounds = {a: stated(guarantee.at(a)) for a in orders if a <= guarantee.orders[-1]}
        if not bounds:
            raise ParameterError(
                "These two Rényi guarantees have no order in common; state one of them at orders "
                "of the other."
            )
    elif isinstance(guarantee, ZCDP):
        bounds = {a: stated(a) * guarantee.exact_rho for a in orders}
    elif isinstance(guarantee, GDP):
        bounds = {a: stated(a) * guarantee.exact_mu**2 / 2 for a in orders}
    else:
        epsilon = _to_pure(guarantee).exact_epsilon
        bounds = {a: min(epsilon, stated(a) * epsilon**2 / 2) for a in orders}
    curve = tuple((a, stated_up(bound)) for a, bound in bounds.items())
    return RDP(curve, neighbours=guarantee.neighbours)


def _to_pure(guarantee: Guarantee) -> PureDP:
    epsilon, delta = _epsilon_delta(guarantee)
    if delta > 0:
        raise ParameterError(
            f"A guarantee with δ = {float(delta):.3g} is not pure differential privacy for any ε."
        )
    return PureDP(stated_up(epsilon), neighbours=guarantee.neighbours)


def _to_zcdp(guarantee: Guarantee) -> ZCDP:
    if isinstance(guarantee, GDP):
        rho = guarantee.exact_mu**2 / 2
    elif isinstance(guarantee, RDP):
        raise ParameterError(
            "Rényi bounds at some orders say nothing about the others, so they give no zCDP; "
            "convert with .to(ApproxDP, delta=…) instead."
        )
    else:
        rho = _to_pure(guarantee).exact_epsilon ** 2 / 2
    return ZCDP(stated_up(rho), neighbours=guarantee.neighbours)


def _to_gdp(guarantee: Guarantee) -> GDP:
    if isinstance(guarantee, (ZCDP, RDP)):
        raise ParameterError(
            "A bound on Rényi divergences gives no bound on the whole trade-off curve, so no GDP; "
            "convert with .to(ApproxDP, delta=…) instead."
        )
    epsilon = _to_pure(guarantee).exact_epsilon
    if epsilon == 0:
        return GDP(0.0, neighbours=guarantee.neighbours)
    if epsilon > _GREAT_EPSILON:
        raise ParameterError(
            f"ε = {float(epsilon):.4g} is no promise that Gaussian differential privacy could "
            "restate."
        )
    point = 1 / (1 + Fraction(exp_bounds(epsilon)[1]))
    low, high = 0.0, 1.0
    while normal_cdf_bounds(-high / 2)[1] > point:
        low, high = high, 2 * high
    while high - low > high * 2**-50:
        middle = (low + high) / 2
        if normal_cdf_bounds(-middle / 2)[1] <= point:
            high = middle
        else:
            low = middle
    return GDP(stated_up(Fraction(high)), neighbours=guarantee.neighbours)


def _to_approx(guarantee: Guarantee, delta: Stated | None) -> ApproxDP:
    if isinstance(guarantee, (PureDP, LocalDP, ApproxDP)):
        epsilon, own = _epsilon_delta(guarantee)
        wanted = own if delta is None else stated(delta)
        if wanted < own:
            raise ParameterError(
                f"The guarantee has δ = {float(own):.3g} and holds for no smaller one; δ = "
                f"{float(wanted):.3g} was asked for."
            )
    else:
        wanted = stated(delta) if delta is not None else Fraction(0)
        if not 0 < wanted < 1:
            raise ParameterError(
                f"Converting {guarantee.kind} to (ε, δ) needs delta= between 0 and 1, usually far "
                "below 1 / number of people."
            )
        epsilon = _epsilon_for(guarantee, wanted)
    return ApproxDP(stated_up(epsilon), stated_up(wanted), neighbours=guarantee.neighbours)


def _epsilon_for(guarantee: Guarantee, delta: Fraction) -> Fraction:
    if isinstance(guarantee, GDP):
        return Fraction(gaussian_epsilon_up(guarantee.exact_mu, delta))
    if isinstance(guarantee, RDP):
        return min(epsilon_from_renyi(stated(a), stated(t), delta) for a, t in guarantee.curve)
    rho = cast("ZCDP", guarantee).exact_rho
    if rho == 0:
        return Fraction(0)
    log_delta = float(log_bounds(delta)[0])
    order = _best_order(
        lambda a: float(rho) * a + math.log1p(-1 / a) - (log_delta + math.log(a)) / (a - 1)
    )
    return epsilon_from_renyi(order, rho * order, delta)


def _best_order(cost: Callable[[float], float]) -> Fraction:
    """Search the order α > 1 of least cost; any order is valid, a good one is tight."""
    low, high = -12.0, 40.0  # of ln(α − 1)
    while high - low > 1e-9:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if cost(1 + math.exp(left)) < cost(1 + math.exp(right)):
            high = right
        else:
            low = left
    return Fraction(1 + math.exp((low + high) / 2))


def _log_delta_estimate(order: float, divergence: float, epsilon: float) -> float:
    return (
        (order - 1) * (divergence - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)
    )


def _delta_of_pair(pair: tuple[Fraction, Fraction], epsilon: Fraction) -> Fraction:
    """Give the δ′ at a smaller ε′ of the worst (ε, δ)-private pair, rounded up."""
    own, delta = pair
    if epsilon >= own:
        return delta
    if own > _GREAT_EPSILON:
        return Fraction(1)
    low, high = (Fraction(bound) for bound in exp_bounds(own))
    excess = (high - Fraction(exp_bounds(epsilon)[0])) / (1 + low)
    return min(Fraction(1), delta + (1 - delta) * excess)


def _epsilon_delta(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    if isinstance(guarantee, ApproxDP):
        return guarantee.exact_epsilon, guarantee.exact_delta
    if isinstance(guarantee, (PureDP, LocalDP)):
        return guarantee.exact_epsilon, Fraction(0)
    raise ParameterError(
        f"{guarantee.kind} is not pure differential privacy for any ε; convert it with "
        ".to(ApproxDP, delta=…)."
    )


def _parameter(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, ZCDP):
        return guarantee.exact_rho
    if isinstance(guarantee, GDP):
        return guarantee.exact_mu
    return _to_pure(guarantee).exact_epsilon
