"""Binomial probabilities and their tails, for large n too.

Contract: ``binomial(k, n, p)`` is Pr[k of n coins show heads], elementwise over arrays of k and n,
to about eleven digits; ``log_tail`` and ``log_lower_tail`` are logarithms of tails beyond the mean,
to about 15; ``tail_limit`` is the number of heads that chance reaches with at most a probability.

A tail is summed from its largest term downwards. All terms are positive, so nothing cancels; what
is cut off is replaced by the geometric series that dominates it.

The saddle-point form (Loader, "Fast and accurate computation of binomial probabilities", 2000)
avoids the cancellation that logarithms of factorials of large n suffer from: with m = n·p, m′ =
n(1−p),

    Pr[k] = √(n/(2πk(n−k))) · exp(s(n) − s(k) − s(n−k) − D(k, m) − D(n−k, m′)),

where s is the error of Stirling's formula and D(k, m) = k·ln(k/m) + m − k, written as a function of
the small number k/m − 1, so that its error is of the order of √n times that of a float.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_RESTS = tuple(  # ln n! minus Stirling's formula, for n below 16
    0.0 if n == 0 else math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(math.tau)
    for n in range(16)
)
_SMALL = np.array(_RESTS)
_BLOCK = 4096


def binomial(k: npt.NDArray[np.int64], n: npt.NDArray[np.int64] | int, p: float) -> Floats:
    """Give Pr[k of n coins show heads] for coins of probability p."""
    heads, trials = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    tails = trials - heads
    inner = (heads > 0) & (tails > 0)
    # Where all coins agree the closed form is simpler; elsewhere 1 stands in for a safe argument.
    x, y, t = (np.where(inner, part, 1.0) for part in (heads, tails, trials))
    log = _stirling(t) - _stirling(x) - _stirling(y) - _away(x, t * p) - _away(y, t * (1 - p))
    out = np.sqrt(t / (2 * math.pi * x * y)) * np.exp(log)
    out = np.where(inner, out, 0.0)
    out = np.where((heads == 0) & (tails >= 0), np.exp(trials * math.log1p(-p)), out)
    return np.where((tails == 0) & (heads > 0), np.exp(trials * math.log(p)), out)


def tail_limit(n: int, p: float, level: float) -> int:
    """Give the least k with Pr[k or more of n coins show heads] ≤ level; n + 1 if there is none."""
    low, high = 0, n + 1  # nobody has 0 or more with a probability below 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle, n, p) <= level else (middle, high)
    return high


def tail(k: int, n: int, p: float) -> float:
    """Give Pr[Bin(n, p) ≥ k], summed on that side of the mean where terms fall."""
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    if k > n * p:
        return math.exp(min(0.0, log_tail(k, n, p)))
    return max(0.0, -math.expm1(min(0.0, log_lower_tail(k - 1, n, p))))


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
    return _log_term(k, n, log_p, log_q) + math.log(total)


def _log_term(k: int, n: int, log_p: float, log_q: float) -> float:
    if k == n:
        return n * log_p
    p, q = math.exp(log_p), math.exp(log_q)
    return (
        _rest(n)
        - _rest(k)
        - _rest(n - k)
        - _deviance(k, n * p)
        - _deviance(n - k, n * q)
        + 0.5 * math.log(n / (math.tau * k * (n - k)))
    )


def _rest(n: int) -> float:
    """Give ln n! − (n + ½)·ln n + n − ½·ln 2π."""
    if n < len(_RESTS):
        return _RESTS[n]
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


def _stirling(n: Floats) -> Floats:
    """Give ln n! − ((n+½)·ln n − n + ½·ln 2π)."""
    square = 1 / (n * n)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / n
    small = _SMALL[np.minimum(n, len(_RESTS) - 1).astype(np.int64)]
    return np.where(n < len(_RESTS), small, series)


def _away(k: Floats, mean: Floats) -> Floats:
    """Give k·ln(k/m) + m − k."""
    gap = (k - mean) / mean
    return mean * ((1 + gap) * np.log1p(gap) - gap)
