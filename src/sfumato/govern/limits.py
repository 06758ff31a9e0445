"""Limits on what may be spent: per dataset, per analyst, per purpose; the tightest decides.

Contract: :class:`Limits` is a frozen value. The limit of the dataset holds for all analysts
together and must be stated; ``analyst`` holds for each analyst who is not named in ``analysts``;
``purposes`` holds for all analysts of a purpose together. All are about one relation, which never
changes: where units are replaced (bounded neighbours), their number is public. Every limit applies
to each block of rows by itself. :func:`refuse` says which of them does not cover a cost, with what
was requested, what remains and the difference side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sfumato.dp.accounting.filters import left, total
from sfumato.dp.guarantee_json import guarantee_from_json, guarantee_to_json
from sfumato.dp.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.neighbours import Row
from sfumato.dp.rounding import stated, stated_up
from sfumato.errors import BudgetExceeded, GovernanceError, ParameterError
from sfumato.govern.policies import amount_of
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from sfumato.dp.accounting.costs import SpentTotals
    from sfumato.dp.neighbours import Neighbours, Relation

A = TypeVar("A", bound="tuple[Any, Guarantee, SpentTotals]")

SCOPES = ("dataset", "analyst", "purpose")


@dataclass(frozen=True)
class Limits(Written):
    """What may be spent on a dataset in all, by an analyst, and for a purpose."""

    dataset: Guarantee
    analyst: Guarantee | None = None
    analysts: Mapping[str, Guarantee] = field(default_factory=dict)
    purposes: Mapping[str, Guarantee] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "analysts", dict(self.analysts))
        object.__setattr__(self, "purposes", dict(self.purposes))
        for guarantee in self._all():
            if not isinstance(guarantee, (PureDP, ApproxDP, ZCDP)):
                raise ParameterError(
                    "A limit is PureDP(ε), ApproxDP(ε, δ) or ZCDP(ρ), and "
                    f"{type(guarantee).__name__} was given."
                )
            if guarantee.neighbours.relation != self.relation:
                raise ParameterError(
                    "All limits of a dataset are about one relation: units added or removed "
                    "(neighbours='unbounded'), or one replaced by another ('bounded')."
                )

    def _all(self) -> Iterator[Guarantee]:
        yield self.dataset
        if self.analyst is not None:
            yield self.analyst
        yield from self.analysts.values()
        yield from self.purposes.values()

    @property
    def relation(self) -> Relation:
        """What neighbours are to the whole dataset: of all limits, and of all that is answered."""
        return self.dataset.neighbours.relation

    def check_unit(self, neighbours: Neighbours) -> None:
        """Refuse limits about another unit than that of the dataset.

        A limit that names no unit (it is then about rows, as guarantees are by themselves) is about
        the dataset's. One that names a unit is kept if answers that promise as much about the
        dataset's unit keep it; else it would be relabelled in silence.
        """
        for limit in self._all():
            if limit.unit == Row() or limit.neighbours == neighbours:
                continue
            if not replace(limit, neighbours=neighbours).implies(limit):
                raise GovernanceError(
                    f"A limit is stated about {limit.neighbours}, and the session hides "
                    f"{neighbours}, from which that does not follow. State both about the same "
                    "unit, or the limit without one: it is about the unit of the session then."
                )

    def of(self, scope: str, name: str) -> Guarantee | None:
        """Give the limit of a scope, if there is one."""
        if scope == "dataset":
            return self.dataset
        if scope == "analyst":
            return self.analysts.get(name, self.analyst)
        return self.purposes.get(name)

    def __str__(self) -> str:
        parts = [f"{in_short(self.dataset)} in all"]
        if self.analyst is not None:
            parts.append(f"{in_short(self.analyst)} for each analyst")
        parts += [
            f"{in_short(limit)} for the analyst {name}" for name, limit in self.analysts.items()
        ]
        parts += [
            f"{in_short(limit)} for the purpose {name}" for name, limit in self.purposes.items()
        ]
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Give the limits as plain JSON."""
        return {
            "dataset": guarantee_to_json(self.dataset),
            "analyst": None if self.analyst is None else guarantee_to_json(self.analyst),
            "analysts": {name: guarantee_to_json(limit) for name, limit in self.analysts.items()},
            "purposes": {name: guarantee_to_json(limit) for name, limit in self.purposes.items()},
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Limits:
        """Read what :meth:`to_json` gave."""
        analyst = entry["analyst"]
        return cls(
            dataset=guarantee_from_json(entry["dataset"]),
            analyst=None if analyst is None else guarantee_from_json(analyst),
            analysts={k: guarantee_from_json(v) for k, v in entry["analysts"].items()},
            purposes={k: guarantee_from_json(v) for k, v in entry["purposes"].items()},
        )


def names_of(analyst: str, purpose: str) -> dict[str, str]:
    """Give the name under which each scope keeps its account."""
    return {"dataset": "", "analyst": analyst, "purpose": purpose}


def tightest(accounts: Sequence[A]) -> A:
    """Give the account of which least is left; of limits of several kinds, the smallest part.

    An account is (name, limit, spent).
    """
    if len(accounts) == 1:
        return accounts[0]
    alike = len({type(limit) for _, limit, _ in accounts}) == 1

    def rest(account: A) -> Fraction:
        _, limit, spent = account
        found = left(limit, spent)
        return amount_of(found) if alike else share_left(limit, found)

    return min(accounts, key=rest)


def refuse(
    limit: Guarantee, spent: SpentTotals, after: SpentTotals, key: tuple[str, str, str]
) -> NoReturn:
    """Refuse a charge after which a limit, of a block, a scope and a name, would be passed."""
    block, scope, name = key
    which = f"the limit of {_called(scope, name)}" + ("" if block == "main" else f", block {block}")
    if after.delta > spent.delta and not isinstance(limit, ApproxDP):
        raise BudgetExceeded(
            _no_place(which, limit, "a δ"), limit=scope, remaining=left(limit, spent)
        )
    unsure = after.mu_squared > spent.mu_squared or after.concentrated > spent.concentrated
    if unsure and isinstance(limit, PureDP):
        raise BudgetExceeded(
            _no_place(which, limit, "Gaussian noise"), limit=scope, remaining=left(limit, spent)
        )
    requested, remaining, difference = _side_by_side(limit, spent, after)
    mixed = isinstance(limit, ApproxDP) and spent.opening is not None
    why = " (beside answers with normal noise ε does not simply add up)" if mixed else ""
    raise BudgetExceeded(
        f"This question does not fit into {which}: requested {in_short(requested)}{why}, remaining "
        f"{in_short(remaining)}, difference {in_short(difference)}.",
        limit=scope,
        requested=requested,
        remaining=remaining,
        difference=difference,
    )


def share_left(limit: Guarantee, rest: Guarantee) -> Fraction:
    """Give the part of a limit that is left, to compare limits of different kinds."""
    whole = amount_of(limit)
    return amount_of(rest) / whole if whole else whole


def _side_by_side(
    limit: Guarantee, before: SpentTotals, after: SpentTotals
) -> tuple[Guarantee, Guarantee, Guarantee]:
    """Give what the charge would add, what is left, and what is missing."""
    rest, so_far, then = left(limit, before), total(limit, before), total(limit, after)
    added = amount_of(then) - amount_of(so_far)
    over = max(amount_of(then) - amount_of(limit), stated(0))
    if not isinstance(limit, ApproxDP):
        return _like(limit, added), rest, _like(limit, over)
    asked = after.delta - before.delta
    assert isinstance(rest, ApproxDP)
    missing = max(asked - rest.exact_delta, stated(0))
    return _like(limit, added, asked), rest, _like(limit, over, missing)


def _like(limit: Guarantee, amount: Fraction, delta: Fraction | None = None) -> Guarantee:
    number, near = stated_up(amount), limit.neighbours
    if isinstance(limit, ApproxDP):
        return ApproxDP(number, stated_up(min(delta or stated(0), stated(1))), neighbours=near)
    kind = PureDP if isinstance(limit, PureDP) else ZCDP
    return kind(number, neighbours=near)


def in_short(guarantee: Guarantee) -> str:
    """Give the parameters of a limit alone, as in a table."""
    if isinstance(guarantee, ApproxDP):
        return f"ε = {guarantee.epsilon:.6g} and δ = {guarantee.delta:.3g}"
    return f"{'ρ' if isinstance(guarantee, ZCDP) else 'ε'} = {float(amount_of(guarantee)):.6g}"


def _called(scope: str, name: str) -> str:
    return "the dataset (all analysts together)" if scope == "dataset" else f"{scope} {name!r}"


def _no_place(which: str, limit: Guarantee, what: str) -> str:
    return (
        f"This question needs {what}, for which {which} has no place: it is {limit.kind}; ask "
        "with pure noise, or ask the owner for another kind of limit."
    )
