"""A question means what its SQL says: exact answers beside those of DuckDB on the same rows."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from clinic import FACTS as DECLARED
from interpreter import answer
from random_sql import likely

from sfumato.ask.sql.parse import parse
from sfumato.errors import Refused

FACTS = {  # NULL is listed among the public values, since these tables have some
    name: replace(table, domains=tuple((c, (*values, None)) for c, values in table.domains))
    for name, table in DECLARED.items()
}

FOLDER = Path(__file__).parent.parent / "golden"
FILES = ("counting", "groups", "afterwards", "people", "joins", "rows", "expressions", "tricks")
# Where ours differs from DuckDB on purpose: CLAMP is ours, QUANTILE is continuous, LEAST and
# GREATEST of NULL are NULL, a division by 0 is, LIMIT needs an order, literals may be huge.
LEFT_OUT = ("CLAMP(", "QUANTILE(", "LEAST(", "LIMIT", "/ 0", "9999999999")


def questions():
    for name in FILES:
        for block in (FOLDER / f"{name}.sql").read_text(encoding="utf-8").split("\n\n"):
            question, *expected = block.strip("\n").split("\n")
            plain = not any(word in question for word in LEFT_OUT)
            if plain and expected[0].startswith("  ="):
                yield question


def tables(seed):
    rng = random.Random(seed)

    def maybe(value):
        return None if rng.random() < 0.15 else value

    def visit(patient):
        return {
            "patient": patient,
            "age": maybe(rng.randint(0, 120)),
            "ward": maybe(rng.choice(["east", "north", "west"])),
            "cost": maybe(rng.randint(0, 4000) / 4),
            "weight": maybe(rng.randint(40, 900) / 8),
            "days": maybe(rng.randint(-3, 9)),
            "smoker": maybe(rng.random() < 0.5),
            "day": maybe(dt.date(2020, 1, 1) + dt.timedelta(days=rng.randint(0, 900))),
            "name": maybe(rng.choice(["ann", "bob", "Cai", "", "a%", "it's"])),
        }

    def stay(patient):
        ward = maybe(rng.choice(["east", "west", "attic"]))
        return {"patient": patient, "ward": ward, "nights": maybe(rng.randint(0, 60))}

    wards = [
        {"ward": ward, "floor": i, "beds": 4 * i, "region": region}
        for i, (ward, region) in enumerate([("east", "inner"), ("north", "outer"), ("attic", None)])
    ]
    rows = [
        {"x": maybe(rng.randint(0, 40) / 4), "ward": maybe("east"), "k": maybe(rng.randint(0, 5))}
        for _ in range(12)
    ]
    return {
        "visits": [visit(rng.randint(1, 9)) for _ in range(40)],
        "stays": [stay(rng.randint(1, 12)) for _ in range(14)],
        "wards": wards,
        "rows": rows,
    }


TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "TEXT",
    "boolean": "BOOLEAN",
    "date": "DATE",
}


@pytest.fixture(scope="module", params=[1, 2])
def clinic(request):
    data = tables(request.param)
    connection = duckdb.connect()
    for name, rows in data.items():
        columns = FACTS[name].columns
        listed = ", ".join(f"{c.name} {TYPES[c.kind]}" for c in columns)
        connection.execute(f"CREATE TABLE {name} ({listed})")
        marks = ", ".join("?" for _ in columns)
        for row in rows:
            connection.execute(
                f"INSERT INTO {name} VALUES ({marks})", [row[c.name] for c in columns]
            )
    yield connection, data
    connection.close()


def sortable(value):
    if value is None:
        return ("", 0.0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return (type(value).__name__ + str(value), 0.0)
    return ("number", round(float(value), 6))


def agree(one, other):
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def plain(value):
    if type(value).__name__ == "Decimal":
        return float(value)
    if isinstance(value, dt.datetime):
        assert value.time() == dt.time()  # a day, told with a clock
        return value.date()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check(sql, clinic):
    connection, data = clinic
    ours = answer(parse(sql, FACTS), data, FACTS)
    theirs = [tuple(plain(v) for v in row) for row in connection.execute(sql).fetchall()]
    ours.sort(key=lambda row: [sortable(value) for value in row])
    theirs.sort(key=lambda row: [sortable(value) for value in row])
    assert len(ours) == len(theirs)
    for mine, yours in zip(ours, theirs, strict=True):
        assert all(agree(a, b) for a, b in zip(mine, yours, strict=True)), (mine, yours)


@pytest.mark.parametrize("sql", list(questions()))
def test_golden_questions_mean_what_they_say(sql, clinic):
    check(sql, clinic)


def test_random_questions_mean_what_they_say(clinic):
    checked = 0
    for seed in range(150):
        sql = likely(random.Random(seed))
        if "CLAMP" in sql or "LEAST" in sql or "?" in sql or "$" in sql:
            continue
        try:
            parse(sql, FACTS)
        except Refused:
            continue
        check(sql, clinic)
        checked += 1
    assert checked > 10
