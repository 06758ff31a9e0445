"""Columns are what expressions take them for, in every relation of a request.

Contract: :func:`check_columns` refuses a request in which an expression reads a column that its
relation does not have, or has in another kind. An engine would cast such a column from row to row,
and fail or not by what is in the cells; so this is asserted where the SQL is made, whatever was
checked when the question was built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.ask.language.language import Filter, JoinPerson, JoinPublic, PerPerson, Project, Scan
from sfumato.ask.language.multiplication import kinds
from sfumato.ask.language.walk import columns_of
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sfumato.ask.language.language import Expression, Kind, Relation, TableFacts
    from sfumato.ask.language.request import Request


def check_columns(request: Request, facts: Mapping[str, TableFacts]) -> None:
    """Refuse a request that takes a column for what it is not."""
    _check_relation(request.relation, facts)
    read: list[Expression | None] = [key.expression for key in request.keys]
    read += [term for term, _ in request.spread]
    read += [term for total in request.totals for term in (total.term, total.where)]
    _check(read, kinds(request.relation))


def _check_relation(relation: Relation, facts: Mapping[str, TableFacts]) -> None:
    match relation:
        case Scan():
            return  # compared with the facts where the table is scanned
        case Filter(source, condition):
            read: list[Expression | None] = [condition]
        case Project(source, named):
            read = [term for _, term in named]
        case PerPerson(source, keys, numbers):
            read = [*(term for _, term in keys), *(aggregate.term for _, aggregate in numbers)]
        case JoinPublic(source, table, on, taken):
            read = [ours for ours, _ in on]
            stored = (
                {column.name: column.kind for column in facts[table].columns}
                if table in facts
                else {}
            )
            _check([*(other for _, other in on), *(column for _, column in taken)], stored)
        case JoinPerson(source, right, on, taken):
            read = [ours for ours, _ in on]
            _check_relation(right, facts)
            _check([*(other for _, other in on), *(column for _, column in taken)], kinds(right))
        case _:
            raise TypeError(f"{type(relation).__name__} is not a relation of the language.")
    _check_relation(source, facts)
    _check(read, kinds(source))


def _check(read: Iterable[Expression | None], known: Mapping[str, Kind]) -> None:
    for expression in read:
        for column in columns_of(expression) if expression is not None else ():
            if known.get(column.name) != column.kind:
                raise SchemaError(
                    f"The relation of the question has no {column.kind} column '{column.name}'."
                )
