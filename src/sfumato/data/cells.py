"""Private cells, read one by one: as a number, as one of declared values, or as a label.

Contract: every reader here is a total function of one cell. What a cell becomes depends on that
cell and on public facts (bounds, declared values) alone, never on other cells, nor on the type that
other cells give their container: a list, an array, a frame of pandas or Polars and a column of
Arrow read alike. No reader raises because of a cell; errors are about the container alone.

*Missing* are None, NaN (of any type), ``pandas.NA`` and ``NaT``.

*A number* (:func:`as_number`) is what ``float`` makes of a cell: True is 1, a text is the number it
spells, a whole number beyond all floats is infinite, so that bounds clamp it. Everything else is
NaN: missing cells, other texts, dates, lists.

*One of declared values* (:class:`Listed`): a cell is first compared as it is, then by its spelling.
1, 1.0, Decimal("1.00") and True are one value, 0 and −0.0 too; the texts "1", "1.0" and "true" are
it where the list has nothing that is spelt so. For a frame turns whole numbers into floats because
one cell is missing, and NumPy turns a whole list into texts because one cell is a text. What is
handed out is the declared value.

*A label* (:func:`as_label`), where no values are declared, has one spelling for one value: whole
numbers are ints (1.0, True and Decimal("1") are 1, −0.0 is 0), other numbers floats, dates are
texts (a timestamp at midnight is its day), a tuple is a tuple of labels; any other hashable value
is the text that ``str`` gives. No label, and so left out, have missing and infinite cells, and what
cannot be hashed, such as a list. Of an array of texts a cell that spells a number or a truth value
exactly as NumPy writes it is taken for that (:func:`cells_of`).

Limits: what a library has lost before a column comes here is lost. Whole numbers beyond 2^53 that a
frame has rounded to floats are those floats, and truth values that NumPy has made numbers of, since
a list held both, are 1 and 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

Label: TypeAlias = "str | int | float | tuple[Any, ...]"

_MOST_BITS = 4096
"""Longer whole numbers have no label: Python refuses to write them out."""
_NOTHING = {"NAType", "NaTType", "NoneType"}
_PLAIN = (str, int, float, bool)
_TRUTHS = {"true": True, "false": False}
_MIDNIGHTS = ("T00:00:00", " 00:00:00", "T00:00:00.000000", "T00:00:00.000000000")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,300}")
_ABSENT = object()


# -- cells of a container ------------------------------------------------------------------------


def cells_of(column: Any) -> list[Any]:
    """Give the cells of a list, array, column or other iterable, none changed by another.

    NumPy has made texts of all cells of a list because one of them is a text, so a cell of an array
    of texts that is written as NumPy writes numbers or truth values is given back as such.
    """
    if isinstance(column, (list, tuple)):
        return list(column)
    if isinstance(column, (str, bytes, Mapping)) or not isinstance(column, Iterable):
        if getattr(column, "ndim", None) != 0 or not hasattr(column, "tolist"):
            raise DataError(
                f"A column is a list, an array or another sequence of cells, and a value of type "
                f"{type(column).__name__} was given."
            )
        scalar: Any = column
        return [scalar.tolist()]
    if isinstance(column, np.ndarray):
        kind = column.dtype.kind
        if kind in "mM":  # of nanoseconds, lists have whole numbers
            return list(column.ravel())
        listed = column.ravel().tolist()
        return _as_before(listed) if kind == "U" else listed
    if len(getattr(column, "shape", ())) > 1:
        raise DataError("A column of cells is needed, and a whole frame was given; name a column.")
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _as_before(texts: list[str]) -> list[Any]:
    """Give texts back as what NumPy may have made them of."""
    known: dict[str, Any] = {}
    for text in set(texts):
        known[text] = text
        if text in {"True", "False"}:
            known[text] = text == "True"
        elif text[:1].isdecimal() or text[:1] == "-" or text in {"nan", "inf"}:
            try:
                number = float(text)
            except ValueError:
                continue
            if repr(number) == text:
                known[text] = number
            elif _WHOLE.fullmatch(text):
                known[text] = int(text)
    return [known[text] for text in texts]


def items_of(basket: Any) -> Collection[Any]:
    """Give the cells of a record that is a list itself: nothing, one cell, or what it holds."""
    if isinstance(basket, (list, tuple, set, frozenset)):
        return basket
    if is_missing(basket):
        return ()
    if isinstance(basket, (str, bytes)) or not isinstance(basket, Iterable):
        return (basket,)
    try:
        return list(basket) if isinstance(basket, Mapping) else cells_of(basket)
    except Exception:  # noqa: BLE001 - whatever the record does, it is about that record alone
        return ()


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is missing: None, NaN of any type, ``pandas.NA`` or ``NaT``."""
    kind = type(cell)
    if kind is str or kind is int:
        return False
    if cell is None or kind.__name__ in _NOTHING:
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(cell))
    return isinstance(cell, (float, complex, np.inexact)) and bool(cell != cell)  # noqa: PLR0124


