"""How a budget is dealt out over questions.

Contract: ``policy.next(budget, position, wanted)`` gives the amount that question number
``position`` (from 0) may spend: an ε of a ``PureDP`` or ``ApproxDP`` budget, a ρ of a ``ZCDP`` one,
exact. ``wanted`` is what the analyst asked for, or None; an amount that the policy does not give
is refused with a sentence. A policy deals out amounts; that the total is never passed
is the filter's business (:mod:`sfumato.dp.accounting.filters`).

* ``Free()``: what is wanted. ``Fixed(x)``: x each. ``EqualShares(n)``: 1/n of the budget each, for
  n questions. ``Geometric()``: a half, a quarter, an eighth, …, so there is always something left.

The δ of an ``ApproxDP`` budget is not dealt out; the session decides what a question needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import BudgetExceeded, GovernanceError, ParameterError
from sfumato.message import Argument, Message
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class SpendingPolicy(Written, ABC):
    """How a budget is dealt out over questions; use a subclass."""

    @abstractmethod
    def due(self, amount: Fraction, position: int, /) -> Fraction | None:
        """Give the share of ``amount`` that a question gets; None leaves it to the analyst."""

    def next(self, budget: Guarantee, position: int, wanted: Stated | None = None) -> Fraction:
        """Give what the question at this position may spend, or refuse what is wanted."""
        due = self.due(amount_of(budget), position)
        if due is None:
            return self._free(wanted)
        if wanted is not None and stated(wanted) != due:
            raise GovernanceError(
                f"The policy of this dataset ({self}) gives question {position + 1} exactly "
                f"{float(due):.6g}, and {float(stated(wanted)):.6g} was wanted; leave the amount "
                "out to take what the policy gives."
            )
        return due

    def _free(self, wanted: Stated | None) -> Fraction:
        if wanted is None:
            raise ParameterError(
                Message(
                    "Say how much of the budget this question may spend, such as {}; the policy of "
                    "this dataset leaves that to you.",
                    Argument("epsilon", 0.1),
                )
            )
        if stated(wanted) <= 0:
            raise ParameterError("A question spends more than 0 of the budget.")
        return stated(wanted)

    def to_json(self) -> dict[str, Any]:
        """Give the policy as plain JSON."""
        return {"policy": type(self).__name__} | {
            part.name: str(getattr(self, part.name)) for part in fields(self)
        }

    def __str__(self) -> str:
        return type(self).__name__


Policy = SpendingPolicy
"""The public name of old; `sf.Policy` says how a table was recoded."""


@dataclass(frozen=True)
class Free(SpendingPolicy):
    """Every question spends what its analyst wants."""

    def due(self, _amount: Fraction, _position: int) -> Fraction | None:
        """Leave the amount to the analyst."""
        return None

    def __str__(self) -> str:
        return "free choice"


@dataclass(frozen=True)
class Fixed(SpendingPolicy):
    """Every question spends the same stated amount."""

    epsilon: Stated

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", stated(self.epsilon))
        if stated(self.epsilon) <= 0:
            raise ParameterError("A fixed amount per question is more than 0.")

    def due(self, _amount: Fraction, _position: int) -> Fraction | None:
        """Give the stated amount."""
        return stated(self.epsilon)

    def __str__(self) -> str:
        return f"{float(stated(self.epsilon)):.6g} per question"


@dataclass(frozen=True)
class EqualShares(SpendingPolicy):
    """Each of ``n`` questions spends an equal share of the budget."""

    n: int

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise ParameterError("Equal shares need a whole number of questions, at least 1.")

    def due(self, amount: Fraction, position: int) -> Fraction | None:
        """Give one n-th, to n questions."""
        if position >= self.n:
            raise BudgetExceeded(
                f"The policy of this dataset deals the budget out over {self.n} questions, and "
                f"{position} were asked; none is left."
            )
        return amount / self.n

    def __str__(self) -> str:
        return f"equal shares for {self.n} questions"


@dataclass(frozen=True)
class Geometric(SpendingPolicy):
    """Each question spends half of what is left: a half, a quarter, an eighth and so on."""

    def due(self, amount: Fraction, position: int) -> Fraction | None:
        """Halve once more."""
        return amount * Fraction(1, 2 ** (position + 1))

    def __str__(self) -> str:
        return "half of what is left per question"


def amount_of(budget: Guarantee) -> Fraction:
    """Give the number of a budget that a policy deals out: ε, or ρ."""
    if isinstance(budget, (PureDP, ApproxDP)):
        return budget.exact_epsilon
    if isinstance(budget, ZCDP):
        return budget.exact_rho
    raise ParameterError(
        f"A budget is PureDP(ε), ApproxDP(ε, δ) or ZCDP(ρ), and {type(budget).__name__} was given."
    )


def policy_from_json(entry: Mapping[str, Any]) -> SpendingPolicy:
    """Read what :meth:`SpendingPolicy.to_json` gave."""
    name = entry["policy"]
    if name == "EqualShares":
        return EqualShares(int(entry["n"]))
    if name == "Fixed":
        return Fixed(Fraction(entry["epsilon"]))
    return {"Free": Free, "Geometric": Geometric}[name]()
