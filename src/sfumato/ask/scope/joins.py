"""Join a scope to a public table or to another relation of the same people.

Contract: every row of the result belongs to the person of the left row. A public table adds to
a row what is public about it; a private relation adds rows of the same person only. When the unit
is the row, a public table must name at most one row per key, and private relations are not joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import interval_of, kind_of
from sfumato.ask.language.build import alike, number
from sfumato.ask.language.language import (
    Column,
    Expression,
    JoinPerson,
    JoinPublic,
    PerPerson,
    PersonAggregate,
    Project,
)
from sfumato.ask.language.multiplication import MOST_REPEATED, repetition
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import is_null
from sfumato.ask.scope.scopes import PersonName, Scope, VisibleName, checked, column_for, fresh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import TableFacts


def join_public(
    scope: Scope,
    table: TableFacts,
    alias: str,
    on: Sequence[tuple[Expression, Column]],
    *,
    outer: bool = False,
) -> Scope:
    """Give each row the public rows that agree with it."""
    if not on:
        raise refuse("join_condition", what=f"write ON column = {alias}.column")
    for left, _ in on:
        checked(left)
    joined_on = {column.name for _, column in on}
    rows = repetition(table, joined_on)
    if scope.person is None and rows != 1:
        raise refuse("join_unique", name=table.name)
    if rows is not None and rows > MOST_REPEATED:
        raise refuse("join_many", name=table.name, given=rows, most=MOST_REPEATED)
    named, taken = _named([column.name for column in table.columns], scope)
    pairs = tuple(zip(named, table.columns, strict=True))
    domains = dict(table.domains)
    return replace(
        scope,
        relation=JoinPublic(
            scope.relation, table.name, _typed(on), pairs, outer=outer, unique=rows == 1
        ),
        seen=scope.seen
        + tuple(
            VisibleName(alias, column.name, replace(column, name=name)) for name, column in pairs
        ),
        taken=taken,
        domains=scope.domains
        + tuple((name, domains[c.name]) for name, c in pairs if c.name in domains),
    )


def _typed(on: Sequence[tuple[Expression, Column]]) -> tuple[tuple[Expression, Column], ...]:
    """Let a date that is written as text be a date, as in any comparison."""
    return tuple((alike((left, right), "A join")[0], right) for left, right in on)


def join_person(
    left: Scope,
    right: Scope,
    on: Sequence[tuple[Expression, Expression]] = (),
    *,
    outer: bool = False,
) -> Scope:
    """Pair the rows of each person from two relations."""
    if left.person is None or right.person is None:
        raise refuse("row_unit", name=left.table if left.person is None else right.table)
    kinds = [side.people[0].kind for side in (left, right) if side.people]
    if len({*kinds} - {None}) > 1:
        raise refuse("kind", what="A join on the person", wanted=kinds[0], given=kinds[1])
    right, on_columns = _as_columns(right, [term for _, term in on])
    pairs = tuple(zip([checked(term) for term, _ in on], on_columns, strict=True))
    columns = list(dict.fromkeys(seen.expression for seen in right.seen))
    shown = [column for column in columns if isinstance(column, Column)]
    named, taken = _named([column.name for column in shown], left)
    new = {column: replace(column, name=name) for name, column in zip(named, shown, strict=True)}
    domains = dict(right.domains)
    return replace(
        left,
        relation=JoinPerson(
            left.relation,
            right.relation,
            _typed(pairs),
            tuple(zip(named, shown, strict=True)),
            outer=outer,
        ),
        seen=left.seen
        + tuple(
            replace(seen, expression=new[seen.expression])
            for seen in right.seen
            if isinstance(seen.expression, Column)
        ),
        # After a LEFT join the right name may be NULL where the person is not.
        people=left.people + (() if outer else right.people),
        taken=taken,
        domains=left.domains
        + tuple((new[c].name, domains[c.name]) for c in shown if c.name in domains),
        unasked=left.unasked + right.unasked,
        untyped=left.untyped + right.untyped,
    )


def _as_columns(scope: Scope, on: Sequence[Expression]) -> tuple[Scope, list[Column]]:
    """Let every name of a scope, and every term of a join, be a column of its relation."""
    terms = list(dict.fromkeys([*(name.expression for name in scope.seen), *on]))
    if all(isinstance(term, Column) for term in terms):
        return scope, [term for term in on if isinstance(term, Column)]
    columns: dict[Expression, Column] = {}
    domains = dict(scope.domains)
    kept = []
    for position, term in enumerate(terms):
        wanted = term.name if isinstance(term, Column) else f"column_{position + 1}"
        name = fresh(wanted, [column.name for column in columns.values()])
        columns[term] = column_for(name, checked(term))
        if isinstance(term, Column) and term.name in domains:
            kept.append((name, domains[term.name]))
    projected = Project(scope.relation, tuple((columns[term].name, term) for term in terms))
    seen = tuple(replace(shown, expression=columns[shown.expression]) for shown in scope.seen)
    taken = frozenset(column.name.lower() for column in columns.values())
    made = replace(scope, relation=projected, seen=seen, taken=taken, domains=tuple(kept))
    return made, [columns[term] for term in on]


def _named(wanted: Sequence[str], scope: Scope) -> tuple[list[str], frozenset[str]]:
    taken = set(scope.taken)
    names = []
    for name in wanted:
        names.append(fresh(name, taken))
        taken.add(names[-1].lower())
    return names, frozenset(taken)


def per_person(
    scope: Scope,
    keys: Sequence[tuple[str, Expression]],
    aggregates: Sequence[tuple[str, PersonAggregate]],
) -> tuple[Scope, dict[str, Column]]:
    """Make one row per person, or per person and key; also give its columns by name."""
    if scope.person is None:
        raise refuse("row_unit", name=scope.table)
    for name, term in keys:
        if kind_of(checked(term)) == "real" and not is_null(term):
            raise refuse("real_key", what=name)
    columns = {name: column_for(name, term) for name, term in keys}
    columns |= {name: person_column(name, aggregate) for name, aggregate in aggregates}
    domains = dict(scope.domains)
    kept = tuple(
        (name, domains[term.name])
        for name, term in keys
        if isinstance(term, Column) and term.name in domains
    )
    made = replace(
        scope,
        relation=PerPerson(scope.relation, tuple(keys), tuple(aggregates)),
        seen=(),
        people=(
            PersonName(scope.table, scope.person, scope.people[0].kind if scope.people else None),
        ),
        taken=frozenset({scope.person.lower(), *(name.lower() for name in columns)}),
        domains=kept,
    )
    return made, columns


def person_column(name: str, aggregate: PersonAggregate) -> Column:
    """Make the column that shows a number about a person."""
    if aggregate.function == "count":
        return Column(name, "integer", counts=True)
    if aggregate.function == "sum":
        return Column(name, "real")
    assert aggregate.term is not None
    whole = aggregate.function != "avg" and kind_of(aggregate.term) == "integer"
    return Column(name, "integer" if whole else "real", aggregate.bounds)


def person_aggregate(function: str, term: Expression | None, what: str) -> PersonAggregate:
    """Make a number about one person's rows."""
    if function == "count":
        return PersonAggregate("count", None if term is None else checked(term))
    assert term is not None
    bounds = interval_of(number(checked(term), what))
    if bounds is None and function in {"sum", "avg"}:
        raise refuse("subquery_bounds", what=what)
    return PersonAggregate(function, term, bounds)  # type: ignore[arg-type]
