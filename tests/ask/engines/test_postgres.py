"""Postgres passes the conformance kit, from a server that the run starts."""

from __future__ import annotations

import uuid

import pytest

from sfumato.ask.engines.postgres import PostgresEngine
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
        with connection.cursor().copy(f"COPY {place} FROM STDIN") as copy:
            for row in table.rows():
                copy.write_row(tuple(row[c] for c in table.kinds))


def maker(url):
    def make(tables):
        schema = f"check_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            fill(connection, schema, tables)
        first, *others = [(n, t) for n, t in tables.items() if t.private]
        return PostgresEngine.open(
            url,
            table=f"{schema}.{first[0]}",
            name=first[0],
            person=first[1].person,
            bounds={f"{n}.{c}": pair for n, t in tables.items() for c, pair in t.bounds.items()},
            private={n: (f"{schema}.{n}", t.person) for n, t in others},
            public={n: f"{schema}.{n}" for n, t in tables.items() if not t.private},
        )

    return make


BENCH = Bench(lambda tables: pytest.fail("no server"), 40)
CHECKS = all_checks(BENCH)


@pytest.fixture(scope="module")
def bench(postgres_url):
    BENCH.make = maker(postgres_url)
    return BENCH


@pytest.mark.parametrize("name", CHECKS, ids=lambda name: name.replace(" ", "_"))
def test_conformance(bench, name):
    CHECKS[name]()
