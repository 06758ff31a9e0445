"""Rows of numbers inside a public box, moved to the unit cube row by row.

Contract: the box comes from the caller and is public, and so are the columns. Each row is treated
by itself: values beyond the box are clamped to it, and a row with a missing value or with
something that is not a number is left out, without an error, because an error would tell of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import as_numbers, cells_of, items_of
from sfumato.dp.queries.bounds import read_ends
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEED = (
    "k-means needs bounds=(low, high) for all columns, a list of such, or {column: (low, high)}, "
    "from knowledge of the domain and never from the data"
)


@dataclass(frozen=True, eq=False)
class Box:
    """The public bounds of every column, and their names where there are names."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.low.size

    @property
    def sides(self) -> NDArray[np.float64]:
        """The lengths of the sides."""
        return self.high - self.low

    def unit(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move rows to the unit cube; rows with something missing are left out."""
        kept = rows[~np.isnan(rows).any(axis=1)]
        scaled: NDArray[np.float64] = (np.clip(kept, self.low, self.high) - self.low) / self.sides
        return np.clip(scaled, 0.0, 1.0)

    def back(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move points of the unit cube back to the units of the columns."""
        return self.low + points * self.sides


def box_of(rows: Any, bounds: Any) -> Box:
    """Read the bounds, for the columns that are public: their names, or their number."""
    if isinstance(bounds, Mapping):
        names = tuple(str(name) for name in bounds)
        return _box([_pair(ends) for ends in bounds.values()], names)
    pairs = _listed(bounds)
    if pairs is not None:
        return _box(pairs, ())
    return _box([_pair(bounds)] * _columns(rows), ())


def matrix_of(rows: Any, box: Box) -> NDArray[np.float64]:
    """Read rows as floats, in the columns of the box; what is no number becomes NaN."""
    if box.names and not isinstance(rows, np.ndarray):
        columns = [as_numbers(_column(rows, name)) for name in box.names]
        if len({column.size for column in columns}) != 1:
            raise DataError("The columns have different lengths.")
        return np.column_stack(columns)
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    if isinstance(rows, np.ndarray) and rows.ndim != 1:
        if rows.ndim != 2 or rows.shape[1] != box.width:
            raise DataError(
                f"Rows have as many columns as there are bounds, {box.width}; give an array of "
                "that shape, or a frame with those columns."
            )
        return as_numbers(rows).reshape(rows.shape)
    return matrix_of_lists(cells_of(rows), box.width)


def _listed(bounds: Any) -> list[tuple[float, float]] | None:
    """Read bounds per column: a list of pairs; None when it is one pair for all."""
    if not isinstance(bounds, (list, tuple, np.ndarray)) or not len(bounds):
        return None
    if not all(isinstance(ends, (list, tuple, np.ndarray)) for ends in bounds):
        return None
    return [_pair(ends) for ends in bounds]


def _pair(ends: Any) -> tuple[float, float]:
    if isinstance(ends, (str, bytes)) or not np.iterable(ends) or len(list(ends)) != 2:
        raise ParameterError(f"{_NEED}.")
    return read_ends(ends)


def _box(pairs: list[tuple[float, float]], names: tuple[str, ...]) -> Box:
    if not pairs:
        raise ParameterError(f"{_NEED}; at least one column is needed.")
    low, high = np.array(pairs, dtype=np.float64).T
    return Box(low.copy(), high.copy(), names)


def _columns(rows: Any) -> int:
    shape = getattr(rows, "shape", None)
    if shape is not None and len(shape) == 2:
        return int(shape[1])
    raise ParameterError(
        f"{_NEED}; how many columns there are follows from an array or a frame, not from a list."
    )


def matrix_of_lists(rows: list[Any], width: int) -> NDArray[np.float64]:
    """Read rows that are lists; one of another length has nothing but missing values."""
    listed = [items_of(row) for row in rows]
    nowhere = (math.nan,) * width
    good = [row if len(row) == width else nowhere for row in listed]
    return as_numbers([cell for row in good for cell in row]).reshape(len(good), width)


def _column(rows: Any, name: str) -> Any:
    try:
        return rows[name]
    except Exception:  # noqa: BLE001 - libraries of frames raise errors of their own
        raise DataError(f"There is no column '{name}' in the rows, and bounds= names it.") from None
