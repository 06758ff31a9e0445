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
        columns = [_column(rows, name) for name in box.names]
        return np.column_stack(columns) if columns else np.empty((0, 0))
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iufb":
        matrix = np.asarray(rows, dtype=np.float64)
    else:
        listed = [list(row) if np.iterable(row) else [row] for row in rows]
        good = [row if len(row) == box.width else [math.nan] * box.width for row in listed]
        numbers = [[_number(value) for value in row] for row in good]
        matrix = np.array(numbers, dtype=np.float64).reshape(len(good), box.width)
    if matrix.ndim != 2 or matrix.shape[1] != box.width:
        raise DataError(
            f"Rows have as many columns as there are bounds, {box.width}; give an array of that "
            "shape, or a frame with those columns."
        )
    return matrix


def _listed(bounds: Any) -> list[tuple[float, float]] | None:
    """Read bounds per column: a list of pairs; None when it is one pair for all."""
    if not isinstance(bounds, (list, tuple, np.ndarray)) or not len(bounds):
        return None
    if not all(isinstance(ends, (list, tuple, np.ndarray)) for ends in bounds):
        return None
    return [_pair(ends) for ends in bounds]


def _pair(ends: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ParameterError(f"{_NEED}.") from None
    if not -math.inf < low < high < math.inf:
        raise ParameterError("Bounds are finite, with low < high.")
    return low, high


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


def _column(rows: Any, name: str) -> NDArray[np.float64]:
    try:
        column = rows[name]
    except (KeyError, IndexError, TypeError, ValueError):
        raise DataError(f"There is no column '{name}' in the rows, and bounds= names it.") from None
    values = np.asarray(column)
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    return np.array([_number(value) for value in values.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
