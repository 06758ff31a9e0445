"""Bring data in: files and frames become a `Table`; nothing is loaded yet.

CSV cells are kept as the text they are, so that nothing is changed by guessing a type
(the code 01234 stays 01234). Delimiter and encoding are found out from the file: UTF-8,
or UTF-16 when it says so; any other encoding cannot be known and has to be given.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import numpy as np

from sfumato.data.cells import as_text, is_missing
from sfumato.data.engines.addresses import is_database
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text, translated
from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.schema import Schema
from sfumato.data.tables.cell_types import sql_types
from sfumato.data.tables.databases import open_database
from sfumato.data.tables.packed_files import (
    PIPE,
    SHEETS,
    compression,
    from_pipe,
    head_of,
    opened,
    several,
    sheet_as_csv,
    title_of,
)
from sfumato.data.tables.table import Table
from sfumato.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.tables.table import Kind

csv.field_size_limit(1 << 27)

DELIMITERS = ",;\t|"
HEAD = 1 << 20
"""Bytes looked at to find out the delimiter and the header."""
_HELD = {str, bool, int, float, date, datetime, time, timedelta, Decimal, UUID, bytes, dict}
"""What the engine has a type for, where all cells are of it."""
_SCALARS = {np.bool_, np.int32, np.int64, np.float32, np.float64, np.datetime64, np.str_}
_DIGITS, _BITS = 15, 126
"""Columns of longer decimals or whole numbers are read as texts."""
FIRST = 1 << 14
"""How much of that is looked at where it is enough."""


def read(
    source: Any,
    *,
    schema: str | Path | Schema | None = None,
    name: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Table:
    """Return a table over a file, a frame, a mapping of columns, or a database.

    Files are CSV, also compressed (.csv.gz, .csv.zst), Parquet or Excel; `-` reads CSV from a pipe;
    a pattern such as `data/*.csv`, or a list of files with the same columns, is one table.
    A table of a database stays there: `postgresql://…/database?table=people`, a Spark data frame,
    `spark:people` for a table of the running Spark session, `clinic.duckdb::people`.

    `schema` may be a `Schema` or the path of a YAML file. A release of a CSV file comes back as
    a frame whose columns have the types their cells look like; `types` overrides this per
    column with "text", "integer", "number" or "date". Frames are pandas, Polars, Arrow
    or anything that offers the Arrow C stream.
    """
    if isinstance(source, Table):
        return source if schema is None else source.with_schema(_schema(schema))
    if is_database(source):
        table = open_database(source, name)
        _check_names(table.columns, table.source)
        return _checked(table if schema is None else table.with_schema(_schema(schema)))
    engine = DuckDB()
    files = several(source) if isinstance(source, str | Path | list | tuple) else None
    if files is not None or isinstance(source, str | Path):
        table = _read_files(engine, files or [Path(source)], name, delimiter, encoding)
        table = replace(table, declared=sql_types(types or {}, table.columns, table.source))
    else:
        table = _read_frame(engine, source, name or "table")
    return table if schema is None else table.with_schema(_schema(schema))


def _schema(schema: str | Path | Schema) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.read(schema)


# -- files -----------------------------------------------------------------------------


def _read_files(
    engine: DuckDB, paths: list[Path], name: str | None, delimiter: str | None, encoding: str | None
) -> Table:
    """Read files of the same columns as one table; the first says how it is released."""
    parts = [_read_file(engine, path, name, delimiter, encoding) for path in paths]
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts[1:]:
        if set(part.columns) != set(first.columns) or part.kind != first.kind:
            raise DataError(
                f"{part.source} has not the columns of {first.source}; files that are read as one "
                "table have the same columns, in any order, and are written alike."
            )
    chosen = ", ".join(quoted(column) for column in first.columns)
    scans = " UNION ALL ".join(f"SELECT {chosen} FROM {part.scan}" for part in parts)
    source = f"{first.source} and {len(parts) - 1:,} more"
    return replace(first, scan=f"({scans})", source=source)


def _read_file(
    engine: DuckDB, path: Path, name: str | None, delimiter: str | None, encoding: str | None
) -> Table:
    if path == PIPE:
        kept = from_pipe(engine.folder)
        table = _read_csv(engine, kept, name or title_of(path), delimiter, encoding)
        return replace(table, source="standard input")
    parquet = path.suffix.lower() in {".parquet", ".pq"}
    parts = parquet and path.is_dir()
    if not path.is_file() and not parts:
        raise DataError(f"{path} is not a file; give the path of a CSV, Parquet or Excel file.")
    title = name or title_of(path)
    if path.suffix.lower() in SHEETS:
        sheet = _read_csv(engine, sheet_as_csv(path, engine.folder), title, ",", None)
        return replace(sheet, source=str(path))
    if parquet:
        files = str(path / "*.parquet" if parts else path)
        scan = f"read_parquet({quoted_text(files)})"
        with translated(str(path)):
            types = engine.types(scan)
        return _checked(Table(engine, title, str(path), "parquet", scan, types))
    return _read_csv(engine, path, title, delimiter, encoding)


def _read_csv(
    engine: DuckDB, path: Path, title: str, delimiter: str | None, encoding: str | None
) -> Table:
    head = head_of(engine, path, HEAD)
    if not head.strip():
        raise DataError(f"{path} is empty; a header line and at least one record are needed.")
    declared = encoding or _announced(head) or _mixed_lines(head)
    readable = path
    if declared and (_mixed_lines(head) or _known(declared) not in {"utf-8", "utf-8-sig"}):
        readable = _as_utf8(path, declared, engine.folder)
        with readable.open("rb") as file:
            head = file.read(HEAD)
    _refuse_cut_header(head, path)
    text = _decoded(head, path)
    if text.lstrip()[:1] in {"{", "["}:
        raise DataError(
            f"{path} looks like JSON, and a table is read from CSV or Parquet; write it as one of "
            "them, with a line of column names, first."
        )
    mark = delimiter or _delimiter(text)
    if len(mark) != 1:
        raise DataError(f"The delimiter must be a single character, not {mark!r}.")
    columns = _header(text, mark, path)
    kinds = "{" + ", ".join(f"{quoted_text(column)}: 'VARCHAR'" for column in columns) + "}"
    packed = compression(readable)
    how = f", compression='{packed}'" if packed else ""
    scan = (
        f"read_csv({quoted_text(str(readable))}, delim={quoted_text(mark)}, header=true, "
        f"quote='\"', escape='\"', auto_detect=false, columns={kinds}{how})"
    )
    types = dict.fromkeys(columns, "VARCHAR")
    return _checked(Table(engine, title, str(path), "csv", scan, types, delimiter=mark))


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise DataError(
            f"The encoding '{encoding}' is unknown; common ones are utf-8, latin-1, cp1252, utf-16."
        ) from None


def _announced(head: bytes) -> str | None:
    """Return the encoding a byte-order mark announces."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return None


