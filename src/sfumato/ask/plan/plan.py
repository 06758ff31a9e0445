"""One plan for every engine: a request as a SQL syntax tree of bounded aggregates.

Contract: :func:`plan` gives a SELECT whose rows are the groups of a request: keys ``key_i``, grid
numbers ``spread_i``, ``people``, and one ``total_i`` per total. It is deterministic (no random
function, no order of rows), total (nothing in it can raise, whatever the cells are) and exact
(totals are sums of whole numbers in a type that holds them). :func:`contributions` is the part
below bounding, for engines that bound by other means: per row ``person``, ``key_i``, ``value_i``
and ``spread_i``. :mod:`sfumato.ask.plan.dialects` prints both.

The bound is enforced here and nowhere else, on the rows that are summed, by the hash of
:mod:`sfumato.ask.plan.choice`: what a person can do to the result follows from this SELECT alone,
whatever the relation below it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.exactness import fits
from sfumato.ask.language.request import GroupsBound, Request, RowBound, Total
from sfumato.ask.plan.bounding import bounded
from sfumato.ask.plan.column_kinds import check_columns
from sfumato.ask.plan.dialects import Wide
from sfumato.ask.plan.expressions import Names, Scope
from sfumato.ask.plan.forms import (
    BIGINT,
    SQL,
    aliased,
    all_of,
    any_of,
    big,
    binary,
    case,
    cast,
    column,
    constant,
    derived,
    is_null,
    negated,
    select,
    times,
    whole,
)
from sfumato.ask.plan.relations import Relations
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.language.language import Key, Kind, TableFacts

MOST_NUMBER = 2**62
"""The largest grid number a request may ask for: BIGINT holds it."""

MOST_SQUARED = 2**46
"""The largest grid number that may be squared: sums of 2³³ squares fit 38 digits."""

MOST_NARROW = 2**30
"""Sums of numbers up to this fit 64 bits for 2³³ rows, so they come back as such."""


@dataclass(frozen=True)
class Layout:
    """The names of the columns of :func:`contributions`.

    ``values`` has a name per total; None stands for a total to which every row adds 1. The column
    of ``squares`` holds z and not z².
    """

    person: str | None
    person_kind: Kind | None
    keys: tuple[str, ...]
    key_kinds: tuple[Kind, ...]
    values: tuple[str | None, ...]
    spread: tuple[str, ...]


def plan(request: Request, facts: Mapping[str, TableFacts]) -> exp.Select:
    """Give the SELECT that computes a request."""
    source, layout = contributions(request, facts)
    kept = source if isinstance(request.bound, RowBound) else bounded(source, layout, request)
    return _totals(kept, layout, request)


def contributions(request: Request, facts: Mapping[str, TableFacts]) -> tuple[exp.Select, Layout]:
    """Give the SELECT of what every row contributes, before bounding, and its columns."""
    checked(request)
    check_columns(request, facts)
    by_person = not isinstance(request.bound, RowBound)
    relations = Relations(facts, Names(), by_person=by_person, salt=request.salt)
    rows = relations.rows(request.relation)
    scope = relations.scope(rows)
    outputs = [] if rows.person is None else [aliased(column(rows.person), "person")]
    keys = [_key(scope, key) for key in request.keys]
    outputs += [aliased(key.copy(), f"key_{i}") for i, key in enumerate(keys)]
    values = [_value(scope, total) for total in request.totals]
    outputs += [aliased(v, f"value_{i}") for i, v in enumerate(values) if v is not None]
    spread = [scope.grid_number(term, grid) for term, grid in request.spread]
    outputs += [aliased(number.copy(), f"spread_{i}") for i, number in enumerate(spread)]
    wanted = [
        _among(sql, key)
        for key, sql in zip(request.keys, keys, strict=True)
        if key.values is not None
    ]
    wanted += [negated(is_null(number.copy())) for number in spread]
    query = scope.select(outputs, all_of(wanted) if wanted else None)
    return query, _layout(request, values, rows.person_kind)


def narrow(total: Total) -> bool:
    """Tell whether a total fits 64 bits by its form and grid alone."""
    if total.form in {"rows", "present"}:
        return True
    assert total.grid is not None
    most = total.grid.most
    return (most if total.form == "sum" else most**2) <= MOST_NARROW


def checked(request: Request) -> None:
    """Assert again what the guarantee and the types rest on."""
    bound = request.bound
    limits: tuple[object, ...] = () if isinstance(bound, RowBound) else (bound.rows,)
    if isinstance(bound, GroupsBound):
        limits = (*limits, bound.groups)
    if any(type(limit) is not int or limit < 1 for limit in limits):
        raise ParameterError(f"A bound is a whole number of at least 1, and {bound} is not.")
    for key in request.keys:
        if kind_of(key.expression) == "real":
            raise ParameterError(
                f"'{key.name}' is a real number, and groups need values that repeat; use "
                "FLOOR(x / 10) * 10."
            )
    grids = [(total.grid, total.form) for total in request.totals if total.grid is not None]
    for grid, form in [*grids, *((grid, "spread") for _, grid in request.spread)]:
        low, high = grid.bounds
        most = MOST_SQUARED if form == "squares" else MOST_NUMBER
        if low > high or grid.step <= 0 or grid.most > most:
            raise ParameterError(
                f"The grid from {float(low):g} to {float(high):g} in steps of "
                f"{float(grid.step):g} has too many points to be counted; use larger steps."
            )


def _layout(request: Request, values: list[SQL | None], person_kind: Kind | None) -> Layout:
    return Layout(
        None if person_kind is None else "person",
        person_kind,
        tuple(f"key_{i}" for i in range(len(request.keys))),
        tuple(kind_of(key.expression) for key in request.keys),
        tuple(None if value is None else f"value_{i}" for i, value in enumerate(values)),
        tuple(f"spread_{i}" for i in range(len(request.spread))),
    )


def _key(scope: Scope, key: Key) -> exp.Column:
    whole_number = kind_of(key.expression) == "integer"
    return scope.whole(key.expression) if whole_number else scope.value(key.expression)


def _among(sql: exp.Column, key: Key) -> SQL:
    """Tell whether a key has one of its public values, NULL among them or not."""
    assert key.values is not None
    kind = kind_of(key.expression)
    literals = [_key_literal(key, value, kind) for value in key.values if value is not None]
    terms: list[SQL] = []
    if literals:
        terms.append(exp.In(this=sql.copy(), expressions=literals))
    if None in key.values:
        terms.append(is_null(sql.copy()))
    return any_of(terms)


def _key_literal(key: Key, value: object, kind: Kind) -> SQL:
    if kind != "integer":
        return constant(value, kind)  # type: ignore[arg-type]
    number = int(value)  # type: ignore[call-overload]
    if number != value or not fits(number):
        raise ParameterError(
            f"The values of '{key.name}' must be whole numbers of 64 bits, and one is not."
        )
    return big(number)


def _value(scope: Scope, total: Total) -> SQL | None:
    """Give what a row adds; None where every row adds 1."""
    conditions = [] if total.where is None else [scope.sql(total.where)]
    if total.form in {"rows", "present"}:
        if total.form == "present":
            assert total.term is not None
            conditions.append(negated(is_null(scope.sql(total.term))))
        return case([(all_of(conditions), big(1))], big(0)) if conditions else None
    assert total.term is not None
    assert total.grid is not None
    number = scope.grid_number(total.term, total.grid)
    present = exp.Coalesce(this=number, expressions=[big(0)])
    return case([(all_of(conditions), present)], big(0)) if conditions else present


def _totals(kept: exp.Select, layout: Layout, request: Request) -> exp.Select:
    """Aggregate the kept rows by key and spread; a group without rows does not appear."""
    keys = [*layout.keys, *layout.spread]
    outputs = [*(column(key) for key in keys), aliased(_people(request), "people")]
    for i, (total, name) in enumerate(zip(request.totals, layout.values, strict=True)):
        outputs.append(aliased(_sum(total, name), f"total_{i}"))
    query = select(outputs, derived(kept, "kept"))
    if keys:
        query.set("group", exp.Group(expressions=[column(key) for key in keys]))
    else:
        some = binary(exp.GT, exp.Count(this=exp.Star()), whole(0))
        query.set("having", exp.Having(this=some))
    return query


def _people(request: Request) -> SQL:
    """Count the people of a group: where rows are placed within it, those who have a first one."""
    if isinstance(request.bound, RowBound):
        return exp.Count(this=exp.Star())
    if isinstance(request.bound, GroupsBound) and not request.spread:
        first = binary(exp.EQ, column("row_place"), whole(1))
        return exp.Count(this=case([(first, whole(1))]))
    return exp.Count(this=exp.Distinct(expressions=[column("person")]))


def _sum(total: Total, name: str | None) -> SQL:
    if name is None:
        return exp.Count(this=exp.Star())
    number: SQL = Wide(this=column(name))
    if total.form == "squares":
        number = times(number, Wide(this=column(name)))
    summed = exp.Sum(this=number)
    return cast(summed, BIGINT) if narrow(total) else summed
