"""From the rows an engine gives back to :class:`Aggregates`.

Contract: rows have the columns of :func:`sfumato.ask.plan.plan.plan`: keys, spread, people, totals.
Values become plain Python ones, the same from every driver, and totals become 64-bit integers
where their form says that they fit, whatever the values are.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.request import Aggregates, Request
from sfumato.ask.plan.plan import narrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.language.language import Kind, Value


def collected(rows: Sequence[Sequence[Any]], request: Request) -> Aggregates:
    """Give the aggregates of a request from the rows of its plan."""
    kinds = [kind_of(key.expression) for key in request.keys]
    first = len(kinds)
    people = first + len(request.spread)
    columns = list(zip(*rows, strict=True)) or [()] * (people + 1 + len(request.totals))
    keys = [
        [_value(cell, kind) for cell in column]
        for column, kind in zip(columns[:first], kinds, strict=True)
    ]
    return Aggregates(
        tuple(zip(*keys, strict=True)) if keys else ((),) * len(rows),
        _narrow(columns[people]),
        tuple(
            _narrow(column) if narrow(total) else _wide(column)
            for column, total in zip(columns[people + 1 :], request.totals, strict=True)
        ),
        tuple(_narrow(column) for column in columns[first:people]),
    )


def _value(cell: Any, kind: Kind) -> Value:
    if cell is None:
        return None
    if kind == "integer":
        return int(cell)
    if kind == "boolean":
        return bool(cell)
    if kind == "date":
        return cell.date() if isinstance(cell, dt.datetime) else cell
    return str(cell)


def _narrow(column: Sequence[Any]) -> NDArray[np.int64]:
    return np.array([int(cell) for cell in column], dtype=np.int64)


def _wide(column: Sequence[Any]) -> NDArray[Any]:
    numbers = np.empty(len(column), dtype=object)
    numbers[:] = [int(cell) for cell in column]
    return numbers
