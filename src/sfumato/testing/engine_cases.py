"""Requests on which an engine must agree with the reference, by what they are about.

Contract: :func:`cases` gives named lists of requests over the tables of
:mod:`sfumato.testing.engine_tables`. Every list tries one thing; every request is legal, so an
engine must answer it, and must not raise whatever the cells are.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    Filter,
    IsNull,
    JoinPerson,
    JoinPublic,
    Key,
    Like,
    Logic,
    Not,
    OneOf,
    PerPerson,
    PersonAggregate,
    Project,
    Scan,
)
from sfumato.ask.language.multiplication import kinds
from sfumato.ask.language.request import (
    Bound,
    Grid,
    GroupsBound,
    Request,
    RowBound,
    RowsBound,
    Total,
)
from sfumato.testing.engine_requests import (
    ALL,
    CENTRED,
    FAR,
    FINE,
    counted,
    number,
    scan,
    summed,
    text,
)
from sfumato.testing.engine_tables import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.testing.reference_engine import CheckTable


def cases(tables: Mapping[str, CheckTable]) -> dict[str, list[Request]]:
    """Give the requests of every exactness check, by its name."""
    visits = scan(tables, "visits")
    c = {column.name: column for column in visits.columns}
    return {
        **_cells(visits, c),
        **_expressions(visits, c),
        **_texts(tables),
        **_bounds(visits, c),
        **_tables(tables, visits, c),
        **_relations(tables, visits, c),
        **_names(tables),
    }


def _cells(visits: Scan, c: Mapping[str, Column]) -> dict[str, list[Request]]:
    bare = Column("cost", "real")
    every = [Total("rows"), Total("present", c["cost"]), summed(c["cost"]), summed(bare, FAR)]
    wide = Grid(FAR.bounds, Fraction(1, 128), Fraction(0))
    return {
        "NULL moves no sum": [
            counted(visits, Key("ward", c["ward"]), totals=every),
            counted(Filter(visits, IsNull(c["cost"])), totals=every),
        ],
        "NaN does not survive": [
            counted(Project(visits, (("x", bare),)), totals=[summed(Column("x", "real"), FAR)]),
            counted(visits, totals=[summed(Arithmetic("+", bare, number(1)), FAR)]),
            counted(Filter(visits, Compare(">", bare, number(5))), totals=every),
        ],
        "clamps are exact": [
            counted(visits, totals=[summed(c["cost"], grid) for grid in (FINE, CENTRED, FAR)]),
            counted(visits, totals=[summed(Apply("least", (c["cost"], number(50))), CENTRED)]),
        ],
        "sums do not overflow": [
            counted(
                visits,
                totals=[
                    summed(c["visits"], FAR),
                    summed(bare, wide),
                    Total("squares", bare, CENTRED),
                    summed(Arithmetic("*", c["visits"], c["visits"]), FAR),
                ],
            )
        ],
        "squares are exact": [
            counted(
                visits,
                Key("ward", c["ward"]),
                totals=[Total("squares", c["cost"], grid) for grid in (FINE, CENTRED)],
            )
        ],
    }


def _expressions(visits: Scan, c: Mapping[str, Column]) -> dict[str, list[Request]]:
    cost, whole, day = c["cost"], c["visits"], c["day"]
    divided = Arithmetic("/", number(10), Arithmetic("-", whole, number(1)))
    rounded = [
        Apply(name, (Arithmetic("/", cost, number(3)),))
        for name in ("floor", "ceil", "round", "abs")
    ]
    parts = [Apply(name, (day,)) for name in ("year", "quarter", "month", "day", "weekday")]
    starts = [
        Apply(name, (day,)) for name in ("year_start", "quarter_start", "month_start", "week_start")
    ]
    late = Compare(">", starts[2], Constant(dt.date(1970, 1, 1), "date"))
    choice = Case(
        ((Compare(">", cost, number(50)), number(1)), (IsNull(cost), Constant(None, "integer"))),
        whole,
    )
    extremes = [
        Apply("greatest", (cost, Apply("least", (whole, number(3))), number(-1))),
        Apply("coalesce", (cost, whole, number(-2))),
    ]
    deep: Expression = cost
    for i in range(40):
        deep = Apply("least", (number(100 - i), Apply("greatest", (deep, number(i)))))
    few = Filter(visits, Logic("or", (IsNull(cost), Compare("=", whole, number(2)))))
    logic = Logic(
        "or",
        (
            Logic("and", (Compare("<", cost, number(9)), Not(c["urgent"]))),
            OneOf(c["ward"], (text("it's"), text("a\\b"), text("😀"))),
            Compare("<=", day, Constant(dt.date(1900, 1, 1), "date")),
        ),
    )
    return {
        "division by 0 is NULL": [
            counted(visits, totals=[Total("present", divided), summed(divided)]),
            counted(Filter(visits, Compare("=", Arithmetic("/", cost, number(0)), number(1)))),
        ],
        "deep expressions": [counted(few, totals=[summed(deep)], bound=RowsBound(2))],
        "rounding": [counted(visits, totals=[summed(term) for term in rounded])],
        "parts of dates": [
            counted(visits, totals=[summed(term, FAR) for term in parts]),
            *(counted(visits, Key("part", part)) for part in (parts[0], parts[1], parts[4])),
        ],
        "first days of periods": [
            *(counted(visits, Key("start", start)) for start in starts),
            counted(visits, totals=[Total("rows", where=late), Total("present", starts[3])]),
        ],
        "choices": [counted(visits, totals=[summed(choice), *(summed(e) for e in extremes)])],
        "logic with NULL": [
            counted(Filter(visits, logic), totals=[summed(cost)]),
            counted(Filter(visits, Not(logic)), totals=[summed(cost)]),
            counted(visits, totals=[Total("rows", where=logic), summed(cost, where=Not(logic))]),
        ],
    }


def _texts(tables: Mapping[str, CheckTable]) -> dict[str, list[Request]]:
    texts = scan(tables, "texts")
    word = texts.columns[0]
    shapes: list[Expression] = [
        Apply("upper", (word,)),
        Apply("lower", (word,)),
        Apply("substring", (word, number(2), number(2))),
        Apply("length", (word,)),
    ]
    conditions: list[Expression] = [
        *(Like(word, pattern) for pattern in ("a%", "%e", "_pple", "a_b", "%\n%", "%'%")),
        *(Compare(sign, word, text("a")) for sign in ("<", "<=", ">", ">=", "=", "<>")),
        Compare(">", word, text("ä")),
        Compare("<", word, text("Z")),
    ]
    return {
        "functions of texts": [counted(texts, Key("k", shape)) for shape in shapes],
        "texts compare by their bytes": [
            counted(texts, totals=[Total("rows", where=condition) for condition in conditions])
        ],
        "people named by text": [
            counted(texts, Key("word", word), bound=bound)
            for bound in (GroupsBound(2, 1), RowsBound(3))
        ],
    }


def _bounds(visits: Scan, c: Mapping[str, Column]) -> dict[str, list[Request]]:
    ward, cost = Key("ward", c["ward"]), c["cost"]
    totals = [
        Total("rows"),
        summed(cost),
        Total("squares", cost, CENTRED),
        Total("present", cost, where=c["urgent"]),
    ]
    shown = Key("ward", c["ward"], ("north", "it's", None, "nowhere"))
    several = (ward, Key("urgent", c["urgent"]), Key("n", c["visits"]), Key("day", c["day"]))
    return {
        "groups and rows per group": [
            counted(visits, ward, totals=totals, bound=bound)
            for bound in (GroupsBound(1, 1), GroupsBound(3, 2), GroupsBound(100, 1))
        ],
        "rows per person": [
            counted(visits, ward, totals=totals, bound=RowsBound(1)),
            counted(visits, totals=totals, bound=RowsBound(4)),
        ],
        "several keys": [
            counted(visits, *several, totals=totals, bound=bound)
            for bound in (GroupsBound(2, 2), RowsBound(3))
        ],
        "public key values": [
            counted(visits, shown, totals=totals, bound=GroupsBound(1, 2)),
            counted(visits, Key("n", c["visits"], (0, 7, 2**53)), bound=RowsBound(2)),
            counted(visits, Key("u", c["urgent"], (True, None)), Key("ward", c["ward"], ("",))),
            counted(visits, Key("day", c["day"], (dt.date(2024, 2, 29),)), bound=RowsBound(2)),
            counted(visits, Key("ward", c["ward"], ())),
        ],
        "spread": [
            counted(visits, ward, bound=GroupsBound(2, 3), spread=((cost, CENTRED),)),
            counted(visits, totals=(), bound=RowsBound(3), spread=((cost, FINE),)),
        ],
        "nothing but people": [
            counted(visits, ward, totals=(), bound=GroupsBound(2, 1)),
            counted(visits, totals=(), bound=GroupsBound(1, 1)),
        ],
    }


def _tables(
    tables: Mapping[str, CheckTable], visits: Scan, c: Mapping[str, Column]
) -> dict[str, list[Request]]:
    x = Column("x", "real", (Fraction(0), Fraction(1)))
    half = (Key("k", Apply("round", (x,))),)
    small: list[tuple[str, tuple[Key, ...], Bound]] = [
        *((name, (), RowsBound(7)) for name in ("one", "equal")),
        *((name, half, ALL) for name in ("one", "nobody")),
        ("empty", (), ALL),
    ]
    rows = scan(tables, "rows")
    dated, wide = scan(tables, "dated"), scan(tables, "wide")
    far = Column("x", "real")
    tenth = Arithmetic("/", c["visits"], number(10))
    return {
        "small tables": [
            counted(Scan(name, (x,)), *keys, totals=[Total("rows"), summed(x)], bound=bound)
            for name, keys, bound in small
        ],
        "the unit is the row": [
            counted(rows, Key("w", rows.columns[0]), totals=[summed(far)], bound=RowBound()),
            counted(rows, bound=RowBound(), spread=((far, FINE),)),
            counted(Filter(rows, Compare(">", far, number(2))), bound=RowBound()),
        ],
        "people named by date": [
            counted(dated, totals=[summed(dated.columns[0])], bound=RowsBound(3)),
            counted(dated, Key("k", Apply("floor", (dated.columns[0],))), bound=GroupsBound(2, 1)),
        ],
        "people named by wide numbers": [
            counted(wide, totals=[Total("rows"), summed(wide.columns[0])], bound=RowsBound(1)),
            counted(wide, Key("n", wide.columns[0]), bound=GroupsBound(2, 1)),
            counted(JoinPerson(wide, wide, (), (("m", wide.columns[0]),)), bound=RowsBound(9)),
        ],
        "whole numbers as keys": [
            counted(visits, Key("n", c["visits"])),
            counted(
                visits,
                Key("n", Arithmetic("*", Apply("floor", (tenth,)), number(10))),
            ),
        ],
    }


def _relations(
    tables: Mapping[str, CheckTable], visits: Scan, c: Mapping[str, Column]
) -> dict[str, list[Request]]:
    aggregates: list[tuple[str, Any, Expression | None, Any]] = [
        ("rows", "count", None, None),
        ("priced", "count", c["cost"], None),
        ("total", "sum", c["cost"], (Fraction(-10), Fraction(100))),
        ("bare", "sum", Column("cost", "real"), None),
        ("mean", "avg", c["cost"], (Fraction(0), Fraction(50))),
        ("least", "min", c["cost"], None),
        ("most", "max", c["visits"], None),
        ("first", "min", c["ward"], None),
        ("last", "max", c["day"], None),
        ("all_urgent", "min", c["urgent"], None),
    ]
    named = tuple((n, PersonAggregate(f, term, b)) for n, f, term, b in aggregates)
    each = PerPerson(visits, (), named)
    totals = [
        summed(Column(name, kinds(each)[name]), FAR if name == "bare" else FINE)
        for name in ("rows", "priced", "total", "bare", "mean", "least", "most")
    ]
    kept = PerPerson(
        visits, (("w", c["ward"]), ("h", Arithmetic("/", c["cost"], number(2)))), named[:2]
    )
    beds = ("beds", Column("beds", "integer"))
    public = [(c["ward"], Column("ward", "text"))]
    joins = [
        JoinPublic(visits, "wards", tuple(public), (beds,), outer=outer, unique=True)
        for outer in (False, True)
    ]
    twice = JoinPublic(
        visits, "wards", ((c["cost"], Column("floor", "real")),),
        (beds, ("place", Column("ward", "text"))),
    )  # fmt: skip
    return {
        "numbers about a person": [
            counted(each, totals=totals),
            counted(
                each, Key("first", Column("first", "text")), Key("last", Column("last", "date"))
            ),
            counted(each, Key("u", Column("all_urgent", "boolean"))),
            counted(kept, Key("w", Column("w", "text")), totals=[summed(Column("h", "real"))]),
        ],
        "public joins": [
            *(counted(join, Key("beds", Column("beds", "integer"))) for join in joins),
            counted(twice, Key("p", Column("place", "text")), bound=GroupsBound(2, 3)),
        ],
        "joins on the person": _person_joins(tables, visits, c),
        "relations within relations": [
            counted(
                Filter(
                    Project(Filter(visits, Not(IsNull(c["cost"]))), (("x", c["cost"]),)),
                    Compare("<", Column("x", "real"), number(50)),
                ),
                totals=[summed(Column("x", "real"))],
                bound=RowsBound(2),
            )
        ],
    }


def _person_joins(
    tables: Mapping[str, CheckTable], visits: Scan, c: Mapping[str, Column]
) -> list[Request]:
    stays = scan(tables, "stays")
    nights = ("nights", Column("nights", "integer"))
    total = [summed(Column("nights", "integer"))]
    ward = ((c["ward"], Column("ward", "text")),)
    return [
        counted(JoinPerson(visits, stays, (), (nights,)), totals=total, bound=RowsBound(5)),
        counted(JoinPerson(visits, stays, ward, (nights,), outer=True), totals=total),
        counted(
            JoinPerson(visits, stays, ward, (nights,)),
            Key("nights", Column("nights", "integer")),
            bound=GroupsBound(2, 2),
        ),
    ]


def _names(tables: Mapping[str, CheckTable]) -> dict[str, list[Request]]:
    odd = scan(tables, NAMES[0])
    key = Key("key", odd.columns[0])
    hostile = ["'; DROP TABLE visits; --", "\\'; --", '"', "x' OR '1' = '1", "$$", "{}", "%s", ":x"]
    chosen = Key("key", odd.columns[0], tuple(hostile))
    return {
        "names stay names": [
            counted(odd, key, totals=[summed(odd.columns[1]), summed(odd.columns[2])]),
            counted(odd, key, bound=GroupsBound(1, 1)),
        ],
        "literals stay literals": [
            counted(odd, chosen),
            counted(
                odd, totals=[Total("rows", where=Like(odd.columns[0], t)) for t in hostile[::2]]
            ),
            counted(Filter(odd, OneOf(odd.columns[0], tuple(text(t) for t in hostile)))),
        ],
    }
