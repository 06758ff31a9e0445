"""The exponential mechanism: Pr[candidate] ∝ exp(ε·score/(2Δ)), drawn exactly.

Promise: ε-differential privacy (McSherry and Talwar, "Mechanism design via differential
privacy", FOCS 2007).

Proof. For neighbours every score moves by at most Δ, so each weight exp(ε·s/(2Δ)) changes by a
factor of at most e^(ε/2), and so does their sum: the quotient changes by at most e^ε. If all scores
move in the same direction, weight and sum move together, and exp(ε·s/Δ) suffices. The draw
follows these weights exactly (:mod:`sfumato.dp.noise.choice`).

With ε = 0 all candidates are alike, and the data are not looked at.

Error. With n candidates and r = ε/(2Δ): the expected loss is at most ln(n)/r, because the
distribution maximises r·E[score] + entropy and the entropy is at most ln n; and the loss exceeds
(ln n + ln(1/β))/r with probability below β, because each such candidate has at most β/n of the
best one's weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.dp.mechanisms.selection import Selection
from sfumato.dp.noise.choice import Choice, bounded_float, gaps_below_best
from sfumato.dp.noise.uniform import below

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.mechanisms.base import Error


@dataclass(frozen=True, kw_only=True)
class Exponential(Selection):
    """Pick a candidate with probability proportional to exp(ε·score/(2Δ)); for ε = 0 evenly."""

    without_budget: ClassVar[bool] = True

    def picks(self, scores: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Pick ``count`` times, independently."""
        if not self.rate:
            return below(scores.size, count).astype(np.int64)
        return Choice(scores, self.rate).draw(count)

    def probabilities(self, value: Any) -> npt.NDArray[np.float64]:
        """Give every candidate's probability, for study: they reveal the scores."""
        scores = self._scores(value)
        if not self.rate:
            return np.full(scores.size, 1 / scores.size)
        return weights_to_probabilities(scores, self.rate)

    @property
    def error(self) -> Error:
        """The score lost against the best of ``size`` candidates."""
        entropy = math.log(self.candidates)
        if not self.rate:  # any candidate, however bad
            return self._score_loss(math.inf, math.inf, entropy)
        return self._score_loss(self.per_log * entropy, self.per_log, entropy)


def exponential_probabilities(
    scores: Any, *, sensitivity: float, epsilon: float
) -> npt.NDArray[np.float64]:
    """Give Pr ∝ exp(ε·score/(2Δ)) for study, down to ε = 0, where all are equal."""
    return Exponential(sensitivity=sensitivity, epsilon=epsilon).probabilities(scores)


def weights_to_probabilities(scores: npt.NDArray[Any], rate: Fraction) -> npt.NDArray[np.float64]:
    """Normalise exp(rate·score)."""
    with np.errstate(over="ignore"):
        weights = np.exp(-bounded_float(rate) * gaps_below_best(scores))
    shares: npt.NDArray[np.float64] = weights / weights.sum()
    return shares
