"""Discrete and rounded Gaussian noise, exact for every rational variance.

Contract: ``discrete_gaussian(v, n)`` draws n integers with Pr[x] ∝ exp(−x²/(2v)) exactly
(Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020).
``rounded_gaussian(v, n)`` draws n integers that are a continuous N(0, v) variable rounded to
the nearest whole number, exactly: Pr[x] = Φ((x+½)/σ) − Φ((x−½)/σ). Adding the second to an integer
is the same as rounding the continuous Gaussian mechanism, hence post-processing of it. The
result is ``int64``, or an object array of Python integers where that could not hold it.

Proof. Cut the half-lines x ≥ 0 and x < 0 into bins of width w = 2^k. Bin h on side s begins at
B = h·w + s·a and holds the points ±(B + r), 0 ≤ r < w, where a = 1 for the discrete law (the
negative side begins at −1, so zero is not counted twice) and a = 0 for the continuous one. On
the bin the target density exp(−(B+r)²/(2v)) is at most exp(−B²/(2v)). Draw (h, s) with weight
exp(−B²/(2v)) from an exact table, r uniformly in the bin, and accept with probability
exp(−((B+r)² − B²)/(2v)) = exp(−r(2B+r)/(2v)): the accepted points follow the target (rejection;
von Neumann 1951). With w about σ/80 it accepts 99.5 %; for w = 1 always.

Acceptance is decided in 64-bit integers with a proven error, and by exact arithmetic with more
random bits when the coin falls nearer than that error to the bound (see :mod:`.bins`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.alias import FEW, Table, build
from sfumato.dp.noise.bins import BinWeights, Candidates, verdicts
from sfumato.dp.noise.chances import exact_parameter
from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.dp.noise.stream import Stream

_BLOCK = 1 << 14
_BINS_PER_SIGMA = 108  # a half-line of 9.3σ then fits a table of 2^11 entries with both signs
_FINE = 52  # bits of r drawn with the bin
_WIDEST = 51  # the largest k for which the point fits 63 bits


@dataclass(frozen=True, eq=False)
class _Plan:
    variance: Fraction
    discrete: bool
    power: int  # the width of a bin is 2^power
    table: Table

    @property
    def wide(self) -> bool:
        return self.power > _WIDEST

    @property
    def fine_bits(self) -> int:
        """How many bits of r are drawn: all for the discrete law, else those the point shows."""
        if self.discrete:
            return self.power
        return self.power + 8 if self.wide else _FINE


def discrete_gaussian(
    variance: Fraction | int, size: int, *, source: Stream | None = None
) -> npt.NDArray[Any]:
    """Draw ``size`` integers with Pr[x] ∝ exp(−x²/(2·variance)), exactly."""
    return _sample(_plan(_checked(variance), discrete=True), size, source or stream())


def rounded_gaussian(
    variance: Fraction | int, size: int, *, source: Stream | None = None
) -> npt.NDArray[Any]:
    """Draw ``size`` continuous N(0, variance) variables rounded to whole numbers, exactly."""
    return _sample(_plan(_checked(variance), discrete=False), size, source or stream())


def _checked(variance: Fraction | int) -> Fraction:
    exact = exact_parameter(variance, "The variance of Gaussian noise")
    if exact <= 0:
        raise ParameterError(f"The variance of Gaussian noise is above 0, and {exact} was given.")
    return exact


@lru_cache(maxsize=64)
def _plan(variance: Fraction, *, discrete: bool) -> _Plan:
    power = 0
    while variance > _BINS_PER_SIGMA**2 << 2 * power:
        power += 1
    while not discrete and variance <= _BINS_PER_SIGMA**2 * Fraction(4) ** (power - 1):
        power -= 1
    weights = BinWeights(variance, Fraction(2) ** power, int(discrete))
    return _Plan(variance, discrete, power, build(weights, most=2047))


def _sample(plan: _Plan, size: int, source: Stream) -> npt.NDArray[Any]:
    out: npt.NDArray[Any] = np.empty(size, dtype=object if plan.wide else np.int64)
    filled = 0
    while filled < size:
        missing = size - filled
        # 2 % more than needed, because about 0.5 % are refused.
        count = missing if missing <= FEW else min(_BLOCK, missing + missing // 50 + 8)
        points = _accepted(plan, count, source)[:missing]
        if points.dtype == object and out.dtype != object:
            out = out.astype(object)
        out[filled : filled + points.size] = points
        filled += points.size
    return out


def _accepted(plan: _Plan, count: int, source: Stream) -> npt.NDArray[Any]:
    """Draw ``count`` candidates and return the points of those accepted."""
    bins = plan.table.draw(count, source)
    if plan.discrete and plan.power == 0:
        return _discrete_points(bins, np.zeros_like(bins), 0)
    words = source.uint64(count)
    wide = plan.wide or bool(bins.max(initial=0) > 2047)
    fine = _fine(plan, words, source) if wide else words >> np.uint64(64 - plan.fine_bits)
    candidates = Candidates(bins, fine, plan.fine_bits)
    weights = plan.table.weights
    assert isinstance(weights, BinWeights)
    accepted = verdicts(weights, candidates, words, source)
    bins, fine = bins[accepted], fine[accepted]
    if wide:
        bins = bins.astype(object)
    else:
        fine = fine.astype(np.int64)
    if plan.discrete:
        return _discrete_points(bins, fine, plan.power)
    return _rounded_points(bins, fine, plan)


def _fine(plan: _Plan, words: npt.NDArray[np.uint64], source: Stream) -> npt.NDArray[Any]:
    """Extend the 52 bits of r drawn with each word to all its bits, as Python integers."""
    extra = plan.fine_bits - _FINE
    heads = (words >> np.uint64(64 - _FINE)).tolist()
    if extra <= 0:
        return np.array([head >> -extra for head in heads], dtype=object)
    return np.array([head << extra | source.bits(extra) for head in heads], dtype=object)


def _discrete_points(
    bins: npt.NDArray[Any], fine: npt.NDArray[Any], power: int
) -> npt.NDArray[Any]:
    points: npt.NDArray[Any] = (((bins >> 1) << power) + fine) ^ -(bins & 1)
    return points


def _rounded_points(
    bins: npt.NDArray[Any], fine: npt.NDArray[Any], plan: _Plan
) -> npt.NDArray[Any]:
    """Round ±(h + r)·2^power, r being known to ``fine_bits`` bits, to whole numbers."""
    drop = plan.fine_bits - plan.power
    if bins.dtype != object and drop > 62:  # below 2^10·2^−11: nearer to 0 than to 1
        return np.zeros_like(bins)
    located = ((bins >> 1) << plan.fine_bits) + fine
    if bins.dtype == object:
        magnitude = located + (1 << drop - 1) >> drop
    else:
        magnitude = (located + np.int64(1 << drop - 1)) >> np.int64(drop)
    negative = bins & 1
    points: npt.NDArray[Any] = (magnitude ^ -negative) + negative
    return points
