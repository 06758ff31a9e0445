"""Columns of a table: their public domain, and the way from cells to codes and back.

Contract: a :class:`Coder` is made of public knowledge (a declared :class:`Column`, a schema's
domain, or a domain that was found for a price). It codes every cell by itself, whatever type its
column has (:mod:`sfumato.data.cells`): numbers and dates outside the bounds count as the nearest
bound, a value that is not listed, or a cell that cannot be read, as missing, or as *other* where a
coder has such a value. Nothing raises, because an error would tell of one cell. Missing cells have
a code of their own. A listed value comes back as it was listed: a number as one, True as True.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from sfumato.data.cells import Listed, as_text, is_missing
from sfumato.data.domains import Range
from sfumato.data.engines.duckdb import FLOATS, plain_text, quoted, values_list
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.dp.publish.synthesis.domain import MOST_ORDERED, CodedColumn
from sfumato.dp.publish.synthesis.particles import uniforms
from sfumato.dp.queries.bounds import read_ends
from sfumato.errors import ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.schema import Attribute
    from sfumato.dp.noise import Stream

Kind = Literal["text", "integer", "number", "date"]

_INTEGERS = {prefix + size for prefix in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}  # fmt: skip  # noqa: E501
_BINS = 100
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Column(Written):
    """What is publicly known about a column, where a schema does not say it.

    ``bounds`` are two numbers or two dates, ``values`` a list of texts, numbers or truth values.
    ``bins`` is a number of
    equal bins within the bounds, or a list of their edges; ``special`` numbers, such as 0 or 999,
    are kept apart from all others.
    """

    bounds: tuple[Any, Any] | None = None
    values: Sequence[Any] | None = None
    bins: int | Sequence[float] | None = None
    special: Sequence[float] = ()
    kind: Kind | None = None


@dataclass(frozen=True, eq=False)
class Values:
    """Decoded cells of one column: numbers with their SQL type, or places in a list of texts."""

    numbers: NDArray[Any]
    missing: NDArray[np.bool_]
    sql_type: str
    texts: tuple[str, ...] | None = None

    def sql(self, name: str) -> str:
        """Return the SQL of a cell, from the registered arrays ``name`` and ``name_missing``."""
        cell = name
        if self.texts is not None:
            cell = f"{values_list(self.texts)}[{name} + 1]"
        elif self.sql_type == "DATE":
            cell = f"(DATE '1970-01-01' + CAST({name} AS INTEGER))"
        return f"CASE WHEN {name}_missing THEN NULL ELSE CAST({cell} AS {self.sql_type}) END"

    def take(self, rows: NDArray[Any]) -> Values:
        """Give some of the cells."""
        return Values(self.numbers[rows], self.missing[rows], self.sql_type, self.texts)

    def put(self, rows: NDArray[Any], others: Values) -> None:
        """Replace some of the cells."""
        self.numbers[rows] = others.numbers
        self.missing[rows] = others.missing


class Coder(Protocol):
    """The way from cells to codes and back."""

    @property
    def coded(self) -> CodedColumn:
        """What the engine may know."""

    def sql(self, kind: str) -> str:
        """Return the SQL that codes a cell of a column of this SQL type."""

    def decode(self, codes: NDArray[Any], source: Stream) -> Values:
        """Draw a cell for each code."""

    def samples(self) -> tuple[NDArray[np.int64], Values]:
        """Give cells that stand for the codes, and their codes, to judge rules by."""


@dataclass(frozen=True, eq=False)
class Texts:
    """A list of texts, perhaps a code for all others, and a code for missing cells."""

    name: str
    values: tuple[str, ...]
    other: str | None = None
    sql_type: str = "VARCHAR"

    @property
    def coded(self) -> CodedColumn:
        """Unordered codes: the values, other, missing."""
        size = len(self._shown) + 1
        doubtful = tuple(range(len(self.values), size))
        return CodedColumn(self.name, size, alone=(size - 1,), doubtful=doubtful)

    @property
    def _shown(self) -> tuple[str, ...]:
        return self.values if self.other is None else (*self.values, self.other)

    def sql(self, kind: str) -> str:
        """Look the text up in an enumeration."""
        text = plain_text(self.name, kind)
        empty = len(self._shown)
        stranger = empty if self.other is None else empty - 1
        texts = self.spellings
        code = f"enum_code(TRY_CAST({text} AS ENUM({values_list(list(texts))[1:-1]})))"
        known = f"[{', '.join(map(str, texts.values()))}][{code} + 1]"
        return f"CASE WHEN {text} = '' THEN {empty} ELSE coalesce({known}, {stranger}) END"

    @cached_property
    def spellings(self) -> dict[str, int]:
        """Every text that is one of the values, and its place."""
        return Listed(self.values).spellings

    def decode(self, codes: NDArray[Any], source: Stream) -> Values:  # noqa: ARG002 - nothing is drawn
        """Look the codes up."""
        missing = codes == len(self._shown)
        places = np.where(missing, 0, codes).astype(np.int64)
        return Values(places, missing, self.sql_type, self._shown)

    def samples(self) -> tuple[NDArray[np.int64], Values]:
        """Let every code stand for itself."""
        codes = np.arange(len(self._shown) + 1)
        places = np.minimum(codes, len(self._shown) - 1)
        return codes, Values(places, codes == len(self._shown), self.sql_type, self._shown)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Bins between public edges, special numbers, and a code for missing cells.

    A bin holds its lower edge and not its upper one; the first and the last hold all that lies
    beyond, too. Whole numbers and dates (as days since 1970) have edges at whole numbers.
    """

    name: str
    edges: tuple[float, ...]
    kind: Kind
    special: tuple[float, ...] = ()

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def coded(self) -> CodedColumn:
        """Ordered codes: the bins, the special numbers, missing."""
        size = self.bins + len(self.special) + 1
        alone = tuple(range(self.bins, size))
        return CodedColumn(self.name, size, ordered=True, alone=alone, doubtful=(size - 1,))

    def sql(self, kind: str) -> str:
        """Find the bin, by halving."""
        cell = quoted(self.name)
        text = cell if kind == "VARCHAR" else f"CAST({cell} AS VARCHAR)"
        if self.kind == "date":
            day = cell if kind == "DATE" else f"TRY_CAST({text} AS DATE)"
            day = f"CASE WHEN isfinite({day}) THEN {day} END"
            number = f"date_diff('day', DATE '1970-01-01', {day})"
        elif kind in FLOATS or kind in _INTEGERS or kind == "BOOLEAN":
            number = f"CAST({cell} AS DOUBLE)"
        else:
            truth = f"CASE lower({text}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
            number = f"coalesce(TRY_CAST({text} AS DOUBLE), {truth})"
        special = "".join(
            f" WHEN {number} = {value!r} THEN {self.bins + place}"
            for place, value in enumerate(self.special)
        )
        empty = self.bins + len(self.special)
        nothing = f"{number} IS NULL" if self.kind == "date" else f"{number} IS NULL OR isnan({number})"  # fmt: skip  # noqa: E501
        return f"CASE WHEN {nothing} THEN {empty}{special} ELSE {self.place(number)} END"

    def place(self, number: str) -> str:
        """Return the SQL that finds the bin of a number, by halving; plain on every engine."""
        inner = self.edges[1:-1]

        def halve(low: int, high: int) -> str:  # the bin is among low … high
            if low == high:
                return str(low)
            middle = (low + high) // 2
            return (
                f"CASE WHEN {number} < {inner[middle]!r} THEN {halve(low, middle)} "
                f"ELSE {halve(middle + 1, high)} END"
            )

        return halve(0, self.bins - 1)

    def decode(self, codes: NDArray[Any], source: Stream) -> Values:
        """Draw a number uniformly in each bin, a whole one where the column has whole numbers."""
        missing = codes == self.bins + len(self.special)
        bins = np.minimum(codes, self.bins - 1).astype(np.int64)
        edges = np.array(self.edges)
        low, high = edges[bins], edges[bins + 1]
        coins = uniforms(source, codes.size)
        if self.kind == "number":
            numbers = self._rounded(low + coins * (high - low), low, high)
        else:
            numbers = low + np.floor(coins * (high - low))
        for place, value in enumerate(self.special):
            numbers = np.where(codes == self.bins + place, value, numbers)
        return self._typed(numbers, missing)

    def _rounded(
        self, numbers: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
    ) -> NDArray[Any]:
        """Show no more digits than a thousandth of the narrowest bin."""
        narrow = min(b - a for a, b in pairwise(self.edges))
        shown = np.round(numbers, max(0, 3 - math.floor(math.log10(narrow))))
        return np.where((shown >= low) & (shown < high), shown, numbers)

    def _typed(self, numbers: NDArray[Any], missing: NDArray[np.bool_]) -> Values:
        kinds = {"number": "DOUBLE", "integer": "BIGINT", "date": "DATE"}
        whole = self.kind != "number"
        return Values(numbers.astype(np.int64) if whole else numbers, missing, kinds[self.kind])

    def samples(self) -> tuple[NDArray[np.int64], Values]:
        """Let a bin stand for its ends and its middle, a whole number for itself."""
        codes, numbers = [], []
        for code, (low, high) in enumerate(pairwise(self.edges)):
            last = np.nextafter(high, low) if self.kind == "number" else high - 1
            middle = (low + last) / 2 if self.kind == "number" else (low + last) // 2
            for number in sorted({low, middle, last}):
                codes.append(code)
                numbers.append(float(number))
        for place, value in enumerate((*self.special, self.edges[0])):  # the last one is missing
            codes.append(self.bins + place)
            numbers.append(value)
        listed = np.array(codes)
        return listed, self._typed(np.array(numbers), listed == self.bins + len(self.special))


