"""SQL and Python give the same question."""

from __future__ import annotations

import datetime as dt
import math

import pytest
from clinic import FACTS

from sfumato.ask.fluent.aggregates import (
    avg,
    count,
    max_,
    median,
    min_,
    people,
    quantile,
    stddev,
    sum_,
    variance,
)
from sfumato.ask.fluent.tables import table
from sfumato.ask.fluent.terms import case, coalesce, col, greatest, least
from sfumato.ask.language.canonical import canonical
from sfumato.ask.sql.parse import parse
from sfumato.errors import ParameterError, Refused


def visits():
    return table(FACTS, "visits")


PAIRS = [
    ("SELECT COUNT(*) FROM visits", lambda: visits().count()),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE age >= 65 AND smoker AND NOT ward = 'east'",
        lambda: (
            visits()
            .where(col("age") >= 65, col("smoker"), ~(col("ward") == "east"))
            .aggregate(n=count())
        ),
    ),
    (
        "SELECT ward, COUNT(*), SUM(cost) FROM visits WHERE age > 64 GROUP BY ward",
        lambda: visits().where(col("age") > 64).group_by("ward").count().sum("cost"),
    ),
    (
        ("SELECT decade, COUNT(DISTINCT patient) AS n FROM (SELECT *, FLOOR(age / 10) * 10 AS"
        " decade FROM visits) v GROUP BY decade HAVING n > 3 ORDER BY n DESC LIMIT 2"),
        lambda: (
            visits()
            .with_columns(decade=(col("age") / 10).floor() * 10)
            .group_by("decade")
            .people()
            .having(col("people") > 3)
            .order_by("people", descending=True)
            .limit(2)
        ),
    ),
    (
        ("SELECT SUM(cost) / COUNT(*) AS mean, MIN(cost), MAX(cost), MEDIAN(cost),"
        " QUANTILE(cost, 0.1), STDDEV(cost), VAR_POP(cost) FROM visits"),
        lambda: visits().aggregate(
            mean=sum_("cost") / count(),
            a=min_("cost"),
            b=max_("cost"),
            c=median("cost"),
            d=quantile("cost", 0.1),
            e=stddev("cost"),
            f=variance("cost", population=True),
        ),
    ),
    (
        ("SELECT AVG(CLAMP(n, 0, 10)) FROM (SELECT patient, COUNT(*) AS n, SUM(cost) AS s FROM"
        " visits GROUP BY patient) t WHERE s > 100"),
        lambda: (
            visits()
            .per_person(n=count(), s=sum_("cost"))
            .where(col("s") > 100)
            .aggregate(m=avg(col("n").clamp(0, 10)))
        ),
    ),
    (
        ("SELECT ward, AVG(n) FROM (SELECT patient, ward, COUNT(*) FILTER (WHERE smoker) AS n"
        " FROM visits GROUP BY patient, ward) t GROUP BY ward"),
        lambda: (
            visits()
            .per_person("ward", n=count().where(col("smoker")))
            .group_by("ward")
            .aggregate(m=avg("n"))
        ),
    ),
    (
        ("SELECT region, SUM(cost) FROM visits JOIN wards USING (ward) WHERE beds > 5"
        " GROUP BY region"),
        lambda: (
            visits()
            .join_public("wards", on="ward")
            .where(col("beds") > 5)
            .group_by("region")
            .sum("cost")
        ),
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT JOIN wards w ON v.name = w.ward WHERE w.ward IS NULL",
        lambda: (
            visits()
            .join_public("wards", on={"name": "ward"}, outer=True)
            .where(col("wards.ward").is_null())
            .count()
        ),
    ),
    (
        "SELECT COUNT(*) FROM visits JOIN stays USING (patient, ward) WHERE nights > 2",
        lambda: (
            visits()
            .join_person(table(FACTS, "stays"), on="ward")
            .where(col("nights") > 2)
            .count()
        ),
    ),
    (
        ("SELECT COUNT(*) FROM visits JOIN (SELECT patient, nights * 2 AS n FROM stays) s"
        " USING (patient) WHERE n > 2"),
        lambda: (
            visits()
            .join_person(table(FACTS, "stays").select(n=col("nights") * 2))
            .where(col("n") > 2)
            .count()
        ),
    ),
    (
        ("SELECT SUM(CASE WHEN smoker THEN cost ELSE 0 END), COUNT(COALESCE(ward, 'none')),"
        " SUM(LEAST(cost, age, 7)), AVG(ABS(-cost)) FROM visits"),
        lambda: visits().aggregate(
            a=sum_(case((col("smoker"), col("cost")), default=0)),
            b=count(coalesce(col("ward"), "none")),
            c=sum_(least(7, col("age"), col("cost"))),
            d=avg(abs(-col("cost"))),
        ),
    ),
    (
        ("SELECT COUNT(*) FROM visits WHERE day BETWEEN '2020-01-01' AND '2020-12-31' AND"
        " YEAR(day) = 2020 AND name LIKE 'a%' AND ward IN ('east', 'west') AND"
        " (age + 1) * 2 - 3 < GREATEST(cost / 2, 1)"),
        lambda: (
            visits()
            .where(col("day").between(dt.date(2020, 1, 1), dt.date(2020, 12, 31)))
            .where(col("day").apply("year") == 2020, col("name").like("a%"))
            .where(col("ward").is_in(["west", "east"]))
            .where((1 + col("age")) * 2 - 3 < greatest(col("cost") / 2, 1))
            .count()
        ),
    ),
    (
        "SELECT COUNT(DISTINCT patient) FILTER (WHERE age > 3) FROM visits",
        lambda: visits().aggregate(n=people().where(col("age") > 3)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "asking"), PAIRS)
