"""Models that are fitted in a session: priced, charged, and only then rows are read.

Contract: the steps of :class:`~sfumato.govern.spending.Spending`. Columns, classes and bounds of
the target are public: the owner's, or the estimator's where the owner fixed none; what is declared
nowhere is refused. The same fit of the same data is given again for nothing, number for number.

Only Sfumato's own estimators are fitted. A pipeline, a search or a cross-validation of scikit-learn
learns from the rows in every step, scores them exactly and tells nobody what that costs, so it is
refused; :mod:`.cross_validation` does it at a stated price.

Rows of a unit. Where a person may have m rows, m of her rows are kept, drawn at random for each
person by herself, and the noise is that of m rows (:class:`sfumato.dp.learn.budget.Budget`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.refusals import refuse
from sfumato.ask.session.publications import find_column, read_rows
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP
from sfumato.dp.learn.artefact import Model
from sfumato.dp.learn.estimator import PrivateEstimator
from sfumato.dp.learn.features import Category, as_cells, declare
from sfumato.dp.learn.saved import column_to_json
from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.language.language import TableFacts
    from sfumato.ask.session.desk import Desk
    from sfumato.dp.learn.features import Column
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.release import Release


@dataclass(frozen=True)
class FitRequest:
    """A fit that may be bought: the estimator with all declarations, and what it reads."""

    estimator: PrivateEstimator
    columns: tuple[Column, ...]
    target: str | None
    left_out: tuple[str, ...]

    @property
    def text(self) -> str:
        """Name everything that matters for the result and the price."""
        options = self.estimator.get_params()
        shown = {n: repr(v) for n, v in options.items() if n not in {"bounds", "domain"}}
        columns = [column_to_json(column) for column in self.columns]
        asked = [type(self.estimator).__name__, shown, columns, self.target]
        return "fit " + json.dumps(asked, default=str, sort_keys=True)

    def rows(self, desk: Desk) -> tuple[dict[str, Any], Any]:
        """Read the rows: columns by name, and the target."""
        names = [column.name for column in self.columns]
        wanted = names if self.target is None else [*names, self.target]
        limit = parameters.rows_per_unit(desk.spending.neighbours)
        cells = read_rows(desk, wanted, limit)
        read = {name: as_cells([row[k + 1] for row in cells]) for k, name in enumerate(names)}
        target = None if self.target is None else as_cells([row[-1] for row in cells])
        return read, target


def fit_model(
    desk: Desk, estimator: Any, target: str | None, columns: Sequence[str] | None
) -> Release:
    """Charge for a fit and make it, or give it again."""
    wanted = prepare_fit(desk, estimator, target, columns)
    facts = {"left_out": list(wanted.left_out)} if wanted.left_out else {}

    def work(_: Any) -> str:
        model = wanted.estimator
        model.fit(*wanted.rows(desk))
        return Model(model, wanted.target, facts).dump()

    with desk.lock:
        text = desk.spending.spend(lambda now: price_fit(desk, wanted, now), work, what=wanted.text)
    return Model.load(text).release(desk.opened.dataset)


def price_fit(desk: Desk, wanted: FitRequest, now: Snapshot) -> Plan[FitRequest]:
    """State what a fit costs: all that the estimator promises."""
    if isinstance(desk.budget(now), ZCDP):
        raise ParameterError(
            "This dataset has a budget in ρ, and models are priced in ε and δ; ask the owner for "
            "a budget in ε."
        )
    promise: Any = wanted.estimator.guarantee
    desk.spending.amount(now, promise.epsilon)  # the policy may refuse it
    details = {"model": type(wanted.estimator).__name__, "target": wanted.target}
    return Plan(Cost.of(promise), promise, details=details, made=wanted)


def prepare_fit(
    desk: Desk, estimator: Any, target: str | None, columns: Sequence[str] | None
) -> FitRequest:
    """Check what is wanted, from public facts alone."""
    if not isinstance(estimator, PrivateEstimator):
        raise ParameterError(
            f"{type(estimator).__name__} promises nothing, and whatever it learnt from private "
            "rows would be free; fit an estimator of sf.dp, such as sf.dp.AdditiveClassifier. "
            "Pipelines and searches learn in every step: fit their private part alone, and compare "
            "models with session.cross_validate."
        )
    found = None if target is None else find_column(desk, target).name
    if found is None and hasattr(estimator, "predict"):
        raise ParameterError("Say what is to be predicted, with target='column'.")
    chosen, left_out = _declared(desk, estimator, found, columns)
    options = estimator.get_params()
    options |= {"bounds": _bounds(chosen) or None, "neighbours": desk.spending.neighbours}
    if "domain" in options:
        options["domain"] = {c.name: list(c.values) for c in chosen if isinstance(c, Category)}
    options |= _target_options(desk, estimator, found)
    ready = type(estimator)(**options)
    ready.forecast(1)  # refuses bad parameters and declarations
    return FitRequest(ready, chosen, found, left_out)


def _declared(
    desk: Desk, estimator: PrivateEstimator, target: str | None, columns: Sequence[str] | None
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Pair the columns with the owner's declarations, or the estimator's where there are none."""
    facts = desk.opened.facts[desk.opened.table]
    mine = _own(desk, estimator)
    listed = dict(facts.domains)
    names = [find_column(desk, name).name for name in columns] if columns is not None else None
    chosen: list[Column] = []
    left_out = _untyped(facts, mine, target) if names is None else []
    for column in facts.columns:
        wanted = column.name in names if names is not None else column.name != target
        if column.name == facts.person or not wanted:
            continue
        if column.name in listed and "domain" not in estimator.get_params():
            if names is not None:
                raise ParameterError(
                    f"{type(estimator).__name__} learns from numbers, and {column.name!r} has "
                    "categories; leave it out of columns=."
                )
            left_out.append(column.name)
        elif column.name in listed:
            chosen += declare([column.name], None, {column.name: listed[column.name]})
        elif column.bounds is not None:
            low, high = (float(end) for end in column.bounds)
            ends = range(int(low), int(high) + 1) if column.kind == "integer" else (low, high)
            chosen += declare([column.name], {column.name: ends})
        elif column.name in mine:
            chosen += declare([column.name], *mine[column.name])
        elif names is not None:
            chosen += declare([column.name])  # refuses it, with what to do
        else:
            left_out.append(column.name)
    if not chosen:
        raise ParameterError(
            "No column has bounds or keys; declare them in the schema, when the session is opened, "
            "or in the estimator (bounds=, domain=)."
        )
    return tuple(chosen), tuple(left_out)


