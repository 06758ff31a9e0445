"""A synthetic copy of sets, traces or a graph, charged to a ledger.

Contract: as for tables (:mod:`.synthesis`): checked and priced from public facts, charged, and only
then made; the same copy of the same data is given again for nothing. The promise is about the unit
of the dataset.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.costs import Cost
from sfumato.dp.publish.synthesis.any_shape import prepare_copy
from sfumato.dp.publish.synthesis.stored_copies import dump_copy, load_copy
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.dp.publish.synthesis.any_shape import CopyPlan
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.spending import Purchase, Spending
    from sfumato.release import Release


def buy_copy(
    spending: Spending, data: Any, *, private: Mapping[str, Any] | None = None, **options: Any
) -> Release:
    """Charge for a copy of data that are no table and make it, or give it again.

    ``options`` are those of `sf.dp.synthesize` for the shape, the price among them; the ledger
    keeps them. ``private`` are options that tell of the data, such as whose each set is.
    """
    for fixed in ("people", "customers", "neighbours"):
        if fixed in options:
            raise ParameterError(f"{fixed} is the owner's to say, when the session is opened.")
    near = spending.neighbours
    ready = prepare_copy(data, neighbours=near, **(private or {}), **options)
    promised = replace(ready.guarantee, neighbours=near)

    def plan(now: Snapshot) -> Plan[CopyPlan]:  # noqa: ARG001 - the price is stated
        return Plan(Cost.of(promised), promised, made=ready)

    def work(bought: Purchase[CopyPlan]) -> str:
        artefact: Any = bought.made.make().artefact
        return dump_copy(replace(artefact, guarantee=promised))

    what = "synthesize " + json.dumps(options, default=repr, sort_keys=True)
    return load_copy(spending.spend(plan, work, what=what)).release("synthetic copy")