def _mixed_lines(head: bytes) -> str | None:
    """Return UTF-8 if lines end in two ways, which the engine does not read."""
    pairs = head.count(b"\r\n")
    return "utf-8-sig" if 0 < pairs < head.count(b"\n") else None


def _as_utf8(path: Path, encoding: str, folder: Path) -> Path:
    """Copy a file to one the engine reads, in a folder that goes when the engine goes."""
    target = folder / f"utf8-{len(list(folder.iterdir()))}.csv"
    wrong = f"{path} is not valid {encoding}; give the encoding it was written in."
    with (
        nothing_quoted(lambda error: wrong if isinstance(error, UnicodeError) else None),
        io.TextIOWrapper(opened(path), encoding=encoding, newline=None) as source,
        target.open("w", encoding="utf-8", newline="") as copy,
    ):
        while block := source.read(HEAD):
            copy.write(block)
    return target


def _decoded(head: bytes, path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def said(error: BaseException) -> str | None:
        if not isinstance(error, UnicodeDecodeError):
            return None
        line = head[: error.start].count(b"\n") + 1
        return (
            f"{path}, line {line}: the bytes are not valid UTF-8. Say which encoding the file has, "
            "for instance --encoding latin-1."
        )

    with nothing_quoted(said):
        return decoder.decode(head)


def _delimiter(text: str) -> str:
    """Return the candidate that splits the header, most evenly with the next lines."""
    lines = text[:FIRST].splitlines()[:50]
    if len(lines) < 50:  # long ones
        lines = text.splitlines()[:50]

    def widths(mark: str) -> list[int]:
        return [len(row) for row in csv.reader(lines, delimiter=mark) if row]

    def rank(mark: str) -> tuple[bool, float, int]:
        found = widths(mark)
        if not found or found[0] < 2:
            return (False, 0.0, 0)
        return (True, sum(w == found[0] for w in found) / len(found), found[0])

    return max(DELIMITERS, key=rank)


def _header(text: str, delimiter: str, path: Path) -> list[str]:
    columns = _first_row(text, delimiter)
    for number, column in enumerate(columns, start=1):
        if not column.strip():
            raise DataError(f"{path}, line 1: column {number} has no name; give it one.")
    _check_header(columns, path)
    return columns


def _refuse_cut_header(head: bytes, path: Path) -> None:
    """Refuse a first line that is longer than what is looked at: its end would be cut off."""
    if len(head) == HEAD and b"\n" not in head and b"\r" not in head:
        raise DataError(
            f"{path}, line 1: the first line does not end within {HEAD >> 20} MiB, so it is no "
            "line of column names; is this a table with one record per line?"
        )


def _first_row(text: str, delimiter: str) -> list[str]:
    """Read the first row; of its beginning alone where a second row begins there, too."""
    for part in (text[:FIRST], text):
        rows = list(islice(csv.reader(io.StringIO(part, newline=""), delimiter=delimiter), 2))
        if len(rows) > 1 or len(part) == len(text):
            return rows[0] if rows else []
    return []


def _check_header(columns: Sequence[str], path: Path) -> None:
    """Refuse names that stand twice, by their places: without a header they would be cells."""
    places: dict[str, list[int]] = {}
    for number, column in enumerate(columns, start=1):
        places.setdefault(column.casefold(), []).append(number)
    repeated = [numbers for numbers in places.values() if len(numbers) > 1]
    if repeated:
        raise DataError(
            f"{path}, line 1: columns {' and '.join(map(str, repeated[0][:3]))} have the same name "
            "(capitals do not count); every column needs a name of its own, in a first line."
        )


def _check_names(columns: Sequence[str], source: str) -> None:
    """Refuse names that SQL cannot tell apart: it does not look at capitals."""
    seen = Counter(column.casefold() for column in columns)
    repeated = [column for column in columns if seen[column.casefold()] > 1]
    if repeated:
        raise DataError(
            f"{source}: {', '.join(dict.fromkeys(repeated))} names more than one column (capitals "
            "do not count); every column needs a name of its own."
        )


# -- frames ----------------------------------------------------------------------------


class _Stream:
    """Hands over a frame's Arrow C stream, so that the engine needs no frame library."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._frame.__arrow_c_stream__(requested_schema)


def _read_frame(engine: DuckDB, source: Any, title: str) -> Table:
    kind = _kind(source)
    if kind == "columns":
        frame: Any = {name: _array(name, column) for name, column in source.items()}
        _check_lengths(frame)
        _check_names(list(frame), "The table given")
    else:
        if kind == "polars" and hasattr(source, "collect"):
            source = source.collect()
        names = getattr(source, "column_names", None) or getattr(source, "columns", [])
        _check_names([str(name) for name in names], "The table given")
        frame = _evenly_typed(source) if kind == "pandas" else _Stream(_without_objects(source))
    with translated("the table given"):
        scan = _registered(engine, frame)
        if kind == "arrow" and not hasattr(source, "num_rows"):
            scan = _copied(engine, scan)
        types = engine.types(scan)
    return _checked(Table(engine, title, "the table given", kind, scan, types))


def _registered(engine: DuckDB, frame: Any) -> str:
    """Register a frame; of one that is stored backwards, which the engine cannot read, a copy."""
    try:
        return engine.register(frame)
    except duckdb.Error:
        if not hasattr(frame, "iloc"):
            raise
    return engine.register(frame.copy())


def _copied(engine: DuckDB, scan: str) -> str:
    """Keep a stream that can be read only once."""
    name = engine.fresh("stream")
    engine.run(f"CREATE TEMP TABLE {name} AS SELECT * FROM {scan}")
    return name


def _kind(source: Any) -> Kind:
    for kind, module, names in (
        ("pandas", "pandas", ("DataFrame",)),
        ("polars", "polars", ("DataFrame", "LazyFrame")),
    ):
        library = sys.modules.get(module)
        if library is not None and isinstance(source, tuple(getattr(library, n) for n in names)):
            return "polars" if kind == "polars" else "pandas"
    if hasattr(source, "__arrow_c_stream__"):
        return "arrow"
    if isinstance(source, Mapping):
        return "columns"
    raise DataError(
        f"A {type(source).__name__} cannot be read; give the path of a CSV or Parquet file, a "
        "pandas, Polars or Arrow table, or a mapping of column names to lists."
    )


def _array(name: str, column: Any) -> Any:
    array = _cells(column)
    if array.ndim != 1:
        raise DataError(
            f"The column {name!r} of the table given is no list of cells; a mapping has a list for "
            "every column. Records, one mapping each, become a table by pandas.DataFrame(records)."
        )
    array = np.ascontiguousarray(array)  # the engine reads no array that is stored backwards
    return array.astype(object) if array.dtype.kind in "US" else array


def _cells(column: Any) -> NDArray[Any]:
    """Make an array of a column; of cells of several types, their texts, each cell by itself.

    The engine has one type for a column, and would fail, or change all cells, because of one.
    """
    if _holds_lists(column):
        return np.asarray(_lists(column))
    if not isinstance(column, list | tuple):
        array = np.asarray(column)
        return _cells(array.tolist()) if array.dtype.kind in "Oc" and array.ndim == 1 else array
    kinds = set(map(type, column))
    if kinds and kinds <= {list, tuple, dict, np.ndarray}:
        return np.asarray(column)  # rows of a matrix, or records, which are refused
    alike = _is_alike(column)
    if kinds <= {int, float} or (alike and len(kinds) == 1 and kinds <= _SCALARS):
        array = np.asarray(column)
        if array.dtype.kind != "O":
            return array
    array = np.empty(len(column), dtype=object)
    array[:] = [_cell(cell, alike=alike) for cell in column]
    return array


def _cell(cell: Any, *, alike: bool) -> Any:
    if type(cell) is str:
        return cell if _is_utf8(cell) else None
    if alike:
        return None if is_missing(cell) else cell
    return as_text(cell) or None


def _is_utf8(text: str) -> bool:
    """Tell whether a text can be written: one with half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_alike(cells: Sequence[Any]) -> bool:
    """Tell whether the engine has a type that holds all cells, missing ones aside, as they are."""
    kinds = {type(cell) for cell in cells if not is_missing(cell)}
    if kinds == {Decimal}:
        return all(abs(cell.adjusted()) < _DIGITS for cell in cells if not is_missing(cell))
    if kinds and issubclass(next(iter(kinds)), datetime):
        zones = {getattr(cell, "tzinfo", None) for cell in cells if not is_missing(cell)}
        return len(kinds) == 1 and zones == {None}
    if str in kinds and not all(type(cell) is not str or _is_utf8(cell) for cell in cells):
        return False
    if int in kinds and any(type(cell) is int and cell.bit_length() > _BITS for cell in cells):
        return False
    return kinds <= {int, float} or (len(kinds) == 1 and kinds <= _HELD)


def _evenly_typed(frame: Any) -> Any:
    """Replace the columns of a pandas frame whose cells have several types by their texts."""
    changed = frame
    for place, dtype in enumerate(frame.dtypes):
        kind = getattr(getattr(dtype, "categories", frame.iloc[:, place]), "dtype", dtype)
        if getattr(kind, "kind", "") not in {"O", "c"}:
            continue
        cells = frame.iloc[:, place].tolist()
        held = _is_alike(cells) and not any(
            type(cell) is Decimal and cell.is_nan() for cell in cells
        )
        if not held and not _holds_lists(cells):
            changed = frame.copy(deep=False) if changed is frame else changed
            changed.isetitem(place, _cells(cells))
    return changed


def _without_objects(frame: Any) -> Any:
    """Replace columns that a stream of Arrow cannot carry by their texts."""
    schema = getattr(frame, "schema", None)
    for name, kind in schema.items() if isinstance(schema, Mapping) else ():
        if str(kind) in {"Object", "Int128", "UInt128"}:
            texts = [as_text(cell) or None for cell in frame[name].to_list()]
            frame = frame.with_columns(sys.modules["polars"].Series(name, texts, dtype=str))
    return frame


def _holds_lists(column: Any) -> bool:
    """Tell whether cells are lists of texts, missing ones aside: cells of sets."""
    if not isinstance(column, list | tuple):
        return False
    told = [cell for cell in column if cell is not None]
    return bool(told) and all(
        isinstance(cell, list | tuple) and all(isinstance(item, str) for item in cell)
        for cell in told
    )


def _lists(column: Any) -> Any:
    """Return an array of lists, which NumPy would otherwise take for rows of a matrix."""
    array = np.empty(len(column), dtype=object)
    for place, cell in enumerate(column):
        array[place] = cell if cell is None else list(cell)
    return array


def _check_lengths(columns: Mapping[str, Any]) -> None:
    if len({len(column) for column in columns.values()}) > 1:
        raise DataError("The columns given have different lengths; all need one cell per record.")


def _checked(table: Table) -> Table:
    if not table.types:
        raise DataError(f"{table.source} has no columns.")
    return table
