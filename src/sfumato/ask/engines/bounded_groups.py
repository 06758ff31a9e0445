"""Tuples of keys as codes, with what the choice of groups needs of them.

Contract: :func:`tuples_of` gives every row the code of its tuple of keys, and for every tuple its
values, the text that is hashed (:func:`sfumato.ask.plan.choice.group_numbers`), and its place in
the order of the keys, by which equal ranks are told apart.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.ask.engines.bounded_codes import CodedColumn, joined
from sfumato.ask.plan.choice import SEPARATOR, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.language.language import Kind, Value

_EPOCH = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class Tuples:
    """The different tuples of keys: a code per row, and per code its values, text and place."""

    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    keys: tuple[tuple[Value, ...], ...]
    texts: list[bytes]
    order: NDArray[np.int64]

    def as_column(self) -> CodedColumn:
        """Give the codes as a column that can itself be part of a tuple."""
        return CodedColumn(self.codes, self.counts, np.arange(len(self.keys)))


def _value(cell: int | bytes, kind: Kind) -> Value:
    if isinstance(cell, bytes):
        return cell.decode()
    if kind == "boolean":
        return bool(cell)
    return dt.date.fromordinal(cell + _EPOCH) if kind == "date" else cell


def _values(column: CodedColumn, kind: Kind) -> list[Value]:
    cells = column.values if isinstance(column.values, list) else column.values.tolist()
    values = [_value(cell, kind) for cell in cells]
    if column.missing is not None:
        values[column.missing] = None
    return values


def texts_of(column: CodedColumn, kind: Kind) -> list[bytes]:
    """Write the values of a column as they are hashed."""
    if column.missing is None and isinstance(column.values, list):
        return column.values
    if column.missing is None and kind == "integer":
        return [b"%d" % value for value in np.asarray(column.values).tolist()]
    return [value_text(value).encode() for value in _values(column, kind)]


def _ranks(column: CodedColumn) -> NDArray[np.int64]:
    """Give each code the place of its value in the order of the plan: NULL first."""
    values = column.values
    if isinstance(values, list):
        order = np.array(sorted(range(len(values)), key=values.__getitem__), np.int64)
    else:
        order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    if column.missing is not None:
        ranks[column.missing] = -1
    return ranks


def tuples_of(
    columns: Sequence[CodedColumn], kinds: Sequence[Kind], rows: int, seed: int
) -> Tuples:
    """Code the tuples of several columns; of none, every row has the empty tuple."""
    if not columns:
        counts = np.full(min(rows, 1), rows, np.int64)
        size = len(counts)
        zeros = np.zeros(size, np.int64)
        return Tuples(np.zeros(rows, np.int32), counts, ((),) * size, [b""] * size, zeros)
    whole, parts = columns[0], [np.arange(len(columns[0].values))]
    for column in columns[1:]:
        whole = joined(whole, column, seed)
        before, last = np.divmod(np.asarray(whole.values), len(column.values))
        parts = [part[before] for part in parts] + [last]
    keys = [_picked(_values(c, k), part) for c, k, part in zip(columns, kinds, parts, strict=True)]
    texts = [_picked(texts_of(c, k), p) for c, k, p in zip(columns, kinds, parts, strict=True)]
    ranks = [_ranks(column)[part] for column, part in zip(columns, parts, strict=True)]
    order = np.empty(len(parts[0]), np.int64)
    order[np.lexsort(ranks[::-1])] = np.arange(len(order))
    joint = [SEPARATOR.encode().join(row) for row in zip(*texts, strict=True)]
    return Tuples(whole.codes, whole.counts, tuple(zip(*keys, strict=True)), joint, order)


def _picked(values: list[Value] | list[bytes], places: NDArray[np.int64]) -> list[object]:
    return [values[i] for i in places.tolist()]
