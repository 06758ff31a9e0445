"""Exact draws from a discrete distribution: an integer alias table and an exact remainder.

Contract: a :class:`Weights` value lists non-negative weights, finitely or infinitely many, each
enclosed to any number of bits. :func:`build` turns them into a table of 64-bit integers,
once; afterwards a random word and a single look-up give a draw with exactly the stated
probabilities. The work does not depend on the value drawn.

Proof of exactness. Let p(o) be the probability of outcome o and 2^L the size of the table. For
the first 2^L−1 outcomes choose any integers w(o) ≤ 2⁶⁴·p(o), here the floor of a lower bound, and
let w(*) = 2⁶⁴ − Σ w(o) be what remains. Draw from the integers first: outcome o with probability
w(o)/2⁶⁴, the remainder * with w(*)/2⁶⁴. That is a rational distribution with denominator 2⁶⁴,
which an alias table reproduces without error from one 64-bit word (Walker 1977; Vose 1991: every
cell of 2^(64−L) words is shared by at most two outcomes). On *, draw from the residual
distribution with weights 2⁶⁴·p(o) − w(o) ≥ 0 (with w(o) = 0 beyond the table). In total
outcome o has probability (w(o) + 2⁶⁴·p(o) − w(o))/2⁶⁴ = p(o).

The remainder has probability of about 2^(L−64) and is drawn by inversion with lazily drawn
bits (Devroye, "Non-uniform random variate generation", 1986, chapter XV): a uniform real and the
residual cumulative function are computed to more and more bits until the outcome is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sfumato.dp.noise.intervals import Bounds
    from sfumato.dp.noise.stream import Stream

WORD = 64
FEW = 32  # so many draws are cheaper by numpy than loading the compiled kernels
_SETUP_BITS = 96
_STEP = 64


class Weights(Protocol):
    """Weights of the outcomes 0, 1, 2, …, not all of them tiny."""

    @property
    def size(self) -> int | None:
        """How many outcomes there are; ``None`` for infinitely many."""

    def bounds(self, bits: int) -> Iterator[Bounds]:
        """Enclose each weight in units of 2^−bits, in order."""

    def tail(self, count: int, bits: int) -> int:
        """Bound from above the sum of all weights from outcome ``count`` on."""


@dataclass(frozen=True, eq=False)
class AliasTable:
    """An alias table: cell c belongs to c below its cut, and to its alias from there on.

    A cell is one word: the cut in the upper 64−L bits, the alias in the lower L.
    """

    weights: Weights
    cells: npt.NDArray[np.uint64]
    level: int
    shares: tuple[int, ...]

    def draw(self, count: int, source: Stream) -> npt.NDArray[np.int64]:
        """Draw ``count`` outcomes."""
        return self.pick(source.uint64(count), source)

    def pick(self, words: npt.NDArray[np.uint64], source: Stream) -> npt.NDArray[np.int64]:
        """Turn uniform words into outcomes, drawing more bits only for the remainder."""
        if words.size <= FEW:
            return self._pick_few(words, source)
        from sfumato.dp.noise import kernels  # noqa: PLC0415 - a few draws need no compiler

        out = np.empty(words.size, dtype=np.int64)
        if kernels.pick(words, self.cells, self.level, out):
            for index in np.flatnonzero(out == self.cells.size - 1).tolist():
                out[index] = self.settle(source)
        return out

    def _pick_few(self, words: npt.NDArray[np.uint64], source: Stream) -> npt.NDArray[np.int64]:
        """Do what the kernel does by operations on whole words, whose time no value changes.

        (Python's own integers are longer where a cut is, and their time tells it.)
        """
        keep, level = np.uint64(WORD - self.level), np.uint64(self.level)
        cell = words >> keep
        packed = self.cells[cell]
        below = words & np.uint64((1 << (WORD - self.level)) - 1)
        alias = packed & np.uint64((1 << self.level) - 1)
        out = np.where(below < packed >> level, cell, alias).astype(np.int64)
        for index in np.flatnonzero(out == self.cells.size - 1).tolist():
            out[index] = self.settle(source)
        return out

    def settle(self, source: Stream) -> int:
        """Draw from the residual distribution."""
        rest = (1 << WORD) - sum(self.shares)
        prefix, bits = 0, 0
        while True:
            prefix, bits = prefix << _STEP | source.bits(_STEP), bits + _STEP
            low, high = _residual(self, bits + WORD)
            # U lies in [prefix, prefix+1)·2^−bits; the lists are in units of 2^−bits too.
            for outcome, bound in enumerate(low):
                if (prefix + 1) * rest <= bound:
                    if outcome == 0 or prefix * rest >= high[outcome - 1]:
                        return outcome
                    break


def _residual(table: AliasTable, bits: int) -> tuple[list[int], list[int]]:
    """Enclose Σ (2⁶⁴·p(i) − w(i)) over i ≤ o, for every outcome o, in units of 2^(WORD−bits)."""
    low, high = cumulative(table.weights, bits)
    taken = list(accumulate(table.shares))
    scale = bits - WORD
    spent = [taken[min(o, len(taken) - 1)] << scale for o in range(len(low))]
    return (
        [part - gone for part, gone in zip(low, spent, strict=True)],
        [part - gone for part, gone in zip(high, spent, strict=True)],
    )


def cumulative(weights: Weights, bits: int) -> tuple[list[int], list[int]]:
    """Enclose the cumulative function, in units of 2^−bits, as far as it is not nearly 1."""
    lows, highs, rest = _enclosed(weights, bits + 32)
    low_sums, high_sums = list(accumulate(lows)), list(accumulate(highs))
    most, least = high_sums[-1] + rest, low_sums[-1]
    unit = 1 << bits
    low = [(part << bits) // most for part in low_sums]
    high = [min(unit, -(-(part << bits) // least)) for part in high_sums]
    if weights.size is not None:
        low[-1] = unit
    return low, high


def _enclosed(weights: Weights, work: int) -> tuple[list[int], list[int], int]:
    """Give lower and upper bounds of so many weights that the rest sums to at most 2^(16−work)."""
    count, rest = weights.size or 64, 0
    while weights.size is None and (rest := weights.tail(count, work)) > 1 << 16:
        count *= 2
    bounds = list(islice(weights.bounds(work), count))
    return [low for low, _ in bounds], [high for _, high in bounds], rest


def build(weights: Weights, *, most: int) -> AliasTable:
    """Make the table; outcomes beyond ``most`` must be rarer than 2⁻⁶⁴, which is checked."""
    low, _ = cumulative(weights, _SETUP_BITS)
    count = len(low) if weights.size is not None else _reach(low)
    if count > most:
        raise ArithmeticError(f"{count} outcomes do not fit a table of {most}")
    level = max(1, count.bit_length())
    shares = _shares(weights, count)
    cells = _alias(shares + [0] * ((1 << level) - 1 - count), level)
    return AliasTable(weights, np.array(cells, dtype=np.uint64), level, tuple(shares))


def _reach(low: list[int]) -> int:
    """Find the first outcomes that together miss less than 2⁻⁶⁴."""
    enough = (1 << _SETUP_BITS) - (1 << (_SETUP_BITS - WORD))
    return next(o for o, part in enumerate(low) if part >= enough) + 1


def _shares(weights: Weights, count: int) -> list[int]:
    """Round 2⁶⁴·p down for the first ``count`` outcomes."""
    lows, highs, rest = _enclosed(weights, _SETUP_BITS)
    most = sum(highs) + rest
    return [(low << WORD) // most for low in lows[:count]]


def _alias(shares: list[int], level: int) -> list[int]:
    """Share 2^level cells among the outcomes and, as the last one, the remainder."""
    room = 1 << (WORD - level)
    left = [*shares, (1 << WORD) - sum(shares)]
    cells = list(range(1 << level))
    small = [o for o, share in enumerate(left) if share < room]
    large = [o for o, share in enumerate(left) if share >= room]
    while small:
        poor, rich = small.pop(), large[-1]
        cells[poor] = left[poor] << level | rich
        left[rich] -= room - left[poor]
        if left[rich] < room:
            small.append(large.pop())
    # What is left fills its own cell: a cut of 0 with itself as alias.
    return cells
