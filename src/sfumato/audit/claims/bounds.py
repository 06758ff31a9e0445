"""Confidence bounds that decide a claim: exact binomial tails, rounded to the safe side.

Contract: every bound here is wrong with probability at most its ``alpha``, whatever the true
probabilities are; none rests on a normal approximation.

* ``lower`` and ``upper`` are the one-sided bounds of Clopper and Pearson (Biometrika 1934).
* ``ratio_bound`` bounds ln(p/q) from below for an event that has probability p on one data set and
  q on its neighbour. The runs are shared out by a fair coin: of n runs, Bin(n, 1/2) are on the
  first data set. So each run in which the event happens was on the first data set with probability
  p/(p + q), independently of the others and of how many there were. Given their number K, the
  count on the first is Bin(K, p/(p + q)), and a Clopper–Pearson bound r on that share gives
  ln(p/q) ≥ ln(r/(1 − r)). One bound does the work of two, and nothing special happens at q = 0.
  The same with two disjoint events, one that speaks for each data set: a run in either of them is
  a guess, and a guess is right with probability (p₁ + q₂)/(p₁ + q₁ + p₂ + q₂). If neither p₁/q₁
  nor q₂/p₂ exceeds e^ε, that is at most e^ε/(1 + e^ε), so that the share of right guesses bounds
  the larger of the two ratios, with twice the runs to count.
* ``masses`` bounds p from below and q from above at once, each with half of alpha. Whenever both
  hold, every valid (ε, δ) has p_low ≤ p ≤ e^ε·q + δ ≤ e^ε·q_high + δ. Hence one pair of bounds
  refutes a whole region: all (ε, δ) with δ < p_low − e^ε·q_high.

Tails are those of :mod:`sfumato.binomial`, good to about 15 digits; a bound then moves outwards by
10⁻¹¹ of itself, which is far more than all rounding together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.binomial import log_lower_tail, log_tail

_OUTWARD = 1e-11


@dataclass(frozen=True)
class Masses:
    """Simultaneous bounds on one event: at least ``low`` on the first, at most ``high`` on the
    second data set.
    """  # noqa: D205 - one sentence

    low: float
    high: float

    def epsilon(self, delta: float) -> float:
        """Bound every ε that is valid together with this δ from below; infinite if none is."""
        if self.low <= delta:
            return 0.0
        if self.high <= 0:
            return math.inf
        return max(0.0, _nudged_down(math.log((self.low - delta) / self.high)))

    def delta(self, epsilon: float) -> float:
        """Bound every δ that is valid together with this ε from below."""
        if epsilon > 700:
            return 0.0 if self.high > 0 else self.low
        return max(0.0, (self.low - math.exp(epsilon) * self.high) * (1 - _OUTWARD))


def lower(successes: int, trials: int, alpha: float) -> float:
    """Bound a probability from below, wrong with probability at most ``alpha``."""
    if successes <= 0:
        return 0.0
    if successes == trials:
        return math.exp(math.log(alpha) / trials) * (1 - _OUTWARD)
    wanted = math.log(alpha)
    low, high = _bracket(successes, trials, alpha)
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= 1e-13 * high or not low < middle < high:
            break
        if log_tail(successes, trials, middle) <= wanted:
            low = middle
        else:
            high = middle
    return low * (1 - _OUTWARD)


def upper(successes: int, trials: int, alpha: float) -> float:
    """Bound a probability from above, wrong with probability at most ``alpha``."""
    if successes >= trials:
        return 1.0
    if successes == 0:
        return min(1.0, -math.expm1(math.log(alpha) / trials) * (1 + _OUTWARD))
    # The failures of a trial are the successes of the opposite; small q keep their digits.
    wanted = math.log(alpha)
    low, high = successes / trials, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= 1e-13 * high or not low < middle < high:
            break
        if log_lower_tail(successes, trials, middle) > wanted:
            low = middle
        else:
            high = middle
    return min(1.0, high * (1 + _OUTWARD))


def ratio_bound(first: int, second: int, alpha: float) -> float:
    """Bound ln(p/q) from below by events seen on each data set, runs shared by a fair coin."""
    together = first + second
    if together == 0:
        return 0.0
    share = lower(first, together, alpha)
    if share <= 0.5:
        return 0.0
    return _nudged_down(math.log(share / (1 - share)))


def masses(first: int, runs_first: int, second: int, runs_second: int, alpha: float) -> Masses:
    """Bound the event's probability from below on the first and from above on the second."""
    return Masses(lower(first, runs_first, alpha / 2), upper(second, runs_second, alpha / 2))


def _bracket(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Give a start for the bisection: Hoeffding's bound in its relative form lies below."""
    share = successes / trials
    low = share * math.exp(-math.sqrt(8 * math.log(1 / alpha) / successes) - 1e-9)
    while low > 0 and log_tail(successes, trials, low) > math.log(alpha):
        low /= 2
    return low, share


def _nudged_down(value: float) -> float:
    return value - _OUTWARD * max(1.0, abs(value))
