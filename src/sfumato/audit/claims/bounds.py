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

The tail Pr[Bin(n, p) ≥ k] is summed from its largest term downwards. All terms are positive, so
nothing cancels; what is cut off is replaced by the geometric series that dominates it. The largest
term comes from Loader's saddle-point form ("Fast and accurate computation of binomial
probabilities", 2000), good to about 15 digits; a bound then moves outwards by 10⁻¹¹ of itself,
which is far more than all rounding together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_OUTWARD = 1e-11
_STIRLING = tuple(  # ln n! minus Stirling's formula, for n below 16
    0.0 if n == 0 else math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(math.tau)
    for n in range(16)
)
_BLOCK = 4096


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


def log_tail(k: int, n: int, p: float) -> float:
    """Give ln Pr[Bin(n, p) ≥ k], never too small by more than rounding; p is below k/n."""
    return _log_sum(k, n, math.log(p), math.log1p(-p))


def log_lower_tail(k: int, n: int, p: float) -> float:
    """Give ln Pr[Bin(n, p) ≤ k], never too small by more than rounding; p is above k/n."""
    return _log_sum(n - k, n, math.log1p(-p) if p < 1 else -math.inf, math.log(p))


def _log_sum(k: int, n: int, log_p: float, log_q: float) -> float:
    """Sum the terms of Bin(n, p) from k upwards, for k above the mean."""
    if log_p == -math.inf:
        return -math.inf
    odds = math.exp(log_p - log_q)
    total, last, start = 1.0, 1.0, k
    while start < n:
        i = np.arange(start, min(start + _BLOCK, n), dtype=np.float64)
        terms = last * np.cumprod((n - i) / (i + 1) * odds)
        total += float(terms.sum())
        last, start = float(terms[-1]), start + i.size
        ratio = (n - start) / (start + 1) * odds
        if ratio < 1 and last * ratio / (1 - ratio) < 1e-16 * total:
            total += last * ratio / (1 - ratio)
            break
    return _log_probability(k, n, log_p, log_q) + math.log(total)


def _log_probability(k: int, n: int, log_p: float, log_q: float) -> float:
    if k == n:
        return n * log_p
    p, q = math.exp(log_p), math.exp(log_q)
    return (
        _stirling(n)
        - _stirling(k)
        - _stirling(n - k)
        - _deviance(k, n * p)
        - _deviance(n - k, n * q)
        + 0.5 * math.log(n / (math.tau * k * (n - k)))
    )


def _stirling(n: int) -> float:
    """Give ln n! − (n + ½)·ln n + n − ½·ln 2π."""
    if n < len(_STIRLING):
        return _STIRLING[n]
    s = 1 / (n * n)
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / n


def _deviance(x: float, mean: float) -> float:
    """Give x·ln(x/m) + m − x without cancellation near x = m."""
    if abs(x - mean) >= 0.1 * (x + mean):
        return x * math.log(x / mean) + mean - x
    v = (x - mean) / (x + mean)
    total, power = (x - mean) * v, 2 * x * v
    for j in range(1, 1000):
        power *= v * v
        step = power / (2 * j + 1)
        if total + step == total:
            break
        total += step
    return total


def _bracket(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Give a start for the bisection: Hoeffding's bound in its relative form lies below."""
    share = successes / trials
    low = share * math.exp(-math.sqrt(8 * math.log(1 / alpha) / successes) - 1e-9)
    while low > 0 and log_tail(successes, trials, low) > math.log(alpha):
        low /= 2
    return low, share


def _nudged_down(value: float) -> float:
    return value - _OUTWARD * max(1.0, abs(value))
