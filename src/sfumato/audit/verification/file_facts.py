"""What a released file tells beside its cells: metadata, and the order of its rows."""

# SQL here is built from texts that `quoted_text` quotes.
# ruff: noqa: S608

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.audit.verification.findings import FileFinding
from sfumato.data.engines.duckdb import quoted_text
from sfumato.data.formulas import PATTERN, begins_formula
from sfumato.data.wording import listed, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sfumato.data.tables.table import Table

SPARK_KEY = "org.apache.spark.sql.parquet.row.metadata"
KNOWN_KEYS = frozenset({"ARROW:schema", "pandas", SPARK_KEY, "org.apache.spark.version"})
"""Keys that libraries write to find types again; what pandas and Spark write is looked into."""

PANDAS_KEYS = frozenset(
    {"index_columns", "column_indexes", "columns", "attributes", "creator", "pandas_version"}
)


def look_at_file(
    table: Table, *, kept_order: bool, known: Mapping[str, Iterable[str]] | None = None
) -> list[FileFinding]:
    """Return what the file tells beside its cells; `known` has the texts of columns seen before."""
    found = []
    if kept_order:
        text = (
            "The rows stand in the order of the original data (order='keep'): whoever knows that "
            "order knows whose each row is."
        )
        found.append(FileFinding("order", "", text, serious=False))
    if table.kind == "csv":
        found += _formulas(table, known or {})
    if table.kind == "parquet" and Path(table.source).exists():
        found += _metadata(table)
    return found


def _formulas(table: Table, known: Mapping[str, Iterable[str]]) -> list[FileFinding]:
    """Tell of cells that a spreadsheet would run.

    Columns of which no text is run need no count, and where there is no other, no second reading.
    """
    harmless = {name for name, texts in known.items() if not any(map(begins_formula, texts))}
    asked = [name for name in table.columns if name not in harmless]
    if not asked:
        return []
    cells = [f"count(*) FILTER ({_runs(table.text(name))})" for name in asked]
    [counts] = table.run(f"SELECT {', '.join(cells)} FROM {table.scan}")
    columns = [name for name, count in zip(asked, counts, strict=True) if count]
    if not columns:
        return []
    text = (
        f"{some(sum(counts), 'cell')} of {listed(columns)} begin(s) like a formula, which a "
        "spreadsheet would run; save the release with formulas='guard' (--guard-formulas)."
    )
    return [FileFinding("formula", columns[0], text, serious=False)]


def _runs(text: str) -> str:
    """Return the SQL condition for a cell that is run; a quote mark before it prevents that."""
    return f"NOT starts_with({text}, chr(39)) AND regexp_matches({text}, {quoted_text(PATTERN)})"


def _metadata(table: Table) -> list[FileFinding]:
    """Find metadata of a Parquet file that nobody has checked."""
    place = Path(table.source)
    files = str(place / "*.parquet" if place.is_dir() else place)
    rows = table.run(f"SELECT key, value FROM parquet_kv_metadata({quoted_text(files)})")
    strange = []
    for key, value in rows:
        name = _text(key)
        looked_into = {"pandas": _is_plain, SPARK_KEY: _is_plain_in_spark}.get(name)
        if name not in KNOWN_KEYS or (looked_into and not looked_into(_text(value), table)):
            strange.append(name)
    if not strange:
        return []
    text = (
        f"The file carries metadata that are no cells and that nothing here protects, under the "
        f"key(s) {listed(sorted(set(strange)))}; write the file without them."
    )
    return [FileFinding("metadata", "", text)]


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _is_plain(value: str, table: Table) -> bool:
    """Tell whether what pandas wrote names columns and types and carries nothing else."""
    try:
        facts = json.loads(value)
    except ValueError:
        return False
    if not isinstance(facts, dict) or set(facts) - PANDAS_KEYS or facts.get("attributes"):
        return False
    named = [column.get("name") for column in facts.get("columns", [])]
    return all(name is None or name in table.columns for name in named)


def _is_plain_in_spark(value: str, table: Table) -> bool:
    """Tell whether what Spark wrote names columns and types and carries nothing else."""
    try:
        facts = json.loads(value)
    except ValueError:
        return False
    if not isinstance(facts, dict) or set(facts) - {"type", "fields"}:
        return False
    fields = facts.get("fields", [])
    known = {"name", "type", "nullable", "metadata"}
    return all(
        not set(field) - known and not field.get("metadata") and field.get("name") in table.columns
        for field in fields
    )
