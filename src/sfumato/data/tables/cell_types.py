"""What the cells of a text column look like: whole numbers, numbers, dates or text.

A type is given only if every cell can be written back exactly as it was (the code 007 is
text), so that a frame handed back says the same as the file.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.wording import did_you_mean, its_columns, listed
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SQL = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "date": "DATE"}

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def type_of(values: Iterable[str]) -> str:
    """Return the SQL type of a column with these cells; missing cells fit every type."""
    present = [value for value in values if value != MISSING]
    if not present:
        return SQL["text"]
    if all(_INTEGER.fullmatch(value) and value != "-0" for value in present):
        return SQL["integer"]
    if all(_NUMBER.fullmatch(value) for value in present):
        return SQL["number"]
    if all(_is_date(value) for value in present):
        return SQL["date"]
    return SQL["text"]


def _is_date(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def sql_types(types: Mapping[str, str], columns: Iterable[str], source: str) -> dict[str, str]:
    """Return declared types in SQL; strangers among columns and types are errors."""
    known = list(columns)
    for column, kind in types.items():
        if column not in known:
            raise ParameterError(
                f"A type is given for '{column}', which {source} does not have; "
                f"{its_columns(known, column)}"
            )
        if kind not in SQL:
            raise ParameterError(
                f"The type of '{column}' must be one of {listed(SQL)}, not '{kind}'."
                f"{did_you_mean(kind, SQL)}"
            )
    return {column: SQL[kind] for column, kind in types.items()}
