"""How the columns of a Postgres table become the kinds of the language.

Contract: :func:`cell` gives SQL that brings a column of a known type to its kind and cannot raise
for any cell: a ``numeric`` is clamped before it becomes a double, since Postgres raises on overflow
and on underflow; NaN and what does not fit are NULL. Types the language does not have give None.
A ``char(n)`` loses the blanks it was padded with. People are told apart exactly: by 64-bit integers
and dates where the column holds such, else by its text, whatever it is declared to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.ask.engines.table_facts import (
    DATE_FORM,
    FIRST_DATE,
    LAST_DATE,
    MOST_BYTES,
    NUMBER_BYTES,
    NUMBER_FORM,
)
from sfumato.ask.plan.dialects import quoted
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.ask.language.language import Kind

COLUMNS = """
SELECT a.attname, b.typname, b.typtype, a.atttypmod
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type AS b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
"""The columns of a relation, with the base types of domains."""

_WHOLE = {"int2", "int4", "int8"}
_REAL = {"float4", "float8"}
_TEXT = {"text", "varchar", "bpchar", "name", "uuid"}
_DATE = {"date", "timestamp", "timestamptz"}
_MOST, _MOST_DOUBLE = 2**63 - 1, 2**63 - 1024
"""The largest whole number of 64 bits, and the largest that is a double."""

_PLAIN = 2**53
"""Up to here a double is one whole number and no other."""


@dataclass(frozen=True)
class StoredColumn:
    """A column as Postgres describes it."""

    name: str
    type: str
    enum: bool
    modifier: int

    @property
    def small(self) -> bool:
        """Whether it is a numeric that holds whole numbers of at most 18 digits."""
        if self.type != "numeric" or self.modifier < 4:
            return False
        precision, scale = (self.modifier - 4) >> 16 & 0xFFFF, (self.modifier - 4) & 0x7FF
        return scale == 0 and precision <= 18

    def kind(self, *, person: bool) -> Kind | None:
        """Give the kind of the column; people are told apart exactly."""
        if self.type in _WHOLE or self.small:
            return "integer"
        if self.type == "numeric":
            return "text" if person else "real"
        if person and self.type in {"timestamp", "timestamptz"}:
            return "text"
        if self.type in _REAL:
            return "text" if person else "real"
        if self.type in _TEXT or self.enum:
            return "text"
        if self.type in _DATE:
            return "date"
        return "boolean" if self.type == "bool" else None


def cell(column: StoredColumn, kind: Kind, *, person: bool = False, zone: str = "UTC") -> str:
    """Give the SQL of a column in a kind."""
    name = quoted(column.name, "postgres")
    natural = column.kind(person=False)
    if kind == "text":
        return _text(name, column, natural, person=person)
    if natural == "text":
        return _read(f"CAST({name} AS TEXT)", kind)
    if kind == natural == "date":
        return _date(name, column, zone)
    if kind == natural == "boolean":
        return f"CAST({name} AS BOOLEAN)"
    if natural == "boolean" and kind in {"integer", "real"}:
        return _number(f"CAST(CAST({name} AS BOOLEAN) AS INTEGER)", kind, "int4")
    if natural in {"integer", "real"} and kind in {"integer", "real"}:
        return _number(name, kind, column.type)
    if natural in {"integer", "real"} and kind == "boolean":
        return f"CASE {name} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    raise SchemaError(f"The column '{column.name}' cannot be read as {kind}.")


def _text(name: str, column: StoredColumn, natural: Kind | None, *, person: bool) -> str:
    """Give the text of a value; NaN names nobody and is no value."""
    if column.type in _REAL:
        return _named_by_double(f"CAST({name} AS DOUBLE PRECISION)" if person else name)
    if column.type == "numeric":
        return f"CASE WHEN {name} <> 'NaN' THEN CAST(TRIM_SCALE({name}) AS TEXT) END"
    text = f"CAST({name} AS TEXT)"
    if natural != "text" and not (person and natural is None):
        return text
    return f"CASE WHEN OCTET_LENGTH({text}) <= {MOST_BYTES} THEN {text} END"


