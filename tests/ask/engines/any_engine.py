"""The same small table in DuckDB, in Postgres and in Spark."""

from __future__ import annotations

import uuid

import polars as pl
import pytest

TYPES = {
    pl.Int64: "bigint", pl.Float64: "double precision", pl.String: "text", pl.Boolean: "boolean",
    pl.Date: "date",
}  # fmt: skip
ENGINES = ("duckdb", "postgres", "spark")
SOAK = pytest.mark.soak
RARELY_SPARK = ("duckdb", "postgres", pytest.param("spark", marks=SOAK))
"""Engines, for what a smaller test asks of Spark already."""


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def in_postgres(url, frames):
    """Copy frames into a schema of their own, and give them as a session takes them."""
    import psycopg

    schema = f"fuzz_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for name, frame in frames.items():
            columns = ", ".join(f"{quoted(c)} {TYPES[t]}" for c, t in frame.schema.items())
            connection.execute(f"CREATE TABLE {schema}.{name} ({columns})")
            with connection.cursor().copy(f"COPY {schema}.{name} FROM STDIN") as copy:
                for row in frame.rows():
                    copy.write_row(row)
    sign = "&" if "?" in url else "?"
    given = {name: f"{schema}.{name}" for name in frames}
    return {**given, "visits": f"{url}{sign}table={schema}.visits"}


def opener(kind, request):
    """Give a function that opens an engine on a frame; skips where the engine cannot be had."""
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
        return lambda frame, **facts: _postgres(url, frame, facts)
    if kind == "spark":
        spark = request.getfixturevalue("spark")
        return lambda frame, **facts: _spark(spark, frame, facts)
    from sfumato.ask.engines.duckdb import DuckDBEngine

    return DuckDBEngine.open


def _postgres(url, frame, facts):
    import psycopg

    from sfumato.ask.engines.postgres import PostgresEngine

    schema = f"hard_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        table = f"{schema}.{quoted(facts['name'])}"
        columns = ", ".join(f"{quoted(c)} {TYPES[t]}" for c, t in frame.schema.items())
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in frame.rows():
                copy.write_row(row)
    return PostgresEngine.open(url, table=f"{schema}.{facts['name']}", **facts)


def _spark(spark, frame, facts):
    from sfumato.ask.engines.spark import SparkEngine

    return SparkEngine.open(spark.createDataFrame(frame.to_arrow()), **facts)
