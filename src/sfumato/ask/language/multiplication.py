"""Where joins may make many rows of a person's few, and how many at most.

Contract: a join gives at most a million rows of one person, or :data:`MOST_REPEATED` for each row
of hers that is stored; so nobody can write a question that is
answered while one person is absent and takes all memory, and fails, once she is present.

* A public table may be joined where at most :data:`MOST_REPEATED` of its rows agree on the columns
  joined on. That is a public fact, found when the table is opened; others are refused. Where rows
  were added since, no more than were found are joined.
* Rows of a person that a join has multiplied already, and both sides of a join on the person, are
  cut to :data:`MOST_JOINED` of her rows before they are joined: those with the smallest keyed hash
  of all their columns. The choice is made among her own rows, so the relation stays per person.

A side that has one row per person multiplies nothing and is left as it is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.language import (
    Filter,
    JoinPerson,
    JoinPublic,
    PerPerson,
    PersonAggregate,
    Project,
    Relation,
    Scan,
)
from sfumato.ask.language.request import Grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sfumato.ask.language.language import Column, Expression, Kind, TableFacts

MOST_JOINED = 1000
"""How many rows of a person are joined to several others."""

MOST_REPEATED = 1000
"""How many rows of a public table may agree on the columns it is joined on."""

DRAWN: Mapping[Kind, Grid] = {
    "integer": Grid((Fraction(-(2**53)), Fraction(2**53)), Fraction(1), Fraction(0)),
    "real": Grid((Fraction(-(2**31)), Fraction(2**31)), Fraction(1, 2**30), Fraction(0)),
}
"""The whole numbers as which numbers are hashed; what differs by less is told apart by value."""


def repetition(facts: TableFacts, names: Iterable[str]) -> int | None:
    """Tell how many rows of a public table agree on some columns at most; None if not known."""
    given = set(names)
    counts = [1 for known in facts.unique if given >= set(known)]
    counts += [count for known, count in facts.repeated if given >= set(known)]
    return min(counts, default=None)


def public_repetition(relation: JoinPublic, facts: Mapping[str, TableFacts]) -> int | None:
    """Tell how many public rows one row is joined to at most."""
    return repetition(facts[relation.table], (column.name for _, column in relation.on))


def single(relation: Relation) -> bool:
    """Tell whether a relation has at most one row of each person, by its form."""
    match relation:
        case PerPerson(_, keys, _):
            return not keys
        case Filter(source, _) | Project(source, _):
            return single(source)
        case JoinPerson(left, right):
            return single(left) and single(right)
    return False


def multiplied(relation: Relation, facts: Mapping[str, TableFacts]) -> bool:
    """Tell whether a join within a relation may have made several rows of one."""
    match relation:
        case Filter(source, _) | Project(source, _):
            return multiplied(source, facts)
        case PerPerson(source, keys, _):
            return bool(keys) and multiplied(source, facts)
        case JoinPublic(source):
            return public_repetition(relation, facts) != 1 or multiplied(source, facts)
        case JoinPerson(left, right):
            several = not single(left) and not single(right)
            return several or multiplied(left, facts) or multiplied(right, facts)
    return False


def kinds(relation: Relation) -> dict[str, Kind]:
    """Give the columns of a relation and their kinds, in order."""
    match relation:
        case Scan(_, columns):
            return _kinds((column.name, column) for column in columns)
        case Filter(source, _):
            return kinds(source)
        case Project(_, named):
            return _kinds(named)
        case PerPerson(_, keys, named):
            return {**_kinds(keys), **{name: _number(aggregate) for name, aggregate in named}}
        case JoinPublic(source, _, _, taken) | JoinPerson(source, _, _, taken):
            return {**kinds(source), **_kinds(taken)}
    raise TypeError(f"{type(relation).__name__} is not a relation of the language.")


def _kinds(named: Iterable[tuple[str, Expression | Column]]) -> dict[str, Kind]:
    return {name: kind_of(term) for name, term in named}


def _number(aggregate: PersonAggregate) -> Kind:
    if aggregate.function == "count":
        return "integer"
    if aggregate.term is None or aggregate.function in {"sum", "avg"}:
        return "real"
    return kind_of(aggregate.term)
