"""The column that tells the people of a class apart, looked at as a stranger would.

It must hold nothing but the numbers 1, 2, … of every class: then it cannot carry anything else, and
the same number in two classes says nothing. A column that names people beyond one class links their
rows, and who is in all of those classes may be one person alone.
"""

# SQL here is built from names that the table quotes.
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.audit.verification import measures
from sfumato.audit.verification.findings import FileFinding
from sfumato.data.wording import some

if TYPE_CHECKING:
    from sfumato.data.tables.table import Table
    from sfumato.released.evidence import Evidence
    from sfumato.released.people import Persons

ONE_EACH = (
    "That every record is another person is what release.json states; the file itself cannot show "
    "it, and if somebody has several records, classes hold fewer people than were counted."
)


def look_at_people(evidence: Evidence, table: Table, persons: Persons) -> list[FileFinding]:
    """Return what is wrong with the way people are told apart."""
    if persons.trouble:
        return [FileFinding("people", "", persons.trouble)]
    if persons.column is None:
        return [FileFinding("people", "", ONE_EACH, serious=False)] if persons.stated else []
    found = _stray_numbers(evidence, table, persons.column) if persons.numbers else []
    if not persons.numbers:
        found += _links(evidence, table, persons.column)
    return [*found, *_shared_values(evidence)]


def _stray_numbers(evidence: Evidence, table: Table, column: str) -> list[FileFinding]:
    """Find classes whose people are not numbered 1, 2, … up to their number."""
    number = f"TRY_CAST({table.text(column)} AS BIGINT)"
    plain = f"{number}::VARCHAR = {table.text(column)}"
    keys = "".join(f"{table.text(name)}, " for name in evidence.quasi)
    groups = f"GROUP BY {keys.rstrip(', ')}" if evidence.quasi else ""
    inner = (
        f"SELECT min({number}) AS low, max({number}) AS high, count(DISTINCT {number}) AS people, "
        f"bool_and(coalesce({plain}, false)) AS plain FROM {table.scan} {groups}"
    )
    wrong = table.run(
        f"SELECT count(*) FROM ({inner}) WHERE NOT plain OR low IS DISTINCT FROM 1 "
        "OR high IS DISTINCT FROM people"
    )[0][0]
    if not wrong:
        return []
    text = (
        f"Column '{column}' should number the people of every class 1, 2, …; in "
        f"{some(int(wrong), 'class', 'classes')} it does not, so it may tell more than that, and "
        "people cannot be counted by it."
    )
    return [FileFinding("people", column, text)]


def _links(evidence: Evidence, table: Table, column: str) -> list[FileFinding]:
    """Find people whose rows in several classes are linked."""
    keys = ", ".join(table.text(name) for name in evidence.quasi) or "1"
    inner = (
        f"SELECT {table.text(column)} AS person, count(DISTINCT ({keys})) AS classes "
        f"FROM {table.scan} GROUP BY 1"
    )
    linked = table.run(f"SELECT count(*) FROM ({inner}) WHERE classes > 1")[0][0]
    if not linked:
        return []
    text = (
        f"Column '{column}' links the rows of {some(int(linked), 'person', 'people')} across "
        "classes; who is in all of those classes may be one person alone."
    )
    return [FileFinding("people", column, text)]


def _shared_values(evidence: Evidence) -> list[FileFinding]:
    """Tell of values that everybody in a class has, beside others."""
    found = []
    for name, spread in evidence.sensitive.items():
        shared = measures.shared_by_all(spread, evidence.sizes)
        several = measures.distinct_values(spread) > 1
        classes = int(np.count_nonzero(shared & several))
        if classes:
            text = (
                f"In {some(classes, 'class', 'classes')} everybody has the same value of '{name}' "
                "among others, so it is told of everybody there."
            )
            found.append(FileFinding("shared value", name, text, serious=False))
    return found