def _date(name: str, column: StoredColumn, zone: str) -> str:
    """Give the day of a date, a time or an instant; one beyond what all engines know is none."""
    if column.type == "date":
        ends = f"DATE '{FIRST_DATE}' AND DATE '{LAST_DATE}'"
        return f"CASE WHEN {name} BETWEEN {ends} THEN {name} END"
    if column.type == "timestamp":
        ends = f"TIMESTAMP '{FIRST_DATE}' AND TIMESTAMP '{LAST_DATE} 23:59:59.999999'"
        return f"CASE WHEN {name} BETWEEN {ends} THEN CAST({name} AS DATE) END"
    ends = "TIMESTAMPTZ '0001-01-02 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 00:00:00+00'"
    return f"CASE WHEN {name} BETWEEN {ends} THEN CAST({name} AT TIME ZONE '{zone}' AS DATE) END"


def _number(name: str, kind: Kind, type_: str) -> str:
    if type_ in _WHOLE:
        return f"CAST({name} AS {'BIGINT' if kind == 'integer' else 'DOUBLE PRECISION'})"
    nan = f"{name} = 'NaN'"
    if kind == "integer":  # a fraction is no whole number
        most = _MOST_DOUBLE if type_ in _REAL else _MOST
        low, high = (f"CAST({sign}{most} AS BIGINT)" for sign in ("-", ""))
        return (
            f"CASE WHEN {nan} THEN NULL WHEN {name} < -{most} THEN {low} "
            f"WHEN {name} > {most} THEN {high} "
            f"WHEN {name} = FLOOR({name}) THEN CAST({name} AS BIGINT) END"
        )
    if type_ in _REAL:
        return f"CAST({name} AS DOUBLE PRECISION)"
    zero, low, high = (f"CAST('{n}' AS DOUBLE PRECISION)" for n in ("0", "-1e300", "1e300"))
    return (
        f"CASE WHEN {nan} THEN NULL WHEN {name} < -1e300 THEN {low} "
        f"WHEN {name} > 1e300 THEN {high} WHEN ABS({name}) < 1e-30 THEN {zero} "
        f"ELSE CAST({name} AS DOUBLE PRECISION) END"
    )


def _named_by_double(number: str) -> str:
    """Name a person by a double: a whole number by its digits; NaN names nobody."""
    whole = f"ABS({number}) <= {_PLAIN} AND {number} = FLOOR({number})"
    return (
        f"CASE WHEN {number} = 'NaN' THEN NULL WHEN {whole} "
        f"THEN CAST(CAST({number} AS BIGINT) AS TEXT) ELSE CAST({number} AS TEXT) END"
    )


def _read(text: str, kind: Kind) -> str:
    """Read a text by how it is written; Postgres has no cast that gives NULL.

    Only the branches of CASE are computed one after the other, the sides of AND in any order.
    """
    if kind == "date":
        year, month, day = (
            f"CAST(SUBSTR({text}, {start}, {length}) AS INTEGER)"
            for start, length in ((1, 4), (6, 2), (9, 2))
        )
        leap = f"({year} % 4 = 0 AND {year} % 100 <> 0 OR {year} % 400 = 0)"
        last = (
            f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 "
            f"WHEN {leap} THEN 29 ELSE 28 END"
        )
        date = f"CASE WHEN {day} <= {last} THEN CAST(SUBSTR({text}, 1, 10) AS DATE) END"
        known = f"CASE WHEN {year} >= 1 THEN {date} END"
        return f"CASE WHEN {text} ~ '{DATE_FORM}' THEN {known} END"
    truth = f"CASE LOWER({text}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    read = _number(f"CAST({text} AS NUMERIC)", "real" if kind == "real" else "integer", "numeric")
    number = (
        f"CASE WHEN OCTET_LENGTH({text}) > {NUMBER_BYTES} THEN NULL "
        f"WHEN {text} ~ '{NUMBER_FORM}' THEN {read} ELSE {truth} END"
    )
    if kind == "real":
        ends = " ".join(
            f"WHEN {text} ~ '^{sign}[iI]nf(inity)?$' THEN CAST('{end}' AS DOUBLE PRECISION)"
            for sign, end in (("[+]?", "1e300"), ("-", "-1e300"))
        )
        return f"CASE {ends} ELSE {number} END"
    if kind == "integer":
        return f"CAST({number} AS BIGINT)"
    return f"CASE {number} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
