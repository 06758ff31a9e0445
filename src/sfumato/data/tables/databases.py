"""Tables that stay where they are: in Postgres, in Spark, in a DuckDB file.

Contract: an address or a frame becomes a `Table` whose engine is the database itself. Nothing is
read but the names and types of columns. `source` names the place without user and password.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.addresses import SPARK, is_spark
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text
from sfumato.data.engines.postgres_server import is_postgres, shown, table_at
from sfumato.data.tables.table import Table
from sfumato.data.wording import listed
from sfumato.errors import DataError, SchemaError

if TYPE_CHECKING:
    from sfumato.data.tables.table import Kind

FOREIGN: tuple[Kind, ...] = ("duckdb", "postgres", "spark")
"""Kinds of tables that are held by a database."""


def open_database(source: Any, name: str | None = None) -> Table:
    """Return the table that an address or a frame names."""
    if is_postgres(source):
        return _in_postgres(source, name)
    if is_spark(source):
        return _in_spark(source, name)
    return _in_duckdb(str(source), name)


def _in_postgres(source: str, name: str | None) -> Table:
    from sfumato.data.engines.postgres import Postgres  # noqa: PLC0415 - an extra

    url, where = table_at(source)
    engine = Postgres(url)
    called = f"{shown(url)}?table={where}"
    with engine.explained(called):
        scan, types = engine.open(where)
    return Table(engine, name or where.rpartition(".")[2], called, "postgres", scan, types)


def _in_spark(source: Any, name: str | None) -> Table:
    from sfumato.data.engines.spark import Spark, session_of  # noqa: PLC0415 - an extra

    named = source.removeprefix(SPARK) if isinstance(source, str) else None
    called = "the Spark frame given" if named is None else f"the Spark table {named}"
    engine = Spark(session_of(source))
    with engine.explained(called):
        scan, types = engine.open(source if named is None else named)
    title = name or ("table" if named is None else named.rpartition(".")[2])
    return Table(engine, title, called, "spark", scan, types)


def _in_duckdb(source: str, name: str | None) -> Table:
    path, _, wanted = source.partition("::")
    if not Path(path).is_file():
        raise DataError(f"{path} is not a file; give the path of a DuckDB database.")
    engine = DuckDB()
    with engine.explained(path):
        engine.run(f"ATTACH {quoted_text(path)} AS sfumato_source (READ_ONLY)")
        place = _table_in(engine, path, wanted)
        relation = f"sfumato_source.{quoted(place[0])}.{quoted(place[1])}"
        types = engine.types(relation)
        plain = ", ".join(  # a collation of the column would tell texts alike
            f'{quoted(c)} COLLATE "binary" AS {quoted(c)}' if kind == "VARCHAR" else quoted(c)
            for c, kind in types.items()
        )
        scan = engine.fresh("stored")
        engine.run(f"CREATE TEMP VIEW {scan} AS SELECT {plain} FROM {relation}")
    return Table(engine, name or place[1], f"{path}::{place[1]}", "duckdb", scan, types)


def _table_in(engine: DuckDB, path: str, wanted: str) -> tuple[str, str]:
    """Return schema and name of the wanted table, or of the only one."""
    names = [
        (str(schema), str(name))
        for schema, name in engine.run(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = "
            "'sfumato_source' UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE database_name = 'sfumato_source' AND NOT internal"
        )
    ]
    chosen = [pair for pair in names if wanted in {"", pair[1], f"{pair[0]}.{pair[1]}"}]
    if len(chosen) != 1:
        raise SchemaError(
            f"{path} has the tables {listed([name for _, name in names])}; say which one is meant, "
            f"as in {path}::people."
        )
    return chosen[0]
