"""Exact confidence bounds and tail probabilities, without a statistics library.

Contract: ``lower`` and ``upper`` are the one-sided Clopper–Pearson bounds (1934) on a probability
of which k successes in n trials were seen: each is wrong with probability at most α, whatever the
probability is. ``chi_square_tail`` is the probability that a χ² variable exceeds x.
"""

from __future__ import annotations

import math

_TINY = 1e-300
_STEPS = 500


def lower(successes: int, trials: int, alpha: float) -> float:
    """Bound a probability from below, wrong with probability at most ``alpha``."""
    if successes == 0:
        return 0.0
    # Pr[at least k successes] is increasing in p, and alpha at the bound.
    return _solve(lambda p: beta_regularized(successes, trials - successes + 1, p) <= alpha)[0]


def upper(successes: int, trials: int, alpha: float) -> float:
    """Bound a probability from above, wrong with probability at most ``alpha``."""
    if successes == trials:
        return 1.0
    # Pr[at most k successes] is decreasing in p, and alpha at the bound.
    return _solve(lambda p: 1 - beta_regularized(successes + 1, trials - successes, p) > alpha)[1]


def _solve(left_of: object) -> tuple[float, float]:
    """Bisect for the place where a condition that holds near 0 stops holding."""
    assert callable(left_of)
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if left_of(middle):
            low = middle
        else:
            high = middle
    return low, high


def beta_regularized(a: float, b: float, x: float) -> float:
    """Give I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction by Lentz's method."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
            step = c * d
        if abs(step - 1) < 1e-15:
            break
    return value


def chi_square_tail(x: float, degrees: int) -> float:
    """Give Pr[χ² > x]: the upper incomplete gamma function Q(degrees/2, x/2)."""
    a, y = degrees / 2, x / 2
    if y <= 0:
        return 1.0
    front = math.exp(a * math.log(y) - y - math.lgamma(a))
    if y < a + 1:
        term = total = 1 / a
        n = a
        while term > total * 1e-17:
            n += 1
            term *= y / n
            total += term
        return 1 - front * total
    return front * _gamma_fraction(a, y)


def _gamma_fraction(a: float, y: float) -> float:
    b = y + 1 - a
    c, d = 1 / _TINY, 1 / b
    value = d
    for n in range(1, 100_000):
        term = -n * (n - a)
        b += 2
        d = 1 / (term * d + b)
        c = b + term / c
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
