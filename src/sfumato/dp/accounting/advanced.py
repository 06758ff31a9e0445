"""Composition of many small releases, where ε grows like the square root of their number.

Contract: ``compose_advanced`` gives the best (ε, δ) that follows, whatever the mechanisms, from
the (ε, δ) of each release, for a total δ the caller allows. It tries

* basic composition: Σε, Σδ;
* the heterogeneous theorem: with δ̃ left over, ε = Σ εᵢ·(e^εᵢ − 1)/(e^εᵢ + 1) +
  √(2·ln(1/δ̃)·Σ εᵢ²) and δ = 1 − (1 − δ̃)·Π(1 − δᵢ) (Kairouz, Oh and Viswanath, "The
  composition theorem for differential privacy", 2015, Theorem 3.5);
* for k equal releases, the optimal theorem of the same paper (Theorem 3.3): no better (ε, δ) is
  true of all mechanisms. The worst mechanism is k-fold randomised response, whose curve is

      δ̃(ε) = Σ_l C(k, l)·max(0, e^((k−l)·ε₀) − e^(ε + l·ε₀)) / (1 + e^ε₀)^k.
"""

from __future__ import annotations

import decimal
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from sfumato.dp.accounting.composition import compose
from sfumato.dp.guarantees import ApproxDP, Guarantee, PureDP
from sfumato.dp.rounding import (
    Stated,
    decimal_bounds,
    exp_bounds,
    log_bounds,
    sqrt_up,
    stated,
    stated_up,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_EQUAL = 20_000
_MOST_EPSILON = 20
_SLACK = Decimal("1e-45")
_CONTEXT = decimal.Context(prec=60, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


def compose_advanced(guarantees: Sequence[Guarantee], *, delta: Stated) -> ApproxDP:
    """Give the best total (ε, δ) that composition theorems prove, with δ at most ``delta``."""
    allowed = stated(delta)
    if not 0 <= allowed < 1:
        raise ParameterError(f"delta is at least 0 and below 1, and {float(allowed):g} was given.")
    total = compose(*(_approximate(guarantee) for guarantee in guarantees))
    pairs = [_pair(_approximate(guarantee)) for guarantee in guarantees]
    spent = sum((own for _, own in pairs), Fraction(0))
    if spent > allowed:
        raise ParameterError(
            f"The releases already spend δ = {float(spent):.3g}, and {float(allowed):.3g} is "
            "allowed in total."
        )
    options = [sum((epsilon for epsilon, _ in pairs), Fraction(0))]
    slack = 1 - (1 - allowed) / _kept(pairs)  # (1 − slack)·Π(1 − δᵢ) = 1 − δ
    if slack > 0 and max(epsilon for epsilon, _ in pairs) <= _MOST_EPSILON:
        options.append(_heterogeneous([epsilon for epsilon, _ in pairs], slack))
        equal = all(first == second for first, second in pairwise(pairs))
        if equal and len(pairs) <= _MOST_EQUAL:
            options.append(optimal_epsilon(pairs[0][0], len(pairs), slack))
    return ApproxDP(stated_up(min(options)), stated_up(allowed), neighbours=total.neighbours)


def optimal_epsilon(epsilon: Fraction, count: int, slack: Fraction) -> Fraction:
    """Give the least ε for which k-fold randomised response has δ̃ of at most ``slack``.

    With l lies the loss is (k − 2l)·ε₀, so by the lemma of Neyman and Pearson the worst events are
    "at most j lies": δ̃(ε) = max over j of P(j) − e^ε·Q(j), where P and Q are their
    probabilities under the two hypotheses. Hence ε = max over j of ln((P(j) − δ̃)/Q(j)). All terms
    are positive, so at most 10⁶ operations with 60 digits stay within one part in 10⁵⁰, and one
    part in 10⁴⁵ is added.
    """
    with decimal.localcontext(_CONTEXT):
        odds = exp_bounds(epsilon, _CONTEXT.prec)[1]
        truth, lie = odds / (1 + odds), 1 / (1 + odds)
        here, there = truth**count, lie**count
        p_sum = q_sum = Decimal(0)
        allowed = decimal_bounds(slack, _CONTEXT.prec)[0]
        worst = Decimal(1)
        for lies in range(count + 1):
            p_sum, q_sum = p_sum + here, q_sum + there
            worst = max(worst, (p_sum * (1 + _SLACK) - allowed) / (q_sum * (1 - _SLACK)))
            ways = Decimal(count - lies) / (lies + 1)
            here, there = here * ways / odds, there * ways * odds
        worst *= 1 + _SLACK
    return min(count * epsilon, _log_up(worst))


def _log_up(value: Decimal) -> Fraction:
    return Fraction(_CONTEXT.next_plus(_CONTEXT.ln(value)))


def _heterogeneous(epsilons: list[Fraction], slack: Fraction) -> Fraction:
    drift = squares = Fraction(0)
    for epsilon, count in Counter(epsilons).items():
        low, high = (Fraction(bound) for bound in exp_bounds(epsilon, 80))
        drift += count * epsilon * (high - 1) / (low + 1)
        squares += count * epsilon**2
    return drift + Fraction(sqrt_up(2 * Fraction(log_bounds(1 / slack)[1]) * squares))


def _kept(pairs: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Multiply all 1 − δᵢ, rounded down."""
    product = Decimal(1)
    floor = decimal.Context(prec=60, rounding=decimal.ROUND_FLOOR)
    for _, own in pairs:
        product = floor.multiply(product, decimal_bounds(1 - own, 60)[0])
    return Fraction(product)


def _approximate(guarantee: Guarantee) -> ApproxDP:
    if isinstance(guarantee, (PureDP, ApproxDP)):
        return guarantee.to(ApproxDP)
    raise ParameterError(
        f"Advanced composition takes pure and approximate guarantees; convert {guarantee.kind} "
        "with .to(ApproxDP, delta=…), or add it up as it is with +."
    )


def _pair(guarantee: ApproxDP) -> tuple[Fraction, Fraction]:
    return guarantee.exact_epsilon, guarantee.exact_delta
