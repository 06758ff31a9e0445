"""Declared columns: what a model may know of its features before it reads a row.

Contract: every column has bounds (a number, clamped to them) or a domain (a category of a list); a
column with neither is refused, because bounds taken from the data tell of the data. Reading is
total and works cell by cell: whatever a cell holds, it becomes a code or a whole number of steps
that depends on that cell and on public facts alone. So no row moves another row's contribution,
and no error can tell of a row. A missing cell, or one outside the domain, has a code of its own;
among numbers it counts as the middle of the bounds. Whether a column is of whole numbers is
declared as well (``range(17, 91)`` instead of ``(17, 90)``) and not read off the array, whose type
a single missing cell may change.

Proof that reading is cell by cell. Arrays are read by subtraction, multiplication, rounding and
comparison of doubles, which IEEE 754 defines for each element alone, or by look-ups. The type of an
array changes no value and no number that is read (:mod:`sfumato.data.cells`); a list has none, and
takes one only if all of its cells are of that type (:func:`as_cells`). Bounds are such that no
double of theirs overflows or vanishes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.data.cells import Listed, as_numbers
from sfumato.dp.queries.bounds import pair_columns, read_ends
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = {float: "f", np.float64: "f", int: "iu", np.int64: "iu", bool: "b", np.bool_: "b"}
Name: TypeAlias = Any  # what a frame calls its column, or the number of an array's column
_MOST_TABLE = 1 << 20
_MOST_WHOLE = 1 << 51  # doubles tell whole numbers apart up to here, and their halves


@dataclass(frozen=True)
class Number:
    """A column of numbers between public bounds; ``whole`` declares that they are whole numbers."""

    name: Name
    low: float
    high: float
    whole: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Where the first bin begins and the last one ends: whole numbers lie inside of theirs."""
        return (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)

    def bins(self, most: int) -> int:
        """Choose how many bins of equal width it has; whole numbers have no empty ones between."""
        return int(min(most, self.high - self.low + 1)) if self.whole else most

    def codes(self, cells: NDArray[Any], bins: int) -> NDArray[np.int64]:
        """Give the bin of each cell; a missing one has the code ``bins``."""
        numbers = as_numbers(cells)
        low, high = self.ends
        with np.errstate(invalid="ignore"):
            inside = np.clip(numbers, self.low, self.high)
            places = np.floor((inside - low) / ((high - low) / bins))
            places = np.where(np.isnan(numbers), bins, np.minimum(places, bins - 1))
        return places.astype(np.int64)

    def edges(self, bins: int) -> NDArray[np.float64]:
        """Give the edges of the bins, for pictures."""
        return np.linspace(*self.ends, bins + 1).astype(np.float64)

    def steps(self, cells: NDArray[Any], bits: int) -> NDArray[np.int64]:
        """Give each cell as a whole number of steps between −2^bits and 2^bits."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        numbers = np.clip(as_numbers(cells), self.low, self.high)
        scaled = np.rint((numbers - middle) / half * float(1 << bits))
        scaled = np.where(np.isnan(scaled), 0.0, scaled)
        return np.clip(scaled, -float(1 << bits), float(1 << bits)).astype(np.int64)


@dataclass(frozen=True)
class Category:
    """A column of categories from a public list."""

    name: Name
    values: tuple[Any, ...]

    def bins(self, most: int) -> int:  # noqa: ARG002 - as of numbers
        """One bin for each value."""
        return len(self.values)

    @property  # not cached: which tables were made would tell of which types cells are
    def _listed(self) -> Listed:
        return Listed(self.values, f"The domain of column {self.name!r}")

    def codes(self, cells: NDArray[Any], bins: int) -> NDArray[np.int64]:
        """Give the place of each cell in the list; anything else has the code ``bins``."""
        whole = self._whole if cells.dtype.kind in "iu" else None
        if whole is not None:
            low, table = whole
            inside = (cells >= low) & (cells < low + table.size)
            known = np.zeros(cells.shape, dtype=np.int64)
            known[inside] = cells[inside].astype(np.int64) - low  # a narrow type has no room
            places: NDArray[np.int64] = np.where(inside, table[known], bins)
            return places
        return self._listed.places(cells, bins)

    @property
    def _whole(self) -> tuple[int, NDArray[np.int64]] | None:
        """A table of places, where all values are whole numbers not far apart."""
        if not all(isinstance(v, int | np.integer) for v in self.values):
            return None
        low, high = min(self.values), max(self.values)
        if high - low >= _MOST_TABLE or max(-low, high) > _MOST_WHOLE:
            return None
        table = np.full(int(high - low) + 1, len(self.values), dtype=np.int64)
        table[np.array(self.values, dtype=np.int64) - int(low)] = np.arange(len(self.values))
        return int(low), table


Column: TypeAlias = Number | Category


def declare(
    names: Sequence[Name], bounds: Any = None, domain: Mapping[Name, Sequence[Any]] | None = None
) -> tuple[Column, ...]:
    """Pair every column with its declaration; refuse columns that have none, or two."""
    domains = {} if domain is None else dict(domain)
    bounds = pair_columns(bounds, names)
    limits = bounds if isinstance(bounds, Mapping) else {}
    for known in (limits, domains):
        strangers = [name for name in known if name not in names]
        if strangers:
            raise ParameterError(
                f"The data have no column {strangers[0]!r}, which bounds= or domain= names; the "
                f"columns are {', '.join(map(repr, list(names)[:20]))}."
            )
    columns: list[Column] = []
    for name in names:
        if name in domains and name in limits:
            raise ParameterError(f"Column {name!r} has bounds and a domain; give it one of them.")
        if name in domains:
            columns.append(Category(name, categories(domains[name], name)))
        elif name in limits:
            columns.append(number(name, limits[name], f"bounds of column {name!r}"))
        elif bounds is not None and not isinstance(bounds, Mapping):
            columns.append(number(name, bounds, "bounds"))
        else:
            raise ParameterError(
                f"Column {name!r} is not declared; give bounds={{{name!r}: (low, high)}} or "
                f"domain={{{name!r}: [values]}}, from knowledge of the domain and never from the "
                "data, or leave the column out."
            )
    return tuple(columns)


def number(name: Name, bounds: Any, what: str) -> Number:
    """Declare a column of numbers by (low, high), or of whole numbers by a range."""
    if isinstance(bounds, range) and bounds.step == 1 and bounds.stop - bounds.start > 1:
        if max(-bounds[0], bounds[-1]) > _MOST_WHOLE:
            raise ParameterError(f"The {what} are whole numbers between −2⁵¹ and 2⁵¹.")
        return Number(name, float(bounds[0]), float(bounds[-1]), whole=True)
    return Number(name, *read_ends(bounds, what))


def categories(values: Any, name: Name) -> tuple[Any, ...]:
    """Read a public list of categories."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | range):
        raise ParameterError(f"The domain of column {name!r} is a list of its values.")
    listed = [v.item() if isinstance(v, np.generic) else v for v in values]
    if not listed or len(set(listed)) < len(listed):
        raise ParameterError(f"The domain of column {name!r} lists each value once, and some.")
    Listed(listed, f"The domain of column {name!r}")
    return tuple(listed)


