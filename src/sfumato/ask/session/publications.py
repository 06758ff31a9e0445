"""What can be published once from a session: clusters, winners, named words, distributions, maps.

Contract: a :class:`Publication` is made from public facts alone: columns, bounds and lists of
values that the owner fixed or, where she fixed none, the request states. Whatever can be refused is
refused while it is made, before anything is charged. ``make`` reads rows, and is called only once
they are paid for; ``predict`` tells what it will be worth and reads nothing.

Rows of a unit. Where the unit is a person with at most m rows, m of her rows are kept, drawn
at random for each person by herself, so adding or removing a person moves at most m rows, and the
mechanism gets ε/m (:func:`sfumato.dp.publish.purse.price_of`). Where a person is replaced by
another, 2m rows move. For winners and words all rows of a
person are one basket, so nothing has to be cut and ε is hers undivided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.language.refusals import refuse
from sfumato.ask.session.publish import promise_of
from sfumato.data.cells import as_label
from sfumato.dp.mechanisms import parameters
from sfumato.dp.noise.stream import stream
from sfumato.dp.publish.kmeans.estimator import KMeans
from sfumato.dp.publish.kmeans.rows import box_of
from sfumato.dp.publish.ranges.ordered import forecast_ordered, ordered_histogram
from sfumato.dp.publish.ranges.spatial import check_map, forecast_spatial, spatial_histogram
from sfumato.dp.publish.topk.release import plan_top_k, top_k
from sfumato.dp.publish.topk.union import plan_union, set_union
from sfumato.dp.rounding import exp_bounds
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.ask.language.language import Column
    from sfumato.ask.session.desk import Desk
    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours


@dataclass(frozen=True)
class Publication:
    """Something to be published: what it is called, asked for, made by and worth."""

    name: str
    asked: Mapping[str, Any]
    make: Callable[[dict[str, Any]], Any]
    predict: Callable[[int, dict[str, Any]], Any]


def clusters(
    desk: Desk,
    columns: Sequence[str],
    k: int,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    algorithm: Any = "best",
) -> Publication:
    """Plan the clusters of some columns."""
    box = {c.name: _bounds(desk, c, bounds) for c in (find_column(desk, n) for n in columns)}
    near = desk.spending.neighbours
    limit = parameters.rows_per_unit(near)

    def model(price: dict[str, Any]) -> KMeans:
        return KMeans(k, bounds=box, algorithm=algorithm, neighbours=near, **price)

    def make(price: dict[str, Any]) -> KMeans:
        rows = read_rows(desk, list(box), limit)
        return model(price).fit({n: [row[i + 1] for row in rows] for i, n in enumerate(box)})

    KMeans(k, bounds=box, algorithm=algorithm, epsilon=1).forecast(1)  # refuses bad parameters
    asked = {"kmeans": {name: list(map(float, ends)) for name, ends in box.items()}, "k": k}
    return Publication(
        f"clusters of {k}", {**asked, "algorithm": algorithm}, make,
        lambda rows, price: model(price).forecast(rows),
    )  # fmt: skip


def winners(
    desk: Desk,
    column: str,
    k: int,
    *,
    values: Sequence[Any] | None = None,
    unlisted: bool = False,
    **options: Any,
) -> Publication:
    """Plan the most frequent values of a column, or sets of them, each person counted once.

    ``unlisted`` tells that a price with δ was stated, which values without a public list need.
    """
    found = find_column(desk, column)
    domain = values or dict(desk.opened.facts[desk.opened.table].domains).get(found.name)
    if domain is not None:  # fractions are handed out as plain numbers
        domain = [as_label(value) if isinstance(value, Fraction) else value for value in domain]
    if domain is None and not unlisted:
        raise ParameterError(
            f"{column!r} has no public list of values; give values=, or epsilon= with delta= to "
            "have those named that enough people share."
        )
    many, near = None if domain is None else len(domain), desk.spending.neighbours
    if many is not None and k > many and options.get("set_size", 1) == 1:
        raise ParameterError(f"k is at most the number of values, {many:,}.")

    def make(price: dict[str, Any]) -> Any:
        baskets, people = _baskets(desk, found)
        half = price_of_a_step(near, price)
        won = top_k(baskets, k, items=domain, people=people, **half, **options)
        return replace(won, guarantee=_promised(won.guarantee, desk, price))

    def predict(rows: int, price: dict[str, Any]) -> Any:  # noqa: ARG001 - the plan holds for any number
        return plan_top_k(k, items=many, **price_of_a_step(near, price), **options)

    predict(1, {"epsilon": 1, **({"delta": "1e-6"} if domain is None else {})})  # refuses bad ones
    listed = None if domain is None else [str(value) for value in domain]
    asked = {"top_k": found.name, "k": k, "values": listed, **options}
    return Publication(f"top {k} of {found.name}", asked, make, predict)


def words(desk: Desk, column: str, *, at_most: int = 50) -> Publication:
    """Plan which values of a column may be named, when nobody lists them."""
    found, near = find_column(desk, column), desk.spending.neighbours

    def make(price: dict[str, Any]) -> Any:
        baskets, people = _baskets(desk, found)
        half = price_of_a_step(near, price)
        named = set_union(baskets, people=people, at_most=at_most, **half)
        return replace(named, guarantee=_promised(named.guarantee, desk, price))

    def predict(rows: int, price: dict[str, Any]) -> Any:  # noqa: ARG001 - it holds for any number
        return plan_union(at_most=at_most, **price_of_a_step(near, price))

    predict(1, {"epsilon": 1, "delta": "1e-6"})  # refuses bad parameters
    asked = {"set_union": found.name, "at_most": at_most}
    return Publication(f"values of {found.name}", asked, make, predict)


def price_of_a_step(near: Neighbours, price: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a basket added or removed may cost, of which replacing a unit takes two.

    Two steps of ε/2 make ε, of δ/(1 + e^(ε/2)) make δ, and of ρ/4 make ρ
    (:mod:`sfumato.dp.accounting.restating`).
    """
    if not near.bounded:
        return dict(price)
    found = dict(price)
    if "rho" in price:
        found["rho"] = parameters.positive(price["rho"], "ρ (rho)") / 4
    if "epsilon" in price:
        found["epsilon"] = parameters.budget(price["epsilon"]) / 2
    if "delta" in price:
        far = 1 + Fraction(exp_bounds(found["epsilon"])[1])
        found["delta"] = parameters.failure(price["delta"]) / far
    return found


