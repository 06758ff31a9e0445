"""Which column names people who have several records: the privacy unit, suggested.

A column names people if it has many values with few records each and its name says so (`patient`,
`user_id`; not `visitor_country`, whose values are countries), or if what belongs to a person (age,
sex) is the same in all records of a value. Where that differs, the values are of wards, products or
households, whatever the name is. Such a column must be the unit of the schema: classes and
neighbours are then counted in people, not in records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.data.tables.role_words import hinted, words
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

PERSONAL_WORDS = frozenset(
    "age birth birthdate birthday dob ethnicity gender height race sex".split()  # noqa: SIM905 - as above
)
"""What belongs to a person and does not change from record to record; age hardly."""

NUMBER_WORDS = frozenset("code hash id identifier key no nr num number ref uid uuid".split())  # noqa: SIM905 - as above

MANY_VALUES = 10
"""A column with fewer values names no people."""

FEW_RECORDS = 50
"""More records per value are not of a person by the name of the column alone."""

YEARS = 5
"""By how many years the age of a person may differ between records."""

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
    known = [f for f in facts if _belongs_to_people(f) or _is_personal(f)]
    for column in facts:
        if not _may_name_people(column, rows):
            continue
        others = [f for f in known if f.name != column.name]
        steady = _steady(table, column, [f.name for f in others])
        if any(_is_personal(f) and f.name not in steady for f in others):
            continue
        named = names_people(column.name) and rows <= FEW_RECORDS * column.distinct
        shown = [f.name for f in others if f.name in steady and _belongs_to_people(f)]
        if named or any(_is_personal(f) and f.name in shown for f in others):
            found.append((named, len(shown), column.distinct, column.name, shown))
    if not found:
        return None
    named, _, people, name, shown = max(found)
    return PersonColumn(name, people, _reason(people, rows, named=named, steady=shown))


def names_people(column: str) -> bool:
    """Tell whether a name ends in a word for a person, numbers of people included."""
    own = words(column)
    while len(own) > 1 and own[-1] in NUMBER_WORDS:
        own = own[:-1]
    return own[-1:] == ["id"] or any(w in PERSON_WORDS or w.removesuffix("s") in PERSON_WORDS
                                     for w in own[-1:])  # fmt: skip


def _is_personal(facts: ColumnFacts) -> bool:
    return facts.distinct > 1 and any(word in PERSONAL_WORDS for word in words(facts.name))


def _belongs_to_people(facts: ColumnFacts) -> bool:
    hint = hinted(facts.name)
    return hint is not None and hint[0] == "quasi" and facts.distinct >= FEW_VALUES


def _may_name_people(facts: ColumnFacts, rows: int) -> bool:
    """Whether a column repeats, and is neither a measurement nor something else by its name."""
    hint = hinted(facts.name)
    apart = hint is not None and hint[0] != "identifier" and not names_people(facts.name)
    several = MANY_VALUES <= facts.distinct < rows - facts.missing
    return several and not apart and facts.type not in {"number", "date"}


def _steady(table: Table, column: ColumnFacts, others: Sequence[str]) -> list[str]:
    """Return the columns that are the same in all records of a value, for nearly all values."""
    if not others:
        return []
    person = table.text(column.name)
    tests = []
    for i, name in enumerate(others):
        text = table.text(name)
        test = f"count(DISTINCT {text}) <= 1"
        if "age" in words(name):
            years = f"TRY_CAST({text} AS DOUBLE)"
            test += f" OR coalesce(max({years}) - min({years}) <= {YEARS}, false)"
        tests.append(f"({test})::INT AS c{i}")
    several = (
        f"SELECT {', '.join(tests)} FROM {table.scan} WHERE {person} <> '' "
        f"GROUP BY {person} HAVING count(*) > 1"
    )
    shares = ", ".join(f"avg(c{i})" for i in range(len(others)))
    [row] = table.run(f"SELECT {shares} FROM ({several})")
    return [name for name, part in zip(others, row, strict=True) if (part or 0) >= NEARLY_ALL]


def _reason(people: int, rows: int, *, named: bool, steady: Sequence[str]) -> str:
    why = "its name says so" if named else f"{listed(steady)} stay(s) the same in its records"
    return f"names {people:,} people with {rows:,} records ({why}), so it is the privacy unit"
