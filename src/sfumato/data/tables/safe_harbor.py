"""What the safe-harbour rule of HIPAA says about a column (45 CFR 164.514(b)(2)).

The rule lists eighteen kinds of identifiers that must go before health data count as
de-identified. Some have a form of their own, by which a column is recognised whatever it is
called: e-mail and web addresses, IP addresses, telephone and social security numbers. Others are
told by the name of the column and its values together: dates finer than a year, ages over 89, ZIP
codes beyond three digits, names, numbers of records, accounts, plans, licences, vehicles and
devices. Photographs, fingerprints and what stands in free text are not recognised, so no column
is ever called safe here.

Values are looked at, never quoted: a note says what kind of thing they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sfumato.data.numbers import number
from sfumato.data.tables.role_words import words

if TYPE_CHECKING:
    from sfumato.data.tables.column_facts import ColumnFacts
    from sfumato.data.tables.table import Table

LOOKED_AT = 1_000
"""Cells that are looked at."""

MOST = 0.8
"""Share of cells that must have a form before a column is said to have it."""

OLDEST = 89
"""Ages above it are to be one category."""


class SafeHarborNote(NamedTuple):
    """What the rule says, and whether values of this kind name people directly."""

    text: str
    identifies: bool


_FORMS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "web addresses": r"(?:https?://|www\.)\S+",
    "IP addresses": r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
    r"|(?=.*:.*:)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){3,7}",
    "social security numbers": r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}",
    "telephone numbers": r"\+\d[\d ().-]{6,18}\d"
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}",
    "identifiers of devices": r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}",
}
_WORDS = {
    "names": "name forename surname firstname lastname fullname",
    "e-mail addresses": "email mail",
    "telephone or fax numbers": "phone telephone mobile fax",
    "social security numbers": "ssn",
    "medical record numbers": "mrn",
    "numbers of accounts": "account iban",
    "numbers of licences": "licence license passport",
    "identifiers of vehicles": "plate vin",
    "web or IP addresses": "url ip",
    "street addresses": "street address",
}
_ZIP = re.compile(r"\d{5}(?:-?\d{4})?")


def look_at_column(table: Table, facts: ColumnFacts) -> SafeHarborNote | None:
    """Return what the rule says about a column; None where nothing is recognised."""
    found = set(words(facts.name))
    cells = _cells(table, facts.name)
    for kind, form in _FORMS.items():
        if _have(re.compile(form), cells):
            return SafeHarborNote(f"HIPAA safe harbour: {kind} are to be removed", identifies=True)
    for kind, known in _WORDS.items():
        if found & set(known.split()):
            return SafeHarborNote(f"HIPAA safe harbour: {kind} are to be removed", identifies=False)
    if facts.type == "date":
        return SafeHarborNote(
            "HIPAA safe harbour: of dates only the year may stay", identifies=False
        )
    if found & {"zip", "zipcode", "postcode", "postal"} and _have(_ZIP, cells):
        return SafeHarborNote(
            "HIPAA safe harbour: of ZIP codes at most three digits may stay, and those only where "
            "more than 20,000 people live",
            identifies=False,
        )
    if "age" in found and _has_old(cells):
        return SafeHarborNote(
            f"HIPAA safe harbour: ages over {OLDEST} are to be one category", identifies=False
        )
    return None


def _cells(table: Table, name: str) -> list[str]:
    found = table.run(f"SELECT {table.text(name)} FROM {table.scan} LIMIT {LOOKED_AT}")
    return [str(row[0]).strip() for row in found if row[0]]


def _have(form: re.Pattern[str], cells: list[str]) -> bool:
    return bool(cells) and sum(bool(form.fullmatch(c)) for c in cells) >= MOST * len(cells)


def _has_old(cells: list[str]) -> bool:
    return any((value := number(cell)) is not None and value > OLDEST for cell in cells)