# -- numbers -------------------------------------------------------------------------------------


def as_number(cell: Any) -> float:
    """Read a cell as a number; NaN is missing, and what no float holds is infinite.

    >>> as_number("2.5"), as_number(True), as_number(10**400), as_number([1])
    (2.5, 1.0, inf, nan)
    """
    try:
        return _number(cell)
    except Exception:  # noqa: BLE001 - whatever a cell does when it is read, it is no number
        return math.nan


def _number(cell: Any) -> float:
    if type(cell) is float:
        return cell
    if isinstance(cell, str):
        known = _TRUTHS.get(cell.lower()) if len(cell) < 6 else None
        return float(cell if known is None else known)
    if type(cell) is not int:
        if isinstance(cell, (complex, np.complexfloating)):
            return float(cell.real) if cell.imag == 0 else math.nan
        if isinstance(cell, (np.datetime64, np.timedelta64)) or np.ndim(cell):
            return math.nan
    try:
        return float(cell)
    except OverflowError:  # a whole number or a fraction beyond all floats
        return math.inf if cell > 0 else -math.inf


def _array(column: Any) -> NDArray[Any]:
    try:
        return np.asarray(column)
    except Exception:  # noqa: BLE001 - NumPy has no such type, as for whole numbers of 128 bits
        return np.array(cells_of(column), dtype=object)


def as_numbers(column: Any) -> NDArray[np.float64]:
    """Read a column as numbers, cell by cell; NaN is missing."""
    array = column
    if not isinstance(column, (list, tuple)) and hasattr(column, "__array__"):
        array = column if isinstance(column, np.ndarray) else _array(column)
        if array.dtype.kind in "iufb":
            with np.errstate(over="ignore", invalid="ignore"):
                floats = array.astype(np.float64)
            return np.asarray(np.ma.filled(floats, math.nan)).ravel()
        if array.dtype.kind == "O":
            column = array
    cells = cells_of(column)
    if set(map(type, cells)) == {float}:
        return np.array(cells, dtype=np.float64)
    return np.fromiter((as_number(cell) for cell in cells), np.float64, len(cells))


# -- labels --------------------------------------------------------------------------------------


def as_label(cell: Any) -> Label | None:
    """Spell a cell in the one way its value is spelt; None where it has no label.

    >>> as_label(1.0), as_label(-0.0), as_label(True), as_label("1"), as_label([1])
    (1, 0, 1, '1', None)
    """
    kind = type(cell)
    if kind is str:
        return cell  # type: ignore[no-any-return]
    try:
        if kind is int:
            return cell if cell.bit_length() <= _MOST_BITS else None
        return None if is_missing(cell) else _label(cell)
    except Exception:  # noqa: BLE001 - whatever a cell does when it is spelt, it has no label
        return None


def _label(cell: Any) -> Label | None:
    if isinstance(cell, (str, np.str_)):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, (Integral, np.bool_)):
        return as_label(int(cell))
    if isinstance(cell, (Real, Decimal)):
        return _number_label(cell)
    if isinstance(cell, (complex, np.complexfloating)) and cell.imag == 0:
        return _number_label(float(cell.real))
    if isinstance(cell, (date, np.datetime64)):
        return _moment(cell)
    hash(cell)  # what cannot be hashed has no label
    if isinstance(cell, tuple):
        return tuple(as_label(part) for part in cell)
    if isinstance(cell, frozenset):
        return tuple(sorted((as_label(part) for part in cell), key=label_order))
    return str(cell)


def _number_label(cell: Any) -> Label | None:
    if isinstance(cell, Decimal) and cell.adjusted() > _MOST_BITS:
        return None
    try:
        number = float(cell)
    except OverflowError:
        return as_label(int(cell))
    if not math.isfinite(number):
        return None
    whole = int(cell)
    return as_label(whole) if whole == cell else number


def _moment(cell: Any) -> str:
    if isinstance(cell, np.datetime64):
        moment = cell.astype("datetime64[us]").item()
        return _moment(moment) if isinstance(moment, date) else str(cell)
    if not isinstance(cell, datetime):
        return str(cell.isoformat())
    if cell.tzinfo is not None:
        return cell.astimezone(UTC).isoformat(sep=" ")
    if cell.time() == time() and not getattr(cell, "nanosecond", 0):
        return cell.date().isoformat()
    return cell.isoformat(sep=" ")


