"""Exact draws from up to millions of candidates with exponential weights.

Contract: :class:`Choice` draws index i with probability proportional to c_i·exp(rate·s_i), exactly,
for scores s_i that are integers or floats (each float is the dyadic rational it is), a rational
rate > 0 and whole counts c_i ≥ 1.

Proof. Let γ_i = rate·(max s − s_i) ≥ 0 and let 2^a be a power of two. Choose integers
W_i ≥ c_i·2^a·exp(−γ_i). Draw i with probability W_i/ΣW (a uniform integer below ΣW), accept it
with probability c_i·2^a·exp(−γ_i)/W_i ≤ 1, a :class:`~sfumato.dp.noise.chances.Chance` computed
exactly for the one index at hand, and start again otherwise. The accepted index has probability
proportional to c_i·exp(−γ_i) (rejection), whatever the W_i are; they only decide how often a
draw is repeated. They are upper bounds from a compiled exponential with an error below 2⁻⁴⁰, and
at least 1, so that is about once in 2⁴⁰ draws for few candidates; among very many points, most of
them far below the best, it is more often, and how often then depends on the scores.

:func:`gamma_words` is the only place where scores meet floating point: it gives bounds on γ_i. The
gap max s − s_i is rounded once, its product with the rate (rounded once) once more: a relative
error below 2⁻⁵¹, which the bounds widen by 2⁻⁵⁰.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.chances import Chance, flip
from sfumato.dp.noise.intervals import exp_bounds
from sfumato.dp.noise.stream import stream
from sfumato.dp.noise.uniform import below
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.dp.noise.intervals import Bounds
    from sfumato.dp.noise.stream import Stream

_ROOM = 62  # bits of the sum of all W
_MOST = 2.0**60
_FAR = 63.0  # exp(−63) is below 2⁻⁹⁰: farther candidates all get the smallest W
_WIDER = 2.0**-50


class Choice:
    """Candidates with weights c_i·exp(rate·s_i), prepared for exact draws."""

    def __init__(
        self,
        scores: npt.NDArray[Any],
        rate: Fraction,
        counts: npt.NDArray[np.int64] | None = None,
    ) -> None:
        from sfumato.dp.noise import kernels  # noqa: PLC0415 - compiled code loads on use

        self._scores, self._rate = scores, rate
        self._best = exact(scores[np.argmax(scores)])
        self._counts = np.ones(scores.size, dtype=np.int64) if counts is None else counts
        if self._counts.sum(dtype=np.float64) > _MOST:
            raise ParameterError(
                "More than 2^60 candidates cannot be told apart; use a coarser step."
            )
        self._shift = _ROOM - int(self._counts.sum()).bit_length()
        least, _ = gamma_words(scores, rate)
        self._tops = np.empty(scores.size, dtype=np.int64)
        scaled = self._counts.astype(np.uint64) << np.uint64(self._shift)
        kernels.envelope(least, scaled, kernels.EXP_TABLE, self._tops)
        self._sums = np.cumsum(self._tops)
        self._chances: dict[int, Chance] = {}

    def draw(self, count: int, *, source: Stream | None = None) -> npt.NDArray[np.int64]:
        """Draw ``count`` indices."""
        source = source or stream()
        out = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            spots = below(int(self._sums[-1]), count - filled, source=source)
            found = np.searchsorted(self._sums, spots, side="right")
            kept = found[self._accepted(found, source)]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out

    def _accepted(self, found: npt.NDArray[Any], source: Stream) -> npt.NDArray[np.bool_]:
        coins = source.uint64(found.size).tolist()
        verdicts = [
            flip(self._chance(index), coin, source)
            for index, coin in zip(found.tolist(), coins, strict=True)
        ]
        return np.array(verdicts, dtype=np.bool_)

    def _chance(self, index: int) -> Chance:
        if index not in self._chances:
            gamma = self._rate * (self._best - exact(self._scores[index]))
            weight = int(self._counts[index]) << self._shift
            self._chances[index] = _quotient(gamma, weight, int(self._tops[index]))
        return self._chances[index]


def exact(score: Any) -> Fraction:
    """Read an element of an array of scores exactly."""
    return Fraction(score if isinstance(score, int) else score.item())


def _quotient(gamma: Fraction, weight: int, top: int) -> Chance:
    """Give the chance weight·exp(−γ)/top, which is at most 1."""

    def bounds(bits: int) -> Bounds:
        lo, hi = exp_bounds(gamma, bits + 64)
        return (weight * lo // top) >> 64, min(1 << bits, -(-weight * hi // (top << 64)))

    return Chance("acceptance", bounds)


def gamma_words(
    scores: npt.NDArray[Any], rate: Fraction
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Enclose γ_i = rate·(max − s_i), in units of 2⁻⁵⁸ and at most 63, between two words."""
    with np.errstate(over="ignore"):
        gammas = np.minimum(gaps_below_best(scores) * bounded_float(rate), _FAR)
    least = np.floor(np.ldexp(gammas * (1 - _WIDER), 58))
    most = np.ceil(np.ldexp(np.minimum(gammas * (1 + _WIDER), _FAR), 58)) + 1
    return least.astype(np.uint64), most.astype(np.uint64)


def gaps_below_best(scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Give max − s_i for scores of any type, rounded once; infinite beyond all floats."""
    if scores.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(scores.max() - scores, dtype=np.float64)
    if scores.dtype == object:
        best = max(scores)
        return np.array([_float_or_infinity(best - score) for score in scores])
    # Modulo 2^64 the difference of two integers of 64 bits is right, and it is not negative.
    words = scores.astype(np.int64).view(np.uint64)
    gaps: npt.NDArray[np.float64] = (words[np.argmax(scores)] - words).astype(np.float64)
    return gaps


def _float_or_infinity(gap: int) -> float:
    try:
        return float(gap)
    except OverflowError:
        return math.inf


def bounded_float(rate: Fraction) -> float:
    """Round a rate to the nearest float, staying among the normal ones."""
    if rate >= Fraction(2) ** 1000 or rate <= Fraction(2) ** -1000:
        raise ParameterError(
            "ε divided by the sensitivity is beyond 2^1000 or below 2^-1000; scale the scores."
        )
    return float(rate)
