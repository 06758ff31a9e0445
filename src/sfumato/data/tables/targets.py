"""Tables of databases that a release is written to: whole, verified, or not at all.

Contract: ``with staged_table(address, rows, facts, …) as table`` fills a table that nobody else
can see under the wanted name and hands it over to be looked at; when the block ends well it has
that name, else it is gone. In Postgres and in a DuckDB file this is one transaction, so that a
process or server that dies leaves nothing; Spark gives a finished table its name as the last step,
and a killed job leaves at most a table called `…_staged_…`, which never holds an unfinished write.

What the release says of itself (`release.json` elsewhere) is the comment of the table, a property
in Spark. A table is replaced only if it has such a comment: nothing but a release is dropped.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.addresses import SPARK, is_database, is_spark
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text
from sfumato.data.engines.postgres_server import is_postgres, shown, table_at
from sfumato.data.tables.engine_rows import rows_in
from sfumato.data.tables.table import Table
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from sfumato.data.engines.base import TableEngine
    from sfumato.data.engines.postgres import Postgres
    from sfumato.data.tables.rows import Rows

PROPERTY = "sfumato.release"
"""The property of a Spark table that holds what the release says of itself."""

_LONGEST = 63
"""Bytes of a name that Postgres keeps."""

MARK = "sfumato"
"""The fact that every release states: the version that made it."""


def staged_table(
    address: str, rows: Rows, facts: Mapping[str, Any], home: TableEngine | None, *, replace: bool
) -> AbstractContextManager[Table]:
    """Fill a table out of sight; it gets its name when the block ends well."""
    if is_postgres(address):
        return _in_postgres(address, rows, facts, home, replace=replace)
    if is_spark(address):
        return _in_spark(address, rows, facts, home, replace=replace)
    return _in_duckdb(address, rows, facts, home, replace=replace)


def shown_address(address: str) -> str:
    """Name a table of a database without user and password."""
    if not is_postgres(address):
        return address
    url, table = table_at(address)
    return f"{shown(url)}?table={table}"


def stated_facts(source: Any) -> dict[str, Any] | None:
    """Return what a release in a database says of itself; None where it says nothing."""
    if not isinstance(source, str) or not is_database(source):
        return None
    if is_postgres(source):
        from sfumato.data.engines.postgres import Postgres  # noqa: PLC0415 - an extra

        url, where = table_at(source)
        engine = Postgres(url)
        with engine.explained(shown_address(source)):
            text = _comment(engine, where)
        engine.close()
    elif is_spark(source):
        text = _property(source.removeprefix(SPARK))
    else:
        text = _comment_in_file(source)
    return _facts(text)


def _facts(text: Any) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) and MARK in found else None


def _refuse(address: str, *, ours: bool, replace: bool) -> None:
    """Refuse to write over a table that is there, unless it is a release to be replaced."""
    if not replace:
        raise DataError(
            f"{address} exists; choose another name, or ask to replace it (replace=True, --force)."
        )
    if not ours:
        raise DataError(
            f"{address} is a table that no release was written to, so it is not replaced; choose "
            "another name."
        )


def _staged_name(name: str) -> str:
    return f"{name[:40]}_staged_{secrets.token_hex(6)}"


# -- Postgres ---------------------------------------------------------------------------------


@contextmanager
def _in_postgres(
    address: str, rows: Rows, facts: Mapping[str, Any], home: TableEngine | None, *, replace: bool
) -> Iterator[Table]:
    from sfumato.data.engines.postgres import Postgres  # noqa: PLC0415 - an extra

    url, where = table_at(address)
    called = shown_address(address)
    schema, _, name = where.rpartition(".")
    if len(name.encode()) > _LONGEST:
        raise ParameterError(
            f"{called}: Postgres cuts names of tables after {_LONGEST} bytes; choose a shorter one."
        )
    place = quoted(schema or "public")
    engine = home if isinstance(home, Postgres) and home.url == url else Postgres(url)
    staged = _staged_name(name)
    with engine.explained(called), engine.connection.transaction():
        there = engine.exists(schema or "public", name)
        if there:
            _refuse(called, ours=_facts(_comment(engine, where)) is not None, replace=replace)
        engine.execute(f"CREATE TABLE {place}.{quoted(staged)} AS {rows_in(engine, rows)}")
        text = quoted_text(json.dumps(facts, ensure_ascii=False))
        engine.execute(f"COMMENT ON TABLE {place}.{quoted(staged)} IS {text}")
        scan, types = engine.open(f"{schema or 'public'}.{staged}")
        yield Table(engine, name, called, "postgres", scan, types)
        if there:
            engine.execute(f"DROP TABLE {place}.{quoted(name)}")
        engine.execute(f"ALTER TABLE {place}.{quoted(staged)} RENAME TO {quoted(name)}")


def _comment(engine: Postgres, where: str) -> str | None:
    schema, _, name = where.rpartition(".")
    found = engine.connection.execute(
        "SELECT obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class AS c JOIN "
        "pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND "
        "c.relname = %s",
        (schema or "public", name),
    ).fetchone()
    return None if found is None else found[0]


# -- Spark ------------------------------------------------------------------------------------


@contextmanager
def _in_spark(
    address: str, rows: Rows, facts: Mapping[str, Any], home: TableEngine | None, *, replace: bool
) -> Iterator[Table]:
    from sfumato.data.engines.spark import Spark, session_of  # noqa: PLC0415 - an extra
    from sfumato.data.engines.spelling import quoted_for  # noqa: PLC0415 - needs no Spark, used here

    if not isinstance(address, str):
        raise ParameterError("A release is written to a table: give its name, as in spark:people.")
    name = address.removeprefix(SPARK)
    session = session_of(address)
    engine = home if isinstance(home, Spark) and home.session is session else Spark(session)
    database, _, last = name.rpartition(".")
    path = ".".join(quoted_for(part, "spark") for part in database.split(".") if part)
    prefix = f"{path}." if path else ""
    staged, aside = _staged_name(last), _staged_name(last)
    with engine.explained(address):
        there = session.catalog.tableExists(name)
        if there:
            _refuse(address, ours=_facts(_property(name)) is not None, replace=replace)
        try:
            made = session.sql(rows_in(engine, rows)).writeTo(f"{prefix}{staged}")
            made.using("parquet").tableProperty(PROPERTY, json.dumps(facts)).create()
            scan, types = engine.open(f"{prefix}{staged}")
            yield Table(engine, last, address, "spark", scan, types)
            target = f"{prefix}{quoted_for(last, 'spark')}"
            if there:
                session.sql(f"ALTER TABLE {target} RENAME TO {prefix}{aside}")
            session.sql(f"ALTER TABLE {prefix}{staged} RENAME TO {target}")
        finally:
            for left in (staged, aside):
                session.sql(f"DROP TABLE IF EXISTS {prefix}{left}")


def _property(name: str) -> str | None:
    from sfumato.data.engines.spark import session_of  # noqa: PLC0415 - an extra

    found = session_of(f"{SPARK}{name}").sql(f"SHOW TBLPROPERTIES {name}").collect()
    return next((str(row[1]) for row in found if row[0] == PROPERTY), None)


# -- a DuckDB file ----------------------------------------------------------------------------


@contextmanager
def _in_duckdb(
    address: str, rows: Rows, facts: Mapping[str, Any], home: TableEngine | None, *, replace: bool
) -> Iterator[Table]:
    path, _, name = str(address).partition("::")
    if not name:
        raise ParameterError(f"Name the table that is to be written: {path}::people_released.")
    there = Path(path).is_file() and name in _tables(path)
    if there:
        ours = _facts(_comment_in_file(address)) is not None
        _refuse(address, ours=ours, replace=replace)
    engine = home if isinstance(home, DuckDB) else DuckDB()
    with engine.explained(address):
        made = engine.fresh("made")
        engine.run(f"CREATE TEMP TABLE {made} AS {rows_in(engine, rows)}")
        yield Table(engine, name, address, "duckdb", made, engine.types(made))
        with engine.writing(path) as database:
            target = f"{database}.{quoted(name)}"
            engine.run("BEGIN TRANSACTION")
            engine.run(f"DROP TABLE IF EXISTS {target}")
            engine.run(f"CREATE TABLE {target} AS SELECT * FROM {made}")
            text = quoted_text(json.dumps(facts, ensure_ascii=False))
            engine.run(f"COMMENT ON TABLE {target} IS {text}")
            engine.run("COMMIT")
        engine.drop(made)


def _tables(path: str) -> dict[str, str | None]:
    """Return the tables of a file and their comments."""
    engine = DuckDB()
    with engine.explained(path):
        engine.run(f"ATTACH {quoted_text(path)} AS sfumato_looked (READ_ONLY)")
        found = engine.run(
            "SELECT table_name, comment FROM duckdb_tables() WHERE database_name = 'sfumato_looked'"
        )
    engine.close()
    return {str(name): comment for name, comment in found}


def _comment_in_file(address: str) -> str | None:
    path, _, name = str(address).partition("::")
    if not Path(path).is_file():
        return None
    tables = _tables(path)
    return tables.get(name.rpartition(".")[2]) if name else next(iter(tables.values()), None)
