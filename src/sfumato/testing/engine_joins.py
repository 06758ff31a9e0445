"""Requests that join more rows of a person than are joined: an engine must cut them alike.

Contract: :func:`join_cases` gives named lists of requests, as
:func:`sfumato.testing.engine_cases.cases` does. :mod:`sfumato.ask.multiplying` says which rows are
kept, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.ask.language import Column, JoinPerson, JoinPublic, Key, PerPerson, PersonAggregate
from sfumato.ask.request import GroupsBound, Request, RowsBound, Total
from sfumato.testing.engine_cases import FAR, counted, scan, summed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.testing.reference_engine import CheckTable


def join_cases(tables: Mapping[str, CheckTable]) -> dict[str, list[Request]]:
    """Give the requests of the checks of long joins, by their names."""
    return {"joins of more rows than are joined": _long_joins(tables)}


def _long_joins(tables: Mapping[str, CheckTable]) -> list[Request]:
    """Join the many rows of one person, of which only the first are kept, in several ways."""
    busy, stays = scan(tables, "busy"), scan(tables, "stays")
    n, x = Column("n", "integer"), Column("x", "real")
    nights = ("nights", Column("nights", "integer"))
    theirs = tuple((column.name, column) for column in busy.columns)
    both = JoinPerson(busy, stays, (), (nights,))
    beds = ("beds", Column("beds", "integer"))
    once = PerPerson(stays, (), (("stays", PersonAggregate("count", None)),))
    longest = ("longest", PersonAggregate("max", n))
    totals = [Total("rows"), summed(n, FAR), Total("present", x)]
    return [
        counted(both, totals=totals, bound=RowsBound(10**6)),
        counted(JoinPerson(stays, busy, (), theirs), totals=totals, bound=RowsBound(10**6)),
        counted(
            JoinPublic(both, "wards", ((x, Column("floor", "real")),), (beds,)),
            Key("beds", Column("beds", "integer")),
            totals=totals,
            bound=GroupsBound(9, 10**6),
        ),
        counted(
            JoinPerson(busy, once, (), (("stays", Column("stays", "integer")),)),
            totals=totals,
            bound=RowsBound(10**6),
        ),
        counted(PerPerson(both, (), (longest,)), totals=[summed(Column("longest", "real"), FAR)]),
    ]
