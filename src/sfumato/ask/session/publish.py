"""Publish once from a session: charged like an answer, and given again for nothing.

Contract: the steps of :class:`~sfumato.govern.spending.Spending`: priced from public facts, charged
durably, and only then are rows read. The same request of the same analyst on unchanged data is
given again for nothing. What can be published is in :mod:`.publications`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.publication_records import dump, load
from sfumato.dp.rounding import stated_up
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern.policies import Free
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.session.desk import Desk
    from sfumato.ask.session.publications import Publication
    from sfumato.dp.guarantees import Guarantee
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.spending import Purchase, Spending
    from sfumato.release import Release

_PRICES = ("epsilon", "delta", "rho")


def publish(desk: Desk, wanted: Publication, price: Mapping[str, Any]) -> Release:
    """Price, charge, make and settle."""
    with desk.lock:
        return buy(desk.spending, wanted, price)


def buy(spending: Spending, wanted: Publication, price: Mapping[str, Any]) -> Release:
    """Price, charge, make and settle, of data of any shape."""
    _check(price)
    said = {name: str(value) for name, value in price.items() if value is not None}
    text = json.dumps({**wanted.asked, "price": said}, sort_keys=True, default=str)

    def plan(now: Snapshot) -> Plan[dict[str, Any]]:
        amount = amount_of(spending, now, price)
        promised = promise_of(spending, amount)
        return Plan(Cost.of(promised), promised, made=amount)

    def work(bought: Purchase[dict[str, Any]]) -> Any:
        # What is handed out is what the ledger keeps, read back: nothing else can come along.
        return load(dump(wanted.make(bought.made)))

    found = spending.spend(plan, work, what=text, dump=dump, load=load)
    released: Release = found.release(wanted.name)
    return released


def predict(desk: Desk, wanted: Publication, rows: int, price: Mapping[str, Any]) -> Any:
    """Tell what a publication will be worth for about so many rows; nothing is spent."""
    _check(price)
    amount = amount_of(desk.spending, desk.now(), price)
    return wanted.predict(parameters.count(rows, "rows") or 1, amount)


def amount_of(spending: Spending, now: Snapshot, price: Mapping[str, Any]) -> dict[str, Any]:
    """Give the price as a mechanism takes it: what was stated, or what the policy deals out."""
    stated = {name: price.get(name) for name in _PRICES}
    budget, policy = spending.budget(now), now.registration.policy
    kind = "rho" if isinstance(budget, ZCDP) and stated["epsilon"] is None else "epsilon"
    if stated["rho"] is not None:
        kind = "rho"
    if (kind == "rho") != isinstance(budget, ZCDP) and not isinstance(policy, Free):
        raise GovernanceError(
            f"The policy of this dataset ({policy}) deals out another kind of amount; leave the "
            "amount out to take what the policy gives."
        )
    stated[kind] = spending.amount(now, stated[kind])
    return {name: value for name, value in stated.items() if value is not None}


def promise_of(spending: Spending, amount: Mapping[str, Any]) -> Guarantee:
    """State what a price promises about one unit of the dataset."""
    near = spending.neighbours
    if "rho" in amount:
        return ZCDP(stated_up(parameters.positive(amount["rho"], "ρ (rho)")), neighbours=near)
    epsilon = stated_up(parameters.budget(amount["epsilon"]))
    if "delta" not in amount:
        return PureDP(epsilon, neighbours=near)
    return ApproxDP(epsilon, stated_up(parameters.failure(amount["delta"])), neighbours=near)


def _check(price: Mapping[str, Any]) -> None:
    unknown = [name for name in price if name not in _PRICES]
    if unknown:
        raise ParameterError(
            f"A price is stated by epsilon=, delta= or rho=; {', '.join(unknown)} is none of them."
        )
    if price.get("rho") is not None and (price.get("epsilon"), price.get("delta")) != (None, None):
        raise ParameterError("Give epsilon= (with delta= or without), or rho= alone.")
