"""The plan as text: golden SQL per dialect, its form, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Column,
    Compare,
    Constant,
    Filter,
    JoinPerson,
    JoinPublic,
    Key,
    PerPerson,
    PersonAggregate,
    Scan,
    TableFacts,
)
from sfumato.ask.language.request import Grid, GroupsBound, Request, RowBound, RowsBound, Total
from sfumato.ask.plan.dialects import printed
from sfumato.ask.plan.plan import contributions, narrow, plan

GOLDEN = Path(__file__).parents[1] / "golden_plans"
WARD = Column("ward", "text")
COST = Column("cost", "real", (Fraction(0), Fraction(100)))
AGE = Column("age", "integer")
FACTS = {
    "visits": TableFacts("visits", (Column("who", "integer"), WARD, COST, AGE), person="who"),
    "rows": TableFacts("rows", (WARD, COST)),
    "wards": TableFacts(
        "wards", (WARD, Column("beds", "integer")), private=False, unique=(("ward",),)
    ),
}
GRID = Grid((Fraction(0), Fraction(100)), Fraction(1, 1024), Fraction(0))
VISITS = Scan("visits", (WARD, COST, AGE))
ONE = Constant(1, "integer")
TOTALS = (Total("rows"), Total("sum", COST, GRID))
PER_PERSON = PerPerson(VISITS, (), (("mean", PersonAggregate("avg", COST, COST.bounds)),))
REQUESTS = {
    "row_unit": Request(
        Filter(Scan("rows", (WARD, COST)), Compare(">", COST, ONE)),
        (Key("ward", WARD, ("it's", None)),), TOTALS, RowBound(), b"salt",
    ),
    "groups_per_person": Request(
        VISITS, (Key("ward", WARD),), TOTALS, GroupsBound(20, 5), b"salt"
    ),
    "rows_per_person": Request(
        VISITS, (), (Total("squares", COST, GRID),), RowsBound(3), b"salt", ((COST, GRID),)
    ),
    "per_person": Request(
        PER_PERSON, (), (Total("sum", Column("mean", "real"), GRID),), GroupsBound(1, 1), b"salt"
    ),
    "public_join": Request(
        JoinPublic(Scan("rows", (WARD, COST)), "wards", ((WARD, WARD),),
                   (("beds", Column("beds", "integer")),), outer=True),
        (Key("decade", Arithmetic("*", Apply("floor", (Arithmetic("/", Column("beds", "integer"),
         Constant(10, "integer")),)), Constant(10, "integer"))),), TOTALS, RowBound(), b"salt",
    ),
    "person_join": Request(
        JoinPerson(VISITS, Scan("visits", (WARD, Column("cost", "real"))), ((WARD, WARD),),
                   (("other", Column("cost", "real")),)),
        (), (Total("rows"),), RowsBound(3), b"salt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("name", REQUESTS)
def test_golden(name, dialect):
    """To renew a file after a wanted change, delete it and run the test twice."""
    file = GOLDEN / f"{name}.{dialect}.sql"
    text = printed(plan(REQUESTS[name], FACTS), dialect, pretty=True) + "\n"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        pytest.fail(f"{file.name} was missing and has been written; look at it.")
    assert file.read_text() == text


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("name", REQUESTS)
def test_nothing_random_and_everything_quoted(name, dialect):
    text = printed(plan(REQUESTS[name], FACTS), dialect)
    assert not re.search(r"RANDOM|RAND\(|UUID|NOW\(|CURRENT|LIMIT|TABLESAMPLE", text, re.IGNORECASE)
    bare = re.sub(r'"[^"]*"|`[^`]*`|\'(?:[^\']|\'\')*\'', "", text)
    words = set(re.findall(r"[A-Za-z_]\w*", bare))
    lower = {word for word in words if word != word.upper()}
    assert not lower, f"names that are not quoted: {lower}"


def test_the_plan_is_the_same_every_time():
    for request in REQUESTS.values():
        texts = {printed(plan(request, FACTS), "duckdb") for _ in range(3)}
        assert len(texts) == 1


def test_a_request_without_keys_has_no_group_where_no_row_is_kept():
    text = printed(plan(REQUESTS["per_person"], FACTS), "duckdb")
    assert text.endswith("HAVING COUNT(*) > 0")


def test_terms_shared_by_totals_are_computed_once():
    totals = (Total("sum", COST, GRID), Total("squares", COST, GRID), Total("present", COST))
    text = printed(plan(replace(REQUESTS["row_unit"], totals=totals), FACTS), "duckdb")
    assert text.count("FLOOR(") == 1


def test_the_layout_names_the_columns():
    request = replace(REQUESTS["groups_per_person"], spread=((COST, GRID),))
    select, layout = contributions(request, FACTS)
    assert [one.alias for one in select.expressions] == ["person", "key_0", "value_1", "spread_0"]
    assert layout.values == (None, "value_1")
    assert (layout.person_kind, layout.key_kinds) == ("integer", ("text",))


def test_totals_are_narrow_by_their_form_alone():
    wide = Grid((Fraction(0), Fraction(2**53)), Fraction(1), Fraction(0))
    assert narrow(Total("rows"))
    assert narrow(Total("sum", COST, GRID))
    assert not narrow(Total("squares", COST, GRID))
    assert not narrow(Total("sum", COST, wide))
