"""Cells that a spreadsheet would run: what begins like a formula is shown, or given a quote mark.

A text that begins with `=`, `@`, a tab, or a sign that is not of a number, is taken for a formula
by spreadsheets, and may fetch pages or start programs when a release is opened there.
`guard_formulas` puts an apostrophe before it, which spreadsheets do not show. No two different
cells become equal: a cell that already has apostrophes before a formula gets one more.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "^'*([=@\t\r]|[+-]([^0-9.]|$))"
"""A regular expression, for us and for the engine, that matches what begins a formula."""

_FORMULA = re.compile(PATTERN)


def begins_formula(cell: str) -> bool:
    """Whether a cell begins like a formula, guarded or not."""
    return _FORMULA.match(cell) is not None


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet runs."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Return what a guarded cell was."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def guard_formulas(path: Path, delimiter: str) -> int:
    """Guard all cells of a CSV file in place; return how many there were."""
    fresh = path.with_name(f"{path.name}.guarded")
    changed = 0
    with (
        path.open(encoding="utf-8", newline="") as source,
        fresh.open("w", encoding="utf-8", newline="") as target,
    ):
        writer = csv.writer(target, delimiter=delimiter, lineterminator="\n")
        for row in csv.reader(source, delimiter=delimiter):
            cells = [guarded(cell) for cell in row]
            changed += sum(a != b for a, b in zip(cells, row, strict=True))
            writer.writerow(cells)
    fresh.replace(path)
    return changed
