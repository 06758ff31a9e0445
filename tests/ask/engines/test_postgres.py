"""Postgres passes the conformance kit, from a server that the run starts."""

from __future__ import annotations

import datetime as dt
import uuid
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.ask.engines.postgres import PostgresEngine
from sfumato.ask.language.language import Column, Key, Scan
from sfumato.ask.language.request import Grid, GroupsBound, Request, RowsBound, Total
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.testing.engines import Bench, all_checks

psycopg = pytest.importorskip("psycopg")

TYPES = {
    "integer": "bigint",
    "real": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def fill(connection, schema, tables):
    """Make tables in a schema of their own."""
    connection.execute(f"CREATE SCHEMA {quoted(schema)}")
    for name, table in tables.items():
        place = f"{quoted(schema)}.{quoted(name)}"
        columns = ", ".join(f"{quoted(c)} {TYPES[k]}" for c, k in table.kinds.items())
        connection.execute(f"CREATE TABLE {place} ({columns})")
        copy_rows(connection, place, table)


def copy_rows(connection, place, table):
    with connection.cursor().copy(f"COPY {place} FROM STDIN") as copy:
        for row in table.rows():
            copy.write_row(tuple(row[c] for c in table.kinds))


def add_rows(engine, name, table):
    """Add rows to a table of the server while an engine is open on it."""
    place = engine._tables[name].split(" FROM ")[1].split(")")[0]
    with psycopg.connect(engine._url, autocommit=True) as connection:
        copy_rows(connection, place, table)


def maker(url, streamed=False):
    source = f"{url}{'&' if '?' in url else '?'}stream=on" if streamed else url

    def make(tables):
        schema = f"check_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            fill(connection, schema, tables)
        first, *others = [(n, t) for n, t in tables.items() if t.private]
        return PostgresEngine.open(
            source,
            table=f"{schema}.{first[0]}",
            name=first[0],
            person=first[1].person,
            bounds={f"{n}.{c}": pair for n, t in tables.items() for c, pair in t.bounds.items()},
            private={n: (f"{schema}.{n}", t.person) for n, t in others},
            public={n: f"{schema}.{n}" for n, t in tables.items() if not t.private},
        )

    return make


ALL = GroupsBound(9, 9)
BENCH = Bench(lambda tables: pytest.fail("no server"), 40, add_rows=add_rows)
CHECKS = all_checks(BENCH)


@pytest.fixture(scope="module")
def bench(postgres_url):
    BENCH.make = maker(postgres_url)
    return BENCH


@pytest.mark.parametrize("name", CHECKS, ids=lambda name: name.replace(" ", "_"))
def test_conformance(bench, name):
    CHECKS[name]()


# -- what only Postgres has ------------------------------------------------------------------

STRANGE = """
CREATE TYPE {s}.mood AS ENUM ('good', 'bad');
CREATE DOMAIN {s}.small AS integer CHECK (VALUE < 100);
CREATE FUNCTION {s}.md5(text) RETURNS text AS $$ SELECT 'stolen' $$ LANGUAGE sql;
CREATE TABLE {s}.strange (
    who uuid, n numeric, whole numeric(10, 0), padded char(8), mood {s}.mood, dom {s}.small,
    at timestamptz, plain timestamp, day date, f real, tags text[], doc jsonb, name name
);
INSERT INTO {s}.strange VALUES
  ('00000000-0000-0000-0000-000000000001', '1e400', 'NaN', 'ab', 'good', 7,
   '2020-01-01 23:30-05', '2020-01-01 23:59', '2020-01-01', 'NaN', '{{}}', '{{}}', 'x'),
  ('00000000-0000-0000-0000-000000000001', '-1e400', 12, 'ab   ', 'bad', NULL,
   'infinity', '-infinity', 'infinity', 'Infinity', NULL, NULL, 'y'),
  ('00000000-0000-0000-0000-000000000002', '1e-400', 12, NULL, NULL, 8,
   NULL, NULL, '0044-03-15 BC', 1e-40, NULL, NULL, NULL),
  (NULL, 'NaN', NULL, 'c', 'bad', 1, NULL, NULL, NULL, 2.5, NULL, NULL, 'z');
"""


@pytest.fixture
def strange(postgres_url):
    schema = f"strange_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(STRANGE.format(s=schema))
    return f"{postgres_url}?table={schema}.strange"


def by(engine, name, bound=ALL):
    table = engine.tables()[0]
    column = next(c for c in table.columns if c.name == name)
    request = Request(
        Scan(table.name, (column,)), (Key("k", column),), (Total("rows"),), bound, b"s"
    )
    found = engine.aggregate(request)
    return {key[0]: int(n) for key, n in zip(found.keys, found.totals[0], strict=True)}


def test_types_become_kinds_and_no_cell_raises(strange):
    engine = PostgresEngine.open(strange, person="who")
    assert {c.name: c.kind for c in engine.tables()[0].columns} == {
        "who": "text", "n": "real", "whole": "integer", "padded": "text", "mood": "text",
        "dom": "integer", "at": "date", "plain": "date", "day": "date", "f": "real", "name": "text",
    }  # fmt: skip
    assert engine.left_out["strange"] == ("tags", "doc")
    assert by(engine, "padded") == {"ab": 2, None: 1}
    assert by(engine, "mood") == {"good": 1, "bad": 1, None: 1}
    assert by(engine, "dom") == {7: 1, None: 1, 8: 1}
    assert by(engine, "whole") == {None: 1, 12: 2}
    assert by(engine, "at") == {dt.date(2020, 1, 2): 1, None: 2}
    assert by(engine, "day") == {dt.date(2020, 1, 1): 1, None: 2}
    grid = Grid((Fraction(-4), Fraction(4)), Fraction(1), Fraction(0))
    for name, numbers in {"n": [3, 0], "f": [2, 4]}.items():
        column = Column(name, "real")
        totals = (Total("present", column), Total("sum", column, grid))
        request = Request(Scan("strange", (column,)), (), totals, RowsBound(9), b"s")
        assert [int(total[0]) for total in engine.aggregate(request).totals] == numbers


def test_a_function_of_somebody_else_is_not_used(strange):
    """With a function md5 on the search path that always gives one text, all would rank alike."""
    engine = PostgresEngine.open(strange, person="who")
    assert by(engine, "mood", RowsBound(1))
    shown = engine._run("SHOW search_path")[0][0]
    assert shown == "pg_catalog"


def test_nothing_can_be_written_and_nothing_is_quoted(strange):
    engine = PostgresEngine.open(strange, person="who")
    place = engine._tables["strange"].split(" FROM ")[1].split(")")[0]
    for statement in (f"DELETE FROM {place}", f"SELECT CAST(padded AS integer) FROM {place}"):
        with pytest.raises(DataError) as caught:
            engine._run(statement)
        assert str(caught.value) == "Postgres could not compute the aggregates of the question."
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert len(by(engine, "mood")) == 3


def test_a_request_that_takes_too_long_is_stopped(strange):
    engine = PostgresEngine.open(strange, person="who", seconds=0.2)
    with pytest.raises(DataError, match="longer than the time"):
        engine._run("SELECT pg_sleep(5)")


def test_a_lost_connection_is_opened_again(strange):
    engine = PostgresEngine.open(strange, person="who")
    engine._connection.close()
    assert len(by(engine, "mood")) == 3


def test_the_fingerprint_is_computed_again_when_something_was_written(strange, postgres_url):
    engine = PostgresEngine.open(strange, person="who")
    first = engine.fingerprint()
    place = engine._tables["strange"].split(" FROM ")[1].split(")")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"UPDATE {place} SET mood = 'good' WHERE name = 'z'")
    assert engine.fingerprint() != first
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"UPDATE {place} SET mood = 'bad' WHERE name = 'z'")
    assert engine.fingerprint() == first


