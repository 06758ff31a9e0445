"""Geo-indistinguishability: the nearer two places, the less a report tells them apart.

Andrés, Bordenabe, Chatzikokolakis, Palamidessi: Geo-indistinguishability, CCS 2013. A mechanism K
is ε-geo-indistinguishable if K(x)(Z) ≤ e^(ε·d(x, x′))·K(x′)(Z) for all places x, x′ and sets of
reports Z. ε is per metre; within a radius r the level is ε·r.

Reports are about cells of a grid, so places are moved to the middle of their cell first, by at most
half a diagonal each: for places d metres apart the loss is at most ε·(d + √2·step).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.dp.rounding import Stated, add_up, mul_up, sqrt_up, stated, stated_up
from sfumato.errors import ParameterError
from sfumato.representation import Written


@dataclass(frozen=True)
class GeoIndistinguishability(Written):
    """A promise about reports of a place: `epsilon` per metre, between cells `step` metres wide."""

    epsilon: Stated
    step: Stated

    def __post_init__(self) -> None:
        for name in ("epsilon", "step"):
            if stated(getattr(self, name)) <= 0:
                raise ParameterError(f"{name} must be above 0, not {getattr(self, name)!r}.")

    def level(self, radius: Stated) -> float:
        """Return the loss for places at most `radius` metres apart, rounded up."""
        reach = add_up(Fraction(stated(radius)), mul_up(sqrt_up(2), stated(self.step)))
        return mul_up(stated(self.epsilon), Fraction(reach))

    def times(self, reports: int) -> GeoIndistinguishability:
        """Return what as many reports of one place, or of places of one trace, promise together."""
        return GeoIndistinguishability(stated(self.epsilon) * reports, self.step)

    def __str__(self) -> str:
        return (
            f"geo-indistinguishability with ε = {stated_up(stated(self.epsilon)):g} per metre, "
            f"cells of {stated_up(stated(self.step)):g} m"
        )
