"""A price for a good, chosen by its revenue without betraying any buyer.

Promise: ε-differential privacy (McSherry and Talwar, "Mechanism design via differential
privacy", FOCS 2007, section 4). Revenue is not a smooth function of the price: with buyers who
pay up to $2 and $4, asking 2.1 earns 2.1, 3.9 earns 3.9 and 4.1 nothing, so noise added to the best
price would ruin it, while the exponential mechanism over public candidate prices does not.

Proof. One buyer more or less changes the revenue at price p by at most p, and one buyer replaced
too, so the scores have sensitivity max p (k·max p for units of k buyers). Added buyers raise
every revenue, so for add/remove neighbours the scores are monotone. Revenues are exact: prices
are read as the decimals they print as and counted in units of their common denominator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import as_numbers
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.base import Error, Mechanism
from sfumato.dp.mechanisms.exponential import Exponential
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.dp.guarantees import PureDP
    from sfumato.dp.rounding import Stated

_HUGE = 2**1023


@dataclass(frozen=True, kw_only=True)
class Pricing(Mechanism):
    """Choose one of the public ``prices`` by revenue."""

    prices: Sequence[Stated]

    reads_cells: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.count(len(self.prices), "The number of prices")
        object.__setattr__(self, "prices", tuple(self.prices))
        for price in self.prices:
            if parameters.positive(price, "A price") > _HUGE:
                raise ParameterError("A price is at most 2^1023; use a larger unit of money.")
        parameters.rows_per_unit(self.neighbours)

    @property
    def mechanism(self) -> Exponential:
        """The exponential mechanism behind it; scores are in units of 1/denominator."""
        rows = parameters.rows_per_unit(self.neighbours)
        return Exponential(
            sensitivity=max(self._exact()) * self._denominator() * rows,
            epsilon=self.epsilon,
            monotone=not self.neighbours.bounded,
            neighbours=self.neighbours,
            size=len(self.prices),
        )

    @property
    def guarantee(self) -> PureDP:
        """ε-differential privacy for every buyer."""
        return self.mechanism.guarantee

    def revenues(self, limits: Any) -> list[Fraction]:
        """Give the revenue at every price, for study: it reveals the buyers."""
        unit = self._denominator()
        return [Fraction(score, unit) for score in self._scores(limits)]

    def release(self, value: Any) -> Stated:
        """Choose a price, given the most that each buyer would pay."""
        return self.prices[int(self._picks(value, 1)[0])]

    def simulate(self, value: Any, count: int) -> npt.NDArray[np.float64]:
        """Choose ``count`` times for the same buyers, for study; gives the prices as floats."""
        prices = np.array([float(price) for price in self._exact()])
        chosen: npt.NDArray[np.float64] = prices[self._picks(value, count)]
        return chosen

    @property
    def error(self) -> Error:
        """The revenue lost against the best price."""
        lost, unit = self.mechanism.error, self._denominator()
        return Error(
            "revenue lost against the best price",
            lost.expected / unit,
            1,
            lambda beta: lost.beyond(beta) / unit,
            one_sided=True,
        )

    def _picks(self, limits: Any, count: int) -> npt.NDArray[np.int64]:
        scores = np.empty(len(self.prices), dtype=object)
        scores[:] = self._scores(limits)
        return self.mechanism.picks(scores, count)

    def _scores(self, limits: Any) -> list[int]:
        paid = as_numbers(limits)
        ordered = np.sort(np.where(np.isnan(paid), -math.inf, paid))  # no limit: buys at no price
        buyers = [
            ordered.size - int(np.searchsorted(ordered, float(price), side="left"))
            for price in self._exact()
        ]
        unit = self._denominator()
        return [int(p * unit) * n for p, n in zip(self._exact(), buyers, strict=True)]

    def _exact(self) -> list[Fraction]:
        return [parameters.positive(price, "A price") for price in self.prices]

    def _denominator(self) -> int:
        return math.lcm(*(price.denominator for price in self._exact()))
