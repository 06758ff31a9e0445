"""The hypothesis-testing view: how well anyone can tell two neighbouring data sets apart.

Contract: a :class:`Pair` holds the output distributions P = M(D) and Q = M(D′) of a mechanism on
two neighbours, over finitely many outcomes, as exact rationals. From it follow

* the privacy-loss distribution: ln(P(o)/Q(o)) with probability P(o), infinite where Q(o) = 0;
* the trade-off curve: for each probability of a false alarm P_FA (deciding for D′ under D) the
  least probability of missed detection P_MD. By the lemma of Neyman and Pearson the best tests
  reject the outcomes with the largest Q(o)/P(o) first, so the curve is made of line segments;
* δ(ε) = max over events S of P(S) − e^ε·Q(S), the larger of both directions, rounded up.

M is (ε, δ)-private on the pair iff P_MD + e^ε·P_FA ≥ 1 − δ on the curve and the same with the two
exchanged (Wasserman and Zhou, JASA 2010; Kairouz, Oh and Viswanath 2015). A pair shows what a
mechanism does on two data sets; a guarantee is about all of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from sfumato.dp.guarantees import GDP, ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.rounding import (
    Real,
    Stated,
    decimal_bounds,
    exp_bounds,
    float_up,
    log_bounds,
    stated,
    stated_up,
)
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_OUTCOMES = 20_000
_TOLERANCE = Fraction(1, 10**9)
_GREAT_EPSILON = 1000
_CRUMB = 30
"""Digits of e^ε from which on the pair of a geometric mechanism keeps below it."""


@dataclass(frozen=True)
class Pair(Shown):
    """Two distributions over the same outcomes; outcomes of equal likelihood ratio are merged."""

    masses: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(
        cls,
        here: Mapping[Any, Real] | Sequence[Real],
        there: Mapping[Any, Real] | Sequence[Real],
    ) -> Self:
        """Build the pair from M(D) and M(D′): mappings from outcomes, or lists in one order."""
        first, second = _mapping(here), _mapping(there)
        for masses in (first, second):
            if any(mass < 0 for mass in masses.values()):
                raise ParameterError("Probabilities are not negative, and one of these is.")
            whole = sum(masses.values(), Fraction(0))
            if abs(whole - 1) > _TOLERANCE:
                raise ParameterError(
                    f"Probabilities add up to 1, and these add up to {float(whole):.6g}."
                )
        zero = Fraction(0)
        return cls.of_masses(
            (first.get(o, zero), second.get(o, zero)) for o in first.keys() | second
        )

    @classmethod
    def of_masses(cls, masses: Iterable[tuple[Fraction, Fraction]]) -> Self:
        """Build the pair from the masses (P(o), Q(o)) of its outcomes."""
        merged: dict[Fraction | None, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
        for p, q in masses:
            if p or q:
                total = merged[p / q if q else None]
                total[0] += p
                total[1] += q
        ordered = sorted((ratio, mass) for ratio, mass in merged.items() if ratio is not None)
        only_here = [merged[None]] if None in merged else []
        return cls(tuple((p, q) for p, q in (*(mass for _, mass in ordered), *only_here)))

    @property
    def loss(self) -> tuple[tuple[float, float], ...]:
        """The privacy-loss distribution: pairs (loss, probability under D), loss ascending."""
        return tuple((_loss(p, q), float(p)) for p, q in self.masses if p)

    def loss_at_most(self, epsilon: Stated) -> float:
        """Give the probability, under D, that the privacy loss is at most ε."""
        bound = stated(epsilon)
        return float(sum((p for p, q in self.masses if p and _at_most(p, q, bound)), Fraction(0)))

    def delta(self, epsilon: Stated) -> float:
        """Give the least δ for which both directions are (ε, δ)-private, rounded up."""
        exact = stated(epsilon)
        if exact > _GREAT_EPSILON:
            exact = Fraction(_GREAT_EPSILON)  # a larger ε has at most this δ
        factor = Fraction(exp_bounds(exact)[0]) if exact else Fraction(1)
        return max(float_up(_excess(masses, factor)) for masses in self._directions())

    def epsilon(self, delta: Stated = 0) -> float:
        """Give the least ε for which both directions are (ε, δ)-private, rounded up."""
        exact = stated(delta)
        worst = Fraction(1)
        for masses in self._directions():
            p_sum = q_sum = Fraction(0)
            for p, q in sorted(masses, key=lambda mass: _loss(*mass), reverse=True):
                p_sum, q_sum = p_sum + p, q_sum + q
                if q_sum:
                    worst = max(worst, (p_sum - exact) / q_sum)
                elif p_sum > exact:
                    return math.inf
        return stated_up(Fraction(log_bounds(worst)[1]))

    def satisfies(self, guarantee: Guarantee) -> bool:
        """Tell whether this pair keeps a pure or approximate guarantee."""
        if isinstance(guarantee, (PureDP, LocalDP)):
            return self.delta(guarantee.epsilon) <= 0
        if isinstance(guarantee, ApproxDP):
            return self.delta(guarantee.epsilon) <= guarantee.exact_delta
        raise ParameterError("A pair is checked against PureDP, LocalDP or ApproxDP.")

    def trade_off(self) -> tuple[tuple[float, float], ...]:
        """Give the corners (P_FA, P_MD) of the trade-off curve, from (0, 1) to (1, 0)."""
        alarm, missed = Fraction(0), Fraction(1)
        corners = [(0.0, 1.0)]
        for p, q in self.masses:  # ascending P/Q: the best evidence for D′ first
            alarm, missed = alarm + p, missed - q
            corners.append((float(alarm), float(max(missed, Fraction(0)))))
        return tuple(corners)

    def missed(self, alarm: float) -> float:
        """Give the least probability of missed detection at a probability of a false alarm."""
        return interpolate(self.trade_off(), alarm)

    def compose(self, other: Pair) -> Pair:
        """Give the pair of running both mechanisms, independently, on the same data sets."""
        if len(self.masses) * len(other.masses) > _MOST_OUTCOMES:
            raise ParameterError(
                "The exact pair of this composition has too many outcomes; use sf.dp.account(…)."
            )
        return Pair.of_masses((p * r, q * s) for p, q in self.masses for r, s in other.masses)

    def repeat(self, times: int) -> Pair:
        """Give the pair of running the mechanism several times."""
        result = self
        for _ in range(times - 1):
            result = result.compose(self)
        return result

    def _directions(self) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
        return self.masses, tuple((q, p) for p, q in self.masses)


def geometric_pair(epsilon: Stated, sensitivity: int = 1) -> Pair:
    """Give the pair of the geometric mechanism on answers 0 and Δ, masses to 30 digits.

    With r = e^(−ε/Δ), outcomes up to 0 have one likelihood ratio, and so have those from Δ on:
    Pr[X ≤ 0] = 1/(1+r), Pr[X = x] = (1−r)/(1+r)·r^x, Pr[X ≥ Δ] = r^Δ/(1+r).

    The last is rounded up so far that the ratio of the first to it, which the law makes exactly
    e^ε, stays below e^ε by a crumb: the pair keeps the ε that its mechanism promises.
    """
    exact = stated(epsilon)
    if sensitivity < 1 or exact <= 0:
        raise ParameterError("A geometric mechanism has ε above 0 and a sensitivity of at least 1.")
    if exact > _GREAT_EPSILON:
        raise ParameterError("The exact pair of the geometric mechanism is for ε of up to 1000.")
    powers = [Fraction(exp_bounds(-exact * k / sensitivity, 40)[0]) for k in range(sensitivity + 1)]
    ratio = powers[1]
    low = _short(1 / (1 + ratio))
    high = Fraction(decimal_bounds(low / Fraction(exp_bounds(exact, _CRUMB)[0]), 40)[1])
    step = (1 - ratio) / (1 + ratio)
    inner = [_short(step * power) for power in powers[1:-1]]
    return Pair.of_masses(zip((low, *inner, high), (high, *reversed(inner), low), strict=True))


def _short(value: Fraction) -> Fraction:
    """Keep 40 digits, so that many masses can be added and multiplied quickly."""
    return Fraction(decimal_bounds(value, 40)[0])


def interpolate(corners: Sequence[tuple[float, float]], alarm: float) -> float:
    """Read a curve of line segments at one abscissa."""
    if not 0 <= alarm <= 1:
        raise ParameterError(f"A probability is between 0 and 1, and {alarm:g} was given.")
    for (left, high), (right, low) in pairwise(corners):
        if alarm <= right:
            share = (alarm - left) / (right - left) if right > left else 1.0
            return high + share * (low - high)
    return 0.0


def trade_off_of(guarantee: Guarantee, points: int = 200) -> tuple[tuple[float, float], ...]:
    """Give the curve below which no test can get, as a guarantee promises it, for pictures.

    For (ε, δ): max(0, 1 − δ − e^ε·x, e^(−ε)·(1 − δ − x)). For μ-GDP: Φ(Φ⁻¹(1 − x) − μ).
    """
    if isinstance(guarantee, GDP):
        from statistics import NormalDist  # noqa: PLC0415 - only pictures need it

        normal = NormalDist()
        inner = [
            (k / points, normal.cdf(normal.inv_cdf(1 - k / points) - guarantee.mu))
            for k in range(1, points)
        ]
        return ((0.0, 1.0), *inner, (1.0, 0.0))
    if isinstance(guarantee, (PureDP, LocalDP, ApproxDP)):
        epsilon = min(guarantee.epsilon, 700.0)
        delta = guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0
        kink = (1 - delta) / (1 + math.exp(epsilon))
        return ((0.0, 1 - delta), (kink, kink), (1 - delta, 0.0), (1.0, 0.0))
    raise ParameterError(
        "Only pure, approximate, local and Gaussian guarantees state one trade-off curve; convert "
        "with .to(ApproxDP, delta=…)."
    )


def _excess(masses: Sequence[tuple[Fraction, Fraction]], factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - factor * q) for p, q in masses), Fraction(0))


def _loss(p: Fraction, q: Fraction) -> float:
    if not q:
        return math.inf
    return float(log_bounds(p / q)[1]) if p else -math.inf


def _at_most(p: Fraction, q: Fraction, epsilon: Fraction) -> bool:
    """Compare ln(p/q) with ε; where the enclosures touch, count the loss as larger."""
    if not q:
        return False
    if epsilon == 0:
        return p <= q
    return Fraction(log_bounds(p / q)[1]) <= epsilon


def _mapping(masses: Mapping[Any, Real] | Sequence[Real]) -> dict[Any, Fraction]:
    items = masses.items() if isinstance(masses, Mapping) else enumerate(masses)
    return {outcome: Fraction(mass) for outcome, mass in items}
