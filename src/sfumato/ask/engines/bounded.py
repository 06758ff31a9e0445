"""Bounded aggregates on DuckDB by a compiled kernel instead of window functions.

Contract: :func:`aggregate_bounded` gives exactly what the plan gives that chooses rows and groups
by window functions (:mod:`sfumato.ask.plan.plan`), several times faster; or None, when the plan has
to serve: the unit is the row, the columns take too much memory, a number is too wide, or there is
so little to do that loading the compiler would cost more.

DuckDB computes, from the same plan, what each row contributes: its person, keys, and one whole
number per total. These columns come as arrays in the engine's memory, and
:mod:`sfumato.ask.engines.bounded_summing` does the rest. All of this is decided by sizes and by the
request, never by what the rows say.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sfumato.ask.engines.bounded_arrow import batches
from sfumato.ask.language.request import RowBound
from sfumato.ask.plan.dialects import printed
from sfumato.ask.plan.plan import contributions, narrow
from sfumato.compiled import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sfumato.ask.engines.bounded_arrow import Batch
    from sfumato.ask.engines.bounded_summing import ContributionColumns
    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.ask.plan.plan import Layout

_SECONDS, _SECONDS_PER_ROW = 0.02, 1e-6
"""What window functions cost more than the kernel: to be planned, and per row."""

_SHARE_OF_MEMORY = 6
"""The columns may take this part of the memory; what is made of them takes about twice as much."""

_MOST_ROWS = 2**31 - 1
_TYPES: dict[Kind, frozenset[str]] = {
    "integer": frozenset({"BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UINTEGER", "USMALLINT"}),
    "text": frozenset({"VARCHAR"}),
    "boolean": frozenset({"BOOLEAN"}),
    "date": frozenset({"DATE"}),
}


def aggregate_bounded(
    connection: Any, request: Request, facts: Mapping[str, TableFacts]
) -> Aggregates | None:
    """Compute a request by the kernel, or give None where the plan has to serve.

    In the connection the names of the plan mean the tables of the request.
    """
    if isinstance(request.bound, RowBound):
        return None
    tree, layout = contributions(request, facts)
    relation = connection.sql(printed(tree, "duckdb"))
    columns = _streamed(relation, layout)
    if columns is None or not narrow_rows(request):
        return None
    return sum_pieces(batches(relation.project(", ".join(columns))), request, layout)


def sum_pieces(stream: Iterable[Batch], request: Request, layout: Layout) -> Aggregates | None:
    """Bound and add up the columns of contributions: person, keys, then whole numbers.

    None where they take too much memory, or are so few that loading the compiler would cost more.
    """
    pieces = gathered(stream)
    if pieces is None:
        return None
    if not ACCOUNT.worth(_SECONDS + _SECONDS_PER_ROW * sum(batch.rows for batch in pieces)):
        _close(pieces)
        return None
    return summed(pieces, request, layout)


def summed(pieces: list[Batch], request: Request, layout: Layout) -> Aggregates:
    """Add up what was gathered, in the compiled kernel."""
    from sfumato.ask.engines.bounded_summing import bounded_totals  # noqa: PLC0415 - loads numba

    assert not isinstance(request.bound, RowBound)
    return bounded_totals(pieces, _shape(request, layout), request.bound, request.salt)


def narrow_rows(request: Request) -> bool:
    """Tell whether what one row adds to a total fits 64 bits."""
    squares = [total.grid for total in request.totals if total.form == "squares"]
    return all(grid is not None and grid.most**2 < 2**63 for grid in squares)


def _streamed(relation: Any, layout: Layout) -> list[str] | None:
    """Write the columns as whole numbers of 64 bits and texts; None if one cannot be."""
    if layout.person is None or layout.person_kind is None:
        return None
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    names = (layout.person, *layout.keys)
    written = []
    for name, kind in zip(names, (layout.person_kind, *layout.key_kinds), strict=True):
        if types[name] not in _TYPES.get(kind, frozenset()):
            return None
        written.append(_stream_text(name, kind))
    return [*written, *(f'"{name}"' for name in (*layout.values, *layout.spread) if name)]


@lru_cache(maxsize=256)
def _stream_text(name: str, kind: Kind) -> str:
    return streamed(exp.column(name, quoted=True), kind).sql("duckdb")


def streamed(column: exp.Expression, kind: Kind) -> exp.Expression:
    """Write a person or a key as a whole number of 64 bits or a text."""
    if kind == "text":
        return column
    if kind == "date":
        column = column - exp.cast(exp.Literal.string("1970-01-01"), exp.DType.DATE)
    return exp.cast(column, exp.DType.BIGINT)


def gathered(stream: Iterable[Batch]) -> list[Batch] | None:
    """Take all pieces, unless they are too many for the memory."""
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _SHARE_OF_MEMORY
    pieces: list[Batch] = []
    size = rows = 0
    for batch in stream:
        pieces.append(batch)
        size += batch.size
        rows += batch.rows
        if size > limit or rows > _MOST_ROWS:
            _close(pieces)
            return None
    return pieces


def _close(pieces: Iterable[Batch]) -> None:
    for batch in pieces:
        batch.close()


def _shape(request: Request, layout: Layout) -> ContributionColumns:
    from sfumato.ask.engines.bounded_summing import ContributionColumns  # noqa: PLC0415 - loads numba

    assert layout.person_kind is not None
    names = [name for name in (*layout.values, *layout.spread) if name]
    numbers = [names.index(name) if name else -1 for name in (*layout.values, *layout.spread)]
    squared = {
        place
        for place, total in zip(numbers, request.totals, strict=False)
        if total.form == "squares"
    }
    wide = tuple(not narrow(total) for total in request.totals)
    return ContributionColumns(
        layout.person_kind,
        layout.key_kinds,
        tuple(numbers),
        wide,
        len(layout.spread),
        frozenset(squared),
    )
