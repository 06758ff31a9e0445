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


def cell(column: StoredColumn, kind: Kind, *, person: bool = False) -> str:
    """Give the SQL of a column in a kind."""
    name = quoted(column.name, "postgres")
    natural = column.kind(person=False)
    if person and column.type in _REAL:
        return _named_by_double(f"CAST({name} AS DOUBLE PRECISION)")
    if kind == "text":
        text = f"TRIM_SCALE({name})" if column.type == "numeric" else name
        return f"CAST({text} AS TEXT)"
    if natural == "text":
        return _read(name, kind, column)
    if kind == natural == "date":
        utc = f"{name} AT TIME ZONE 'UTC'" if column.type == "timestamptz" else name
        return f"CAST({utc} AS DATE)"
    if kind == natural == "boolean":
        return f"CAST({name} AS BOOLEAN)"
    if kind in {"integer", "real"} and natural in {"integer", "real"}:
        return _number(name, kind, column)
    raise SchemaError(f"The column '{column.name}' cannot be read as {kind}.")


def _number(name: str, kind: Kind, column: StoredColumn) -> str:
    if column.type in _WHOLE:
        return f"CAST({name} AS {'BIGINT' if kind == 'integer' else 'DOUBLE PRECISION'})"
    nan = f"{name} = 'NaN'"
    if kind == "integer":
        most = _MOST_DOUBLE if column.type in _REAL else _MOST
        low, high = (f"CAST({sign}{most} AS BIGINT)" for sign in ("-", ""))
        return (
            f"CASE WHEN {nan} THEN NULL WHEN {name} < -{most} THEN {low} "
            f"WHEN {name} > {most} THEN {high} ELSE CAST({name} AS BIGINT) END"
        )
    if column.type in _REAL:
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


def _read(name: str, kind: Kind, column: StoredColumn) -> str:
    """Read a text as a number by its form alone; Postgres has no cast that gives NULL."""
    text = f"CAST({name} AS TEXT)"
    if kind == "integer":
        return f"CASE WHEN {text} ~ '^-?[0-9]{{1,18}}$' THEN CAST({text} AS BIGINT) END"
    if kind == "real":
        form = "^-?[0-9]{1,30}(\\.[0-9]{1,30})?$"
        number = f"CAST({text} AS NUMERIC)"
        return f"CASE WHEN {text} ~ '{form}' THEN CAST({number} AS DOUBLE PRECISION) END"
    raise SchemaError(
        f"The column '{column.name}' is a text in Postgres and cannot be read as {kind} there; "
        "change its type in the database, or declare it as text."
    )
