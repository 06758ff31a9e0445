"""Joins that would multiply rows: an engine must cut them alike, and also rows added meanwhile.

Contract: :func:`join_cases` gives named lists of requests, as
:func:`sfumato.testing.engine_cases.cases` does. :mod:`sfumato.ask.language.multiplication` says
which rows are kept, and why. :func:`rows_added_later_multiply_nothing` is a rule as those of
:mod:`sfumato.testing.engine_rules`, for engines whose tables may change while they are open.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.ask.language.language import (
    Column,
    JoinPerson,
    JoinPublic,
    Key,
    PerPerson,
    PersonAggregate,
)
from sfumato.ask.language.request import GroupsBound, Request, RowBound, RowsBound, Total
from sfumato.testing.engine_requests import FAR, counted, scan, summed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.testing.engines import Bench
    from sfumato.testing.reference_engine import CheckTable

_ADDED = 999


def join_cases(tables: Mapping[str, CheckTable]) -> dict[str, list[Request]]:
    """Give the requests of the checks of long joins, by their names."""
    return {"joins of more rows than are joined": _long_joins(tables)}


def _long_joins(tables: Mapping[str, CheckTable]) -> list[Request]:
    """Join the many rows of one person, of which only some are kept, in several ways."""
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
        counted(
            PerPerson(both, (), (longest,)), totals=[summed(Column("longest", "integer"), FAR)]
        ),
    ]


def rows_added_later_multiply_nothing(bench: Bench) -> None:
    """Join no more public rows than agreed when the engine was opened, though many were added."""
    assert bench.add_rows is not None
    wards = bench.tables["wards"]
    engine = bench.make({name: bench.tables[name] for name in ("rows", "visits", "wards")})
    requests = _public_joins(bench.tables)
    before = [bench.ask(engine, request) for request in requests]
    more = {"ward": "north", "beds": 10, "floor": 1.0}
    cells = {name: [more[name]] * _ADDED for name in wards.kinds}
    bench.add_rows(engine, "wards", replace(wards, cells=cells))
    for request, old in zip(requests, before, strict=True):
        new = bench.ask(engine, request)
        assert new == old, "rows of a public table that were added later multiply private rows"


def _public_joins(tables: Mapping[str, CheckTable]) -> list[Request]:
    """Join a public table for rows and for people, on what names a row and on what does not."""
    rows, visits = scan(tables, "rows"), scan(tables, "visits")
    ward, beds = Column("ward", "text"), Column("beds", "integer")
    named, key = (("beds", beds),), Key("beds", beds)
    floor = ((Column("cost", "real"), Column("floor", "real")),)
    many = RowsBound(10**6)
    return [
        counted(JoinPublic(rows, "wards", ((ward, ward),), named, unique=True), bound=RowBound()),
        counted(
            JoinPublic(rows, "wards", ((ward, ward),), named, outer=True, unique=True),
            key,
            bound=RowBound(),
        ),
        counted(JoinPublic(visits, "wards", ((ward, ward),), (), unique=True), bound=many),
        counted(JoinPublic(visits, "wards", floor, ()), bound=many),
    ]
