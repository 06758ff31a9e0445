"""A synthetic copy of a dataset, bought in a session.

Contract: what is wanted is checked and priced from public facts, charged, and only then made, in
the engine that holds the rows (:mod:`sfumato.govern.spending`). The same synthesis of the same data
is given again for nothing, row for row.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.days import date_of
from sfumato.ask.language.refusals import refuse
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.publish.synthesis.artefacts import SyntheticTable
from sfumato.dp.publish.synthesis.columns import Column
from sfumato.dp.publish.synthesis.prediction import predict_table
from sfumato.dp.publish.synthesis.tables import ALGORITHM, prepare
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from sfumato.ask.session.desk import Desk
    from sfumato.dp.publish.synthesis.tables import Preparation
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.release import Release

_KINDS = {"integer": "integer", "real": "number", "date": "date", "text": "text"}


def synthesize(
    desk: Desk,
    *,
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
    columns: Mapping[str, Column] | None = None,
    **options: Any,
) -> Release:
    """Charge for a synthesis and make it, or give it again."""
    chosen = _declared(desk, columns or {}, every=options.get("search") is not None)
    ready = prepare(
        _table(desk), epsilon=epsilon, delta=delta, rho=rho, columns=chosen,
        neighbours=desk.spending.neighbours, **options,
    )  # fmt: skip

    def plan(now: Snapshot) -> Plan[Preparation]:  # noqa: ARG001 - the price is stated
        return Plan(Cost.of(ready.budget.guarantee), ready.budget.guarantee, made=ready)

    asked = {"epsilon": epsilon, "delta": delta, "rho": rho, **options}
    what = "synthesize " + json.dumps([asked, chosen], default=_stated, sort_keys=True)
    with desk.lock:
        text = desk.spending.spend(
            plan, lambda bought: bought.made.run().artefact.dump(), what=what  # type: ignore[attr-defined]  # a synthetic table
        )  # fmt: skip
    return SyntheticTable.load(text).release(
        ALGORITHM, target=ready.target, constraints=list(ready.constraints) or None
    )


def _stated(option: Any) -> str:
    """State an option in full, as ledgers keep it; what users are shown of it is shortened."""
    if not is_dataclass(option):
        return repr(option)
    held = (f"{field.name}={getattr(option, field.name)!r}" for field in fields(option))
    return f"{type(option).__name__}({', '.join(held)})"


def _table(desk: Desk) -> Any:
    engine = desk.opened.engine
    if not hasattr(engine, "held"):
        raise ParameterError(
            "A synthetic table is made from one table, and this dataset has several blocks; open a "
            "session on one of them."
        )
    return engine.held(desk.opened.table)


def predict_copy(desk: Desk, *, rows: int, **options: Any) -> Any:
    """Tell how much noise a synthesis will meet for about so many rows; nothing is spent."""
    chosen = _declared(desk, options.pop("columns", None) or {}, every=False)
    table = _table(desk)
    near = desk.spending.neighbours
    return predict_table(table, rows=rows, columns=chosen, neighbours=near, **options)


def _declared(desk: Desk, columns: Mapping[str, Column], *, every: bool) -> dict[str, Column]:
    """Give what the owner declared, with what this synthesis declares beside it."""
    facts = desk.opened.facts[desk.opened.table]
    listed = dict(facts.domains)
    chosen: dict[str, Column] = {}
    for column in facts.columns:
        if column.name == facts.person:
            continue
        if column.name in listed:
            chosen[column.name] = Column(values=listed[column.name])
        elif column.bounds is not None:
            low, high = (_end(bound, column.kind) for bound in column.bounds)
            chosen[column.name] = Column(bounds=(low, high))
        elif column.name in columns or every:
            kind: Any = _KINDS.get(column.kind, "text")
            chosen[column.name] = columns.get(column.name, Column(kind=kind))
    chosen |= _read_as_declared(facts.untyped, columns)
    unknown = [name for name in columns if name not in chosen]
    if unknown:
        raise ParameterError(f"columns= names {', '.join(unknown)}, which this dataset has not.")
    if not chosen:
        raise ParameterError(
            "No column has bounds or keys; declare them when the session is opened, with "
            "columns=, or let them be found with search=0.1."
        )
    return chosen


def _read_as_declared(untyped: tuple[str, ...], columns: Mapping[str, Column]) -> dict[str, Column]:
    """Give what this synthesis says of columns of which nothing else says of which kind they are.

    Their cells are read by bounds or a list of values, never by what they look like.
    """
    chosen = {name: columns[name] for name in untyped if name in columns}
    for name, column in chosen.items():
        if column.values is None and column.bounds is None:
            raise refuse("untyped_column", name=name)
    return chosen


def _end(bound: Fraction, kind: str) -> Any:
    """Give an end of a range as a synthesis takes it; those of dates are kept as days."""
    if kind == "date":
        return date_of(float(bound))
    return int(bound) if kind == "integer" else float(bound)