def coder_of(name: str, column: Column | None, attribute: Attribute | None) -> Coder | None:
    """Make the coder of a column from what is declared; None where no domain is declared."""
    kind = (column.kind if column else None) or (attribute.cell_type if attribute else None)
    domain = attribute.domain if attribute else None
    if column is not None and column.values is not None:
        return _listed(name, column.values)
    bounds = column.bounds if column else None
    if bounds is None and isinstance(domain, Range):
        bounds = (domain.low, domain.high)
        kind = kind or "number"
    if bounds is None and kind == "date" and isinstance(domain, tuple) and len(domain) == 2:
        bounds = domain
    if bounds is not None:
        return numbers(name, bounds, kind, column)
    return _texts(name, list(domain)) if isinstance(domain, tuple) else None


def column_of(name: str, declared: Any) -> Column:
    """Read what is declared of a column: a `Column`, bounds (low, high), or a list of values."""
    if isinstance(declared, Column):
        return declared
    if isinstance(declared, tuple) and len(declared) == 2 and not isinstance(declared[0], str):
        return Column(bounds=declared)
    if isinstance(declared, range) and declared.step == 1 and len(declared) > MOST_ORDERED:
        return Column(bounds=(declared[0], declared[-1]))
    if isinstance(declared, (list, tuple, range, set, frozenset, np.ndarray)):
        values = sorted(declared, key=repr) if isinstance(declared, (set, frozenset)) else declared
        return Column(values=list(values))
    raise ParameterError(
        f"columns= says of '{name}' a list of its values, bounds (low, high), or "
        f"sf.dp.Column(…), and a {type(declared).__name__} was given."
    )