def read_columns(data: Any) -> tuple[list[Name], list[NDArray[Any]]]:
    """Take a frame, a mapping of columns or an array of rows apart into named columns."""
    if hasattr(data, "toarray"):
        raise DataError("Sparse data are not read; give a dense array or a frame.")
    if isinstance(data, Mapping):
        return _checked(list(data), [as_cells(column) for column in data.values()])
    if hasattr(data, "columns") and not isinstance(data, np.ndarray):
        names = list(data.columns)
        if names and not isinstance(names[0], str | int):
            names = list(data.column_names)  # an Arrow table, whose .columns are arrays
        return _checked(names, [_of_frame(data, name) for name in names])
    array = _of_rows(data) if isinstance(data, list | tuple) else as_cells(data)
    if array.ndim != 2:
        raise DataError(
            f"Expected a 2D array of rows and columns, and one of {array.ndim} dimensions was "
            "given. Reshape your data: X.reshape(-1, 1) makes rows of single numbers."
        )
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: give real numbers.")
    return list(range(array.shape[1])), [array[:, j] for j in range(array.shape[1])]


def _of_rows(rows: Sequence[Any]) -> NDArray[Any]:
    """Make an array of rows that are lists; a row of another length than most has nothing."""
    widths = Counter(len(row) for row in rows if isinstance(row, list | tuple | np.ndarray))
    if 2 * widths.total() < len(rows) or not widths:
        return as_cells(rows)
    width = widths.most_common(1)[0][0]
    nothing = (None,) * width
    listed = [row if isinstance(row, list | tuple | np.ndarray) else nothing for row in rows]
    cells = [cell for row in listed for cell in (row if len(row) == width else nothing)]
    flat = as_cells(cells)
    if flat.shape != (len(cells),):
        flat = np.empty(len(cells), dtype=object)
        for place, cell in enumerate(cells):
            flat[place] = cell
    return flat.reshape(len(rows), width)


def as_cells(values: Any) -> NDArray[Any]:
    """Make an array of cells, none of which is changed by its neighbours.

    Of a list, numpy would make all cells texts because one is, 1 of True because there is a 2, and
    a double of a large whole number because there is a half. Cells of such a list stay as they are.
    """
    if str(getattr(values, "dtype", "")) in {"Int128", "UInt128"}:  # numpy has no such numbers
        values = values.to_list()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, list | tuple):
        return _of_list(values)
    array = np.asarray(values)
    if not isinstance(values, np.ndarray) and array.dtype.kind not in "fiubcO":
        array = np.array(values, dtype=object)
    return array


def _of_list(values: Sequence[Any]) -> NDArray[Any]:
    """Give a list the type that all of its cells have, or none."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths, or lists among the cells
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    cells: Any = chain.from_iterable(values) if array.ndim == 2 else values
    kinds = set(map(type, cells)) if array.ndim <= 2 else set()
    alike = len(kinds) == 1 and array.dtype.kind in _KINDS.get(next(iter(kinds)), "")
    return array if alike or not array.size else np.array(values, dtype=object)


def _of_frame(frame: Any, name: Name) -> NDArray[Any]:
    return as_cells(frame[name])


def _checked(
    names: list[Name], columns: list[NDArray[Any]]
) -> tuple[list[Name], list[NDArray[Any]]]:
    if len({len(column) for column in columns}) > 1:
        raise DataError("The columns have different lengths.")
    if len(set(names)) < len(names):
        raise DataError("Two columns have the same name.")
    return names, columns
