"""Bins of a Gaussian: their weights, and the exact acceptance of a point inside one.

Contract: :class:`BinWeights` lists exp(−B²/(2v)) for the bins (h, s), numbered 2h + s, that begin
at B = h·w + s·a. ``verdicts`` accepts each candidate point B + r with probability
exp(−r(2B+r)/(2v)), exactly. ``BinWeights.sure`` bounds that probability from below for the bins
of a table, in 256ths.

Proof of the error of the compiled decision. Let κ = w²/(2v), ρ = r/w in [0, 1) and
γ = κ·ρ·(2h + ρ + 2·s·a/w), the exponent wanted. ρ is cut to 52 bits; the factor in brackets, below
2^11, is cut to 52 fractional bits; their product and its product with κ, held to 63
significant bits, are cut to 2⁻⁵² and 2⁻⁵⁸. Since κ ≤ 1/(2·54²) and h < 1024, κ·(2h+3) < ½: cutting
ρ moves γ by less than ½·2⁻⁵², and the other cuts move it by less than 3·2⁻⁵⁸. So the computed γ is
below the true one by less than 2⁻⁵²; exp(−γ) moves by no more, that is by 4096 units of 2⁻⁶⁴,
and ``exp_word`` adds 32. A coin farther than ``_ERROR`` = 8192 from the bound is decided
rightly. Bins with h ≥ 1024 are always left to exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.dp.noise import fixed_point
from sfumato.dp.noise.alias import FEW
from sfumato.dp.noise.intervals import Bounds, exp_bounds, multiply

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sfumato.dp.noise.stream import Stream

_ERROR = 8192
_CUT = 52
_STEP = 64


@dataclass(frozen=True)
class BinWeights:
    """Weights exp(−(h·w + s·a)²/(2v)) of the pairs (h, s), numbered 2h + s."""

    variance: Fraction
    width: Fraction
    offset: int  # a: 1 for the discrete law, 0 for the continuous one
    size: None = None

    @property
    def kappa(self) -> Fraction:
        """w²/(2v)."""
        return self.width**2 / (2 * self.variance)

    @cached_property
    def words(self) -> tuple[int, int, int]:
        """κ to 64 bits and the shift of its products, and the lean 2a/w in units of 2⁻⁵²."""
        exponent = 0
        while self.kappa < Fraction(1, 2 << exponent):
            exponent += 1
        kappa = int(self.kappa * (1 << (64 + exponent)))
        return kappa, exponent - 5, int(2 * self.offset * (1 << _CUT) / self.width)

    def bounds(self, bits: int) -> Iterator[Bounds]:
        """Enclose the weights, by recurrence: the quotient of neighbours shrinks by exp(−2κ)."""
        unit = (1 << bits, 1 << bits)
        shrink = exp_bounds(2 * self.kappa, bits)
        starts = [self.offset * side for side in (0, 1)]
        values = [exp_bounds(Fraction(b * b) / (2 * self.variance), bits) for b in starts]
        ratios = [
            exp_bounds(self.width * (self.width + 2 * b) / (2 * self.variance), bits)
            for b in starts
        ]
        assert values[0] == unit
        while True:
            for side in (0, 1):
                yield values[side]
                values[side] = multiply(values[side], ratios[side], bits)
                ratios[side] = multiply(ratios[side], shrink, bits)

    def tail(self, count: int, bits: int) -> int:
        """Bound the tail: (h+j)² ≥ h² + 2hj, so it is at most 2·exp(−κh²)/(1 − exp(−2κh))."""
        h = count // 2
        _, first = exp_bounds(self.kappa * h * h, bits)
        _, ratio = exp_bounds(2 * self.kappa * h, bits)
        gap = max(1, (1 << bits) - ratio)
        return -(-(2 * first << bits) // gap)

    def sure(self, count: int) -> int:
        """Bound the acceptance in the first ``count`` bins from below, in 256ths.

        γ grows with h, ρ and the lean, so it is at most κ·(2h + 1 + 2a/w) for the largest h.
        """
        lean = 2 * self.offset / self.width
        least, _ = exp_bounds(self.kappa * (2 * (count // 2) + 1 + lean), _STEP)
        return least >> (_STEP - 8)

    def exponent(self, number: int, r: Fraction) -> Fraction:
        """γ of the point r (a fraction of the width) in bin ``number``."""
        lean = 2 * (number & 1) * self.offset / self.width
        return self.kappa * r * (2 * (number >> 1) + r + lean)


class Candidates(NamedTuple):
    """Bin numbers, and the first ``bits`` bits of the place inside the bin."""

    bins: npt.NDArray[np.int64]
    fine: npt.NDArray[Any]
    bits: int


def verdicts(
    weights: BinWeights,
    candidates: Candidates,
    words: npt.NDArray[np.uint64],
    coins: npt.NDArray[np.uint64],
    source: Stream,
) -> npt.NDArray[np.bool_]:
    """Accept or refuse each candidate; ``words`` begin with the first 52 bits of its place."""
    found = _decided(weights, candidates, words, coins)
    for index in np.flatnonzero(found == 2).tolist():
        place = int(candidates.fine[index])
        found[index] = _settle(
            weights, int(candidates.bins[index]), place, candidates.bits, int(coins[index]), source
        )
    return np.equal(found, 1)


def _decided(
    weights: BinWeights,
    candidates: Candidates,
    words: npt.NDArray[np.uint64],
    coins: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int8]:
    """Decide by integers of 64 bits what they can decide."""
    kappa, shift, lean = weights.words
    cut = np.uint64(64 - min(candidates.bits, _CUT))
    fine = words >> cut << cut
    if words.size <= FEW:
        rows = zip(fine.tolist(), coins.tolist(), candidates.bins.tolist(), strict=True)
        few = [fixed_point.accept(*row, lean, kappa, shift, _ERROR) for row in rows]
        return np.array(few, dtype=np.int8)
    from sfumato.dp.noise import kernels  # noqa: PLC0415 - a few draws need no compiler

    found = np.empty(words.size, dtype=np.int8)
    kernels.accept(
        fine,
        coins,
        candidates.bins,
        np.array([0, lean], dtype=np.uint64),
        np.uint64(kappa),
        shift,
        kernels.EXP_TABLE,
        np.uint64(_ERROR),
        found,
    )
    return found


def _settle(
    weights: BinWeights, number: int, place: int, bits: int, coin: int, source: Stream
) -> bool:
    """Decide by exact arithmetic: coin < exp(−γ), all quantities known to more and more bits.

    For the discrete law the place is known completely; for the continuous one its further
    bits are drawn here. They lie below the bits that the rounded point shows.
    """
    coin_bits = 64
    while True:
        nearest = Fraction(place, 1 << bits)
        farthest = nearest if weights.offset else nearest + Fraction(1, 1 << bits)
        precise = coin_bits + _STEP
        least, _ = exp_bounds(weights.exponent(number, farthest), precise)
        _, most = exp_bounds(weights.exponent(number, nearest), precise)
        if (coin + 1) << _STEP <= least:
            return True
        if coin << _STEP >= most:
            return False
        coin, coin_bits = coin << _STEP | source.bits(_STEP), coin_bits + _STEP
        if not weights.offset:
            place, bits = place << _STEP | source.bits(_STEP), bits + _STEP
