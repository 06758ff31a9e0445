"""Binomial probabilities for large n, to about eleven digits.

Contract: ``binomial(k, n, p)`` is Pr[k of n coins show heads], elementwise over arrays of k and n;
``tail_limit`` is the number of heads that chance reaches with at most a given probability.

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

_SERIES_FROM = 16
_SMALL = np.array(
    [0.0]
    + [
        math.lgamma(k + 1) - ((k + 0.5) * math.log(k) - k + 0.5 * math.log(2 * math.pi))
        for k in range(1, _SERIES_FROM)
    ]
)


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
    """Give the least k with Pr[k or more of n coins show heads] ≤ level; n + 1 if there is none.

    Sums are taken from the far end, where terms are small. What lies beyond the far end has at most
    a millionth of the level (Bernstein's inequality) and is counted as that.
    """
    slack = level * 1e-6
    mean, spread, far = n * p, n * p * (1 - p), math.log(1 / slack)
    reach = far / 3 + math.sqrt(far * far / 9 + 2 * spread * far)
    low, high = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    terms = binomial(np.arange(low, high + 1), n, p)
    tails = np.cumsum(terms[::-1])[::-1] + (slack if high < n else 0.0)
    small = np.flatnonzero(tails <= level)
    return low + int(small[0]) if small.size else high + 1


def _stirling(n: Floats) -> Floats:
    """Give ln n! − ((n+½)·ln n − n + ½·ln 2π)."""
    square = 1 / (n * n)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / n
    small = _SMALL[np.minimum(n, _SERIES_FROM - 1).astype(np.int64)]
    return np.where(n < _SERIES_FROM, small, series)


def _away(k: Floats, mean: Floats) -> Floats:
    """Give k·ln(k/m) + m − k."""
    gap = (k - mean) / mean
    return mean * ((1 + gap) * np.log1p(gap) - gap)
