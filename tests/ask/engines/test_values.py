"""What conditions, groups and joins compare: the values that are stored, on every engine."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from any_engine import ENGINES, RARELY_SPARK, opener
from recording import requests

import sfumato as sf
from sfumato.ask.price.preparation import prepare
from sfumato.ask.sql.parse import parse
from sfumato.dp.neighbours import Row, Unit
from sfumato.testing.fuzz.privacy_loss import totals_of as table

SALT = b"sixteen bytes of"
BIG = 10**17
CODES = [BIG, BIG + 1, BIG + 1, BIG + 2, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -BIG - 1, 0, None]
AGES = [105, 105, 100, 30, -4, 0, None]


@pytest.fixture(params=ENGINES)
def kind(request):
    return request.param


@pytest.fixture
def open_on(kind, request):
    return opener(kind, request)


spark_in_soak = pytest.mark.parametrize("kind", RARELY_SPARK, indirect=True)


def totals(engine, text, unit=None):
    """Give the exact totals of a question per group, without noise."""
    facts = {one.name: one for one in engine.tables()}
    prepared = prepare(parse(text, facts), unit or Row(), sf.ApproxDP(9, 0.1), epsilon=1)
    _, asked = requests(prepared, engine, SALT)
    found = table(engine.aggregate(asked[-1]))
    return {key: (*numbers, people)[0] for (key, _), (people, numbers) in found.items()}


def count(engine, where):
    return totals(engine, f"SELECT COUNT(*) FROM t WHERE {where}").get((), 0)


@pytest.fixture
def codes(open_on):
    ids = [i // 2 for i in range(len(CODES))]
    return open_on(
        pl.DataFrame({"id": ids, "code": CODES}, schema={"id": pl.Int64, "code": pl.Int64}),
        name="t",
    )


CONDITIONS = {
    f"code = {BIG + 1}": lambda c: c == BIG + 1,
    f"code = {BIG + 7}": lambda c: c == BIG + 7,
    f"code = {2**53}": lambda c: c == 2**53,
    f"code = {2**53}.0": lambda c: c == 2**53,
    f"code <> {BIG}": lambda c: c != BIG,
    f"code > {BIG}.5": lambda c: c > BIG,
    f"code >= {BIG}.5": lambda c: c > BIG,
    f"{BIG}.5 >= code": lambda c: c <= BIG,
    f"code = {BIG}.5": lambda c: False,
    f"code <> {BIG}.5": lambda c: True,
    f"code < {2**63}": lambda c: True,
    f"code > {2**70}": lambda c: False,
    f"code > -{2**70}": lambda c: True,
    f"code = -{2**63}": lambda c: c == -(2**63),
    f"code <= -{2**63}": lambda c: c == -(2**63),
    f"code IN ({BIG}, {BIG + 2}, 0.5, {2**80})": lambda c: c in {BIG, BIG + 2},
    f"code IN (0.5, {2**80})": lambda c: False,
    f"NOT code IN (0.5, {2**80})": lambda c: True,
    f"code BETWEEN {BIG + 1} AND {BIG + 2}": lambda c: BIG < c <= BIG + 2,
    f"COALESCE(code, {BIG + 1}) = {BIG + 1}": None,
    f"LEAST(code, {BIG + 1}) = {BIG + 1}": lambda c: c >= BIG + 1,
    f"CASE WHEN code > 0 THEN code ELSE 5 END = {BIG + 2}": lambda c: c == BIG + 2,
}


KNOWN = [code for code in CODES if code is not None]
WANTED = {w: 3 if meant is None else sum(map(meant, KNOWN)) for w, meant in CONDITIONS.items()}


@spark_in_soak
def test_conditions_on_whole_numbers_are_exact(codes):
    for where, wanted in WANTED.items():
        assert count(codes, where) == wanted, where


def test_conditions_of_one_question_are_exact(codes):
    facts = {one.name: one for one in codes.tables()}
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {where})" for where in WANTED)
    text = f"SELECT {counts} FROM t"
    prepared = prepare(parse(text, facts), Row(), sf.ApproxDP(9, 0.1), epsilon=1)
    _, (asked,) = requests(prepared, codes, SALT)
    [(_, (_, found))] = table(codes.aggregate(asked)).items()
    assert dict(zip(WANTED, found, strict=True)) == WANTED


def test_groups_of_whole_numbers_are_exact(codes):
    wanted = {(code,): number for code, number in Counter(CODES).items()}
    assert totals(codes, "SELECT code, COUNT(*) FROM t GROUP BY code") == wanted
    inner = "(SELECT COALESCE(code, 7) AS c FROM t)"
    shown = totals(codes, f"SELECT c, COUNT(*) FROM {inner} AS s GROUP BY c")
    assert shown == {(7 if code is None else code,): n for (code,), n in wanted.items()}


@spark_in_soak
def test_numbers_about_a_person_are_exact(open_on):
    ids = [1, 1, 1, 2, 2, 3]
    held = [BIG + 1, BIG, BIG + 1, 2**63 - 1, 5, None]
    engine = open_on(
        pl.DataFrame({"id": ids, "code": held}, schema={"id": pl.Int64, "code": pl.Int64}),
        name="t", person="id",
    )  # fmt: skip
    unit = Unit("id", rows=9)
    most = "(SELECT id, MAX(code) AS m FROM t GROUP BY id)"
    found = totals(engine, f"SELECT m, COUNT(*) FROM {most} AS s GROUP BY m", unit)
    assert found == {(BIG + 1,): 1, (2**63 - 1,): 1, (None,): 1}
    pairs = "(SELECT id, code, COUNT(*) AS n FROM t GROUP BY id, code)"
    found = totals(engine, f"SELECT code, COUNT(*) FROM {pairs} AS s GROUP BY code", unit)
    assert found == {(BIG,): 1, (BIG + 1,): 1, (2**63 - 1,): 1, (5,): 1, (None,): 1}
    twice = f"SELECT COUNT(*) FROM {pairs} AS s WHERE n = 2 AND code = {BIG + 1}"
    assert totals(engine, twice, unit) == {(): 1}


@pytest.fixture
def ages(open_on):
    half = [None if age is None else age + 0.5 for age in AGES]
    return open_on(
        pl.DataFrame({"age": AGES, "real": half}, schema={"age": pl.Int64, "real": pl.Float64}),
        name="t", bounds={"age": (0, 100), "real": (0, 100)},
    )  # fmt: skip


def test_declared_bounds_change_no_condition(ages):
    assert count(ages, "age > 100") == 2
    assert count(ages, "age = 100") == 1
    assert count(ages, "age < 0") == 1
    assert count(ages, "real > 100.5") == 2
    assert count(ages, "age + 1 > 101") == 2
    assert totals(ages, "SELECT SUM(CASE WHEN age > 100 THEN 1 ELSE 0 END) FROM t") == {(): 2}
    assert totals(ages, "SELECT COUNT(*) FILTER (WHERE real > 101) FROM t") == {(): 2}


def test_declared_bounds_clamp_what_is_summed(ages):
    assert totals(ages, "SELECT SUM(age) FROM t") == {(): 100 + 100 + 100 + 30}

    assert totals(ages, "SELECT SUM(CLAMP(2 * age, 0, 100)) FROM t") == {(): 360}
    assert totals(ages, "SELECT SUM(2 * age) FROM t") == {(): 200 + 200 + 200 + 60}
    assert totals(ages, "SELECT SUM(CASE WHEN age > 100 THEN age ELSE 0 END) FROM t") == {(): 200}


def test_groups_of_a_bounded_column_hold_what_they_say(ages):
    groups = totals(ages, "SELECT age, COUNT(*) FROM t GROUP BY age")
    assert groups == {(100,): 1, (30,): 1, (0,): 1, (None,): 1}  # and 105 and −4 are in none
    over = totals(ages, "SELECT age > 100, COUNT(*) FROM t GROUP BY age > 100")
    assert over == {(True,): 2, (False,): 4, (None,): 1}
    word = "CASE WHEN age > 100 THEN 'over' WHEN age < -3 THEN 'under' ELSE 'in' END"
    named = totals(ages, f"SELECT {word} AS w, COUNT(*) FROM t GROUP BY w")
    assert named == {("over",): 2, ("under",): 1, ("in",): 4}


def test_the_answer_says_that_rows_beyond_bounds_are_in_no_group():
    facts = {"name": "t", "unit": "row", "budget": sf.PureDP(10**6), "public_types": True}
    facts |= {"bounds": {"age": (0, 100)}, "public_types": True}
    with sf.Session({"age": [105] * 50 + [30] * 50}, **facts) as one:
        grouped = one.sql("SELECT age, COUNT(*) AS n FROM t GROUP BY age", epsilon=1000)
        assert dict(grouped.rows)[100] == 0
        assert dict(grouped.rows)[30] == 50
        assert any(note.startswith("age: rows beyond declared bounds") for note in grouped.notes)
        assert one.sql("SELECT COUNT(*) FROM t WHERE age > 100", epsilon=1000).rows == ((50,),)
        over = one.sql("SELECT age > 100 AS o, COUNT(*) FROM t GROUP BY age > 100", epsilon=1000)
        assert dict(over.rows)[True] == 50
        assert not any("beyond" in note for note in over.notes)


def test_joins_on_whole_numbers_are_exact():
    private = {"code": [BIG, BIG + 1, BIG + 1, 2**53 + 1], "x": [1e17, 1e17, 0.5, 2.0**53]}
    public = {"code": [BIG, BIG + 1, 2**53], "w": ["a", "b", "c"]}
    facts = {"name": "t", "unit": "row", "budget": sf.PureDP(10**6), "public_types": True}
    with sf.Session(private, public={"p": public}, **facts) as one:
        text = "SELECT w, COUNT(*) FROM t JOIN p ON t.{} = p.code GROUP BY w"
        keys = {"w": ["a", "b", "c"]}
        exact = one.sql(text.format("code"), epsilon=1000, keys=keys)
        assert exact.rows == (("a", 1), ("b", 2), ("c", 0))
        real = one.sql(text.format("x"), epsilon=1000, keys=keys)
        assert real.rows == (("a", 2), ("b", 0), ("c", 1))


def test_a_unique_public_number_meets_no_row_twice():
    """Two public numbers that are one double: a real number of a row equals at most one of them."""
    facts = {"name": "t", "unit": "row", "budget": sf.PureDP(10**6), "public_types": True}
    public = {"p": {"code": [BIG, BIG + 1, BIG + 2, BIG + 3]}}
    with sf.Session({"x": [1e17]}, public=public, **facts) as one:
        answer = one.sql("SELECT COUNT(*) FROM t JOIN p ON t.x = p.code", epsilon=1000)
        assert answer.rows == ((1,),)


def test_two_literals_with_one_double_have_two_answers():
    near = "SELECT COUNT(*) FROM t WHERE n > 0.99999999999999999999"
    facts = {"unit": "row", "budget": sf.PureDP(10_000), "name": "t", "public_types": True}
    one = sf.Session({"n": [1, 2, 3, 4]}, **facts)
    plain = "SELECT COUNT(*) FROM t WHERE n > 1"
    assert [a.value for a in one.together([plain, near], epsilon=1000)] == [3, 4]
    apart = [one.sql(text, epsilon=500) for text in (plain, near)]
    assert [(a.value, a.stored) for a in apart] == [(3, False), (4, False)]
