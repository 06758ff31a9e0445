"""Which column names people who have several records: the privacy unit, suggested.

A column that repeats is taken to name people if its name says so (`patient`, `user_id`), or if what
others know of a person (age, postal code) is the same in all its records. Such a column must be
the unit of the schema: classes and neighbours are then counted in people, not in records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.data.tables.role_words import IDENTIFIER_WORDS, hinted, words
from sfumato.data.wording import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.data.tables.column_facts import ColumnFacts
    from sfumato.data.tables.table import Table

PERSON_WORDS = frozenset(
    """
    citizen client customer donor driver employee guest inhabitant learner member participant
    passenger patient person player pupil resident respondent rider shopper student subject
    traveller user visitor worker
    """.split()  # noqa: SIM905 - a list of words reads better so
)

FEW_VALUES = 5
"""A column with fewer values than these is the same in all records of a person by chance."""

NEARLY_ALL = 0.98
"""Share of people of whom a column must be constant to belong to the person."""


@dataclass(frozen=True)
class PersonColumn:
    """A column that names people with several records, how many there are, and why it is one."""

    name: str
    people: int
    reason: str


def find_person_column(
    table: Table, facts: Sequence[ColumnFacts], rows: int
) -> PersonColumn | None:
    """Return the column that names people, if somebody has several records."""
    found = []
    known = [f.name for f in facts if _belongs_to_people(f)]
    for column in facts:
        if not _may_name_people(column, rows):
            continue
        steady = _steady(table, column, [name for name in known if name != column.name])
        named = _names_people(column.name)
        if named or steady:
            found.append((named, len(steady), column.distinct, column.name, steady))
    if not found:
        return None
    named, _, people, name, steady = max(found)
    return PersonColumn(name, people, _reason(people, rows, named=named, steady=steady))


def _names_people(column: str) -> bool:
    own = words(column)
    return any(w in PERSON_WORDS for w in own) or (
        own[-1:] == ["id"] and not any(w in IDENTIFIER_WORDS - {"id", "user"} for w in own)
    )


def _belongs_to_people(facts: ColumnFacts) -> bool:
    hint = hinted(facts.name)
    return hint is not None and hint[0] == "quasi" and facts.distinct >= FEW_VALUES


def _may_name_people(facts: ColumnFacts, rows: int) -> bool:
    """Whether a column repeats, and is neither a measurement nor something else by its name."""
    hint = hinted(facts.name)
    apart = hint is not None and hint[0] != "identifier" and not _names_people(facts.name)
    several = FEW_VALUES <= facts.distinct < rows - facts.missing
    return several and not apart and facts.type not in {"number", "date"}


def _steady(table: Table, column: ColumnFacts, others: Sequence[str]) -> list[str]:
    """Return the columns that are the same in all records of a value, for nearly all values."""
    if not others:
        return []
    person = table.text(column.name)
    counts = ", ".join(
        f"count(DISTINCT {table.text(name)}) AS c{i}" for i, name in enumerate(others)
    )
    several = f"SELECT {counts} FROM {table.scan} GROUP BY {person} HAVING count(*) > 1"
    shares = ", ".join(f"avg((c{i} <= 1)::INT)" for i in range(len(others)))
    [row] = table.run(f"SELECT {shares} FROM ({several})")
    return [name for name, part in zip(others, row, strict=True) if (part or 0) >= NEARLY_ALL]


def _reason(people: int, rows: int, *, named: bool, steady: Sequence[str]) -> str:
    why = "its name says so" if named else f"{listed(steady)} stay(s) the same in its records"
    return f"names {people:,} people with {rows:,} records ({why}), so it is the privacy unit"
