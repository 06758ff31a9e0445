"""Postgres as the place of a table's rows.

Contract: rows stay in the server. It groups them, and what it counted comes as a stream of distinct
combinations, which are encoded as those of any engine; copies and what is joined with rows are
temporary tables of this connection. A relation is scanned in the order in which it is stored.

The connection is one session of the server. When it is lost, temporary tables are lost with it, so
work that was under way ends with a sentence that says so, and is begun again by whoever wants it.
"""

# SQL here is built from names that `quoted_for` quotes.

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines import postgres_server
from sfumato.data.engines.base import ROW
from sfumato.data.engines.duckdb import DuckDB, encoded, quoted, quoted_text, unread
from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.engines.postgres_cells import COLUMNS, CellColumn, finished
from sfumato.data.engines.replacing import chosen_texts, numbered_texts
from sfumato.data.engines.spelling import quoted_for, spelt
from sfumato.errors import DataError, SchemaError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted

_SETTINGS = {
    "synchronize_seqscans": "off",  # a scan begins at the first row
    "work_mem": "256MB",
    "client_min_messages": "error",
}
_PIECE = 1 << 20
"""Bytes that are sent at a time."""

_SCANNED = re.compile(r"\bFROM (sfumato_stored_\d+)\b")


@dataclass(frozen=True)
class StoredRelation:
    """A table of the database, and the SQL that scans it as texts."""

    place: str
    columns: dict[str, CellColumn]

    def texts(self, name: str) -> str:
        """Return the relation of texts under a name."""
        cells = ", ".join(
            f"{column.text(quoted_for(c, 'postgres'))} AS {quoted_for(c, 'postgres')}"
            for c, column in self.columns.items()
        )
        return f"(SELECT {cells} FROM {self.place}) AS {name}"


