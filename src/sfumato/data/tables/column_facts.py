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
    from collections.abc import Sequence

    from sfumato.data.hierarchies.levels import Rule
    from sfumato.data.schema import Type
    from sfumato.data.tables.table import Table

MOST_VALUES = 20_000
"""Distinct values read to find out a column's type."""


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
    columns = table.columns
    chosen = ", ".join(
        f"count(DISTINCT {text}) FILTER (WHERE {text} <> ''), count(*) FILTER (WHERE {text} = ''), "
        f"avg(length({text})) FILTER (WHERE {text} <> '')"
        for text in (table.text(column) for column in columns)
    )
    with table.explained():
        [row] = table.engine.run(f"SELECT {chosen} FROM {table.scan}")
        facts = []
        for c, name in enumerate(columns):
            values = _values(table, name)
            fitting = fitting_rule(values, name)
            facts.append(
                ColumnFacts(
                    name,
                    distinct=int(row[3 * c]) + (row[3 * c + 1] > 0),
                    missing=int(row[3 * c + 1]),
                    length=float(row[3 * c + 2] or 0),
                    type=None if isinstance(fitting, Mask) else _type(values),
                    fitting=fitting,
                )
            )
    return tuple(facts)


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
