"""The tail of the χ² distribution, without a statistics library.

Contract: ``chi_square_tail`` is the probability that a χ² variable exceeds x. Exact bounds on
probabilities are in :mod:`sfumato.audit.claims.bounds`.
"""

from __future__ import annotations

import math

_TINY = 1e-300


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
