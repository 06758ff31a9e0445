"""The ledger as a file for others: JSON, one object per entry, or CSV, one line per entry.

Contract: entries only, never answers, and no salt: with it, rows could be tried out against the
fingerprints of entries. The JSON holds all that is needed to recompute the chain
with any other program. The file appears whole, by a rename.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import OutputError, ParameterError
from sfumato.govern.ledger.chain import Entry, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(entries: Sequence[Entry], path: str | Path, format: str) -> None:  # noqa: A002 - as in Ledger.export
    """Write entries to a file."""
    if format not in {"json", "csv"}:
        raise ParameterError(f"A ledger is exported as json or csv, and {format!r} was given.")
    text = as_json(entries) if format == "json" else as_csv(entries)
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).replace(target)
    except OSError:
        raise OutputError(f"The file {target} cannot be written.") from None


def as_json(entries: Sequence[Entry]) -> str:
    """Write entries as a JSON array, one per line."""
    lines = ",\n".join(json.dumps(asdict(entry), ensure_ascii=False) for entry in entries)
    return f"[\n{lines}\n]\n" if entries else "[]\n"


def as_csv(entries: Sequence[Entry]) -> str:
    """Write entries as CSV; a cell that a spreadsheet would compute is quoted by an apostrophe."""
    names = [column.name for column in fields(Entry)]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    for entry in entries:
        writer.writerow([_cell(getattr(entry, name)) for name in names])
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, tuple)):
        return canonical(value)
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
