"""Peeling: pick the best candidate k times, each pick removed from the candidates. Exactly.

Promise: k picks, each by the exponential mechanism with weights exp(ε₀·c) of whole counts c, are
k·ε₀-DP, and k·ε₀²/8-zCDP, for counts that one unit moves by 0 or 1 and all in the same
direction. So ε₀ = ε/k, the lecture's, or ε₀ = √(8ρ/k), which is far more for large k.

Proof. Adding a unit raises some counts by 1 and lowers none. For a set of candidates left over from
earlier picks, the weight of each grows by a factor between 1 and e^ε₀, and so does the sum of
weights; the ratio of probabilities of any pick is between e^(−ε₀) and e^ε₀, without the usual 2.
More: the logarithms of all ratios lie in an interval of length ε₀ (those of the weights in [0, ε₀],
minus one number for all), that is, bounded range, hence ε₀²/8-zCDP (Dong, Durfee and Rogers,
ICML 2020; Cesar and Rogers, ALT 2021). Picks compose. No unit has to be cut to few items:
how many counts it moves does not matter.

Exactness and speed. Candidates with equal counts are interchangeable: a pick draws a *group* with
weight (how many are left)·exp(ε₀·c) by :class:`~sfumato.dp.noise.choice.Choice`, then one of
its members evenly. That is the law of peeling, with as many weights as there are different counts,
so a million candidates cost little more than sorting them, and those that nobody has are one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.choice import Choice
from sfumato.dp.noise.uniform import below

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray


def peel(counts: NDArray[np.int64], picks: int, rate: Fraction) -> NDArray[np.int64]:
    """Pick ``picks`` different candidates, with weights exp(rate·count) among those left."""
    order = np.argsort(counts, kind="stable")
    values, firsts, left = np.unique(counts[order], return_index=True, return_counts=True)
    left = left.astype(np.int64)
    members: dict[int, _Members] = {}
    out = np.empty(picks, dtype=np.int64)
    present = np.arange(values.size)
    for number in range(picks):
        choice = Choice(values[present], rate, counts=left[present])
        group = int(present[int(choice.draw(1)[0])])
        if group not in members:
            members[group] = _Members(int(left[group]))
        out[number] = order[firsts[group] + members[group].take()]
        left[group] -= 1
        if not left[group]:
            present = present[present != group]
    return out


class _Members:
    """The members 0 … n−1 of a group, of which any may be taken next; n may be large."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._moved: dict[int, int] = {}

    def take(self) -> int:
        """Take one of those left, each with the same probability (Fisher and Yates)."""
        spot = int(below(self._size, 1)[0])
        taken = self._moved.get(spot, spot)
        self._size -= 1
        self._moved[spot] = self._moved.get(self._size, self._size)
        return taken
