"""What can be counted about a column without looking at anybody: its facts.

Counted in the engine in one pass, so that a file larger than memory is no obstacle; the
type is read off the distinct values (up to a bound, which suffices for a suggestion).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.data.hierarchies.dates import day_of
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.hierarchies.rules import Mask, fitting_rule
from sfumato.data.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sfumato.data.hierarchies.levels import Rule
    from sfumato.data.schema import Type
    from sfumato.data.tables.table import Table

MOST_VALUES = 20_000
"""Distinct values read to find out a column's type."""

BATCH = 40
"""Columns counted by one statement: what an engine needs to plan one grows with their square."""


@dataclass(frozen=True)
class ColumnFacts:
    """Counts over one column; `length` is the mean number of characters of a cell."""

    name: str
    distinct: int
    missing: int
    length: float
    type: Type | None
    fitting: Rule


def column_facts(table: Table) -> tuple[ColumnFacts, ...]:
    """Return the facts of every column, in the order of the data."""
    facts = []
    with table.explained():
        for name, distinct, missing, length in _counted(table):
            values = _values(table, name)
            fitting = fitting_rule(values, name)
            facts.append(
                ColumnFacts(
                    name,
                    distinct=distinct + (missing > 0),
                    missing=missing,
                    length=length,
                    type=None if isinstance(fitting, Mask) else _type(values),
                    fitting=fitting,
                )
            )
    return tuple(facts)


def _counted(table: Table) -> Iterator[tuple[str, int, int, float]]:
    """Count of every column its distinct values, its missing cells and their mean length."""
    for start in range(0, len(table.columns), BATCH):
        columns = table.columns[start : start + BATCH]
        chosen = ", ".join(
            f"count(DISTINCT {text}) FILTER (WHERE {text} <> ''), "
            f"count(*) FILTER (WHERE {text} = ''), avg(length({text})) FILTER (WHERE {text} <> '')"
            for text in (table.text(column) for column in columns)
        )
        [row] = table.engine.run(f"SELECT {chosen} FROM {table.scan}")
        for name, *counts in zip(columns, row[::3], row[1::3], row[2::3], strict=True):
            yield name, int(counts[0]), int(counts[1]), float(counts[2] or 0)


def _values(table: Table, name: str) -> list[str]:
    text = table.text(name)
    found = table.engine.run(f"SELECT DISTINCT {text} AS v FROM {table.scan} LIMIT {MOST_VALUES}")
    return sorted(str(value) for (value,) in found if value != MISSING)


def _type(values: Sequence[str]) -> Type | None:
    """Return what the values are if all agree; None for texts, which need no word."""
    if not values:
        return None
    if all(day_of(value) is not None for value in values):
        return "date"
    numbers = [number(value) for value in values]
    if any(value is None for value in numbers):
        return None
    whole = all(value is not None and value == value.to_integral_value() for value in numbers)
    return "integer" if whole else "number"
