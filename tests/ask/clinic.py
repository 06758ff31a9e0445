"""Public facts of a small clinic, for questions about it."""

from __future__ import annotations

from fractions import Fraction

from sfumato.ask.language.language import Column, TableFacts


def _bounds(low, high):
    return Fraction(low), Fraction(high)


VISITS = TableFacts(
    name="visits",
    columns=(
        Column("patient", "integer"),
        Column("age", "integer", _bounds(0, 120)),
        Column("ward", "text"),
        Column("cost", "real", _bounds(0, 1000)),
        Column("weight", "real"),
        Column("days", "integer"),
        Column("smoker", "boolean"),
        Column("day", "date"),
        Column("name", "text"),
    ),
    private=True,
    person="patient",
    domains=(("ward", ("east", "north", "west")),),
)
STAYS = TableFacts(
    name="stays",
    columns=(
        Column("patient", "integer"),
        Column("ward", "text"),
        Column("nights", "integer", _bounds(0, 60)),
    ),
    private=True,
    person="patient",
)
WARDS = TableFacts(
    name="wards",
    columns=(
        Column("ward", "text"),
        Column("floor", "integer", _bounds(0, 5)),
        Column("beds", "integer", _bounds(0, 100)),
        Column("region", "text"),
    ),
    private=False,
    domains=(("region", ("inner", "outer")),),
    unique=(("ward",),),
    repeated=((("floor",), 40), (("region",), 2000), (("floor", "region"), 40)),
)
ROWS = TableFacts(
    name="rows",
    columns=(Column("x", "real", _bounds(0, 10)), Column("ward", "text"), Column("k", "integer")),
    private=True,
    person=None,
)
FACTS = {one.name: one for one in (VISITS, STAYS, WARDS, ROWS)}
