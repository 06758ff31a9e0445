"""Report noisy max: add Laplace noise to every score, release which one is largest.

Promise: ε-differential privacy (Dwork and Roth 2014, section 3.3), for the index alone.

Proof. Scores are rounded to a grid, so they are integers z_i with |z_i − z′_i| ≤ D = ⌈Δ/g⌉. Each
gets discrete Laplace noise of scale t = 2D/ε; the largest sum wins, on a tie the earlier one. Fix
the noise of all candidates but i. Then i wins iff its noise is at least some whole number m. On
the neighbour the others' sums rise by at most D and i's score falls by at most D, so i wins there
if its noise is at least m + 2D. Discrete Laplace noise N satisfies
Pr[N ≥ m + 2D] ≥ e^(−2D/t)·Pr[N ≥ m] = e^(−ε)·Pr[N ≥ m]; average over the others' noise. Ties need
no randomness: their rule is public and inside m. For monotone scores i's advantage over each other
candidate changes by at most D, so t = D/ε suffices.

Error. The loss is at most twice the largest noise: 2t·(ln n + 1) expected, since the mean of the
largest of n such noises is at most t·(ln n + 1), and 2t·ln(n/β) exceeded with probability below β,
plus two steps of the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.grid import Grid, add
from sfumato.dp.mechanisms.selection import Selection
from sfumato.dp.noise.laplace import discrete_laplace

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.mechanisms.base import Error

_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ReportNoisyMax(Selection):
    """Pick the candidate whose score plus Laplace noise is largest."""

    @property
    def grid(self) -> Grid:
        """A grid 2⁻²⁰ times the sensitivity and the scale; each score is rounded alone."""
        return Grid.fine(
            sensitivity=parameters.bound(self.sensitivity), scale=1 / self.rate, size=1
        )

    @property
    def steps(self) -> Fraction:
        """The scale of the noise, in steps of the grid."""
        moved = self.grid.l1(parameters.bound(self.sensitivity), 1)
        return moved * self.doubling / parameters.budget(self.epsilon)

    def picks(self, scores: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
        """Pick ``count`` times, independently."""
        multiples = self.grid.multiples(scores)
        rows = max(1, _AT_ONCE // scores.size)
        return np.concatenate(
            [self._block(multiples, min(rows, count - done)) for done in range(0, count, rows)]
        )

    def _block(self, multiples: npt.NDArray[Any], rows: int) -> npt.NDArray[np.int64]:
        shape = (rows, multiples.size)
        noise = discrete_laplace(self.steps, rows * multiples.size).reshape(shape)
        sums = add(np.broadcast_to(multiples, shape), noise)
        best: npt.NDArray[np.int64] = np.argmax(sums, axis=1).astype(np.int64)
        return best

    @property
    def error(self) -> Error:
        """The score lost against the best of ``size`` candidates."""
        step = parameters.as_float(self.grid.step, "The step of the grid")
        per_log = parameters.as_float(
            2 * self.steps * self.grid.step, "The error of this selection"
        )
        entropy = math.log(self.candidates)
        # On a fine grid 2/(1+q) is 1 up to half a step over the scale; two steps cover it.
        spare = 2 * step / per_log
        return self._score_loss(per_log * (entropy + 1 + spare), per_log, entropy + spare)
