"""Put records into bins that are known beforehand.

Contract: each record goes into one bin or none, by itself, so that one record moves at most one
count. Bins come from the caller and are public, and so is the number of dimensions, which follows
from them. Bins of numbers reach from each edge to just below the next, and the last one holds its
upper edge, as in NumPy. What is in no bin: values beyond the edges, NaN and None, what is not a
number where numbers are binned, and a record of the wrong length. None of these raises, because
an error would tell of one record (:mod:`sfumato.data.cells`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.cells import Listed, as_numbers, cells_of, items_of
from sfumato.dp.queries.bounds import read_ends
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_BINS = 10_000_000


@dataclass(frozen=True, eq=False)
class Axis:
    """The bins of one dimension: rising edges, or categories."""

    edges: tuple[float, ...] = ()
    categories: tuple[Any, ...] = ()

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.categories) or len(self.edges) - 1

    def label(self, i: int) -> Any:
        """Name a bin: its category, or its edges."""
        if self.categories:
            return self.categories[i]
        end = "]" if i == self.bins - 1 else ")"
        return f"[{self.edges[i]:g}, {self.edges[i + 1]:g}{end}"

    def places(self, column: Any) -> NDArray[np.int64]:
        """Give the bin of each value, −1 for none."""
        if self.categories:
            return self._listed.places(column)
        numbers = as_numbers(column)
        found = np.searchsorted(self.edges, numbers, side="right") - 1
        found[numbers == self.edges[-1]] = self.bins - 1
        outside = ~((numbers >= self.edges[0]) & (numbers <= self.edges[-1]))  # NaN is outside
        return np.where(outside, -1, found).astype(np.int64)

    @property  # not cached: which of its tables were made would tell of which types cells are
    def _listed(self) -> Listed:
        return Listed(self.categories, "The list of categories")


def axes_of(values: Any, bins: Any, bounds: Any) -> tuple[Axis, ...]:
    """Read the bins of every dimension; how many there are follows from public parameters."""
    columns = _dimensions(values, bins, bounds)
    if columns is None:
        return _checked((axis(bins, bounds),))
    each = [bins] * columns if isinstance(bins, int) else list(bins)
    ends = [None] * columns if bounds is None else list(bounds)
    if len(each) != columns or len(ends) != columns:
        raise ParameterError(
            f"The records have {columns} dimensions; bins= and bounds= name that many, as in "
            "bins=[[0, 50, 100], ['female', 'male']]."
        )
    return _checked(tuple(axis(cuts, end) for cuts, end in zip(each, ends, strict=True)))


def _dimensions(values: Any, bins: Any, bounds: Any) -> int | None:
    if isinstance(values, Mapping):
        return len(values)
    for given in (bins, bounds):
        if _is_list(given) and len(given) and any(_is_list(part) for part in given):
            return len(given)
    return None


def _checked(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    total = math.prod(axis_.bins for axis_ in axes)
    if total > _MOST_BINS:
        raise ParameterError(
            f"At most {_MOST_BINS:,} bins are published, and {total:,} were given."
        )
    return axes


def axis(bins: Any, bounds: Any) -> Axis:
    """Read the bins of one dimension: a number within bounds, edges, or categories."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return _equal(int(bins), bounds)
    if isinstance(bins, (str, bytes)) or not np.iterable(bins):
        raise _wrong()
    listed = list(bins)
    numbers = [isinstance(edge, (int, float, np.number)) for edge in listed]
    if not listed or not all(numbers):
        if not listed:
            raise ParameterError("Categories are at least one, and each is named once.")
        Listed(listed, "The list of categories")
        return Axis(categories=tuple(listed))
    edges = tuple(float(edge) for edge in listed)
    rising = all(a < b for a, b in pairwise(edges))
    if len(edges) < 2 or not rising or not all(math.isfinite(edge) for edge in edges):
        raise ParameterError("The edges of bins are finite and rise, and there are at least two.")
    return Axis(edges)


def _equal(count: int, bounds: Any) -> Axis:
    if isinstance(bounds, str) or not np.iterable(bounds) or len(list(bounds)) != 2:
        raise ParameterError(
            f"{count} bins need bounds=(low, high), from knowledge of the domain and never from "
            "the data; or give the edges, as in bins=[0, 50, 100]."
        )
    low, high = read_ends(bounds)
    if count < 1:
        raise ParameterError("A number of bins is at least 1.")
    if count > _MOST_BINS:
        raise ParameterError(
            f"At most {_MOST_BINS:,} bins are published, and {count:,} were given."
        )
    return Axis(tuple(np.linspace(low, high, count + 1).tolist()))


def _wrong() -> ParameterError:
    return ParameterError(
        "bins= is a number of bins, as in bins=10, a list of edges, as in bins=[0, 18, 65, 120], "
        "or a list of categories."
    )


def _is_list(given: Any) -> bool:
    return isinstance(given, (list, tuple, np.ndarray))


def columns_of(values: Any, dimensions: int) -> list[Any]:
    """Read records as columns: a 1-D sequence, an array of n rows, or a mapping of columns."""
    if isinstance(values, Mapping):
        columns = list(values.values())
        if len({len(column) for column in columns}) != 1:
            raise DataError("Columns of records are at least one, and equally long.")
        return columns
    if len(getattr(values, "shape", ())) < 2:  # an array of one axis may hold rows
        return [values] if dimensions == 1 else _transposed(cells_of(values), dimensions)
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] != dimensions:
        raise DataError(
            f"The bins are of {dimensions} dimensions, and the array is of shape {array.shape}; "
            "give one row per record."
        )
    return [array[:, k] for k in range(dimensions)]


def _transposed(rows: Sequence[Any], dimensions: int) -> list[Any]:
    nowhere = (math.nan,) * dimensions
    listed = [items_of(row) if not isinstance(row, (set, frozenset)) else () for row in rows]
    whole = [row if len(row) == dimensions else nowhere for row in listed]
    return [list(column) for column in zip(*whole, strict=True)] or [[]] * dimensions


def flat_places(axes: Sequence[Axis], columns: Sequence[Any]) -> NDArray[np.int64]:
    """Give the bin of each record in the flattened grid, −1 for none."""
    places = [axis_.places(column) for axis_, column in zip(axes, columns, strict=True)]
    shape = tuple(axis_.bins for axis_ in axes)
    inside = np.logical_and.reduce([place >= 0 for place in places])
    flat = np.full(inside.shape, -1, dtype=np.int64)
    flat[inside] = np.ravel_multi_index([place[inside] for place in places], shape)
    return flat
