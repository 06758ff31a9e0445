"""Spark passes the conformance kit, with ANSI mode on and off.

Spark takes seconds for what others do in milliseconds: one request of each list is asked here, and
the rules that need most are left to the soak, which asks everything.
"""

from __future__ import annotations

import datetime as dt
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from frames import arrow

from sfumato.ask.engines.spark import SparkEngine
from sfumato.ask.language.language import Column, Key, Scan
from sfumato.ask.language.request import GroupsBound, Request, Total
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.testing.engines import Bench, all_checks


def frame(spark, table):
    """Make a frame of a table of the kit."""
    return spark.createDataFrame(arrow(table))


def maker(spark):
    def make(tables):
        first, *others = [(n, t) for n, t in tables.items() if t.private]
        return SparkEngine.open(
            frame(spark, first[1]),
            name=first[0],
            person=first[1].person,
            bounds={f"{n}.{c}": pair for n, t in tables.items() for c, pair in t.bounds.items()},
            private={n: (frame(spark, t), t.person) for n, t in others},
            public={n: frame(spark, t) for n, t in tables.items() if not t.private},
        )

    return make


def add_rows(engine, name, table):
    """Let the name by which a frame is read mean more rows, as where a table was written to."""
    view = engine._tables[name].split(" FROM ")[1].split(")")[0]
    session = engine._session
    session.table(view).union(frame(session, table)).createOrReplaceTempView(view)


ALL = GroupsBound(9, 9)
BENCH = Bench(lambda tables: pytest.fail("no session"), 6, add_rows=add_rows)
CHECKS = all_checks(BENCH)


@pytest.fixture(scope="module")
def bench(spark):
    BENCH.make = maker(spark)
    return BENCH


IN_SOAK = {
    "joins of more rows than are joined",
    "random tables and requests",
    "deep expressions",
    "asking again gives the same",
    "exactly the allowed groups",
    "not the same rows for everybody",
    "one more person changes nobody else",
    "the order of storage is irrelevant",
    "rows without a value add nothing",
    "empty groups do not appear",
}
"""Those that need most; test_hardening holds several of them against Spark, too."""


def thinned(name):
    """Leave one request of a list."""
    check = CHECKS[name]
    *others, last = check.args
    return partial(check.func, *others, last[:1]) if isinstance(last, list) else check


IN_FULL = [name for name in CHECKS if name in IN_SOAK or thinned(name) is not CHECKS[name]]


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        *((name, False) for name in CHECKS if name not in IN_SOAK),
        *(pytest.param(name, True, marks=pytest.mark.soak) for name in IN_FULL),
    ],
    ids=lambda told: told.replace(" ", "_") if isinstance(told, str) else None,
)
def test_conformance(spark, bench, name, whole):
    ansi = "true" if list(CHECKS).index(name) % 2 else "false"
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    (CHECKS[name] if whole else thinned(name))()


# -- what only Spark has ---------------------------------------------------------------------


def by(engine, name):
    table = engine.tables()[0]
    column = next(c for c in table.columns if c.name == name)
    request = Request(Scan(table.name, (column,)), (Key("k", column),), (Total("rows"),), ALL, b"s")
    found = engine.aggregate(request)
    return {key[0]: int(n) for key, n in zip(found.keys, found.totals[0], strict=True)}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_types_become_kinds_whatever_ansi_says(spark, ansi):
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    frame = spark.sql(
        "SELECT * FROM VALUES "
        "(CAST(1 AS TINYINT), 12.50BD, CAST('1e20' AS DOUBLE), 'x', DATE'2020-01-01', "
        " TIMESTAMP'2020-01-01 10:00:00', true, ARRAY(1), '7'), "
        "(CAST(2 AS TINYINT), NULL, CAST('NaN' AS DOUBLE), NULL, NULL, NULL, NULL, NULL, 'seven') "
        "AS t(who, price, huge, word, day, at, flag, list, digits)"
    )
    engine = SparkEngine.open(
        frame, person="who", name="t", types={"huge": "integer", "digits": "integer"}
    )
    assert {c.name: c.kind for c in engine.tables()[0].columns} == {
        "who": "integer", "price": "real", "huge": "integer", "word": "text", "day": "date",
        "at": "date", "flag": "boolean", "digits": "integer",
    }  # fmt: skip
    assert engine.left_out["t"] == ("list",)
    assert by(engine, "huge") == {2**63 - 1024: 1, None: 1}
    assert by(engine, "digits") == {7: 1, None: 1}
    assert by(engine, "at") == {dt.date(2020, 1, 1): 1, None: 1}


def test_a_table_by_its_name(spark):
    spark.sql("SELECT 1 AS who, 'a' AS ward").createOrReplaceTempView("visits_by_name")
    engine = SparkEngine.open("visits_by_name", person="who")
    assert engine.tables()[0].name == "visits_by_name"
    assert by(engine, "ward") == {"a": 1}
    views = list(engine._views)
    assert all(spark.catalog.tableExists(view) for view in views)
    engine.close()
    assert not any(spark.catalog.tableExists(view) for view in views)
    with pytest.raises(DataError, match="could not"):
        SparkEngine.open("no_such_table", person="who")


def test_the_settings_of_a_session_do_not_change_literals(spark):
    frame = spark.createDataFrame([(1, "a\\b"), (2, "it's"), (3, "a\nb")], "who int, word string")
    column = Column("word", "text")
    key = Key("k", column, ("a\\b", "it's", "a\nb", "é😀"))
    request = Request(Scan("t", (column,)), (key,), (Total("rows"),), GroupsBound(1, 1), b"s")
    for escaped in ("true", "false"):
        spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
        engine = SparkEngine.open(frame, person="who", name="t")
        assert {k[0] for k in engine.aggregate(request).keys} == {"a\\b", "it's", "a\nb"}
    spark.conf.unset("spark.sql.parser.escapedStringLiterals")


def test_what_cannot_be_opened(spark):
    with pytest.raises(ParameterError, match="no Spark data frame"):
        SparkEngine.open({"who": [1]}, person="who")
    with pytest.raises(SchemaError, match="more than one column"):
        SparkEngine.open(spark.sql("SELECT 1 AS who, 2 AS Who"), person="who")


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_with_compiled_plans(spark, bench, whole):
    """The rest runs interpreted, which is quicker for small tables; users run compiled plans."""
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    if not whole:
        thinned("several keys")()
        return
    for check in ("several keys", "NaN does not survive", "sums do not overflow"):
        CHECKS[check]()