def _promised(made: Guarantee, desk: Desk, price: Mapping[str, Any]) -> Guarantee:
    """State what was promised about the unit of the session."""
    near = desk.spending.neighbours
    return promise_of(desk.spending, price) if near.bounded else replace(made, neighbours=near)


def distribution(desk: Desk, column: str, *, cells: Any, bounds: Any) -> Publication:
    """Plan the ordered histogram of a column."""
    found = find_column(desk, column)
    ends = _bounds(desk, found, {} if bounds is None else {column: bounds})
    near = desk.spending.neighbours
    limit = parameters.rows_per_unit(near)

    def make(price: dict[str, Any]) -> Any:
        values = [row[1] for row in read_rows(desk, [found.name], limit)]
        return ordered_histogram(values, bounds=ends, cells=cells, neighbours=near, **price)

    def predict(rows: int, price: dict[str, Any]) -> Any:
        many = cells if isinstance(cells, int) else len(cells) - 1
        return forecast_ordered(rows=rows, cells=many, neighbours=near, **price)

    ordered_histogram([], bounds=ends, cells=cells, epsilon=1)  # refuses bad parameters
    asked = {"ordered": found.name, "cells": cells, "bounds": list(map(float, ends))}
    return Publication(f"distribution of {found.name}", asked, make, predict)


