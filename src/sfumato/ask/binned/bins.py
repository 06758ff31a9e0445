"""Bins of a column: their edges, their labels, and the expression that puts a row into one.

Contract: bins follow from the question and public facts, so all of them are answered, empty ones
too. Bins of numbers reach from each edge to just below the next, the last one holds its upper
edge; edges that are asked for by number are equally wide, rounded so that the label says exactly
what is counted. A row beyond the edges, or without a value, is in no bin.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from sfumato.ask.binned.bin_labels import real_labels, whole_labels
from sfumato.ask.language.build import case, compare, literal, missing
from sfumato.ask.language.domains import given_values
from sfumato.dp.rounding import stated
from sfumato.errors import ParameterError
from sfumato.message import Argument, Message, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import Bounds, Column, Expression, Value

MISSING_BIN = "(missing)"
DEFAULT_BINS = 10
_MOST_BINS = 900  # of one column; an expression has a limit of parts


@dataclass(frozen=True)
class BinnedColumn:
    """A column cut into bins: the key's expression, its values, and what is in no bin."""

    expression: Expression
    values: tuple[Value, ...]
    left_out: str


def binned(
    column: Column,
    bins: Any,
    *,
    domain: Sequence[Value] | None,
    bounds: Bounds | None,
    with_missing: bool = False,
) -> BinnedColumn:
    """Cut a column into bins: edges, a number of bins within bounds, or categories."""
    if isinstance(bins, (str, bytes, bool)):
        raise _wrong_bins(column.name)
    counted = isinstance(bins, int)
    if column.kind in {"text", "boolean"} or (bins is None and domain is not None):
        if counted:
            raise ParameterError(
                Message(
                    "{!r} holds categories: give them with {}, not their number.",
                    column.name,
                    Argument("bins", [...]),
                )
            )
        return _categories(column, bins, domain, with_missing=with_missing)
    if column.kind == "date":
        return _dates(column, bins, with_missing=with_missing)
    edges = (
        _equal(column, DEFAULT_BINS if bins is None else bins, bounds)
        if bins is None or counted
        else _given(column.name, bins)
    )
    return _numbers(column, edges, with_missing=with_missing)


def _wrong_bins(name: str) -> ParameterError:
    return ParameterError(
        Message(
            "{} of {!r} is a number of bins, as in {}, a list of edges, as in {}, or a list of "
            "categories.",
            Argument("bins"),
            name,
            Argument("bins", 10),
            Argument("bins", [0, 18, 65, 120]),
        )
    )


# -- numbers ---------------------------------------------------------------------------------


def _numbers(column: Column, edges: tuple[Fraction, ...], *, with_missing: bool) -> BinnedColumn:
    low, high = edges[0], edges[-1]
    whole = column.kind == "integer" and all(edge.denominator == 1 for edge in edges)
    if whole:
        cuts = [int(edge) for edge in edges]
        cuts[-1] += 1  # the last bin holds its upper edge, and between whole numbers lies nothing
        labels = whole_labels(cuts)
    else:
        labels = real_labels(edges)
    expression = _cut(column, edges, labels, with_missing=with_missing)
    outside = f"values of {column.name} outside {float(low):g} … {float(high):g}"
    return BinnedColumn(expression, _all(labels, with_missing), _left(outside, with_missing))


def _cut(
    column: Column, edges: Sequence[Any], labels: Sequence[str], *, with_missing: bool
) -> Expression:
    """Climb the edges: the first one that a value is below decides."""
    branches = [(missing(column), literal(MISSING_BIN))] if with_missing else []
    branches.append((compare("<", column, _literal(edges[0])), literal(None)))
    branches += [
        (compare("<", column, _literal(edge)), literal(label))
        for edge, label in zip(edges[1:-1], labels[:-1], strict=True)
    ]
    branches.append((compare("<=", column, _literal(edges[-1])), literal(labels[-1])))
    return case(branches, literal(None))


def _literal(edge: Any) -> Expression:
    if isinstance(edge, Fraction) and edge.denominator == 1:
        return literal(int(edge))
    return literal(edge)


def _all(labels: Sequence[Value], with_missing: bool) -> tuple[Value, ...]:
    return (*labels, MISSING_BIN) if with_missing else tuple(labels)


def _left(outside: str, with_missing: bool) -> str:
    return (
        f"{outside} are in no bin"
        if with_missing
        else f"{outside}, and missing ones, are in no bin"
    )


