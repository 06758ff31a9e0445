"""The text of every cell of a Postgres table, as DuckDB would write it, and its type in its words.

Contract: `text` of a column gives SQL that raises for no cell. Two cells of a column have the same
text exactly where `grouped` of the column is the same, so that rows can be grouped before texts are
made. Texts are compared by their bytes, whatever collation a column has; a ``char(n)`` loses the
blanks it was padded with; numbers without a declared scale lose trailing zeros; instants are
written in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.data.engines.spelling import quoted_for

COLUMNS = """
SELECT a.attname, b.typname, b.typtype, a.atttypmod, b.typelem <> 0 AND b.typlen = -1
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type AS b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
"""The columns of a relation, with the base types of domains."""

_TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
}
_EXACT = {"bool", "int2", "int4", "int8", "date", "time", "timestamp", "timestamptz", "uuid"}
"""Types whose values are equal exactly where their texts are."""

_ARRAY = "VARCHAR[]"


@dataclass(frozen=True)
class CellColumn:
    """A column as Postgres describes it."""

    name: str
    type: str
    enum: bool
    modifier: int
    array: bool = False

    @property
    def kind(self) -> str:
        """The type in the words of DuckDB; text where it has no such type."""
        if self.array:
            return _ARRAY
        if self.type == "numeric" and self.modifier >= 4:
            precision, scale = (self.modifier - 4) >> 16 & 0xFFFF, (self.modifier - 4) & 0x7FF
            if precision <= 38 and scale <= precision:
                return f"DECIMAL({precision},{scale})"
        return _TYPES.get(self.type, "VARCHAR")

    @property
    def grouped(self) -> str:
        """The SQL by which rows are grouped: the cell itself where it stands for its text."""
        name = quoted_for(self.name, "postgres")
        if self.type in _EXACT or self.enum:
            return name
        if self.type in {"text", "varchar", "name"}:
            return f"COALESCE({name} COLLATE \"C\", '')"
        return self.text(name)

    def text(self, cell: str) -> str:
        """Return the SQL of the text of a cell."""
        return f"COALESCE({self._text(cell)}, '') COLLATE \"C\""

    def _text(self, cell: str) -> str:
        if self.array:
            return _array(cell)
        if self.type in {"float4", "float8"}:
            return _float(cell, self.type)
        if self.type == "numeric":
            return _numeric(cell, declared=self.modifier >= 4)
        if self.type in {"date", "timestamp", "timestamptz"}:
            return _before_christ(f"CAST({cell} AS TEXT)")
        return f"CAST({cell} AS TEXT)"


def finished(column: CellColumn, cell: str) -> str:
    """Return the text of a cell that rows were grouped by."""
    return column.text(cell) if column.type in _EXACT or column.enum else f"COALESCE({cell}, '')"


def _float(cell: str, type_: str) -> str:
    """Write the shortest digits that are read back as the number, with a point or an exponent."""
    text = _shortest(cell, type_)
    digits = f"CAST(CAST({text} AS NUMERIC) AS TEXT)"
    return (
        f"CASE WHEN {cell} = 'NaN' THEN '' WHEN {cell} = 'Infinity' THEN 'inf' "
        f"WHEN {cell} = '-Infinity' THEN '-inf' "
        f"WHEN {text} LIKE '%e%' AND ABS({cell}) >= 1 AND ABS({cell}) < 1e16 "
        f"THEN CASE WHEN {digits} LIKE '%.%' THEN {digits} ELSE {digits} || '.0' END "
        f"WHEN {text} LIKE '%e%' OR {text} LIKE '%.%' THEN {text} ELSE {text} || '.0' END"
    )


def _shortest(cell: str, type_: str) -> str:
    """Write a number with few digits.

    Postgres takes no digits that lie half-way between two numbers, though they are read back as the
    number; so a few numbers between 10¹⁶ and 10²⁴ get digits too many there, and are tried with
    fewer.
    """
    text = f"CAST({cell} AS TEXT)"
    number = f"CAST(SPLIT_PART({text}, 'e', 1) AS NUMERIC)"
    long, tries = (17, (14, 15)) if type_ == "float8" else (9, (6, 7))
    shorter = [
        f"CAST(TRIM_SCALE(ROUND({number}, {places})) AS TEXT) || 'e' || SPLIT_PART({text}, 'e', 2)"
        for places in tries
    ]
    cases = " ".join(f"WHEN CAST({s} AS {type_}) = {cell} THEN {s}" for s in shorter)
    few = f"{text} NOT LIKE '%e+%' OR LENGTH({text}) < {long + 4} OR ABS({cell}) > 1e30"
    return f"CASE WHEN {few} THEN {text} {cases} ELSE {text} END"


def _numeric(cell: str, *, declared: bool) -> str:
    number = cell if declared else f"TRIM_SCALE({cell})"
    return (
        f"CASE WHEN {cell} = 'NaN' THEN '' WHEN {cell} = 'Infinity' THEN 'inf' "
        f"WHEN {cell} = '-Infinity' THEN '-inf' ELSE CAST({number} AS TEXT) END"
    )


def _before_christ(text: str) -> str:
    """Write a year before Christ as DuckDB does."""
    again = rf"REGEXP_REPLACE({text}, '^(\S+)( .*)? BC$', '\1 (BC)\2')"
    return f"CASE WHEN {text} LIKE '%BC' THEN {again} ELSE {text} END"


def _array(cell: str) -> str:
    """Write a list as JSON, in which its items can be told apart."""
    return f"CAST(ARRAY_TO_JSON({cell}) AS TEXT)"