def test_declared_types_of_texts(postgres_url, strange):
    engine = PostgresEngine.open(strange, person="who", types={"padded": "integer", "f": "text"})
    assert by(engine, "padded") == {None: 3}
    assert by(engine, "f") == {None: 1, "Infinity": 1, "1e-40": 1}
    dated = PostgresEngine.open(strange, person="who", types={"padded": "date"})
    assert by(dated, "padded") == {None: 3}


def test_what_cannot_be_opened(postgres_url):
    with pytest.raises(ParameterError, match="which table"):
        PostgresEngine.open(postgres_url)
    with pytest.raises(SchemaError, match="no table"):
        PostgresEngine.open(postgres_url, table="nothing")
    with pytest.raises(DataError) as caught:
        PostgresEngine.open("postgresql://me:secret@127.0.0.1:1/there?table=x")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1/there" in str(caught.value)


def test_a_public_table_that_grows_multiplies_nothing(postgres_url):
    """A session that is open joins one row to one, as it found them, and noise for one suffices."""
    schema = f"grows_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(
            f"CREATE TABLE {schema}.g AS SELECT 'k' || (i % 3) AS k FROM generate_series(1, 30) i"
        )
        connection.execute(f"CREATE TABLE {schema}.pub (k text, name text)")
        connection.execute(f"INSERT INTO {schema}.pub VALUES ('k0', 'z'), ('k1', 'o'), ('k2', 't')")
        with sf.Session(
            f"{postgres_url}?table={schema}.g", unit="row", budget=sf.PureDP(10**5),
            public={"pub": f"{schema}.pub"}, ledger=Ledger(None),
        ) as one:  # fmt: skip
            question = "SELECT COUNT(*) FROM g JOIN pub ON g.k = pub.k"
            assert one.sql(question, epsilon=10**4).rows == ((30,),)
            connection.execute(
                f"INSERT INTO {schema}.pub SELECT 'k0', 'x' || i FROM generate_series(1, 999) i"
            )
            assert one.sql(question, epsilon=10**4).rows == ((30,),)
