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

Most coins accept wherever the point lies: with b 256ths a lower bound of the acceptance in all bins
of the table, a coin U whose first byte is below b has U < b/256, and is not looked at further. The
others keep that byte and draw the rest. The byte is independent of the point, so which candidates
take the longer way says nothing of them.

Acceptance is decided in 64-bit integers with a proven error, and by exact arithmetic with more
random bits when the coin falls nearer than that error to the bound (see :mod:`.bins`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiled import free
from sfumato.dp.noise.alias import FEW, AliasTable, build
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
    table: AliasTable

    @property
    def wide(self) -> bool:
        return self.power > _WIDEST

    @property
    def fine_bits(self) -> int:
        """How many bits of r are drawn: all for the discrete law, else those the point shows."""
        if self.discrete:
            return self.power
        return self.power + 8 if self.wide else _FINE

    @property
    def weights(self) -> BinWeights:
        """The weights of the bins."""
        assert isinstance(self.table.weights, BinWeights)
        return self.table.weights

    @cached_property
    def layout(self) -> tuple[int, int, int, int, int, int]:
        """What :class:`.kernels.Layout` says, in its order."""
        sure = self.weights.sure(len(self.table.shares))
        drop = 0 if self.discrete else min(self.fine_bits - self.power, 63)
        half = 1 << drop - 1 if 0 < drop < 63 else 0  # with 63 bits dropped, all is nearer to 0
        mirror = int(not self.discrete)
        return self.table.level, self.fine_bits, drop, half, mirror, sure


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
    """Draw candidates, and others in the place of those refused, about one in 200."""
    if plan.discrete and plan.power == 0:
        return _pick(plan, size, source)
    out: npt.NDArray[Any] = np.empty(size, dtype=object if plan.wide else np.int64)
    refused = [np.empty(0, dtype=np.int64)]
    for start in range(0, size, _BLOCK):
        block = slice(start, min(start + _BLOCK, size))
        points, left = _candidates(plan, out[block], source)
        out = _fit(out, points)
        if out.dtype == object:
            out[block] = points
        refused.append(left + start)
    places = np.concatenate(refused)
    if places.size:
        points = _sample(plan, places.size, source)
        out = _fit(out, points)
        out[places] = points
    return out


def _fit(out: npt.NDArray[Any], points: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make room for Python integers where points are such."""
    return out.astype(object) if points.dtype == object and out.dtype != object else out


def _pick(plan: _Plan, size: int, source: Stream) -> npt.NDArray[Any]:
    """Draw the bins alone, which are the points where a bin is one point wide."""
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        bins = plan.table.draw(min(_BLOCK, size - start), source)
        out[start : start + _BLOCK] = _discrete_points(bins, np.zeros_like(bins), 0)
    return out


def _candidates(
    plan: _Plan, points: npt.NDArray[Any], source: Stream
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Fill ``points`` with candidates; return them and the positions of those refused.

    They come back in another array only where Python integers are needed.
    """
    words, places = source.uint64(points.size), source.uint64(points.size)
    if points.dtype == object:
        coins = source.uint64(points.size)
        found, accepted = _judged(plan, plan.table.pick(words, source), places, coins, source)
        points[:] = found
        return points, np.flatnonzero(~accepted)
    unsure, bins = _located(plan, words, places, points)
    places = places[unsure]
    coins = places << np.uint64(56) | source.uint64(unsure.size) >> np.uint64(8)
    fine = places >> np.uint64(64 - plan.fine_bits)
    accepted = verdicts(plan.weights, Candidates(bins, fine, plan.fine_bits), places, coins, source)
    for index in np.flatnonzero(bins == plan.table.cells.size - 1).tolist():
        alone, number = slice(index, index + 1), np.array([plan.table.settle(source)])
        found, accepted[alone] = _judged(plan, number, places[alone], coins[alone], source)
        points = _fit(points, found)
        points[unsure[index]] = found[0]
    return points, unsure[~accepted]


def _located(
    plan: _Plan,
    words: npt.NDArray[np.uint64],
    places: npt.NDArray[np.uint64],
    points: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Fill ``points``; return the positions and bins of those that a coin's first byte leaves open.

    :func:`.kernels.candidates`, or for a few draws the same by operations on whole words, whose
    time no value changes: Python's own integers would tell a draw's size by theirs.
    """
    if words.size > FEW or free():
        from sfumato.dp.noise import kernels  # noqa: PLC0415 - a few draws need no compiler

        layout = kernels.Layout(*plan.layout)
        unsure, bins = np.empty((2, words.size + 1), dtype=np.int64)
        count = kernels.candidates(words, places, plan.table.cells, layout, points, unsure, bins)
        return unsure[:count], bins[:count]
    level, fine_bits, drop, half, mirror, sure = plan.layout
    low_bits, cut = np.uint64((1 << level) - 1), np.uint64(level)
    cell = words >> np.uint64(64 - level)
    entry = plan.table.cells[cell]
    number = np.where(words << cut < (entry & ~low_bits), cell, entry & low_bits).astype(np.int64)
    fine = (places >> np.uint64(64 - fine_bits)).astype(np.int64)
    magnitude = (((number >> 1) << fine_bits) + fine + half) >> drop
    side = number & 1
    points[:] = (magnitude ^ -side) + (mirror & -side)
    open_ = ((places & np.uint64(255)) >= np.uint64(sure)) | (number == plan.table.cells.size - 1)
    unsure = np.flatnonzero(open_)
    return unsure, number[unsure]


def _judged(
    plan: _Plan,
    bins: npt.NDArray[np.int64],
    places: npt.NDArray[np.uint64],
    coins: npt.NDArray[np.uint64],
    source: Stream,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Give the points of candidates, and whether their coins accept them."""
    wide = plan.wide or bool(bins.max(initial=0) > 2047)
    fine = _fine(plan, places, source) if wide else places >> np.uint64(64 - plan.fine_bits)
    accepted = verdicts(plan.weights, Candidates(bins, fine, plan.fine_bits), places, coins, source)
    located: npt.NDArray[Any] = bins.astype(object) if wide else bins
    fine = fine if wide else fine.astype(np.int64)
    if plan.discrete:
        return _discrete_points(located, fine, plan.power), accepted
    return _rounded_points(located, fine, plan), accepted


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
