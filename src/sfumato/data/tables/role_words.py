"""Words in column names that hint at a role.

A hint is only that: the suggestion says which word it went by, and the steward decides.
"""

from __future__ import annotations

import re

IDENTIFIER_WORDS = frozenset(
    """
    account address email fax forename guid iban id identifier insurance ip licence license mail
    mobile mrn name nhs passport phone plate record serial social ssn street surname tax telephone
    token url user username uuid
    """.split()  # noqa: SIM905 - a list of words reads better so
)

SENSITIVE_WORDS = frozenset(
    """
    alcohol belief condition conviction credit crime criminal debt diagnosis disability disease
    drug drugs earnings genetic grade health hiv icd illness income medication mental offence
    offense orientation party political politics pregnancy pregnant religion result salary score
    smoker smoking symptom therapy treatment union vaccine vote wage wealth
    """.split()  # noqa: SIM905 - a list of words reads better so
)

QUASI_WORDS = frozenset(
    """
    admission age area birth birthdate birthday birthplace branch category children citizenship
    city class company country county date day degree department discharge district dob education
    employer ethnicity faculty family gender height home hour household housing industry job
    language lat latitude location lon longitude marital married month municipality nationality
    native neighborhood neighbourhood occupation origin place plz postal postcode profession
    province race region residence school sector sex ship site state status time town university
    weight workclass year zip zipcode
    """.split()  # noqa: SIM905 - a list of words reads better so
)

_SPLIT = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")


def words(column: str) -> list[str]:
    """Return the lower-case words of a column's name: `birthDate`, `birth_date` → birth, date."""
    return [part.lower() for part in _SPLIT.split(column) if part]


def hinted(column: str) -> tuple[str, str] | None:
    """Return the role a name hints at and the word that does, the stricter role first.

    A sensitive word outweighs the others (`salary-class` is a salary, `health insurance id`
    is about health); an identifying word outweighs a quasi-identifying one.
    """
    found = words(column)
    for role, known in (
        ("sensitive", SENSITIVE_WORDS),
        ("identifier", IDENTIFIER_WORDS),
        ("quasi", QUASI_WORDS),
    ):
        for word in found:
            if word in known or word.removesuffix("s") in known:
                return role, word
    return None