def places(
    desk: Desk,
    x: str,
    y: str,
    *,
    bounds: Mapping[str, tuple[Any, Any]],
    side: int = 256,
    use: str = "ranges",
) -> Publication:
    """Plan a map of two columns on an adaptive grid."""
    box = {c.name: _bounds(desk, c, bounds) for c in (find_column(desk, n) for n in (x, y))}
    if len(box) != 2:
        raise ParameterError("A map has two columns, and one was named twice.")
    check_map(side, use)
    box_of(None, box)  # refuses bounds too far apart
    near = desk.spending.neighbours
    limit = parameters.rows_per_unit(near)

    def make(price: dict[str, Any]) -> Any:
        rows = read_rows(desk, list(box), limit)
        points = {name: [row[i + 1] for row in rows] for i, name in enumerate(box)}
        return spatial_histogram(points, bounds=box, side=side, use=use, neighbours=near, **price)

    def predict(rows: int, price: dict[str, Any]) -> Any:
        return forecast_spatial(rows=rows, side=side, neighbours=near, **price)

    asked = {"spatial": {n: list(map(float, ends)) for n, ends in box.items()}, "side": side}
    return Publication(f"map of {x} and {y}", {**asked, "use": use}, make, predict)


def named(
    desk: Desk,
    what: str,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    price: Mapping[str, Any],
) -> Publication:
    """Plan a publication by the name of the session's method."""
    if what not in _PLANS:
        raise ParameterError(
            f"There is no publication {what!r}; there are {', '.join(_PLANS)} and synthesize."
        )
    given = {name: value for name, value in options.items() if value is not None}
    if what in {"kmeans", "spatial_histogram"}:
        given.setdefault("bounds", {})
    if what == "quantiles":
        given = {"bounds": None, "cells": 4096, **given}
    if what == "top_k":
        given["unlisted"] = price.get("epsilon") is not None and price.get("delta") is not None
    if what == "set_union" and None in (price.get("epsilon"), price.get("delta")):
        raise ParameterError(
            "Naming what nobody has listed needs epsilon= and delta=: that a word of one person "
            "alone is named cannot be ruled out, only made improbable."
        )
    try:
        return _PLANS[what](desk, *arguments, **given)
    except TypeError:
        raise ParameterError(f"These are no arguments of {what}; see help(sf.Session.{what}).") from None  # fmt: skip  # noqa: E501


# -- columns and rows ---------------------------------------------------------------------------


def find_column(desk: Desk, name: str) -> Column:
    """Find a column that can be published."""
    facts = desk.opened.facts[desk.opened.table]
    for column in facts.columns:
        if column.name.casefold() == name.casefold():
            return column
    if name.casefold() in {column.casefold() for column in facts.untyped}:
        raise refuse("untyped_column", name=name)
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


def _baskets(desk: Desk, column: Column) -> tuple[list[list[Any]], list[Any]]:
    """Give a basket of one value for each row, and whose it is."""
    rows = read_rows(desk, [column.name], None)
    return [[row[1]] for row in rows], [row[0] for row in rows]


def read_rows(desk: Desk, names: list[str], limit: int | None) -> list[tuple[Any, ...]]:
    """Read (person, cells…) of rows, at most ``limit`` of each person, drawn by herself."""
    opened = desk.opened
    engine = opened.engine
    if not hasattr(engine, "columns"):
        raise ParameterError(
            "What is published once is made from one table, and this dataset has several blocks; "
            "open a session on one of them."
        )
    person = opened.facts[opened.table].person
    cells = engine.columns(opened.table, names if person is None else [person, *names])
    if person is None:
        return [(i, *row) for i, row in enumerate(cells)]
    return cells if limit is None else keep_some(cells, limit)


def keep_some(rows: list[tuple[Any, ...]], limit: int) -> list[tuple[Any, ...]]:
    """Keep at most ``limit`` rows of each person, drawn at random among her own."""
    number: dict[Any, int] = {}
    owners = np.array([number.setdefault(row[0], len(number)) for row in rows], dtype=np.int64)
    order = np.lexsort((stream().uint64(owners.size), owners))
    first = np.searchsorted(owners[order], owners[order])
    chosen = order[np.arange(order.size) - first < limit]
    return [rows[i] for i in chosen.tolist()]


_PLANS: dict[str, Callable[..., Publication]] = {
    "kmeans": clusters,
    "top_k": winners,
    "set_union": words,
    "quantiles": distribution,
    "spatial_histogram": places,
}