def _listed(name: str, values: Sequence[Any]) -> Texts:
    """Make the coder of listed values, which come back in the type they have in common."""
    if isinstance(values, (str, bytes)):
        raise ParameterError(f"The domain of column '{name}' is a list of its values.")
    given = [v.item() if isinstance(v, np.generic) else v for v in values if not is_missing(v)]
    kinds = {type(value) for value in given}
    small = kinds == {int} and all(abs(value) < 1 << 63 for value in given)
    typed = "BOOLEAN" if kinds == {bool} else "BIGINT" if small else None
    typed = "DOUBLE" if typed is None and float in kinds and kinds <= {int, float} else typed
    return _texts(name, [as_text(value) for value in given], typed or "VARCHAR")


def _texts(name: str, values: list[str], sql_type: str = "VARCHAR") -> Texts:
    distinct = tuple(value for value in dict.fromkeys(values) if value != MISSING)
    if not distinct:
        raise ParameterError(f"The domain of column '{name}' lists no value; list at least one.")
    return Texts(name, distinct, sql_type=sql_type)


def numbers(
    name: str, bounds: tuple[Any, Any], kind: Kind | None, column: Column | None
) -> Numbers:
    """Make the coder of numbers or dates within bounds."""
    low, high, found = _ends(name, bounds, kind)
    bins = column.bins if column else None
    special = tuple(float(value) for value in column.special) if column else ()
    if bins is not None and not isinstance(bins, int):
        edges = tuple(float(edge) for edge in bins)
        if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
            raise ParameterError(f"The edges of the bins of '{name}' rise, and are at least two.")
        whole = found != "number"  # the last bin holds its upper edge
        return Numbers(name, (*edges[:-1], edges[-1] + whole), found, special)
    if bins is not None and not 1 <= bins <= MOST_ORDERED:
        raise ParameterError(f"Column '{name}' has between 1 and {MOST_ORDERED} bins.")
    return Numbers(name, _edges(low, high, found, bins), found, special)


def _edges(low: float, high: float, kind: Kind, bins: int | None) -> tuple[float, ...]:
    if kind == "number":
        return tuple(np.linspace(low, high, (bins or _BINS) + 1).tolist())
    count = int(high - low) + 1
    step = -(-count // (bins or (count if count <= 2 * _BINS else _BINS)))
    return (*(float(edge) for edge in range(int(low), int(high) + 1, step)), high + 1.0)


def _ends(name: str, bounds: tuple[Any, Any], kind: Kind | None) -> tuple[float, float, Kind]:
    try:
        first, last = bounds
        days = [_days(end) for end in (first, last)]
        ends = [float(end) if days[0] is None else 0.0 for end in (first, last)]
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"The bounds of column '{name}' are two numbers or two dates (YYYY-MM-DD), the lower "
            "one first."
        ) from None
    if days[0] is not None and days[1] is not None:
        low, high, found = days[0], days[1], "date"
    else:
        low, high = ends
        whole = isinstance(first, (int, np.integer)) and isinstance(last, (int, np.integer))
        found = kind or ("integer" if whole else "number")
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or found == "text":
        raise ParameterError(f"The bounds of column '{name}' are finite, the lower one first.")
    if low == high and found == "number":
        high = low + 1.0
    if low < high:
        read_ends((low, high), f"bounds of column '{name}'")
    return low, high, found  # type: ignore[return-value]


def _days(end: Any) -> float | None:
    """Read a date as days since 1970; None for a number."""
    if isinstance(end, (int, float, Decimal, np.number)):
        return None
    read = end if isinstance(end, date) else date.fromisoformat(str(end))
    return float((date(read.year, read.month, read.day) - _EPOCH) / timedelta(days=1))