def as_labels(cells: Iterable[Any]) -> list[Label | None]:
    """Spell many cells, each by itself."""
    known: dict[type, dict[Any, Label | None]] = {kind: {} for kind in _PLAIN}
    return [_remembered(known, cell, as_label) for cell in cells]


def _remembered(known: dict[type, dict[Any, Any]], cell: Any, read: Any) -> Any:
    """Read a cell, of a plain type once only."""
    seen = known.get(type(cell))
    if seen is None:
        return read(cell)
    found = seen.get(cell, _ABSENT)
    if found is _ABSENT:
        found = seen[cell] = read(cell)
    return found


def label_order(label: Label | None) -> tuple[int, Any, str]:
    """Give the key by which labels of all types are sorted: numbers, texts, tuples."""
    if isinstance(label, (int, float)):
        return (0, label, "")
    return (1, label, "") if isinstance(label, str) else (2, 0, repr(label))


def as_text(cell: Any) -> str:
    """Write a cell as a text: its label, True as 'true'; '' where it is missing.

    An infinite number is written as such, for bounds to clamp it.
    """
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    label = as_label(cell)
    if label is None:
        number = as_number(cell)
        return repr(number) if math.isinf(number) else ""
    return _spelt(label)


def _spelt(label: Label) -> str:
    if isinstance(label, tuple):
        return f"({', '.join(_spelt('' if part is None else part) for part in label)})"
    return repr(label) if isinstance(label, float) else str(label)


# -- declared values -----------------------------------------------------------------------------


class Listed:
    """Public values, and the place that a cell has among them."""

    def __init__(self, values: Sequence[Any], what: str = "The list of values") -> None:
        self.values = values if isinstance(values, range) else tuple(values)
        self._what = what
        if not isinstance(values, range):
            _ = self._places  # checked before anything is read

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[Label, int]:
        found: dict[Label, int] = {}
        for place, value in enumerate(self.values):
            label = as_label(value)
            if label is None:
                raise ParameterError(
                    f"{self._what} names {value!r}, which no cell can be told to be; list texts, "
                    "finite numbers, truth values or dates."
                )
            if label in found:
                raise ParameterError(f"{self._what} names the value {value!r} twice.")
            found[label] = place
        return found

    @cached_property
    def spellings(self) -> dict[str, int]:
        """Every text that is one of the values, and the place of that value.

        Own spellings come first, so "1" is the text of that name where both "1" and "true" are
        listed. The same table serves engines, which compare the texts of cells.
        """
        found: dict[str, int] = {}
        for place, value in enumerate(self.values):
            found.setdefault(as_text(value), place)
        for place, value in enumerate(self.values):
            for text in _other_spellings(as_text(value)):
                found.setdefault(text, place)
        for place, value in enumerate(self.values):
            for text in _as_truths(as_text(value)):
                found.setdefault(text, place)
        return found

    def place(self, cell: Any, otherwise: int = -1) -> int:
        """Give the place of a cell among the values."""
        label = as_label(cell)
        if label is None:
            return otherwise
        found = self._places.get(label)
        return self.spellings.get(as_text(cell), otherwise) if found is None else found

    def places(self, column: Any, otherwise: int = -1) -> NDArray[np.int64]:
        """Give the place of each cell of a column, each found by itself."""
        if isinstance(column, np.ndarray) and column.dtype.kind in "iufb":
            distinct, spots = np.unique(column.ravel(), return_inverse=True)
            found = [self.place(cell, otherwise) for cell in distinct.tolist()]
            return np.array(found, dtype=np.int64)[spots.ravel()]
        known: dict[type, dict[Any, int]] = {kind: {} for kind in _PLAIN}
        cells = cells_of(column)
        read = (
            _remembered(known, cell, lambda value: self.place(value, otherwise)) for cell in cells
        )
        return np.fromiter(read, np.int64, len(cells))


def _other_spellings(text: str) -> Iterator[str]:
    """Give the other texts that engines and containers write for the same value."""
    whole = text.removesuffix(".0")
    if _WHOLE.fullmatch(whole):
        yield from (whole, f"{whole}.0", repr(float(whole)))
        if whole == "0":
            yield from ("-0", "-0.0")
        return
    if len(text) == 10 and text[4::3] == "--":
        yield from (text + midnight for midnight in _MIDNIGHTS)
    elif len(text) > 10 and text[10] == " ":
        yield text[:10] + "T" + text[11:]
    lower = text.lower()
    if lower in _TRUTHS:
        yield from (lower, lower.title())


def _as_truths(text: str) -> Iterator[str]:
    """Give what a truth value is where a column has numbers, and the other way round."""
    for truth, number in (("true", "1"), ("false", "0")):
        if text.lower() == truth:
            yield from (number, f"{number}.0")
        elif text in {number, f"{number}.0"}:
            yield from (truth, truth.title())
