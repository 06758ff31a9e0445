"""Files that hold a table without being a plain CSV file: compressed, a sheet, a pipe, several.

Contract: what is unpacked lies in the private folder of an engine and goes with it. Compressed
files are read by the engine as they are; only their head is looked at here. No message quotes a
cell.
"""

from __future__ import annotations

import csv
import datetime as dt
import glob
import gzip
import shutil
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from sfumato.data.engines.duckdb import quoted_text, translated
from sfumato.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.data.engines.duckdb import DuckDB

PIPE = Path("-")
SHEETS = frozenset({".xlsx", ".xlsm"})
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_LINES = 2000  # of a file that only the engine can unpack, to find out how it is written


def compression(path: Path) -> str | None:
    """Tell how a file is compressed, by its ending."""
    return COMPRESSED.get(path.suffix.lower())


def title_of(path: Path) -> str:
    """Name a table after its file, without endings that say how it is packed."""
    if path == PIPE:
        return "table"
    return Path(path.stem).stem if compression(path) else path.stem


def several(source: Any) -> list[Path] | None:
    """Return the files of a list or of a pattern such as data/*.csv; None for one file."""
    if isinstance(source, list | tuple):
        found = [Path(part) for part in source]
    elif any(sign in str(source) for sign in "*?[") and not Path(source).exists():
        found = sorted(Path(name) for name in glob.glob(str(source), recursive=True))  # noqa: PTH207 - a pattern may be absolute
    else:
        return None
    if not found and "://" in str(source):
        scheme = str(source).partition("://")[0]
        raise DataError(
            f"Nothing is read from an address that begins with {scheme}://; a table of Postgres is "
            "postgresql://user@host/database?table=schema.table, without a driver in its name."
        )
    if not found:
        raise DataError(f"No file fits {source}; give files of one table, all with its header.")
    return found


def from_pipe(folder: Path) -> Path:
    """Keep what comes through standard input, which can be read once only."""
    target = folder / "standard-input.csv"
    with target.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return target


def head_of(engine: DuckDB, path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    how = compression(path)
    try:
        if how == "zstd":
            return _lines(engine, path)[:size]
        with opened(path) as file:
            return file.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"{path} is no whole gzip file; fetch or compress it again.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None


def opened(path: Path) -> BinaryIO:
    """Open a file that Python can unpack."""
    if compression(path) == "zstd":
        raise DataError(
            f"{path}: a .zst file has to be UTF-8 with lines that all end alike; unpack it first."
        )
    found: Any = gzip.GzipFile(path, "rb") if compression(path) else path.open("rb")
    return cast("BinaryIO", found)


def _lines(engine: DuckDB, path: Path) -> bytes:
    query = (
        f"SELECT line FROM read_csv({quoted_text(str(path))}, auto_detect=false, header=false, "
        "compression='zstd', delim='\x01', quote='', escape='', columns={'line': 'VARCHAR'}) "
        f"LIMIT {_LINES}"
    )
    with translated(str(path)):
        rows = engine.run(query)
    return "".join(f"{row[0] or ''}\n" for row in rows).encode("utf-8")


def sheet_as_csv(path: Path, folder: Path) -> Path:
    """Write the first sheet of a workbook as CSV, its cells as they are, formulas as results."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("openpyxl", "excel", "Reading Excel files") from None
    target = folder / f"{path.stem}.csv"
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        with target.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(_rows(sheet.iter_rows(values_only=True)))
        book.close()
    except Exception:  # noqa: BLE001 - whatever it says may quote a cell
        raise DataError(
            f"{path} cannot be read as a workbook (.xlsx) whose first sheet is a table; save that "
            "sheet as CSV."
        ) from None
    return target


def _rows(rows: Iterator[Sequence[Any]]) -> Iterator[list[str]]:
    """Give the rows as wide as the header; rows without any cell are left out."""
    width = 0
    for row in rows:
        cells = [_text(cell) for cell in row]
        if not any(cells):
            continue
        if not width:
            width = max(place for place, cell in enumerate(cells, start=1) if cell)
        yield cells[:width]


def _text(cell: Any) -> str:
    """Write a cell as text; whole numbers and whole days without what a workbook adds to them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        return str(cell.date()) if cell.time() == dt.time() else cell.isoformat(sep=" ")
    return str(cell)
