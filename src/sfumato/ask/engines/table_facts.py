"""The public facts of a table, from the kinds an engine found and what the owner declared.

Contract: facts are public and do not change while an engine is open. A column of a kind the
language does not have (a list, a blob) is not among them. Bounds and domains are the owner's, by
the column of the main table, or ``table.column`` for another one.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.days import Day
from sfumato.ask.language.language import Column, TableFacts
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sfumato.ask.language.language import Bounds, Kind, Value

KINDS: Mapping[str, Kind] = {
    "integer": "integer",
    "number": "real",
    "real": "real",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
}
"""Names of kinds as schemas and parameters have them."""


MOST_BYTES = 2**18
"""A longer text is read as missing: rows of them could be joined and hashed on no engine."""

NUMBER_BYTES = 400
NUMBER_FORM = "^[ ]*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,3})?[ ]*$"
"""How numbers are written, on every engine; a text of more bytes is none."""

DATE_FORM = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T][0-9:.]+)?$"
FIRST_DATE, LAST_DATE = "0001-01-01", "9999-12-31"
"""Dates beyond are read as missing: not every engine can compute with them."""

_WRITTEN: Mapping[Kind, re.Pattern[str]] = {
    "integer": re.compile(r"-?(0|[1-9][0-9]{0,17})"),
    "real": re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
}


def kind_of_values(values: Iterable[Any], *, written: bool = False) -> Kind:
    """Give the kind of listed values; where all are written as texts, by how they are written."""
    given = [value for value in values if value is not None]
    kinds = {_kind_of_value(value) for value in given}
    if kinds == {"text"} and written:
        for kind, form in _WRITTEN.items():
            if all(form.fullmatch(value) for value in given):
                return kind
    return kinds.pop() if len(kinds) == 1 else "real" if kinds == {"integer", "real"} else "text"


def _kind_of_value(value: Any) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Integral):
        return "integer"
    if isinstance(value, dt.date):
        return "date"
    return "real" if isinstance(value, Real | Decimal) else "text"


@dataclass(frozen=True)
class KindFacts:
    """What is public about the kinds of columns, beside the types that a schema declares.

    ``registered`` are kinds by table and column, which a ledger has. ``stated`` are those that
    follow from bounds and lists of values, by column of the main table or ``table.column``; what
    the catalogue of a database says stands over them. ``guess`` names the columns, or says of all,
    that may be of the kind of a frame's column, or of what the cells of a file look like: one cell
    changes that, so only the owner can say that it may be known. ``zone`` is the time zone in
    which an instant has its day.
    """

    registered: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stated: Mapping[str, Kind] = field(default_factory=dict)
    guess: bool | Collection[str] = True
    zone: str = "UTC"

    def known(self, table: str, types: Mapping[str, str]) -> dict[str, str]:
        """Give the types of a table's columns that are declared or registered."""
        return {**types, **self.registered.get(table, {})}

    def found(self, table: str, column: str, cells: Kind | None, *, main: bool) -> Kind | None:
        """Give the kind of a column that nothing declares: of its cells if it may be known."""
        guess = cells if self.may_guess(table, column, main=main) else None
        stated: Kind | None = _of(self.stated, table, column, main)
        return guess or stated

    def may_guess(self, table: str, column: str, *, main: bool) -> bool:
        """Whether the kind of a column may be that of its cells."""
        if isinstance(self.guess, bool):
            return self.guess
        return f"{table}.{column}" in self.guess or (main and column in self.guess)


GUESSED = KindFacts()
"""Nothing is said, and the kinds of cells may be known, as of a table that is public."""


def declared_kinds(
    types: Mapping[str, str], columns: Iterable[str], source: str
) -> dict[str, Kind]:
    """Check the kinds that an owner declares for columns."""
    known = list(columns)
    for column, kind in types.items():
        if column not in known:
            raise SchemaError(
                f"A type is given for '{column}', which {source} does not have; its columns are "
                f"{listed(known)}.{did_you_mean(column, known)}"
            )
        if kind not in KINDS:
            raise ParameterError(
                f"The type of '{column}' must be one of {listed(KINDS)}, not '{kind}'."
                f"{did_you_mean(kind, KINDS)}"
            )
    return {column: KINDS[kind] for column, kind in types.items()}


def described(
    name: str,
    kinds: Mapping[str, Kind],
    *,
    main: bool,
    private: bool,
    person: str | None,
    bounds: Mapping[str, tuple[Any, Any]],
    domains: Mapping[str, Iterable[Any]],
) -> TableFacts:
    """Put together the facts of a table."""
    if person is not None and person not in kinds:
        raise SchemaError(
            f"The person '{person}' is not a usable column of '{name}'; its columns are "
            f"{listed(kinds)}.{did_you_mean(person, list(kinds))}"
        )
    if person is not None and kinds[person] not in {"integer", "text", "date"}:
        raise SchemaError(
            f"The person '{person}' of '{name}' is of kind {kinds[person]}; people are told apart "
            "by a whole number, a text or a date. Declare it as text."
        )
    columns = tuple(
        Column(column, kind, _bounds(column, kind, _of(bounds, name, column, main)))
        for column, kind in kinds.items()
    )
    values = tuple(
        (column, tuple(typed_value(value, kind, column) for value in given))
        for column, kind in kinds.items()
        if (given := _of(domains, name, column, main)) is not None
    )
    return TableFacts(name, columns, private, person if private else None, values)


def _of(given: Mapping[str, Any], table: str, column: str, main: bool) -> Any:
    return given.get(f"{table}.{column}", given.get(column) if main else None)


def _bounds(column: str, kind: Kind, pair: tuple[Any, Any] | None) -> Bounds | None:
    if pair is None or kind not in {"integer", "real", "date"}:
        return None
    days = [end if isinstance(end, Day) else Day.read(end) for end in pair]
    dated = [day for day in days if day is not None]
    if kind == "date" and not dated:
        return None  # a range of numbers, which a date does not have
    if len(dated) != (2 if kind == "date" else 0):
        wanted = "two dates" if kind == "date" else "numbers"
        raise ParameterError(f"The bounds of '{column}' are {wanted}.")
    low, high = dated or (Fraction(end) for end in pair)
    if low > high:
        raise ParameterError(
            f"The bounds of '{column}' are a pair with low ≤ high; {low} and {high} were given."
        )
    return low, high


def typed_value(value: Any, kind: Kind, column: str) -> Value:
    """Give a public value, perhaps written as text, in its kind."""
    if value is None or (value == "" and kind != "text"):
        return None
    try:
        if kind == "integer":
            return int(value)
        if kind == "real":
            return Fraction(value)
        if kind == "boolean":
            return {"true": True, "false": False}[str(value).lower()]
        if kind == "date":
            return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)
    except (ValueError, TypeError, KeyError):
        raise ParameterError(
            f"A public value of '{column}' is not of its kind, {kind}; mend the list of values or "
            "the type."
        ) from None
    return str(value)