def test_sql_and_python_give_one_question(sql, asking):
    assert canonical(asking().question) == canonical(parse(sql, FACTS))


def test_bounds_and_keys():
    sql = "SELECT ward, SUM(weight) AS s FROM visits GROUP BY ward"
    asked = parse(sql, FACTS, bounds={"weight": (0, 90)}, keys={"ward": ["east", "west"]})
    fluent = (
        visits().group_by("ward", keys={"ward": ["west", "east"]}).sum("weight", low=0, high=90)
    )
    assert canonical(fluent.question) == canonical(asked)
    alias = parse(sql, FACTS, bounds={"s": (0, 90)}, keys={"ward": ["east", "west"]})
    assert canonical(alias) == canonical(asked)


def test_bounds_per_person():
    sql = "SELECT AVG(s) FROM (SELECT patient, SUM(weight) AS s FROM visits GROUP BY patient) t"
    fluent = visits().per_person(s=sum_("weight", bounds=(0, 9))).aggregate(m=avg("s"))
    assert canonical(fluent.question) == canonical(parse(sql, FACTS, bounds={"weight": (0, 9)}))
    with pytest.raises(Refused) as caught:
        parse(sql, FACTS)
    assert caught.value.code == "subquery_bounds"
    with pytest.raises(Refused):
        visits().per_person(s=sum_("weight"))


@pytest.mark.parametrize(
    ("code", "asking"),
    [
        ("no_measure", lambda: visits().group_by("ward").question),
        ("person_shown", lambda: visits().where(col("patient") == 3)),
        ("person_shown", lambda: visits().group_by("patient")),
        ("unknown_column", lambda: visits().where(col("agee") > 3)),
        ("unknown_table", lambda: table(FACTS, "visit")),
        ("public_only", lambda: table(FACTS, "wards")),
        ("aggregate_place", lambda: visits().where(count() > 3)),
        ("raw_column", lambda: visits().aggregate(x=col("age") + count()).question),
        ("real_key", lambda: visits().group_by("cost").count().question),
        ("kind", lambda: visits().where(col("age") + "x" > 3)),
        ("row_unit", lambda: table(FACTS, "rows").per_person(n=count())),
        ("no_person", lambda: table(FACTS, "rows").aggregate(n=people()).question),
        ("bad_number", lambda: visits().where(col("age") > math.inf)),
        ("too_deep", lambda: visits().where(sum((col("age") for _ in range(300)), col("age")) > 1)),
    ],
)
def test_refusals_are_those_of_sql(code, asking):
    with pytest.raises(Refused) as caught:
        asking()
    assert caught.value.code == code


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bool(col("age") > 3),
        lambda: quantile("age", 2),
        lambda: col(3),
        lambda: col("age").apply("system"),
        lambda: visits().aggregate(n=3),
        lambda: visits().count().limit(-1),
        lambda: visits().aggregate(s=sum_("age", bounds=(3, 1))).question,
        lambda: visits().group_by("ward", keys={"wards": ["x"]}).count().question,
        lambda: visits().join_public("stays", on="ward"),
        lambda: visits().per_person("ward", ward=count()),
        lambda: visits().per_person(Patient=count()),
        lambda: visits().group_by("ward", WARD="name"),
        lambda: visits().group_by("ward", keys={"ward": ["south"]}).count().question,
        lambda: visits().group_by("ward", keys={"ward": None}).count().question,
        lambda: visits().count().ask(epsilon=1),
    ],
)
def test_wrong_parameters_are_said_to_be(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_rows_are_values():
    rows = visits()
    assert rows.where(col("age") > 3) != rows
    assert rows == visits()
