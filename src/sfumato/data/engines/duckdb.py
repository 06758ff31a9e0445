"""Where the rows live: DuckDB, embedded, by default.

The engine scans a file or frame in place, counts distinct combinations and hands back
dictionary-encoded integers; rows themselves stay with it. Cells are compared as text, and
a missing cell (NULL, NaN, empty) is the empty text, a value of its own.

Others rely on: no message of the engine reaches a user, because it may quote a cell;
`translated` turns every engine error into ours.
"""

from __future__ import annotations

import gc
import math
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from sfumato.data.atomic import PrivateFolder
from sfumato.data.engines.base import ROW
from sfumato.data.engines.counted import Counted
from sfumato.data.engines.errors import nothing_quoted
from sfumato.errors import DataError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

FLOATS = ("FLOAT", "DOUBLE")


_INTERRUPTED = "Query interrupted"
"""What DuckDB's library says when somebody pressed Ctrl-C; it says so by a plain RuntimeError."""

_SHARE_OF_MEMORY = 4
"""An engine takes this part of what DuckDB would take; the rest is for arrays and others."""
_LEAST = 1024.0**3
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


class DuckDB:
    """One embedded database connection, and the frames registered with it."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self._folder: PrivateFolder | None = None
        # A bar would write among our results. A notebook without ipywidgets has none, and DuckDB
        # refuses to switch off there what it could not show.
        if self.run("SELECT current_setting('enable_progress_bar')") == [(True,)]:
            self.run("SET enable_progress_bar = false")
        self.run("SET preserve_insertion_order = false")
        # A type guessed from some objects of a column would fail on others: look at all.
        self.run("SET pandas_analyze_sample = 1000000000000")
        self.run(f"SET temp_directory = {quoted_text(str(self.folder / 'spill'))}")
        self.run(f"SET memory_limit = '{memory_limit()}'")
        self._names = 0

    @property
    def folder(self) -> Path:
        """A private folder that goes when the engine goes; cells may be written only here."""
        if self._folder is None:
            self._folder = PrivateFolder()
        return Path(self._folder.name)

    def fresh(self, stem: str) -> str:
        """Return a name no other relation of this connection has."""
        self._names += 1
        return f"{stem}_{self._names}"

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement to its end and return its rows; Ctrl-C ends it, and is Ctrl-C."""
        try:
            rows: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
        except RuntimeError as error:
            if str(error) == _INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        return rows

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Do the same: DuckDB's words are ours."""
        return self.run(statement)

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

    @property
    def local(self) -> DuckDB:
        """Itself."""
        return self

    def explained(self, source: str) -> nothing_quoted:
        """Turn the engine's errors into ours, without the cells they quote."""
        return translated(source)

    def text(self, column: str, kind: str) -> str:
        """Return the SQL of the text of a cell."""
        return cell_text(column, kind)

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Keep the order of rows, in joins that of the left side, while a block runs."""
        self.run("SET preserve_insertion_order = true")
        self.run("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            yield
        finally:
            self.run("SET disabled_optimizers = ''")
            self.run("SET preserve_insertion_order = false")

    def write_parquet(self, query: str, path: Path) -> None:
        """Write rows to a Parquet file, in their order; the same rows give the same bytes.

        One thread writes: several would divide the rows into groups by who comes first.
        """
        self.run("SET threads = 1")
        try:
            with self.in_order():
                self.run(f"COPY ({query}) TO {quoted_text(str(path))} (FORMAT parquet)")
        finally:
            self.run("RESET threads")

    def ways_missing(self, scan: str, column: str, kind: str) -> tuple[bool, bool]:
        """Tell whether cells are missing as NULL, and as the empty text or NaN."""
        cell = quoted(column)
        second = f"isnan({cell})" if kind in FLOATS else f"{cell} = ''"
        query = f"SELECT bool_or({cell} IS NULL), bool_or(coalesce({second}, false)) FROM {scan}"
        [(absent, empty)] = self.run(query)
        return bool(absent), bool(empty)

    def numbered(self, scan: str, columns: Mapping[str, str]) -> str:
        """Copy columns into a temporary table, and number its rows in the order of the data."""
        name = self.fresh("rows")
        chosen = ", ".join(quoted(column) for column in columns)
        with self.in_order():
            self.run(
                f"CREATE TEMP TABLE {name} AS "
                f"SELECT {chosen}, row_number() OVER () AS {ROW} FROM {scan}"
            )
        return name

    def replaced(
        self, relation: str, columns: Mapping[str, str], texts: Mapping[str, NDArray[np.object_]]
    ) -> str:
        """Put texts in the place of some columns of a numbered copy, with the types of these."""
        name = self.fresh("replaced")
        given = self.register({f"c{i}": cells for i, cells in enumerate(texts.values())})
        place = {column: f"c{i}" for i, column in enumerate(texts)}
        chosen = ", ".join(
            f"CAST(nullif(g.{place[column]}, '') AS {kind}) AS {quoted(column)}"
            if column in place
            else f"r.{quoted(column)}"
            for column, kind in columns.items()
        )
        with self.in_order():
            joined = f"{relation} r POSITIONAL JOIN {given} g"
            self.run(f"CREATE TEMP TABLE {name} AS SELECT {chosen} FROM {joined}")
        for done in (relation, given):
            self.drop(done)
        return name

    def drop(self, relation: str) -> None:
        """Forget a temporary table or a frame."""
        if relation.startswith("frame_"):
            self.connection.unregister(relation)
        else:
            self.run(f"DROP TABLE {relation}")

    def spell(self, query: str) -> str:
        """Return a query as it is: ours are in this engine's words."""
        return query

    def repeated(self, relation: str, columns: Sequence[str]) -> str:
        """Return the SQL of columns of a relation, each row `n` times."""
        return f"SELECT {', '.join(columns)} FROM {relation}, generate_series(1, n)"

    def bring(self, query: str) -> tuple[DuckDB, str]:
        """Return the rows of a query as a relation of the embedded engine: where they are."""
        return self, f"({query})"

    def count(self, scan: str, columns: Mapping[str, str]) -> Counted:
        """Count distinct combinations of the texts of columns, given with their types."""
        grouped = self.fresh("grouped")
        chosen = "".join(
            f"{cell_text(c, kind)} AS c{i}, " for i, (c, kind) in enumerate(columns.items())
        )
        self.run(
            f"CREATE TEMP TABLE {grouped} AS SELECT {chosen}count(*) AS n FROM {scan} GROUP BY ALL"
        )
        return encoded(self, grouped, tuple(columns))

    def _attach(self, path: str) -> None:
        """Attach a file to write to it; connections that nothing refers to any more let it go."""
        for attempt in ("first", "last"):
            try:
                self.run(f"ATTACH {quoted_text(path)} AS sfumato_written")
            except duckdb.Error:
                if attempt == "last":
                    raise DataError(
                        f"{path} cannot be opened to write to it; check that it is a DuckDB file "
                        "which may be written, and that no other program or connection has it open."
                    ) from None
                gc.collect()
            else:
                return

    @contextmanager
    def writing(self, path: str) -> Iterator[str]:
        """Attach a database file to write to, under a name of ours.

        A file from which this engine reads is let go meanwhile, as one process has a file either
        way.
        """
        attached = self.run("SELECT database_name, path FROM duckdb_databases()")
        same = [str(n) for n, p in attached if p and Path(str(p)).resolve() == Path(path).resolve()]
        for name in same:
            self.run(f"DETACH {name}")
        self._attach(path)
        try:
            yield "sfumato_written"
        except BaseException:
            self.run("ROLLBACK")
            raise
        finally:
            self.run("DETACH sfumato_written")
            for name in same:
                self.run(f"ATTACH {quoted_text(path)} AS {name} (READ_ONLY)")

    def close(self) -> None:
        """Give back the connection and what it holds."""
        self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()


