"""Published once, from a session: clusters, winners and ordered histograms, charged like answers.

Contract: the steps of :class:`~sfumato.govern.spending.Spending`: priced from public facts, charged
durably, and only then are rows read. The same request of the same analyst on unchanged data is
given again for nothing. Bounds and lists of values are public: the schema's, or those of the
request where the owner fixed none.

Rows of a unit. Where the unit is a person with at most m rows, m of her rows are kept, drawn
at random for each person by herself, so adding or removing a person moves at most m rows, and the
mechanism gets ε/m (:func:`sfumato.dp.publish.purse.price_of`). For winners all rows of a person are
one basket, so nothing has to be cut and ε is hers undivided.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.stream import stream
from sfumato.dp.publish.kmeans.estimator import KMeans
from sfumato.dp.publish.ranges.ordered import ordered_histogram
from sfumato.dp.publish.stored import dump, load
from sfumato.dp.publish.topk.release import plan_top_k, top_k
from sfumato.dp.rounding import stated_up
from sfumato.errors import ParameterError
from sfumato.govern.spending import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from sfumato.ask.language.language import Column
    from sfumato.ask.session.desk import Desk
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.rounding import Stated
    from sfumato.govern.ledger.snapshots import Snapshot
    from sfumato.govern.spending import Purchase
    from sfumato.release import Release


def publish_clusters(
    desk: Desk,
    columns: Sequence[str],
    k: int,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    algorithm: Any,
    price: Mapping[str, Any],
) -> Release:
    """Release the clusters of some columns."""
    found = [find_column(desk, name) for name in columns]
    box = {column.name: _bounds(desk, column, bounds) for column in found}
    limit = parameters.rows_per_unit(desk.spending.neighbours)

    def make(amount: dict[str, Any]) -> KMeans:
        rows = read_rows(desk, list(box), limit)
        matrix = {name: [row[i + 1] for row in rows] for i, name in enumerate(box)}
        model = KMeans(
            k, bounds=box, algorithm=algorithm, neighbours=desk.spending.neighbours, **amount
        )
        return model.fit(matrix)

    KMeans(k, bounds=box, algorithm=algorithm, epsilon=1).forecast(1)  # refuses bad parameters
    asked = {"kmeans": {name: list(map(float, ends)) for name, ends in box.items()}, "k": k}
    return _published(desk, {**asked, "algorithm": algorithm}, make, price, f"clusters of {k}")


def publish_winners(
    desk: Desk, column: str, k: int, *, values: Sequence[Any] | None, price: Mapping[str, Any],
    **options: Any,
) -> Release:  # fmt: skip
    """Release the most frequent values of a column, each person counted once for each."""
    found = find_column(desk, column)
    known = desk.opened.facts[desk.opened.table].domains
    domain = values or dict(known).get(found.name)
    if domain is None and price.get("delta") is None:
        raise ParameterError(
            f"{column!r} has no public list of values; give values=, or delta= to have those named "
            "that enough people share."
        )

    many = None if domain is None else len(domain)
    plan_top_k(k, items=many, epsilon=1, delta=price.get("delta"))  # refuses bad parameters
    if many is not None and k > many:
        raise ParameterError(f"k is at most the number of values, {many:,}.")

    def make(amount: dict[str, Any]) -> Any:
        rows = read_rows(desk, [found.name], None)
        baskets = [[row[1]] for row in rows]
        people = [row[0] for row in rows]
        won = top_k(baskets, k, items=domain, people=people, **amount, **options)
        return replace(won, guarantee=replace(won.guarantee, neighbours=desk.spending.neighbours))

    listed = None if domain is None else [str(value) for value in domain]
    asked = {"top_k": found.name, "k": k, "values": listed, **options}
    return _published(desk, asked, make, price, f"top {k} of {found.name}")


def publish_ordered(
    desk: Desk, column: str, *, cells: Any, bounds: Any, price: Mapping[str, Any]
) -> Release:
    """Release the ordered histogram of a column."""
    found = find_column(desk, column)
    ends = _bounds(desk, found, {} if bounds is None else {column: bounds})
    limit = parameters.rows_per_unit(desk.spending.neighbours)

    def make(amount: dict[str, Any]) -> Any:
        values = [row[1] for row in read_rows(desk, [found.name], limit)]
        near = desk.spending.neighbours
        return ordered_histogram(values, bounds=ends, cells=cells, neighbours=near, **amount)

    ordered_histogram([], bounds=ends, cells=cells, epsilon=1)  # refuses bad parameters
    asked = {"ordered": found.name, "cells": cells, "bounds": list(map(float, ends))}
    return _published(desk, asked, make, price, f"distribution of {found.name}")


# -- steps ------------------------------------------------------------------------------------


def _published(
    desk: Desk,
    asked: Mapping[str, Any],
    make: Callable[[dict[str, Any]], Any],
    price: Mapping[str, Any],
    name: str,
) -> Release:
    """Price, charge, make and settle."""
    wanted, delta = price.get("epsilon"), price.get("delta")
    text = json.dumps({**asked, "price": {k: str(v) for k, v in price.items()}}, sort_keys=True)

    def plan(now: Snapshot) -> Plan[Fraction]:
        if isinstance(desk.budget(now), ZCDP):
            raise ParameterError(
                "This dataset has a budget in ρ, and what is published once is priced in ε; ask "
                "the owner for a budget in ε."
            )
        amount = desk.spending.amount(now, wanted)
        return Plan(Cost(amount, 0, delta or 0), _promised(desk, amount, delta), made=amount)

    def work(bought: Purchase[Fraction]) -> Any:
        spent = {"epsilon": bought.made} | ({} if delta is None else {"delta": delta})
        return make(spent)

    with desk.lock:
        found = desk.spending.spend(plan, work, what=text, dump=dump, load=load)
    released: Release = found.release(name)
    return released


def _promised(desk: Desk, amount: Fraction, delta: Stated | None) -> Guarantee:
    near = desk.spending.neighbours
    if delta is None:
        return PureDP(stated_up(amount), neighbours=near)
    failure = parameters.failure(delta)
    return ApproxDP(stated_up(amount), stated_up(failure), neighbours=near)


def find_column(desk: Desk, name: str) -> Column:
    """Find a column of the dataset by its name, in whatever case."""
    facts = desk.opened.facts[desk.opened.table]
    for column in facts.columns:
        if column.name.casefold() == name.casefold():
            return column
    names = ", ".join(column.name for column in facts.columns)
    raise ParameterError(f"There is no column {name!r} to publish; there are {names}.")


def _bounds(desk: Desk, column: Column, extra: Mapping[str, tuple[Any, Any]]) -> tuple[Any, Any]:
    given = {key.casefold(): ends for key, ends in desk.opened.own_bounds(extra).items()}
    ends = given.get(column.name.casefold()) or column.bounds
    if ends is None:
        raise ParameterError(
            f"{column.name!r} has no declared bounds; give bounds=, from knowledge of the domain "
            "and never from the data."
        )
    low, high = ends
    return float(low), float(high)


def read_rows(desk: Desk, names: list[str], limit: int | None) -> list[tuple[Any, ...]]:
    """Read (person, cells…) of rows, at most ``limit`` of each person, drawn by herself."""
    opened = desk.opened
    engine = opened.engine
    if not hasattr(engine, "columns"):
        raise ParameterError(
            "Clusters, winners and distributions are published from files and frames; read the "
            "columns from this engine into a frame first."
        )
    person = opened.facts[opened.table].person
    cells = engine.columns(opened.table, names if person is None else [person, *names])
    if person is None:
        return [(i, *row) for i, row in enumerate(cells)]
    return cells if limit is None else _kept(cells, limit)


def _kept(rows: list[tuple[Any, ...]], limit: int) -> list[tuple[Any, ...]]:
    number: dict[Any, int] = {}
    owners = np.array([number.setdefault(row[0], len(number)) for row in rows], dtype=np.int64)
    order = np.lexsort((stream().uint64(owners.size), owners))
    first = np.searchsorted(owners[order], owners[order])
    chosen = order[np.arange(order.size) - first < limit]
    return [rows[i] for i in chosen.tolist()]