def _untyped(facts: TableFacts, mine: Mapping[str, Any], target: str | None) -> list[str]:
    """Name the columns of which nothing public says of which kind they are, and so are left out."""
    for name in facts.untyped:
        if name in mine:
            raise refuse("untyped_column", name=name)
    return [name for name in facts.untyped if name != target]


def _own(desk: Desk, estimator: PrivateEstimator) -> dict[str, tuple[Any, Any]]:
    """Give the estimator's own declarations by column; the owner's cannot be changed."""
    bounds = estimator.bounds if isinstance(estimator.bounds, dict) else {}
    domain = estimator.domain or {}
    desk.opened.own_bounds({name: (ends[0], ends[-1]) for name, ends in bounds.items()})
    desk.opened.own_keys(domain)
    mine: dict[str, tuple[Any, Any]] = {name: ({name: e}, None) for name, e in bounds.items()}
    mine |= {name: (None, {name: values}) for name, values in domain.items()}
    return mine


def _bounds(chosen: Sequence[Column]) -> dict[str, Any]:
    return {
        c.name: range(int(c.low), int(c.high) + 1) if c.whole else (c.low, c.high)
        for c in chosen
        if not isinstance(c, Category)
    }


def _target_options(desk: Desk, estimator: PrivateEstimator, target: str | None) -> dict[str, Any]:
    """Give classes or bounds of the target: the owner's, or the estimator's."""
    if target is None:
        return {}
    facts, options = desk.opened.facts[desk.opened.table], estimator.get_params()
    column = find_column(desk, target)
    if "classes" in options:
        listed = dict(facts.domains).get(target)
        if listed is None and column.kind == "integer" and column.bounds is not None:
            low, high = (int(end) for end in column.bounds)
            listed = tuple(range(low, high + 1)) if high - low < 100 else None
        if listed is None and options["classes"] is None:
            raise ParameterError(
                f"The classes of {target!r} are not declared; list its values in the schema, as "
                "keys= of the session, or as classes= of the estimator, from knowledge and never "
                "from the data."
            )
        return {} if listed is None else {"classes": list(listed)}
    if "target" in options and column.bounds is not None:
        return {"target": tuple(float(end) for end in column.bounds)}
    return {}
