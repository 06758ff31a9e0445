"""The ways in which totals may keep an (E, D) budget, and the share of D that each has.

Contract: :class:`Ways` judges totals against an ``ApproxDP`` budget as the proof in
:mod:`sfumato.dp.accounting.filters` needs it: the shares depend on the opening alone, never on
what came after. Thresholds are found once per budget and kept: the largest Σμ² or ρ that a share
allows, found in floating point and accepted only after a check that rounds upwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from sfumato.dp.accounting.conversions import delta_at
from sfumato.dp.accounting.costs import ZERO, SpentTotals, root_up, there
from sfumato.dp.guarantees import ZCDP, ApproxDP
from sfumato.dp.normal import gaussian_delta_up, gaussian_epsilon_up, normal_cdf
from sfumato.dp.rounding import stated_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HALF_PI = Fraction("1.5707963267948967")
"""π/2, rounded up: an ε-private answer costs at most π/2·ε² of Gaussian μ²."""

_GAUSSIAN, _MIXED, _FAILURES = Fraction(3, 8), Fraction(1, 24), Fraction(1, 2)
_QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_CONCENTRATED = Fraction(1, 16)
_BEYOND = Fraction(10**9)  # an ε that stands for "by no way"


@dataclass(frozen=True)
class Way:
    """One way: whether the totals keep to it, and how to find the ε they come to."""

    holds: bool
    epsilon: Callable[[], Fraction]


@dataclass(frozen=True)
class Ways:
    """Totals against an (E, D) budget."""

    budget: ApproxDP
    spent: SpentTotals

    @property
    def hold(self) -> bool:
        """Whether the failures keep to their share and some way holds."""
        return self.failures_left >= 0 and any(way.holds for way in self._each())

    @property
    def epsilon(self) -> Fraction:
        """The smallest ε that the totals come to by any way, each at its share of δ."""
        return min((way.epsilon() for way in self._each()), default=_BEYOND)

    @property
    def delta(self) -> Fraction:
        """The δ promised so far: failures alone, or all of it once a loss has no sure bound."""
        over = -min(ZERO, self.failures_left)
        spent = self.spent
        sure = spent.opening is None and not there(spent.concentrated)
        basic = sure and spent.epsilon <= self._whole[0]
        return (self.spent.delta if basic else self._whole[1]) + over

    @cached_property
    def failures_left(self) -> Fraction:
        """How much δ failures may still take; negative when they took too much."""
        opening = self.spent.opening
        if opening is None:
            return self._available - self.spent.delta
        return self._allowance(opening).failures - (self.spent.delta - opening.delta)

    @cached_property
    def _whole(self) -> tuple[Fraction, Fraction]:
        """E and D, read once."""
        return self.budget.exact_epsilon, self.budget.exact_delta

    @property
    def _available(self) -> Fraction:
        """All of D, less what is set aside for the concentrated way."""
        return self._whole[1] - self._set_aside

    @property
    def _set_aside(self) -> Fraction:
        return self._whole[1] * _CONCENTRATED if self.spent.began_pure else ZERO

    def _allowance(self, opening: SpentTotals) -> Allowance:
        return _allowed(
            self._whole[0] - opening.epsilon, self._available - opening.delta, opening.mu_squared
        )

    def _each(self) -> Iterator[Way]:
        spent = self.spent
        if there(spent.concentrated):
            pass  # neither sure nor Gaussian: by the concentrated way or not at all
        elif spent.opening is None:
            yield Way(spent.epsilon <= self._whole[0], lambda: spent.epsilon)
        else:
            yield from self._after(spent.opening)
        if spent.began_pure and not spent.delta:
            rho, share = rho_of(spent), self._set_aside
            most = most_rho(self._whole[0], share)
            yield Way(rho <= most, partial(_concentrated_epsilon, rho, share))

    def _after(self, opening: SpentTotals) -> Iterator[Way]:
        spent, allowed = self.spent, self._allowance(opening)
        late = spent.epsilon - opening.epsilon
        if spent.mu_squared == opening.mu_squared and not late:
            share = allowed.delta
            yield Way(
                allowed.rest >= 0,
                lambda: opening.epsilon + _gaussian_epsilon(opening.mu_squared, share),
            )
        if allowed.rest <= 0:
            return
        squares = spent.epsilon_squared - opening.epsilon_squared
        folded = spent.mu_squared + HALF_PI * squares if squares else spent.mu_squared
        yield _gaussian_way(opening.epsilon, folded, allowed.gaussian)
        for pure, share_of_rest in allowed.mixed:
            if late <= pure:
                yield _gaussian_way(opening.epsilon + pure, spent.mu_squared, share_of_rest)


@dataclass(frozen=True)
class _Share:
    """A part of δ with the ε that Gaussian noise may come to within it."""

    epsilon: Fraction
    delta: Fraction

    @cached_property
    def most(self) -> Fraction:
        """The largest Σμ² that keeps to it."""
        return most_mu_squared(self.epsilon, self.delta)


@dataclass(frozen=True)
class Allowance:
    """What an opening leaves: E′, D′, and the shares of what remains of D′ after its noise."""

    epsilon: Fraction
    delta: Fraction
    rest: Fraction  # negative when the opening took too much

    @cached_property
    def failures(self) -> Fraction:
        """How much δ failures after the opening may take."""
        return max(ZERO, self.rest) * _FAILURES

    @cached_property
    def gaussian(self) -> _Share:
        """The share of the Gaussian way."""
        return _Share(self.epsilon, self.rest * _GAUSSIAN)

    @cached_property
    def mixed(self) -> tuple[tuple[Fraction, _Share], ...]:
        """The pure ε of each mixed way, and the share of its Gaussians."""
        share = self.rest * _MIXED
        parts = [self.epsilon * quarter for quarter in _QUARTERS]
        return tuple((pure, _Share(self.epsilon - pure, share)) for pure in parts)


@lru_cache(maxsize=1024)
def _allowed(epsilon: Fraction, delta: Fraction, mu_squared: Fraction) -> Allowance:
    """Find what is left of E′ and D′ by an opening with this Gaussian noise."""
    if epsilon < 0:
        return Allowance(epsilon, delta, Fraction(-1))
    noise = Fraction(gaussian_delta_up(root_up(mu_squared), epsilon))
    return Allowance(epsilon, delta, delta - noise)


def rho_of(spent: SpentTotals) -> Fraction:
    """Add up the totals as zero-concentrated differential privacy."""
    rho = (spent.mu_squared + spent.epsilon_squared) / 2
    return rho + spent.concentrated if there(spent.concentrated) else rho


@lru_cache(maxsize=1024)
def most_mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find a μ², the largest but for rounding, with which Gaussian noise is (ε, δ)-private."""
    if delta <= 0:
        return ZERO
    if delta >= 1:
        delta = Fraction(1) - Fraction(1, 2**50)

    def good(mu: float) -> bool:
        return gaussian_delta_up(Fraction(mu), epsilon) <= delta

    mu = _largest(lambda x: _float_delta(x, float(epsilon)) <= float(delta))
    return Fraction(_checked(mu, good)) ** 2


