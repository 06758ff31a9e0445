"""Texts that differ for a machine and not for a reader, and the other way round.

* Sensitive values that agree once capitals, accents' way of writing, spaces and invisible
  characters are taken away (`hiv`, `HIV`, `hiv ` and `hiv` with a zero-width space) are one value
  to whoever reads them. The promise is held against the values taken together, too.
* Cells that are counted as one text although a stranger can tell them apart in the file: NULL, NaN
  and the empty text in a Parquet file or a frame; a quoted and an unquoted cell, or two ways of
  ending lines, in a CSV file. Whoever can tell them apart has smaller classes than were counted.
"""

# SQL here is built from names that `quoted` quotes.

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.verification.checks import check_part
from sfumato.audit.verification.findings import FileFinding
from sfumato.data.engines.duckdb import FLOATS
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.wording import listed, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.tables.table import Table
    from sfumato.released.evidence import Evidence, Spread
    from sfumato.released.population import PopulationCounts


# -- values that are one to a reader ---------------------------------------------------


def fold(text: str) -> str:
    """Return what a reader takes a text for."""
    plain = unicodedata.normalize("NFKC", text)
    seen = "".join(c for c in plain if unicodedata.category(c) not in {"Cf", "Cc"} or c in "\t\n")
    return unicodedata.normalize("NFKC", " ".join(seen.casefold().split()))


def look_at_values(
    evidence: Evidence, parts: Sequence[Definition], population: PopulationCounts | None
) -> list[FileFinding]:
    """Find sensitive values that are one to a reader; serious where a promise then breaks."""
    found = []
    for name, spread in evidence.sensitive.items():
        together = _folded(spread, evidence)
        if together is None:
            continue
        alike = len(spread.values) - len(together.values)
        seen = replace(evidence, sensitive={**evidence.sensitive, name: together})
        about = [part for part in parts if name in part.sensitive]
        broken = [part for part in about if not check_part(part, seen, population).holds]
        text = (
            f"{some(alike, 'value')} of '{name}' differ(s) from another one only in capitals, "
            "spaces or invisible characters, and counts as a value of its own"
        )
        if broken:
            text += f"; taken as one, {listed([str(part) for part in broken])} does not hold"
        found.append(FileFinding("alike", name, f"{text}.", serious=bool(broken)))
    return found


def _folded(spread: Spread, evidence: Evidence) -> Spread | None:
    """Return the spread of values as a reader takes them; None where that changes nothing."""
    first: dict[str, int] = {}
    place = [first.setdefault(fold(value), i) for i, value in enumerate(spread.values)]
    if len(first) == len(spread.values):
        return None
    kept = sorted(first.values())
    number = {old: new for new, old in enumerate(kept)}
    of = np.array([number[i] for i in place], dtype=np.int64)
    key, index = np.unique(spread.class_ * len(kept) + of[spread.value], return_inverse=True)
    count = np.bincount(index.reshape(-1), weights=spread.count).astype(np.int64)
    class_ = key // len(kept)
    count = np.minimum(count, evidence.sizes[class_])  # nobody counts twice for one value
    sizes = np.bincount(class_, weights=count, minlength=len(spread.sizes)).astype(np.int64)
    values = tuple(spread.values[i] for i in kept)
    return replace(
        spread, class_=class_, value=key % len(kept), count=count, values=values, sizes=sizes
    )


# -- cells that a stranger can tell apart ----------------------------------------------


def look_at_cells(evidence: Evidence, table: Table) -> list[FileFinding]:
    """Find cells that were counted as equal and are not for whoever opens the file."""
    if table.kind == "csv":
        return _csv_cells(Path(table.source), table) if Path(table.source).is_file() else []
    return _missing_cells(evidence, table)


def _missing_cells(evidence: Evidence, table: Table) -> list[FileFinding]:
    """Find columns in which missing cells are written in two ways.

    Only columns in which a missing cell was counted are looked at again: each look is a scan.
    """
    found = []
    for name, texts in evidence.texts.items():
        kind = table.types[name]
        if (kind != "VARCHAR" and kind not in FLOATS) or MISSING not in texts:
            continue
        words = "NULL and NaN" if kind in FLOATS else "NULL and the empty text"
        if all(table.ways_missing(name)):
            text = (
                f"Column '{name}' has missing cells of two kinds, {words}, which count as one "
                "value here and can be told apart in the file; write them in one way."
            )
            found.append(FileFinding("two kinds of missing", name, text))
    return found


def _csv_cells(path: Path, table: Table) -> list[FileFinding]:
    """Find cells written in two ways, and lines that end in two ways."""
    content = path.read_bytes()
    ends = content.count(b"\n"), content.count(b"\r\n")
    needless = b'"' in content and _needless(table.delimiter).search(content) is not None
    if not needless and (ends[1] == 0 or ends[0] == ends[1]):
        return []
    columns, mixed = _ways(content.decode("utf-8", errors="replace"), table)
    found = [
        FileFinding(
            "quoted in two ways",
            name,
            f"Column '{name}' shows the same text with and without quotation marks, which count "
            "as one value here and can be told apart in the file; write them in one way.",
        )
        for name in columns
    ]
    if mixed:
        text = (
            "Lines of the file end in two ways (CRLF and LF), which tells some records from "
            "others; end all lines alike."
        )
        found.append(FileFinding("line ends", "", text))
    return found


def _needless(delimiter: str) -> re.Pattern[bytes]:
    """Match a quoted cell that needs no quotation marks."""
    mark = re.escape(delimiter.encode())
    return re.compile(rb'"[^"\r\n' + mark + rb']*"(?=[\r\n' + mark + rb"]|$)")


def _ways(text: str, table: Table) -> tuple[list[str], bool]:
    """Return the columns with a text in two ways, and whether lines end in two ways.

    The header counts neither way: it is no record.
    """
    mark = re.escape(table.delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{mark}\r\n]*)({mark}|\r\n|\n|\r|$)')
    ways: list[dict[str, int]] = [{} for _ in table.columns]
    ends: set[str] = set()
    at = column = line = 0
    while at < len(text):
        match = cell.match(text, at)
        if match is None:
            break
        body, end = match.groups()
        if line and column < len(ways):
            quote = body.startswith('"')
            plain = body[1:-1].replace('""', '"') if quote else body
            ways[column][plain] = ways[column].get(plain, 0) | (2 if quote else 1)
        column += 1
        if end != table.delimiter:
            ends |= {end} if end and line else set()
            column, line = 0, line + 1
        at = match.end()
    names = [n for n, seen in zip(table.columns, ways, strict=True) if 3 in seen.values()]
    return names, len(ends) > 1
