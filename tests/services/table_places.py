"""The same rows in memory, in a DuckDB file, in Postgres and in Spark."""

from __future__ import annotations

import uuid

import duckdb
import pyarrow as pa

import sfumato as sf

PLACES = ("memory", "file", "postgres", "spark")

ARROW = {
    "VARCHAR": pa.string(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(), "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"), "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DECIMAL(20,10)": pa.decimal128(20, 10), "BOOLEAN": pa.bool_(),
    "VARCHAR[]": pa.list_(pa.string()),
}  # fmt: skip
POSTGRES = {
    "VARCHAR": "text", "DOUBLE": "double precision", "FLOAT": "real", "VARCHAR[]": "text[]",
    "DECIMAL(10,2)": "numeric(10,2)", "DECIMAL(20,10)": "numeric(20,10)",
}  # fmt: skip
SPARK = {
    "VARCHAR": "string", "INTEGER": "int", "VARCHAR[]": "array<string>",
    "TIMESTAMP": "timestamp_ntz", "TIMESTAMP WITH TIME ZONE": "timestamp",
}  # fmt: skip


def arrow(kinds, cells):
    """Give an Arrow table; kinds are DuckDB's words."""
    arrays = [
        pa.array(column, ARROW[kind]) for kind, column in zip(kinds.values(), cells, strict=True)
    ]
    return pa.table(arrays, names=list(kinds))


def put(place, request, kinds, cells):
    """Put columns somewhere; give what `sf.read` takes."""
    if place == "memory":
        return arrow(kinds, cells)
    if place == "file":
        path = request.getfixturevalue("tmp_path") / f"{uuid.uuid4().hex}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", arrow(kinds, cells))
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
        return f"{path}::people"
    if place == "postgres":
        return in_postgres(request.getfixturevalue("postgres_url"), kinds, cells)
    return in_spark(request.getfixturevalue("spark"), kinds, cells)


def in_postgres(url, kinds, cells):
    import psycopg

    table = f"people_{uuid.uuid4().hex}"
    columns = ", ".join(f'"{c}" {POSTGRES.get(kind, kind)}' for c, kind in kinds.items())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*cells, strict=True):
                copy.write_row(row)
    return f"{url}?table={table}"


def in_spark(session, kinds, cells):
    words = ", ".join(f"`{c}` {SPARK.get(kind, kind.lower())}" for c, kind in kinds.items())
    return session.createDataFrame([*zip(*cells, strict=True)], schema=words, verifySchema=False)


def target(place, request):
    """Name a table that is not there yet, in the same database; None for memory."""
    name = f"released_{uuid.uuid4().hex}"
    match place:
        case "file":
            return f"{request.getfixturevalue('tmp_path') / 'out.duckdb'}::{name}"
        case "postgres":
            return f"{request.getfixturevalue('postgres_url')}?table={name}"
        case "spark":
            request.getfixturevalue("spark")
            return f"spark:{name}"
    return None


def rows_of(table):
    """Give the rows of a table as sorted texts."""
    opened = sf.read(table)
    found = opened.count(opened.columns)
    opened.engine.close()
    texts = [
        [values[code] for code in codes]
        for codes, values in zip(found.codes, found.values, strict=True)
    ]
    return sorted(zip(*texts, found.counts.tolist(), strict=True))