@lru_cache(maxsize=1024)
def most_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find a ρ, the largest but for rounding, that implies (ε, δ)."""
    if delta <= 0:
        return ZERO

    def good(rho: float) -> bool:
        return delta_at(ZCDP(rho), epsilon) <= delta

    return Fraction(repr(_checked(_largest(good), good)))


def _gaussian_way(before: Fraction, square: Fraction, share: _Share) -> Way:
    return Way(square <= share.most, lambda: before + _gaussian_epsilon(square, share.delta))


def _gaussian_epsilon(mu_squared: Fraction, share: Fraction) -> Fraction:
    if share <= 0:
        return _BEYOND
    return Fraction(gaussian_epsilon_up(root_up(mu_squared), min(share, Fraction(1, 2))))


def _concentrated_epsilon(rho: Fraction, share: Fraction) -> Fraction:
    if share <= 0:
        return _BEYOND
    return ZCDP(stated_up(rho)).to(ApproxDP, delta=share).exact_epsilon


def _largest(good: Callable[[float], bool]) -> float:
    """Find about the largest float that is good, by bisection; every smaller one is good too."""
    low, high = 2.0**-300, 1.0
    while good(high) and high < 2.0**300:
        low, high = high, 2 * high
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def _checked(near: float, good: Callable[[float], bool]) -> float:
    """Step down from an estimate until the check that rounds upwards accepts it."""
    for digits in (12, 10, 8, 6, 4, 2, 1):
        lower = near * (1 - 10.0**-digits)
        if good(lower):
            return lower
    return 0.0


def _float_delta(mu: float, epsilon: float) -> float:
    below = normal_cdf(-mu / 2 - epsilon / mu)
    return normal_cdf(mu / 2 - epsilon / mu) - (math.exp(min(epsilon, 700.0)) * below)
