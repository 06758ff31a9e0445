"""Where the rows live: DuckDB, embedded, by default.

The engine scans a file or frame in place, counts distinct combinations and hands back
dictionary-encoded integers; rows themselves stay with it. Cells are compared as text, and
a missing cell (NULL, NaN, empty) is the empty text, a value of its own.

Others rely on: no message of the engine reaches a user, because it may quote a cell;
`translated` turns every engine error into ours.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from sfumato.data.engines.errors import nothing_quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FLOATS = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """Distinct combinations of some columns, dictionary-encoded, and how often each occurs.

    `codes[c][i]` indexes `values[c]`; values are sorted texts.
    """

    columns: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    values: tuple[tuple[str, ...], ...]
    counts: NDArray[np.int64]


class DuckDB:
    """One embedded database connection, and the frames registered with it."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.run("SET enable_progress_bar = false")  # it would write among our results
        self.run("SET preserve_insertion_order = false")
        self.run(f"SET temp_directory = {quoted_text(str(self.folder / 'spill'))}")
        self._names = 0

    @property
    def folder(self) -> Path:
        """A private folder that goes when the engine goes; cells may be written only here."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(
                prefix="sfumato-", ignore_cleanup_errors=True
            )
        return Path(self._folder.name)

    def fresh(self, stem: str) -> str:
        """Return a name no other relation of this connection has."""
        self._names += 1
        return f"{stem}_{self._names}"

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement to its end and return its rows."""
        rows: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
        return rows

    def register(self, frame: object) -> str:
        """Make a frame readable by SQL under a fresh name, which is returned."""
        name = self.fresh("frame")
        self.connection.register(name, frame)
        return name

    def types(self, scan: str) -> dict[str, str]:
        """Return the columns of a relation and their SQL types."""
        described = self.run(f"DESCRIBE SELECT * FROM {scan}")
        return {str(row[0]): str(row[1]) for row in described}

    def rows(self, scan: str) -> int:
        """Count the records of a relation."""
        return int(self.run(f"SELECT count(*) FROM {scan}")[0][0])

    def count(self, scan: str, cells: dict[str, str]) -> Counted:
        """Count distinct combinations; `cells` maps a column to the SQL of its text."""
        columns = tuple(cells)
        grouped = self.fresh("grouped")
        chosen = "".join(f"{cells[c]} AS c{i}, " for i, c in enumerate(columns))
        self.run(
            f"CREATE TEMP TABLE {grouped} AS SELECT {chosen}count(*) AS n FROM {scan} GROUP BY ALL"
        )
        try:
            return self._encoded(grouped, columns)
        finally:
            self.run(f"DROP TABLE {grouped}")

    def _encoded(self, grouped: str, columns: tuple[str, ...]) -> Counted:
        """Replace the texts of a small table by their ranks among the distinct texts."""
        values = []
        chosen = []
        kinds = []
        for i in range(len(columns)):
            kind = self.fresh("kind")
            kinds.append(kind)
            self.run(f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT c{i} FROM {grouped} ORDER BY 1)")
            found = self.run(f"SELECT unnest(enum_range(NULL::{kind}))")
            values.append(tuple(str(row[0]) for row in found))
            chosen.append(f"enum_code(c{i}::{kind})::INTEGER AS c{i}")
        fetched = self.connection.execute(
            f"SELECT {', '.join([*chosen, 'n'])} FROM {grouped} ORDER BY ALL"
        ).fetchnumpy()
        for kind in kinds:
            self.run(f"DROP TYPE {kind}")
        codes = tuple(
            np.ascontiguousarray(fetched[f"c{i}"], dtype=np.int32) for i in range(len(columns))
        )
        counts = np.ascontiguousarray(fetched["n"], dtype=np.int64)
        return Counted(columns, codes, tuple(values), counts)

    def close(self) -> None:
        """Give back the connection and what it holds."""
        self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def cell_text(column: str, kind: str) -> str:
    """Return the SQL of a cell's text; NULL and NaN become the empty text."""
    name = quoted(column)
    if kind in FLOATS:
        return f"CASE WHEN {name} IS NULL OR isnan({name}) THEN '' ELSE CAST({name} AS VARCHAR) END"
    text = name if kind == "VARCHAR" else f"CAST({name} AS VARCHAR)"
    return f"coalesce({text}, '')"


def values_list(texts: Sequence[str]) -> str:
    """Return texts as an SQL list literal."""
    return "[" + ", ".join(quoted_text(text) for text in texts) + "]"


_LINE = re.compile(r"(?:on Line|at line|line)[: ]+(\d+)", re.IGNORECASE)
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)", re.IGNORECASE)


def translated(source: str) -> nothing_quoted:
    """Turn the engine's errors into ours, without the cells they quote."""
    return nothing_quoted(
        lambda error: _explanation(error, source) if isinstance(error, duckdb.Error) else None
    )


def _explanation(error: Any, source: str) -> str:
    text = str(error)
    line = _LINE.search(text)
    where = f"{source}, line {line[1]}" if line else source
    widths = _COLUMNS.search(text)
    lower = text.lower()
    if widths:
        return (
            f"{where}: {widths[2]} columns where the header has {widths[1]}; every line needs "
            "the same number of columns. Mend the line, or give the right --delimiter."
        )
    if "unicode" in lower or "utf-8" in lower or "utf8" in lower or "encod" in lower:
        return (
            f"{where}: the bytes are not valid in the encoding used (UTF-8 unless you say "
            "otherwise). Say which encoding the file has, for instance --encoding latin-1."
        )
    if "quote" in lower:
        return (
            f"{where}: a quoted cell is not closed; quotes must come in pairs, and a quote inside "
            "a quoted cell is doubled."
        )
    if isinstance(error, duckdb.IOException):
        return (
            f"{source} cannot be read; check that it exists, may be read and is not being "
            "written by another program."
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"{source} needs more memory or temporary disk space than there is."
    return (
        f"{where} cannot be read as a table; check that it is a CSV or Parquet file that is "
        "whole, with one header line and one record per line."
    )
