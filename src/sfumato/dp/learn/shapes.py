"""Bins of all columns side by side, and the shape functions that live on them.

Contract: a :class:`Layout` gives every column a stretch of places: its bins, then one for missing
cells. It depends on declarations alone. A :class:`Shape` is one column's part of a
fitted additive model, ready to be read or drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.learn.features import Category, Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Layout:
    """Where the bins of each column lie among all bins."""

    columns: tuple[Column, ...]
    bins: tuple[int, ...]

    @property
    def starts(self) -> list[int]:
        """The place of each column's first bin, and after the last column the number of all."""
        return [0, *np.cumsum([bins + 1 for bins in self.bins]).tolist()]

    @property
    def total(self) -> int:
        """How many bins there are, those of missing cells included."""
        return sum(bins + 1 for bins in self.bins)

    def codes(self, cells: Sequence[NDArray[Any]]) -> NDArray[np.uint32]:
        """Give the places of every row's bins."""
        rows = len(cells[0])
        out = np.empty((rows, len(self.columns)), dtype=np.uint32)
        for j, (column, bins, start) in enumerate(
            zip(self.columns, self.bins, self.starts, strict=False)
        ):
            out[:, j] = column.codes(cells[j], bins) + start
        return out


def lay_out(columns: Sequence[Column], most: int) -> Layout:
    """Choose the bins of declared columns, before a cell is read."""
    return Layout(tuple(columns), tuple(column.bins(most) for column in columns))


@dataclass(frozen=True, eq=False)
class Shape:
    """What one column adds to the score: a value for each bin, and one for missing cells.

    ``edges`` are those of a column of numbers, ``categories`` the values of another. With several
    classes ``values`` has a column for each.
    """

    name: Any
    values: NDArray[np.float64]
    missing: NDArray[np.float64]
    edges: NDArray[np.float64] | None = None
    categories: tuple[Any, ...] = ()

    @property
    def spread(self) -> float:
        """The largest difference that the column can make."""
        return float(np.ptp(self.values, axis=0).max())


def shapes_of(layout: Layout, values: NDArray[np.float64]) -> tuple[Shape, ...]:
    """Cut the values of all bins into shape functions."""
    shapes = []
    for column, bins, start in zip(layout.columns, layout.bins, layout.starts, strict=False):
        part, missing = values[start : start + bins], values[start + bins]
        if isinstance(column, Category):
            shape = Shape(column.name, part, missing, categories=column.values)
        else:
            shape = Shape(column.name, part, missing, column.edges(bins))
        shapes.append(shape)
    return tuple(shapes)
