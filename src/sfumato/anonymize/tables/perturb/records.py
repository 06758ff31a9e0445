"""The records a truth-breaking operation works on: whole columns in memory, those it asks for.

A column is dictionary-encoded: `values[codes[i]]` is the text of cell `i`, the empty text a
missing cell. Operations move codes about, or ask for a column as numbers and put numbers
back. Numbers come back with the decimals the column had, so integers stay integers, within the
domain the schema declares and the range of the column's type; missing cells stay missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.perturb.stored_columns import Column, StoredColumns, stored_columns
from sfumato.data.domains import Range
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.numbers import number
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table

MOST_DECIMALS = 12
"""Decimals up to which numbers are rounded; a column with more is one of binary fractions."""

LARGEST_NUMBER = 2.0**53
"""Beyond this, floating-point numbers skip integers."""

_INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 53, "HUGEINT": 53}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


__all__ = ["Column", "Numbers", "Records", "records_of", "type_range"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers: NaN where a cell is missing, and how many decimals it has."""

    values: NDArray[np.float64]
    decimals: int

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which cells hold a number."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class Records:
    """All records of a table, column by column."""

    columns: StoredColumns
    schema: Schema | None = None

    def __len__(self) -> int:
        return self.columns.rows

    def column(self, name: str, operation: object) -> Column:
        """Return a column, or say that an operation names one that does not exist."""
        if name not in self.columns:
            raise ParameterError(
                f"{type(operation).__name__} names the column '{name}', which the data does not "
                f"have; its columns are {listed(self.columns)}.{did_you_mean(name, self.columns)}"
            )
        return self.columns[name]

    def with_columns(self, changed: Mapping[str, Column]) -> Records:
        """Return the records with some columns replaced."""
        return replace(self, columns=self.columns.with_columns(changed))

    # -- numbers ------------------------------------------------------------------------

    def numbers(self, name: str, operation: object) -> Numbers:
        """Return a column as numbers, or say how many of its values are none."""
        column = self.column(name, operation)
        read = [None if value == MISSING else number(value) for value in column.values]
        wrong = sum(
            value is None and text != MISSING
            for value, text in zip(read, column.values, strict=True)
        )
        if wrong:
            raise DataError(
                f"{type(operation).__name__} needs numbers, but the column '{name}' has {wrong} "
                "distinct value(s) that are not finite numbers; choose another column, or mend "
                "the data (an empty cell counts as missing and is allowed)."
            )
        if any(value is not None and abs(value) > LARGEST_NUMBER for value in read):
            raise DataError(
                f"{type(operation).__name__} cannot use the column '{name}': it has numbers "
                "beyond 2^53, about 9 followed by 15 digits, where arithmetic is no longer exact."
            )
        decimals = max((_decimals(v) for v in read if v is not None), default=0)
        floats = np.array([np.nan if v is None else float(v) for v in read], dtype=np.float64)
        values = floats[column.codes] if len(floats) else np.zeros(0)
        return Numbers(values, decimals)

    def renumbered(self, name: str, values: NDArray[np.float64], decimals: int) -> Column:
        """Return a column with new numbers, rounded and bounded as its numbers were."""
        old = self.columns[name]
        low, high = self._range(name)
        if decimals <= MOST_DECIMALS:
            values = np.round(values, decimals)
        bounded = np.clip(values, low, high) + 0.0
        distinct, codes = np.unique(bounded, return_inverse=True)
        texts = tuple(_text(float(value), decimals) for value in distinct)
        return Column(codes.reshape(-1).astype(np.int32), texts, old.kind)

    def _range(self, name: str) -> tuple[float, float]:
        """Return what the type of the column and its declared domain allow."""
        low, high = type_range(self.columns[name].kind)
        attribute = None if self.schema is None else self.schema.attributes.get(name)
        if attribute is not None and isinstance(attribute.domain, Range):
            low, high = (
                max(low, float(attribute.domain.low)),
                min(high, float(attribute.domain.high)),
            )
        return low, high


def type_range(kind: str) -> tuple[float, float]:
    """Return the least and the largest number a column of an SQL type can hold exactly."""
    signed = kind.removeprefix("U") if kind.startswith("U") else kind
    if signed in _INTEGERS:
        if signed is kind:
            return -(2.0 ** _INTEGERS[signed]), 2.0 ** _INTEGERS[signed] - 1
        return 0.0, 2.0 ** min(_INTEGERS[signed] + 1, 53) - 1
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        width, scale = int(decimal[1]), int(decimal[2])
        largest = 10.0 ** (width - scale) - 10.0**-scale
        return -largest, largest
    return -np.inf, np.inf


def _decimals(value: Decimal) -> int:
    """Return how many decimals a number needs."""
    exponent = int(value.as_tuple().exponent)
    return max(-int(value.normalize().as_tuple().exponent), 0) if exponent < 0 else 0


def _text(value: float, decimals: int) -> str:
    if np.isnan(value):
        return MISSING
    if decimals == 0:
        return str(int(value))
    if decimals > MOST_DECIMALS:
        return repr(value)
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


# -- from a table and back ----------------------------------------------------------------


def records_of(table: Table) -> Records:
    """Return the records of a table, in the order of its rows; columns come when asked for."""
    columns = stored_columns(table)
    if not columns.rows:
        columns.copy.drop()
        raise DataError(
            f"{table.source} has a header but no records; at least one record is needed."
        )
    return Records(columns, table.known_schema)