def _equal(column: Column, count: int, bounds: Bounds | None) -> tuple[Fraction, ...]:
    """Cut an interval into equal bins, at round places."""
    if not 1 <= count <= _MOST_BINS:
        raise ParameterError(f"A column has 1 to {_MOST_BINS} bins, and {count} was given.")
    if bounds is None:
        raise ParameterError(
            Message(
                "{!r} has no declared bounds to cut into {} bins: give the edges, as in {}, or {} "
                "from knowledge of the domain, never from the data.",
                column.name,
                count,
                Argument("bins", [0, 50, 100]),
                Argument("bounds", (Word("low"), Word("high"))),
            )
        )
    low, high = bounds
    if low >= high:
        raise ParameterError(f"The bounds of {column.name!r} are numbers with low < high.")
    if column.kind == "integer":
        return _whole_edges(math.ceil(low), math.floor(high), count)
    width = (high - low) / count
    digits = 2 - math.floor(math.log10(width))
    inner = [round(low + width * i, digits) for i in range(1, count)]
    return (Fraction(low), *(Fraction(edge) for edge in inner), Fraction(high))


def _whole_edges(low: int, high: int, count: int) -> tuple[Fraction, ...]:
    """Cut whole numbers low … high: into equally many where that is possible."""
    if high < low:
        raise ParameterError("No whole number lies between the bounds of the bins.")
    numbers = high - low + 1
    if count >= numbers:  # each has a bin of its own, the last one too
        return (*(Fraction(n) for n in range(low, high + 1)), Fraction(high))
    if numbers % count == 0:
        step = numbers // count
        return (*(Fraction(low + step * i) for i in range(count)), Fraction(high))
    inner = [low + Fraction(high - low) * i / count for i in range(1, count)]
    return (Fraction(low), *(Fraction(math.floor(edge + Fraction(1, 2))) for edge in inner),
            Fraction(high))  # fmt: skip


def _given(name: str, bins: Any) -> tuple[Fraction, ...]:
    try:
        edges = tuple(stated(edge) for edge in bins)
    except (TypeError, ValueError, ArithmeticError):
        raise _wrong_bins(name) from None
    _check_rising(name, edges)
    return edges


def _check_rising(name: str, edges: Sequence[Any]) -> None:
    if not 2 <= len(edges) <= _MOST_BINS + 1 or any(a >= b for a, b in pairwise(edges)):
        raise ParameterError(
            f"The edges of the bins of {name!r} rise, and there are at least two and at most "
            f"{_MOST_BINS + 1} of them."
        )


# -- categories and dates --------------------------------------------------------------------


def _categories(
    column: Column, bins: Any, domain: Sequence[Value] | None, *, with_missing: bool
) -> BinnedColumn:
    if bins is None and column.kind == "boolean":
        bins = (False, True)
    if bins is None and domain is None:
        raise ParameterError(
            Message(
                "The categories of {name!r} are not known beforehand: give them with {bins}, list "
                "them in the schema, or let them be found with SELECT {name}, COUNT(*) … GROUP BY "
                "{name}.",
                name=column.name,
                bins=Argument("bins", ["…", "…"]),
            )
        )
    wanted: Any = domain if bins is None else bins
    values = given_values(column.name, column.kind, wanted)
    if bins is not None and domain is not None and not set(values) <= {*domain, None}:
        raise ParameterError(
            f"The owner has listed the values of {column.name!r}; choose bins among them."
        )
    known: tuple[Value, ...] = tuple(value for value in values if value is not None)
    if with_missing:
        known = (*known, None)
    return BinnedColumn(column, known, _left(f"other values of {column.name}", with_missing))


def _dates(column: Column, bins: Any, *, with_missing: bool) -> BinnedColumn:
    if bins is None or isinstance(bins, int):
        raise ParameterError(
            Message(
                "{!r} holds dates: give the edges of their bins, as in {}.",
                column.name,
                Argument("bins", ["2024-01-01", "2024-07-01", "2025-01-01"]),
            )
        )
    edges = cast("tuple[dt.date, ...]", given_values(column.name, "date", bins))
    if None in edges:
        raise _wrong_bins(column.name)
    _check_rising(column.name, edges)
    labels = [f"{a} … {b - dt.timedelta(days=1)}" for a, b in pairwise(edges)]
    labels[-1] = f"{edges[-2]} … {edges[-1]}"
    expression = _cut(column, edges, labels, with_missing=with_missing)
    outside = f"dates of {column.name} outside {edges[0]} … {edges[-1]}"
    return BinnedColumn(expression, _all(labels, with_missing), _left(outside, with_missing))
