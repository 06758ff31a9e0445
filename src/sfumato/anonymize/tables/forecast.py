"""How long a release of a table will take, and how much memory, told before it begins.

What decides is how many distinct lines the released columns have: an algorithm sees these and no
rows. They are counted among the first rows and among twice as many, in the engine that holds them;
the growth between the two is carried on to all rows, and so is the time the engine took. It is a
forecast: rows further down may be more alike or less, and a search ends when it ends. Nothing but
counts leaves the engine, and nothing is written.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.data.tables.table import Table

SAMPLE = 100_000
"""Rows counted first; twice as many are counted next."""

# Fitted to whole commands on 1, 10 and 100 million rows of Parquet (docs/reference/benchmarks.md)
_PASSES = 1.0  # rows are counted, and again to be verified; a row of so small a sample costs double
_SECONDS_PER_LINE = 1e-6  # of searching, recoding and reporting a distinct line, per attribute
_SECONDS_PER_CELL = 4e-8  # of writing a released cell
_START = 2.0  # seconds of any run
_UNSURE = 2.0  # the forecast is given from this part of it to this multiple
_BYTES_PER_CELL, _BYTES_PER_ROW, _BYTES = 60, 8, 330_000_000  # of distinct lines, of rows, of any


@dataclass(frozen=True)
class Forecast:
    """What a release of a table is likely to take."""

    rows: int
    columns: int
    quasi_identifiers: int
    distinct: int
    seconds: float
    memory: int

    @property
    def range(self) -> tuple[float, float]:
        """The seconds it may take, from and to."""
        return self.seconds / _UNSURE, self.seconds * _UNSURE


def forecast(table: Table) -> Forecast:
    """Count some rows, and say what all of them will take."""
    schema = table.schema
    released = [
        name
        for name in table.columns
        if name in schema.attributes and schema.attributes[name].role != "identifier"
    ]
    rows, quasi = table.rows, len(schema.quasi_names)
    few, _ = _distinct(table, released, SAMPLE)
    more, seconds = _distinct(table, released, 2 * SAMPLE)
    seen = min(rows, 2 * SAMPLE)
    distinct = more if rows <= seen else _carried_on(few, more, rows)
    pace = seconds * max(rows / max(seen, 1), 1.0)
    spent = _START + _PASSES * pace + distinct * quasi * _SECONDS_PER_LINE
    spent += rows * len(released) * _SECONDS_PER_CELL
    memory = _BYTES + rows * _BYTES_PER_ROW + distinct * len(released) * _BYTES_PER_CELL
    return Forecast(rows, len(released), quasi, distinct, spent, memory)


def _carried_on(few: int, more: int, rows: int) -> int:
    """Give the distinct lines of all rows where twice as many rows had ``more`` and not ``few``."""
    exponent = min(max(math.log2(more / max(few, 1)), 0.0), 1.0)
    return min(rows, int(more * math.pow(rows / (2 * SAMPLE), exponent)))


def _distinct(table: Table, columns: list[str], rows: int) -> tuple[int, float]:
    """Count the distinct lines of the first rows, and how long the engine took."""
    begun = time.perf_counter()
    return table.distinct(columns, rows), time.perf_counter() - begun