@cache
def memory_limit() -> str:
    """Return how much memory an engine may hold; what is more goes to its private folder on disk.

    DuckDB would take four fifths of what the machine or container has, as if it were alone there.
    """
    with duckdb.connect() as connection:
        [(stated,)] = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    amount, unit = str(stated).split()
    given = float(amount) * 1024 ** _UNITS.index(unit)
    return f"{max(given / _SHARE_OF_MEMORY, min(given, _LEAST)) / 1024:.0f} KiB"


def encoded(engine: DuckDB, grouped: str, columns: tuple[str, ...]) -> Counted:
    """Replace the texts of a small table by their ranks among the distinct texts, and drop it.

    The table has the texts in `c0`, `c1`, … and how often they occur together in `n`.
    """
    values = []
    chosen = []
    kinds = []
    try:
        for i in range(len(columns)):
            kind = engine.fresh("kind")
            kinds.append(kind)
            engine.run(
                f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT c{i} FROM {grouped} ORDER BY 1)"
            )
            found = engine.run(f"SELECT unnest(enum_range(NULL::{kind}))")
            values.append(tuple(str(row[0]) for row in found))
            chosen.append(f"enum_code(c{i}::{kind})::INTEGER AS c{i}")
        fetched = engine.connection.execute(
            f"SELECT {', '.join([*chosen, 'n'])} FROM {grouped}"
        ).fetchnumpy()
        for kind in kinds:
            engine.run(f"DROP TYPE {kind}")
    finally:
        engine.run(f"DROP TABLE {grouped}")
    codes = [np.asarray(fetched[f"c{i}"], dtype=np.int32) for i in range(len(columns))]
    order = _rising(codes, [len(texts) for texts in values], len(fetched["n"]))
    counts = np.ascontiguousarray(fetched["n"][order], dtype=np.int64)
    return Counted(columns, tuple(column[order] for column in codes), tuple(values), counts)


