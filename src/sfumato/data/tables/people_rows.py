"""The rows of one person in a file: found, corrected, or left out, the file changed as a whole.

Contract: cells are texts, as they stand in the file. A change is written beside the file and
renamed over it, so a reader sees the old file or the new one. Columns are named by the schema,
values are parameters, and no message of the engine leaves this module.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text, translated
from sfumato.data.wording import its_columns
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_rows(path: str | Path, column: str, person: str) -> list[dict[str, Any]]:
    """Read all rows of a person."""
    names, scan = _scan(Path(path))
    _known(names, [column])
    with translated(str(path)):
        found = DuckDB().connection.execute(
            f"SELECT * FROM {scan} WHERE CAST({quoted(column)} AS VARCHAR) = ?", [person]
        )
        rows = found.fetchall()
    return [
        {name: None if cell is None else str(cell) for name, cell in zip(names, row, strict=True)}
        for row in rows
    ]


def drop_rows(path: str | Path, column: str, person: str) -> int:
    """Leave all rows of a person out; tell how many they were."""
    names, _ = _scan(Path(path))
    _known(names, [column])
    count = len(find_rows(path, column, person))
    cells = ", ".join(quoted(name) for name in names)
    keep = f"{quoted(column)} IS NULL OR CAST({quoted(column)} AS VARCHAR) <> {quoted_text(person)}"
    _rewrite(Path(path), cells, f"WHERE {keep}")
    return count


def correct_rows(path: str | Path, column: str, person: str, right: Mapping[str, str]) -> int:
    """Put right values into all rows of a person; tell how many they were."""
    names, _ = _scan(Path(path))
    _known(names, [column, *right])
    count = len(find_rows(path, column, person))
    hers = f"CAST({quoted(column)} AS VARCHAR) = {quoted_text(person)}"
    cells = ", ".join(
        f"CASE WHEN {hers} THEN {_typed(Path(path), name, right[name])} "
        f"ELSE {quoted(name)} END AS {quoted(name)}"
        if name in right
        else quoted(name)
        for name in names
    )
    _rewrite(Path(path), cells, "")
    return count


def _typed(path: Path, name: str, value: str) -> str:
    """Write a value as what its column holds: text in CSV, the column's type in Parquet."""
    text = quoted_text(value)
    if path.suffix.lower() != ".parquet":
        return text
    with translated(str(path)):
        rows = DuckDB().connection.execute(f"DESCRIBE SELECT * FROM {_scan(path)[1]}").fetchall()
    kind = next(row[1] for row in rows if row[0] == name)
    return f"CAST({text} AS {kind})"


def _scan(path: Path) -> tuple[list[str], str]:
    where = quoted_text(str(path))
    parquet = path.suffix.lower() == ".parquet"
    scan = f"read_parquet({where})" if parquet else (
        f"read_csv({where}, all_varchar = true, header = true)"
    )  # fmt: skip
    with translated(str(path)):
        rows = DuckDB().connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()
    return [row[0] for row in rows], scan


def _known(names: list[str], wanted: list[str]) -> None:
    strange = [name for name in wanted if name not in names]
    if strange:
        raise DataError(f"The file has no column {strange[0]!r}; {its_columns(names, strange[0])}")


def _rewrite(path: Path, cells: str, condition: str) -> None:
    _, scan = _scan(path)
    beside = path.with_name(f".{path.name}.new")
    form = "(FORMAT parquet)" if path.suffix.lower() == ".parquet" else _csv_form(path)
    try:
        with translated(str(path)):
            target = quoted_text(str(beside))
            DuckDB().run(f"COPY (SELECT {cells} FROM {scan} {condition}) TO {target} {form}")
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _csv_form(path: Path) -> str:
    """Write a CSV file with the delimiter and quotes that it had."""
    with translated(str(path)):
        delimiter, quote = (
            DuckDB()
            .connection.execute(
                "SELECT Delimiter, Quote FROM sniff_csv(?, all_varchar = true, header = true)",
                [str(path)],
            )
            .fetchall()[0]
        )
    kept = quote if isinstance(quote, str) and len(quote) == 1 else '"'
    return (
        f"(HEADER, FORMAT csv, DELIMITER {quoted_text(delimiter)}, QUOTE {quoted_text(kept)}, "
        f"ESCAPE {quoted_text(kept)})"
    )
