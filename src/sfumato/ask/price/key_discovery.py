"""Groups that nobody named beforehand: shown only when enough people are in them.

Contract: a group is shown if its noisy number of *people* reaches the threshold. Each person counts
once in a group, however many rows she has there, so a group is shown for its people.

Proof (Korolova et al., WWW 2009; Wilson et al., PoPETs 2020). Let D′ be D without one unit. Groups
that exist in both are treated alike, and their noisy totals are covered by the noise's own
guarantee. A group that only the unit is in, at most t of them, exists in D alone: its number of
people is 1, and Pr[1 + noise ≥ T] ≤ δ/t by the choice of T. So with probability at least 1 − δ
none of them is shown, and what is shown otherwise could have come from D′ as well: the cost is δ
on top of the noise's. Nothing of the order in which an engine gives groups is kept.

Where a unit is replaced by another, at most t groups are in D alone and at most t in D′ alone, and
t above is 2t, so that the groups of one side are shown with probability at most δ/2. Let M̃ release
the groups of both alone, and P, P′, P̃, P̃′ be the laws of M and M̃ on D and on D′. Without the groups
of one side M is M̃, so P(S) ≤ P̃(S) + δ/2 and P′(S) ≥ (1 − δ/2)·P̃′(S), as the noise of other groups
is independent; and P̃(S) ≤ e^ε·P̃′(S) + δ₀ by the noise. So with a = e^ε·P′(S), P(S) is at most
min(1, a/(1 − δ/2) + δ₀) + δ/2, and a/(1 − δ/2) ≤ a + δ/2 as long as it is at most 1, beyond which
1 ≤ a + δ/2: together P(S) ≤ a + δ + δ₀.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.ask.price.noise import Noise


@lru_cache(maxsize=256)
def people_needed(noise: Noise, *, delta: Fraction, groups: int) -> int:
    """Give the least noisy number of people at which a group is shown."""
    return noise.threshold(Fraction(delta) / groups)
