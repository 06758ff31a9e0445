"""Texts compare by their bytes, also where their columns say that capitals do not count.

The conformance kit is run on tables whose text columns have a collation of their own; a part that
is called disjoint from another (`k = 'a'` and `k = 'A'`) must be so on every engine.
"""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from frames import arrow
from test_duckdb import PlanOnly
from test_postgres import quoted

from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.engines.postgres import PostgresEngine
from sfumato.ask.engines.spark import SparkEngine
from sfumato.testing.engine_tables import tables
from sfumato.testing.engines import Bench, all_checks

CHECKS = (
    "texts compare by their bytes", "functions of texts", "people named by text",
    "rows per person", "groups and rows per group", "public key values", "public joins",
    "joins on the person", "numbers about a person", "the unit is the row",
)  # fmt: skip
USED = ("visits", "texts", "rows", "stays", "wards")


def opened(engine, held, sources):
    """Open an engine on tables, given where each of them is."""
    first, *others = [(n, t) for n, t in held.items() if t.private]
    return engine.open(
        sources[first[0]][0],
        **sources[first[0]][1],
        name=first[0],
        person=first[1].person,
        bounds={f"{n}.{c}": pair for n, t in held.items() for c, pair in t.bounds.items()},
        private={n: (sources[n][0], t.person) for n, t in others},
        public={n: sources[n][0] for n, t in held.items() if not t.private},
    )


def in_files(engine, folder, collation):
    """Keep each table in a DuckDB file whose texts have a collation."""

    def make(held):
        sources = {}
        for name, table in held.items():
            path = folder / f"{uuid.uuid4().hex}.duckdb"
            with duckdb.connect(path) as connection:
                connection.register("cells", arrow(table))
                columns = ", ".join(
                    f"{quoted(c)} COLLATE {collation} AS {quoted(c)}" if k == "text" else quoted(c)
                    for c, k in table.kinds.items()
                )
                connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT {columns} FROM cells")
            sources[name] = path, {}
        return opened(engine, held, sources)

    return make


def in_postgres(url):
    """Keep tables in Postgres, with a collation by which different texts are equal."""
    import psycopg
    from test_postgres import TYPES, fill

    def make(held):
        schema = f"collated_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            fill(connection, schema, held)
            connection.execute(
                f"CREATE COLLATION {schema}.alike "
                "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
            )
            for name, table in held.items():
                for column in (c for c, kind in table.kinds.items() if TYPES[kind] == "text"):
                    connection.execute(
                        f"ALTER TABLE {schema}.{quoted(name)} ALTER {quoted(column)} "
                        f"TYPE text COLLATE {schema}.alike"
                    )
        sources = {name: (f"{schema}.{name}", {}) for name in held}
        first = next(iter(held))
        sources[first] = url, {"table": f"{schema}.{first}"}
        return opened(PostgresEngine, held, sources)

    return make


def in_spark(spark):
    """Keep tables as frames of Spark whose texts have a collation without capitals."""

    def make(held):
        sources = {}
        for name, table in held.items():
            frame = spark.createDataFrame(arrow(table))
            for column in (c for c, kind in table.kinds.items() if kind == "text"):
                frame = frame.withColumn(column, frame[column].cast("string collate UTF8_LCASE"))
            sources[name] = frame, {}
        return opened(SparkEngine, held, sources)

    return make


WAYS = ("nocase by plan", "nocase by kernel", "noaccent by plan", "postgres", "spark")


OF_SPARK = {
    "texts compare by their bytes", "functions of texts", "people named by text",
    "public key values", "public joins",
}  # fmt: skip
"""What Spark is asked in every run; it takes seconds for each."""


@pytest.fixture(scope="module")
def checks(request, tmp_path_factory):
    way = request.param
    if way == "postgres":
        make = in_postgres(request.getfixturevalue("postgres_url"))
    elif way == "spark":
        make = in_spark(request.getfixturevalue("spark"))
    else:
        collation, _, path = way.partition(" by ")
        engine = DuckDBEngine if path == "kernel" else PlanOnly
        make = in_files(engine, tmp_path_factory.mktemp("collated"), collation)
    bench = Bench(lambda held: make({name: held[name] for name in USED}))
    return all_checks(bench)


@pytest.mark.parametrize(
    ("checks", "name"),
    [
        pytest.param(
            way, name, marks=pytest.mark.soak if way == "spark" and name not in OF_SPARK else ()
        )
        for way in WAYS for name in CHECKS
    ],
    indirect=["checks"],
    ids=lambda told: told.replace(" ", "_"),
)  # fmt: skip
def test_texts_are_told_apart_by_their_bytes(checks, name):
    checks[name]()


def test_the_tables_would_show_it():
    words = [word for word in tables()["texts"].cells["who"] if word]
    assert len({word.lower() for word in words}) < len(set(words))


def test_a_default_of_the_connection_changes_nothing(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t (k VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('a'), ('A'), ('b')")
    engine = DuckDBEngine.open(path, name="t")
    engine._engine.run("SET default_collation = 'NOCASE'")
    found = engine._rows(_counted("a"))
    assert found == [(1,)]


def _counted(word):
    from sqlglot import exp

    from sfumato.ask.plan.dialects import Bytewise, StoredTable
    from sfumato.ask.plan.forms import binary, column, select, text

    same = binary(exp.EQ, Bytewise(this=column("k")), text(word))
    return select([exp.Count(this=exp.Star())], StoredTable(this="t"), same)
