"""The text of every cell of a Spark table, as DuckDB would write it, and its type in its words.

Contract: :func:`texts_of` gives a frame that raises for no cell, in ANSI mode or not. Texts
are compared by their bytes, whatever collation a column has; a ``char(n)`` loses the blanks it was
padded with; instants are written in UTC, whatever the time zone of the session is.

Java writes some doubles with a digit too many (JDK-4511638, until Java 19): those with more
than 16 are tried with fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.data.engines.spelling import quoted_for

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}


def cell_kind(type_: Any) -> str:
    """Return the type of a column in the words of DuckDB; text where it has no such type."""
    stored = str(type_.simpleString())
    if stored.startswith("array<"):
        return "VARCHAR[]"
    if stored.startswith("decimal("):
        return stored.upper()
    return _TYPES.get(stored, "VARCHAR")


def texts_of(frame: Any) -> Any:
    """Return a frame of the texts of all cells.

    Numbers are written in two steps, so that what Java writes is made once.
    """
    fields = [
        (quoted_for(str(field.name), "spark"), field.dataType) for field in frame.schema.fields
    ]
    floats = {
        name: quoted_for(f"sfumato_internal_digits_{place}", "spark")
        for place, (name, type_) in enumerate(fields)
        if type_.simpleString() in {"float", "double"}
    }
    digits = [
        f"{_digits(name, type_.simpleString())} AS {floats[name]}"
        for name, type_ in fields
        if name in floats
    ]
    if digits:
        frame = frame.selectExpr("*", *digits)
    return frame.selectExpr(
        *(f"COALESCE({_text(name, type_, floats)}, '') AS {name}" for name, type_ in fields)
    )


def _text(cell: str, type_: Any, floats: Mapping[str, str]) -> str:
    stored = str(type_.simpleString())
    if stored.startswith(("string", "varchar", "char")):
        collation = getattr(type_, "collation", None) or "UTF8_BINARY"
        text = cell if collation == "UTF8_BINARY" else f"{cell} COLLATE UTF8_BINARY"
        return f"RTRIM({text})" if stored.startswith("char") else text
    if stored in {"float", "double"}:
        return _float(cell, floats[cell], stored)
    if stored.startswith("decimal("):
        return _decimal(cell, int(stored[8:-1].split(",")[1]))
    if stored == "timestamp":
        return f"CONCAT(CAST({_universal(cell)} AS STRING), '+00')"
    if "<" in stored:
        return f"TO_JSON({cell})"
    if stored in {"date", "timestamp_ntz"}:
        return f"LTRIM('+', CAST({cell} AS STRING))"
    return f"CAST({cell} AS STRING)"


def _universal(instant: str) -> str:
    seconds = f"CAST(UNIX_MICROS({instant}) AS DECIMAL(20, 0)) / 1000000"
    return f"(TIMESTAMP_NTZ '1970-01-01' + MAKE_DT_INTERVAL(0, 0, 0, {seconds}))"


def _digits(cell: str, stored: str) -> str:
    """Write a number as Java does, but never with digits too many."""
    text = f"CAST({cell} AS STRING)"
    if stored == "float":
        return text
    digits = f"LENGTH(REGEXP_REPLACE(SPLIT_PART({text}, 'E', 1), '^-?0?[.]?0*|[.]', ''))"
    cases = " ".join(
        f"WHEN {digits} > {places + 1} AND TRY_CAST({fewer} AS DOUBLE) = {cell} THEN UPPER({fewer})"
        for places in (15, 16)
        for fewer in [f"FORMAT_STRING('%.{places}e', {cell})"]
    )
    least = f"WHEN ABS({cell}) = 4.9e-324D THEN UPPER(FORMAT_STRING('%.0e', {cell}))"
    return f"CASE {cases} {least} ELSE {text} END"


def _float(cell: str, text: str, stored: str) -> str:
    """Write the shortest digits that are read back as the number, with a point or an exponent."""
    plain = f"CAST(TRY_CAST({text} AS DECIMAL(38, 21)) AS STRING)"
    trimmed = f"REGEXP_REPLACE(REGEXP_REPLACE({plain}, '0+$', ''), '[.]$', '.0')"
    first = f"REGEXP_REPLACE(REGEXP_REPLACE(SPLIT_PART({text}, 'E', 1), '0+$', ''), '[.]$', '')"
    power = f"TRY_CAST(SPLIT_PART({text}, 'E', 2) AS INT)"
    exponent = f"CONCAT(CASE WHEN {power} < 0 THEN 'e-' ELSE 'e+' END, {_two_digits(power)})"
    mark = "D" if stored == "double" else "F"
    return (
        f"CASE WHEN ISNAN({cell}) THEN '' WHEN {cell} = DOUBLE('Infinity') THEN 'inf' "
        f"WHEN {cell} = DOUBLE('-Infinity') THEN '-inf' WHEN {cell} = 0 THEN {text} "
        f"WHEN ABS({cell}) >= 0.0001{mark} AND ABS({cell}) < 1e16{mark} THEN {trimmed} "
        f"ELSE CONCAT({first}, {exponent}) END"
    )


def _two_digits(power: str) -> str:
    size = f"CAST(ABS({power}) AS STRING)"
    return f"CASE WHEN LENGTH({size}) < 2 THEN CONCAT('0', {size}) ELSE {size} END"


def _decimal(cell: str, scale: int) -> str:
    """Write all decimals; outside ANSI mode Spark writes numbers near zero with an exponent."""
    if scale <= 6 or scale > 36:
        return f"CAST({cell} AS STRING)"
    near = f"CAST(CAST(ABS({cell}) AS DECIMAL({scale + 1}, {scale})) + 1 AS STRING)"
    sign = f"CASE WHEN {cell} < 0 THEN '-0' ELSE '0' END"
    return (
        f"CASE WHEN ABS({cell}) < 0.000001 THEN CONCAT({sign}, SUBSTR({near}, 2)) "
        f"ELSE CAST({cell} AS STRING) END"
    )
