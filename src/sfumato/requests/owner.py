"""What the owner of a dataset fixes: the budget, limits of it, and the policy.

The first question of a dataset registers them, `sfumato ledger amend` changes them. A limit of
an analyst or a purpose is of the kind of the budget: an ε, with the budget's δ, or a ρ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.request import Amount, Request, option, piece
from sfumato.requests.texts import float_of, pairs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.limits import Limits
    from sfumato.govern.policies import SpendingPolicy

NONE = "none"


class Shares(Request):
    """Limits of analysts and purposes, and how the budget is dealt out."""

    limit_analyst: Annotated[
        tuple[str, ...],
        option(
            "--limit-analyst",
            metavar="AMOUNT",
            help="Most ε (or ρ) of the budget for each analyst, or NAME=AMOUNT for one of them; "
            "may be repeated.",
        ),
    ] = ()
    limit_purpose: Annotated[
        tuple[str, ...],
        option(
            "--limit-purpose",
            metavar="NAME=AMOUNT",
            help="Most ε (or ρ) of the budget for a purpose, whoever asks; may be repeated.",
        ),
    ] = ()
    policy: Annotated[
        str | None,
        option(
            "--policy",
            metavar="POLICY",
            help="How the budget is dealt out: free (each question says, with -e), equal:10 (a "
            "tenth each, ten questions), fixed:0.1 (so much each), geometric (half of what is "
            "left).",
        ),
    ] = None

    def chosen_policy(self) -> SpendingPolicy | None:
        """Read the policy, if one is stated."""
        return None if self.policy is None else policy_of(self.policy)


class Budget(Request):
    """The total that may be spent on a dataset, in one of two kinds."""

    budget: Annotated[
        Amount | None,
        option(
            "--budget", help="Total ε of the dataset, fixed at its first question.  [default: 1.0]"
        ),
    ] = None
    budget_delta: Annotated[
        Amount | None,
        option(
            "--budget-delta", help="Total δ, fixed with it; 0 for a pure budget.  [default: 1e-6]"
        ),
    ] = None
    budget_rho: Annotated[
        Amount | None, option("--budget-rho", help="Total ρ instead: a budget in zCDP.")
    ] = None

    @property
    def is_stated(self) -> bool:
        """Whether anything is said about the budget."""
        return not self.budget == self.budget_delta == self.budget_rho is None

    def over(self, known: Guarantee | None) -> Guarantee:
        """Read the budget; what is not said of it stays as it is known."""
        from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP  # noqa: PLC0415 - heavy
        from sfumato.dp.neighbours import Neighbours  # noqa: PLC0415 - the same

        # an amendment keeps the relation
        near = Neighbours("unbounded" if known is None else known.neighbours.relation)
        if self.budget_rho is not None:
            if self.budget is not None or self.budget_delta is not None:
                raise ParameterError("Give --budget with --budget-delta, or --budget-rho alone.")
            return ZCDP(self.budget_rho, neighbours=near)  # type: ignore[arg-type]  # decimals as typed
        if isinstance(known, ZCDP) and (self.budget is None or self.budget_delta is None):
            raise ParameterError(
                "The budget is one in ρ; state --budget-rho, or both --budget and --budget-delta."
            )
        epsilon: Any = self.budget or getattr(known, "epsilon", "1.0")
        usual = "1e-6" if known is None else str(getattr(known, "delta", 0))
        delta: Any = self.budget_delta or usual
        if float_of("--budget-delta", delta):
            return ApproxDP(epsilon, delta, neighbours=near)
        return PureDP(epsilon, neighbours=near)


class OwnerRules(Request):
    """What the first question fixes, and an amendment changes."""

    budget: Budget = piece(Budget)
    shares: Shares = piece(Shares)

    def limits(self, known: Limits | None) -> Limits | None:
        """Give the limits that are stated, over those that are known; None if none is stated."""
        from sfumato.govern.limits import Limits  # noqa: PLC0415 - heavy

        if known is not None and not self.budget.is_stated:
            if not self.shares.limit_analyst and not self.shares.limit_purpose:
                return None
            dataset = known.dataset
        else:
            dataset = self.budget.over(None if known is None else known.dataset)
        analyst = None if known is None else known.analyst
        analysts = {} if known is None else dict(known.analysts)
        purposes = {} if known is None else dict(known.purposes)
        for text in self.shares.limit_analyst:
            if "=" not in text:
                analyst = _limit(text, dataset)
        named = [text for text in self.shares.limit_analyst if "=" in text]
        _change(analysts, "--limit-analyst", named, dataset)
        _change(purposes, "--limit-purpose", self.shares.limit_purpose, dataset)
        return Limits(dataset=dataset, analyst=analyst, analysts=analysts, purposes=purposes)

    def chosen_policy(self) -> SpendingPolicy | None:
        """Read the policy, if one is stated."""
        return self.shares.chosen_policy()


def policy_of(text: str) -> SpendingPolicy:
    """Read a policy such as equal:10."""
    from sfumato.govern.policies import EqualShares, Fixed, Free, Geometric  # noqa: PLC0415 - heavy

    word, sign, amount = (part.strip() for part in text.lower().partition(":"))
    plain = {"free": Free, "geometric": Geometric}
    if word in plain and not sign:
        return plain[word]()
    if word == "equal" and amount.isdecimal():
        return EqualShares(int(amount))
    if word == "fixed" and amount:
        return Fixed(amount)
    raise ParameterError(
        f"--policy wants free, geometric, equal:10 or fixed:0.1, and {text!r} was given."
    )


def _change(
    limits: dict[str, Guarantee], option: str, given: Sequence[str] | None, like: Guarantee
) -> None:
    """State limits by name, or take them away."""
    for name, text in pairs_of(option, given, f"NAME=AMOUNT, as in {option} care=0.5").items():
        limit = _limit(text, like)
        if limit is None:
            limits.pop(name, None)
        else:
            limits[name] = limit


def _limit(text: str, like: Guarantee) -> Guarantee | None:
    """Read a limit of the same kind as the budget."""
    from dataclasses import replace  # noqa: PLC0415 - used by one function

    from sfumato.dp.guarantees import ZCDP  # noqa: PLC0415 - heavy

    if text.strip().lower() == NONE:
        return None
    amount: Any = text.strip()
    changed: dict[str, Any] = {"rho" if isinstance(like, ZCDP) else "epsilon": amount}
    return replace(like, **changed)