class Postgres:
    """One connection to a database, and the relations made in it."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = postgres_server.connect(url, _SETTINGS)
        self._stored: dict[str, StoredRelation] = {}
        self._names = 0

    @cached_property
    def local(self) -> DuckDB:
        """The embedded engine, in which what was counted is encoded."""
        return DuckDB()

    # -- relations --------------------------------------------------------------------------

    def open(self, table: str) -> tuple[str, dict[str, str]]:
        """Make a table of the database known; return its scan and the types of its columns."""
        place, columns = self._found(table)
        scan = self.fresh("stored")
        self._stored[scan] = StoredRelation(place, {column.name: column for column in columns})
        return scan, {column.name: column.kind for column in columns}

    def _found(self, where: str) -> tuple[str, list[CellColumn]]:
        """Find a table; a name without a schema is one of the schema public."""
        schema, _, relation = where.rpartition(".")
        with self.explained(f"The table '{where}'"):
            found = self.connection.execute(
                "SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class AS c "
                "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE ((n.nspname = %s"
                " AND c.relname = %s) OR (n.nspname = 'public' AND c.relname = %s)) "
                "AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
                (schema or "public", relation, where),
            ).fetchall()
            if len(found) != 1:
                raise SchemaError(
                    f"The database at {postgres_server.shown(self.url)} has no table '{where}', or "
                    "more than one; write it as schema.table."
                )
            columns = [
                CellColumn(str(name), str(type_), form == "e", int(modifier), bool(array))
                for name, type_, form, modifier, array in self.connection.execute(
                    COLUMNS, (found[0][0],)
                )
            ]
        names = (quoted_for(str(part), "postgres") for part in found[0][1:])
        return ".".join(names), columns

    def exists(self, schema: str, name: str) -> bool:
        """Tell whether a relation has this name already."""
        found = self.connection.execute(
            "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
            "ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
            (schema, name),
        )
        return found.fetchone() is not None

    def execute(self, statement: str) -> None:
        """Run a statement in the words of Postgres."""
        self.connection.execute(statement.encode(), prepare=False)

    def fresh(self, stem: str) -> str:
        """Return a name no other relation of this connection has."""
        self._names += 1
        return f"sfumato_{stem}_{self._names}"

    def register(self, columns: Mapping[str, Any]) -> str:
        """Copy arrays into a temporary table."""
        name = self.fresh("given")
        kinds = ", ".join(
            f"{c} BIGINT" if _whole(array) else f'{c} TEXT COLLATE "C"'
            for c, array in columns.items()
        )
        self.connection.execute(f"CREATE TEMPORARY TABLE {name} ({kinds})")
        path, frame = self.local.folder / f"{name}.csv", self.local.register(dict(columns))
        try:
            with self.local.in_order():
                self.local.run(
                    f"COPY (SELECT * FROM {frame}) TO {quoted_text(str(path))} "
                    "(FORMAT csv, HEADER false, FORCE_QUOTE *)"
                )
            with (
                path.open("rb") as file,
                self.connection.cursor() as cursor,
                cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy,
            ):
                while piece := file.read(_PIECE):
                    copy.write(piece)
        finally:
            self.local.drop(frame)
            path.unlink(missing_ok=True)
        self.connection.execute(f"ANALYZE {name}")
        return name

    def numbered(self, scan: str, columns: Mapping[str, str]) -> str:
        """Copy the texts of columns into a temporary table, rows numbered as they are stored."""
        name = self.fresh("rows")
        chosen = ", ".join(quoted_for(c, "postgres") for c in columns)
        with self._one_worker():
            self.connection.execute(
                f"CREATE TEMPORARY TABLE {name} AS "
                f"SELECT {chosen}, ROW_NUMBER() OVER () AS {ROW} FROM {self._scan(scan)}"
            )
        self.connection.execute(f"ANALYZE {name}")
        return name

    def replaced(
        self, relation: str, columns: Mapping[str, str], texts: Mapping[str, NDArray[np.object_]]
    ) -> str:
        """Join a numbered copy with texts by the numbers of its rows, into a temporary table."""
        name, given = self.fresh("replaced"), self.register(numbered_texts(texts))
        chosen = chosen_texts(columns, texts, "postgres")
        with self._one_worker():
            self.connection.execute(
                f"CREATE TEMPORARY TABLE {name} AS SELECT {chosen} FROM {relation} AS r "
                f"JOIN {given} AS g ON r.{ROW} = g.{ROW} ORDER BY r.{ROW}"
            )
        for done in (relation, given):
            self.drop(done)
        self.connection.execute(f"ANALYZE {name}")
        return name

    def repeated(self, relation: str, columns: Sequence[str]) -> str:
        """Return the SQL of columns of a relation, each row `n` times."""
        return f"SELECT {', '.join(columns)} FROM {relation}, GENERATE_SERIES(1, n)"

    @contextmanager
    def _one_worker(self) -> Iterator[None]:
        """Scan by one process, which meets rows in the order in which they are stored."""
        self.connection.execute("SET max_parallel_workers_per_gather = 0")
        try:
            yield
        finally:
            if not self.connection.closed:
                self.connection.execute("RESET max_parallel_workers_per_gather")

    def drop(self, relation: str) -> None:
        """Forget a temporary table."""
        self.connection.execute(f"DROP TABLE {relation}")

    def in_order(self) -> AbstractContextManager[None]:
        """Do nothing: a small scan is in the order in which rows are stored."""
        return nullcontext()

    def _scan(self, scan: str) -> str:
        stored = self._stored.get(scan)
        return scan if stored is None else stored.texts(scan)

    # -- asking -----------------------------------------------------------------------------

    def text(self, column: str, kind: str) -> str:  # noqa: ARG002 - scans are of texts already
        """Return the SQL of the text of a cell."""
        return quoted(column)

    def spell(self, query: str) -> str:
        """Write a query of ours for Postgres, with the scans of stored tables in their places."""
        text = spelt(query, "postgres")
        if not self._stored:
            return text
        # Whole names alone: sfumato_stored_1 is no part of sfumato_stored_12, another table.
        return _SCANNED.sub(lambda found: f"FROM {self._scan(found[1])}", text)

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of ours to its end and return its rows."""
        return self.ask(self.spell(query))

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query in the words of Postgres and return its rows."""
        found = self.connection.execute(statement.encode(), prepare=False)
        return [] if found.description is None else list(found.fetchall())

    def rows(self, scan: str) -> int:
        """Count the records of a relation."""
        stored = self._stored.get(scan)
        place = scan if stored is None else stored.place
        return int(self.connection.execute(f"SELECT COUNT(*) FROM {place}").fetchone()[0])

    def ways_missing(self, scan: str, column: str, kind: str) -> tuple[bool, bool]:
        """Tell whether cells are missing as NULL, and as the empty text or NaN."""
        stored, cell = self._stored.get(scan), quoted_for(column, "postgres")
        place = scan if stored is None else stored.place
        plain = stored is not None and kind == "VARCHAR"
        text = f"CAST({cell} AS TEXT) = ''" if plain or stored is None else f"{cell} = 'NaN'"
        query = f"SELECT BOOL_OR({cell} IS NULL), BOOL_OR(COALESCE({text}, FALSE)) FROM {place}"
        absent, empty = self.connection.execute(query).fetchone()
        return bool(absent), bool(empty)

    def count(self, scan: str, columns: Mapping[str, str]) -> Counted:
        """Group rows by their cells in the server, and make texts of the groups."""
        stored = self._stored.get(scan)
        names = [quoted_for(c, "postgres") for c in columns]
        if stored is None:
            keys, texts, place = names, [f"k{i}" for i in range(len(names))], scan
        else:
            known = [stored.columns[c] for c in columns]
            keys = [column.grouped for column in known]
            texts = [finished(column, f"k{i}") for i, column in enumerate(known)]
            place = stored.place
        inner = "".join(f"{key} AS k{i}, " for i, key in enumerate(keys))
        by = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        outer = "".join(f"{text} AS c{i}, " for i, text in enumerate(texts))
        grouped = self._bring(
            f"SELECT {outer}n FROM (SELECT {inner}COUNT(*) AS n FROM {place}{by}) AS grouped",
            [*(f"c{i}" for i in range(len(names))), "n"],
        )
        return encoded(self.local, grouped, tuple(columns))

    def bring(self, query: str) -> tuple[DuckDB, str]:
        """Stream the rows of a query into the embedded engine."""
        statement = self.spell(query)
        described = self.connection.execute(f"SELECT * FROM ({statement}) AS q LIMIT 0").description
        return self.local, self._bring(statement, [column.name for column in described])

    def _bring(self, statement: str, names: list[str]) -> str:
        """Stream the rows of a statement into the embedded engine, through its private folder."""
        relation = self.local.fresh("brought")
        path = self.local.folder / f"{relation}.csv"
        with path.open("wb") as file, self.connection.cursor() as cursor:
            copying = f"COPY ({statement}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
            with cursor.copy(copying.encode()) as copy:
                for piece in copy:
                    file.write(piece)
        kinds = ", ".join(
            f"{quoted_text(n)}: {quoted_text('BIGINT' if n == 'n' else 'VARCHAR')}" for n in names
        )
        with self.local.in_order():
            self.local.run(
                f"CREATE TEMP TABLE {relation} AS SELECT * FROM read_csv({quoted_text(str(path))}, "
                f"delim=',', header=false, quote='\"', escape='\"', auto_detect=false, "
                f"new_line='\\n', allow_quoted_nulls=false, columns={{{kinds}}})"
            )
        path.unlink()
        return relation

    def explained(self, source: str) -> nothing_quoted:
        """Turn errors of the server into sentences of ours, without what they quote."""
        return nothing_quoted(lambda error: _said(error, source))

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
        if "local" in self.__dict__:
            self.local.close()


def _whole(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "iu"


_SENTENCES = {
    "InsufficientPrivilege": "Postgres does not grant the right to do this; ask its owner for it.",
    "QueryCanceled": "Postgres cancelled the work, or it took longer than the server allows.",
    "DiskFull": "Postgres has too little memory or disk space for this.",
    "OutOfMemory": "Postgres has too little memory or disk space for this.",
    "InvalidSchemaName": "the database has no such schema; make it first, or name another.",
    "UndefinedTable": "the table is no longer there; nothing was written.",
    "UndefinedColumn": "the table has other columns than before; read it again.",
    "DuplicateTable": "somebody else wrote a table of this name meanwhile; nothing was written.",
    "UniqueViolation": "somebody else wrote a table of this name meanwhile; nothing was written.",
    "ReadOnlySqlTransaction": "this database can only be read; nothing was written.",
    "DependentObjectsStillExist": "other objects of the database, such as views, need the table "
    "that is to be replaced; nothing was written. Drop them first, or choose another name.",
}
"""What classes of errors mean, by their names in the driver."""


_NOT_NOW = ("DiskFull", "OutOfMemory", "QueryCanceled")
"""Errors after which the same may succeed later."""


def _said(error: BaseException, source: str) -> str | DataError | None:
    """Say what an error of the server means, without its message."""
    psycopg = postgres_server.driver()
    for name, sentence in _SENTENCES.items():
        if isinstance(error, getattr(psycopg.errors, name)):
            told = f"{source}: {sentence}"
            return Unavailable(told) if name in _NOT_NOW else told
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return Unavailable(
            f"{source}: the connection to Postgres was lost; nothing was written. Check that the "
            "server runs, and begin again."
        )
    if isinstance(error, psycopg.Error):
        return f"{source}: Postgres could not do this; check that the table is still as it was."
    return unread(error, source)
