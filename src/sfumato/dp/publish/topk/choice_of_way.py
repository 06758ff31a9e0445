"""Which way top-k goes, and why: told before anything is paid.

Contract: a :class:`TopKPlan` follows from public parameters: k, the price, the number of items if
it is public, and the typical size of a basket. The rule was fitted to three files of
transactions: noise of a peeled count is about .45·√(k/ρ), that of the weighted Gaussian
.71·√(ℓ/ρ)/w̄; the second wins where k is large against the size of a basket and ρ is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sfumato.representation import Shown

if TYPE_CHECKING:
    from sfumato.dp.publish.purse import Price

Way = Literal["peeling", "gaussian", "two stages"]

_SMALL_RHO = 0.005


@dataclass(frozen=True)
class TopKPlan(Shown):
    """The algorithm, the reason, and how far counts must be apart to be told apart.

    ``resolution`` is the difference of two counts at which noise rarely swaps them.
    """

    algorithm: Way
    reason: str
    resolution: float
    k: int
    items: int | None

    @property
    def needed(self) -> float:
        """The count of the k-th item below which the list will be mostly noise."""
        return 2 * self.resolution

    def __str__(self) -> str:
        among = "an unknown domain" if self.items is None else f"{self.items:,} candidates"
        return (
            f"top {self.k} of {among} by {self.algorithm}: {self.reason}. Counts that differ by "
            f"{self.resolution:.3g} or more are told apart; where the last of the {self.k} "
            f"counts is below about {self.needed:.3g}, the end of the list will be noise"
        )


def plan_way(
    *,
    k: int,
    price: Price,
    items: int | None,
    typical: int,
    wanted: Way | None = None,
    share: float = 1.0,
) -> TopKPlan:
    """Choose peeling or the weighted Gaussian; ``share`` is what is left for choosing."""
    way, reason = _way(k, price, items, typical, wanted)
    amount = float(price.amount) * share
    if way == "gaussian":
        deviation = math.sqrt(typical / (2 * amount))
        resolution = 2 * deviation * (1.0 if items is None else math.sqrt(2))
    else:
        rate = amount / k if price.pure else math.sqrt(8 * amount / k)
        resolution = math.log(max(items or 2, 2)) / rate
    return TopKPlan(way, reason, resolution, k, items)


def _way(
    k: int, price: Price, items: int | None, typical: int, wanted: Way | None
) -> tuple[Way, str]:
    if items is None:
        return "gaussian", (
            "without a public list of items only weights above a threshold can be shown"
        )
    if wanted is not None:
        return wanted, "as asked for"
    if price.pure:
        return "peeling", (
            f"without δ each of {k} picks gets ε/{k} (with δ they would cost far less)"
        )
    if k > 2.5 * typical and price.amount < _SMALL_RHO:
        return "gaussian", (
            f"{k} picks would share a small budget, and one noisy vector serves them all, with "
            "weights beside the names"
        )
    return "peeling", "picks compose well with δ, and no basket has to be cut or weighted"
