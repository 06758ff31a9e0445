"""What several releases promise together.

Contract: ``compose`` is sequential composition, and holds adaptively: each release may be chosen
after the earlier ones were seen, with parameters fixed beforehand. ``parallel`` is for releases
that each read another of several disjoint parts of the records. Both need guarantees about the
same neighbours, and say so when they differ.

Theorems. Pure and approximate: ε and δ add up (Dwork et al. 2006). zCDP: ρ add up; RDP: ε add up
order by order; GDP: μ² add up. Mixtures are first restated in a kind that all parts imply.

Parallel composition (McSherry, SIGMOD 2009). Unbounded: one unit touches at most p parts (p = 1 for
a row; a person with five rows may touch five), so only the p costliest releases add up.
Bounded: a replaced record may move from one part to another and change the *size* of both, on
which a bounded guarantee is silent, so ``parallel`` refuses, unless the assignment of units to
parts is public and fixed; then a replaced unit stays in its part. The k members of a group may
be in k parts, so for a group the k costliest releases add up even then.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from sfumato.dp.accounting.conversions import convert, to_rdp
from sfumato.dp.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, LocalDP, PureDP
from sfumato.dp.neighbours import Group
from sfumato.dp.rounding import sqrt_up, stated, stated_down, stated_up
from sfumato.errors import BudgetExceeded, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.dp.neighbours import PrivacyUnit

G = TypeVar("G", bound=Guarantee)


def compose(*guarantees: Guarantee) -> Guarantee:
    """Give the guarantee of releasing everything, each chosen after seeing the others."""
    _same_neighbours(guarantees)
    return guarantees[0] if len(guarantees) == 1 else _sum(_alike(guarantees))


def parallel(*guarantees: Guarantee, assignment: Literal["data", "public"] = "data") -> Guarantee:
    """Give the guarantee of releases that each read another, disjoint part of the records.

    ``assignment="public"`` states that which unit belongs to which part is public and fixed.
    """
    _same_neighbours(guarantees)
    neighbours = guarantees[0].neighbours
    if neighbours.bounded and assignment != "public":
        raise ParameterError(
            "Under bounded neighbours a replaced record may leave one part and enter another, so "
            "parallel composition does not follow. State the guarantees for unbounded "
            "neighbours, compose them in parallel, and restate the result with .under('bounded')."
        )
    touched = _members(neighbours.unit) if assignment == "public" else neighbours.unit.parts
    alike = _alike(guarantees)
    count = len(alike) if touched is None else min(touched, len(alike))
    return _costliest(alike, count)


def _members(unit: PrivacyUnit) -> int:
    return unit.members[1] if isinstance(unit, Group) else 1


def remaining(budget: G, spent: Guarantee) -> G:
    """Give what is left of a budget, rounded down; refuse when it does not cover what was spent."""
    if budget.neighbours != spent.neighbours:
        spent = spent.under(budget.neighbours)
    delta = budget.delta if isinstance(budget, ApproxDP) and _needs_delta(spent) else None
    same = convert(spent, PureDP if isinstance(budget, LocalDP) else type(budget), delta=delta)
    if isinstance(budget, RDP):
        left = _remaining_curve(budget, cast("RDP", same))
        return cast("G", replace(budget, curve=left))
    fields: dict[str, Any] = {
        name: stated_down(_left(name, stated(getattr(budget, name)), stated(getattr(same, name))))
        for name in _parameters(budget)
        if name != "mu"
    }
    if isinstance(budget, GDP):
        square = _left("mu²", budget.exact_mu**2, cast("GDP", same).exact_mu ** 2)
        fields["mu"] = _root_down(square)
    return replace(budget, **fields)


def _sum(guarantees: Sequence[Guarantee]) -> Guarantee:
    first = guarantees[0]
    if isinstance(first, GDP):
        squares = sum(
            (cast("GDP", guarantee).exact_mu ** 2 for guarantee in guarantees), Fraction(0)
        )
        return replace(first, mu=_root_up(squares))
    if isinstance(first, RDP):
        curves = [dict(cast("RDP", guarantee).curve) for guarantee in guarantees]
        return replace(
            first,
            curve=tuple(
                (order, stated_up(sum((stated(curve[order]) for curve in curves), Fraction(0))))
                for order in first.orders
            ),
        )
    fields: dict[str, Any] = {}
    for name in _parameters(first):
        total = sum((stated(getattr(guarantee, name)) for guarantee in guarantees), Fraction(0))
        fields[name] = stated_up(min(total, Fraction(1)) if name == "delta" else total)
    return replace(first, **fields)


def _costliest(guarantees: Sequence[Guarantee], count: int) -> Guarantee:
    """Sum the ``count`` largest of each parameter, which bounds every choice of that many."""
    first = guarantees[0]
    if isinstance(first, RDP):
        curves = [dict(cast("RDP", guarantee).curve) for guarantee in guarantees]
        tops = [
            RDP(((order, bound),), neighbours=first.neighbours)
            for order in first.orders
            for bound in sorted((curve[order] for curve in curves), reverse=True)[:count]
        ]
        points = [_sum(tops[k : k + count]) for k in range(0, len(tops), count)]
        return replace(first, curve=tuple(cast("RDP", point).curve[0] for point in points))
    ranked = {
        name: sorted((getattr(guarantee, name) for guarantee in guarantees), reverse=True)
        for name in _parameters(first)
    }
    worst = [
        replace(first, **{name: values[k] for name, values in ranked.items()}) for k in range(count)
    ]
    return worst[0] if count == 1 else _sum(worst)


def _alike(guarantees: Sequence[Guarantee]) -> tuple[Guarantee, ...]:
    """Restate guarantees in one kind that all of them imply."""
    kinds = {type(guarantee) for guarantee in guarantees}
    if len(kinds) == 1 and RDP not in kinds:
        return tuple(guarantees)
    impure = any(
        isinstance(guarantee, ApproxDP) and guarantee.delta > 0 for guarantee in guarantees
    )
    if impure and not kinds <= {PureDP, LocalDP, ApproxDP}:
        raise ParameterError(
            "A guarantee with δ > 0 has no place in a Rényi or Gaussian account; convert the "
            "others first with .to(ApproxDP, delta=…), or use sf.dp.account(…)."
        )
    if RDP in kinds:
        orders = _common_orders(
            [guarantee for guarantee in guarantees if isinstance(guarantee, RDP)]
        )
        return tuple(to_rdp(guarantee, orders) for guarantee in guarantees)
    if kinds & {ZCDP, GDP}:
        return tuple(guarantee.to(ZCDP) for guarantee in guarantees)
    if impure:
        return tuple(guarantee.to(ApproxDP) for guarantee in guarantees)
    return tuple(guarantee.to(PureDP) for guarantee in guarantees)


def _common_orders(guarantees: Sequence[RDP]) -> tuple[float, ...]:
    last = min(guarantee.orders[-1] for guarantee in guarantees)
    return tuple(
        sorted({order for guarantee in guarantees for order in guarantee.orders if order <= last})
    )


def _remaining_curve(budget: RDP, spent: RDP) -> tuple[tuple[float, float], ...]:
    """Keep the orders the budget still covers: one covered order is a guarantee."""
    curve = tuple(
        (order, stated_down(stated(bound) - stated(spent.at(order))))
        for order, bound in budget.curve
        if order <= spent.orders[-1] and stated(spent.at(order)) <= stated(bound)
    )
    if not curve:
        raise BudgetExceeded("The Rényi budget does not cover what was spent at any order.")
    return curve


def _left(name: str, budget: Fraction, spent: Fraction) -> Fraction:
    if spent > budget:
        raise BudgetExceeded(
            f"The budget does not cover this: {name} requested {float(spent):.6g}, available "
            f"{float(budget):.6g}, missing {float(spent - budget):.6g}."
        )
    return budget - spent


def _parameters(guarantee: Guarantee) -> tuple[str, ...]:
    return tuple(name for name in ("epsilon", "delta", "rho", "mu") if hasattr(guarantee, name))


def _needs_delta(guarantee: Guarantee) -> bool:
    return isinstance(guarantee, (ZCDP, RDP, GDP))


def _root_up(square: Fraction) -> float:
    return stated_up(Fraction(sqrt_up(square)))


def _root_down(square: Fraction) -> float:
    near = stated_down(Fraction(sqrt_up(square)))
    while near > 0 and stated(near) ** 2 > square:
        near = stated_down(stated(near) * (1 - Fraction(1, 2**53)))
    return near


def _same_neighbours(guarantees: Sequence[Guarantee]) -> None:
    if not guarantees:
        raise ParameterError("Composition needs at least one guarantee.")
    first = guarantees[0].neighbours
    for guarantee in guarantees[1:]:
        if guarantee.neighbours != first:
            raise ParameterError(
                f"These guarantees protect different things ({first}; {guarantee.neighbours}) and "
                "cannot be composed as they are; restate one with .under(…)."
            )
