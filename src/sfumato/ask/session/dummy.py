"""Dummy rows: made from public facts alone, to rehearse on.

Contract: a row is drawn from the names and kinds of columns, their registered bounds and their
public values, and from nothing else: no row of the data is read, so nothing is spent, and the
rows look the same whatever the data are.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.days import date_of
from sfumato.dp.noise.stream import stream

if TYPE_CHECKING:
    from sfumato.ask.language.language import Column, TableFacts

_WORDS = ("alpha", "beta", "gamma", "delta")


def dummy_rows(facts: TableFacts, count: int) -> tuple[list[str], list[list[Any]]]:
    """Make so many rows of a table; give the names of its columns, and the rows."""
    known = dict(facts.domains)
    names = [column.name for column in facts.columns]
    cells = [_cells(column, known.get(column.name), count) for column in facts.columns]
    return names, [list(row) for row in zip(*cells, strict=True)]


def _cells(column: Column, values: Any, count: int) -> list[Any]:
    draws = [int(word) for word in stream().uint64(count)]
    if values:
        return [_plain(values[draw % len(values)]) for draw in draws]
    low, high = (0, 100) if column.bounds is None else column.bounds
    part = [(draw >> 11) / (1 << 53) for draw in draws]
    if column.kind == "integer":
        return [int(low + (high - low) * share) for share in part]
    if column.kind == "date":
        return [date_of(float(low + (high - low) * share)).isoformat() for share in part]
    if column.kind == "boolean":
        return [draw % 2 == 1 for draw in draws]
    if column.kind == "text":
        return [f"{_WORDS[draw % 4]}-{draw % 100}" for draw in draws]
    return [round(float(low + (high - low) * share), 6) for share in part]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