def _rising(
    codes: Sequence[NDArray[np.int32]], widths: Sequence[int], rows: int
) -> NDArray[np.intp]:
    """Return the order of distinct rows by their codes, the first column first.

    One number per row, where it fits 63 bits, sorts much faster than a row does.
    """
    if math.prod(widths) >= 2**63:
        return np.lexsort(codes[::-1])
    keys = np.zeros(rows, dtype=np.int64)
    for column, width in zip(codes, widths, strict=True):
        keys *= width
        keys += column
    return np.argsort(keys)


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


def plain_text(column: str, kind: str) -> str:
    """Return the SQL of a cell's text that is the same whatever type its column has.

    1.0 is written as 1, and midnight as its day, as :func:`sfumato.data.cells.as_text` writes them.
    Different values have different texts, since people are told apart by them.
    The cast never fails: cells of a dictionary of Parquet are cast before any is ruled out.
    """
    name = quoted(column)
    if kind.startswith("DECIMAL"):
        return f"coalesce({decimal_text(name, kind)}, '')"
    if kind in FLOATS:
        number = f"CAST({name} AS DOUBLE)"
        whole = f"{number} = trunc({number}) AND abs({number}) < 9007199254740992"
        text = (
            f"CASE WHEN isnan({number}) THEN '' WHEN {whole} "
            f"THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"
        )
        return f"coalesce({text}, '')"
    if kind.startswith("TIMESTAMP") and "ZONE" not in kind:
        return f"regexp_replace({cell_text(column, kind)}, ' 00:00:00$', '')"
    return cell_text(column, kind)


def decimal_text(cell: str, kind: str) -> str:
    """Return the SQL of a decimal number's text, 1.50 as 1.5: exactly, not through a double."""
    text = f"CAST({cell} AS VARCHAR)"
    if kind.endswith(",0)"):
        return text
    full = f"regexp_replace({text}, '^(-?)[.]', '\\10.')"  # of no digit before it, .5 is written
    return f"rtrim(rtrim({full}, '0'), '.')"


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


def unread(error: BaseException, source: str) -> str | DataError | None:
    """Say why rows that another engine gave cannot be held here, without the cells quoted."""
    if not isinstance(error, duckdb.Error):
        return None
    if isinstance(error, (duckdb.OutOfMemoryException, duckdb.IOException)):
        return Unavailable(
            f"{source}: there is too little memory or disk space here for the rows brought."
        )
    return (
        f"{source}: rows brought here cannot be read; some column holds what its type does not "
        "allow here, such as a year too far away. Leave it out, or make it text in a view."
    )


def _explanation(error: Any, source: str) -> str | DataError:
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
        return Unavailable(f"{source} needs more memory or temporary disk space than there is.")
    return (
        f"{where} cannot be read as a table; check that it is a CSV or Parquet file that is "
        "whole, with one header line and one record per line."
    )
