"""Permute-and-flip: never worse than the exponential mechanism, same promise.

Promise: ε-differential privacy (McKenna and Sheldon, "Permute-and-flip", NeurIPS 2020).

What it does. Go through the candidates in random order and stop at the first whose coin,
true with probability exp(−ε·(max − score)/(2Δ)), comes up true; the best one's always does.

Proof. McKenna and Sheldon (Theorem 1) show that every output probability is a product of terms
exp(ε·s/(2Δ)) and sums of such products in which raising one score by Δ, or lowering all others by
Δ, changes the result by at most e^(ε/2) each. The same law is that of the noisy maximum with
one-sided exponential noise of scale 2Δ/ε (Ding et al. 2021), for which the usual argument applies:
with the other noises fixed, the pick wins for noise above some r, and for a neighbour above
r + 2Δ at most, and Pr[noise > r + 2Δ] ≥ e^(−ε)·Pr[noise > r]. For monotone scores r + Δ suffices.
Order and coins are exact: an undecided coin is settled by exact arithmetic.

Error. As a noisy maximum with exponential noise of scale 1/r: at most ln(n)/r expected (no more
than the exponential mechanism) and above (ln n + ln(1/β))/r with probability below β.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.mechanisms.selection import Selection
from sfumato.dp.noise.chances import decide, exponential
from sfumato.dp.noise.choice import exact, gamma_words
from sfumato.dp.noise.fixed_point import EXP_ERROR
from sfumato.dp.noise.stream import stream
from sfumato.dp.noise.uniform import permutation

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.mechanisms.base import Error


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """Pick a candidate by flipping coins in random order."""

    def picks(self, scores: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Pick ``count`` times, independently."""
        coins = _Coins(scores, self.rate)
        return np.array([coins.first_true() for _ in range(count)], dtype=np.int64)

    @property
    def error(self) -> Error:
        """The score lost against the best of ``size`` candidates."""
        entropy = math.log(self.candidates)
        return self._score_loss(self.per_log * entropy, self.per_log, entropy)


class _Coins:
    """One coin per candidate, with probability exp(−rate·(max − score)) enclosed in words."""

    def __init__(self, scores: npt.NDArray[Any], rate: Fraction) -> None:
        from sfumato.dp.noise import kernels  # noqa: PLC0415 - compiled code loads on use

        self._scores, self._rate = scores, rate
        self._best = exact(scores[np.argmax(scores)])
        least, most = gamma_words(scores, rate)
        self._high = np.empty(scores.size, dtype=np.uint64)
        self._low = np.empty(scores.size, dtype=np.uint64)
        kernels.exp_words(least, kernels.EXP_TABLE, self._high)
        kernels.exp_words(most, kernels.EXP_TABLE, self._low)
        error = np.uint64(EXP_ERROR)
        self._high += np.minimum(error, ~self._high)
        self._low -= np.minimum(error, self._low)

    def first_true(self) -> int:
        """Flip all coins, in random order, and give the first candidate whose coin is true."""
        source = stream()
        order = permutation(self._scores.size, source=source)
        words = source.uint64(order.size)
        for place in np.flatnonzero(words <= self._high[order]).tolist():
            index = int(order[place])
            if words[place] < self._low[index] or self._settle(index, int(words[place])):
                return index
        raise AssertionError("the best candidate's coin is always true")

    def _settle(self, index: int, word: int) -> bool:
        gamma = self._rate * (self._best - exact(self._scores[index]))
        return decide(exponential(gamma), word, 64, stream())
