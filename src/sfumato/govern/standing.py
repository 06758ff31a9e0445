"""How a budget stands: the limit that decides, and what was spent of it.

Contract: a frozen snapshot. What is left is computed when somebody looks, since stating it exactly
takes longer than a whole question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.dp.accounting.filters import first_delta, fits, left, total
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.govern.limits import tightest
from sfumato.govern.policies import amount_of
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from sfumato.dp.accounting.costs import Cost, SpentTotals
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours


@dataclass(frozen=True)
class Standing(Shown):
    """Every limit that applies, with what was spent of it."""

    accounts: tuple[tuple[Guarantee, SpentTotals], ...]
    neighbours: Neighbours

    def covers(self, cost: Cost) -> bool:
        """Tell whether one more charge keeps every limit."""
        return all(fits(limit, spent.plus(cost)) for limit, spent in self.accounts)

    @property
    def first_delta(self) -> Fraction | None:
        """The δ that a first Gaussian answer may take by every limit with one; None after it."""
        found = [
            first_delta(limit, spent)
            for limit, spent in self.accounts
            if isinstance(limit, ApproxDP) and spent.opening is None
        ]
        return min(found, default=None)

    @property
    def tightest(self) -> tuple[Guarantee, SpentTotals]:
        """The limit of which least is left; of limits of several kinds, the smallest part."""
        _, limit, spent = tightest([("", *account) for account in self.accounts])
        return limit, spent

    @property
    def limit(self) -> Guarantee:
        """The tightest limit."""
        return self._about_the_unit(self.tightest[0])

    @property
    def remaining(self) -> Guarantee:
        """What is left of the tightest limit."""
        return self._about_the_unit(left(*self.tightest))

    @property
    def spent(self) -> Guarantee:
        """What was spent of the tightest limit, by everyone it applies to."""
        return self._about_the_unit(total(*self.tightest))

    def _about_the_unit(self, stated: Guarantee) -> Guarantee:
        """State a limit for the unit of the dataset, which is what its owner meant."""
        return replace(stated, neighbours=self.neighbours)


def smallest(limits: Sequence[Guarantee]) -> Guarantee:
    """Give the smallest of the limits that apply, which decides what a question may cost.

    Of equal ones it is the first.

    Of limits of several kinds, one of the strictest kind decides: noise that a pure limit allows
    has a place in all of them, and ρ has one in those that allow a δ.
    """
    for kind in (PureDP, ZCDP):
        strict = [limit for limit in limits if isinstance(limit, kind)]
        if strict:
            return min(strict, key=amount_of)
    return min(limits, key=amount_of)
