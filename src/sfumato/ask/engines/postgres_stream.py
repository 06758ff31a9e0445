"""Columns of Postgres in the compiled kernel, where the owner lets rows pass through this process.

Contract: :func:`aggregate_streamed` gives exactly what the plan gives that bounds by window
functions in the server; or None, when the plan has to serve: the unit is the row, a number is too
wide, there are too many rows, or so few that it is not worth while. The server computes, from the
same plan, what each row contributes, and packs every column into one string of bytes: so nothing is
done per row by the driver. The rows are in the memory of this process until they are added up, and
are written nowhere.

Whole numbers come as eight bytes each, the first the highest; texts as their lengths, four bytes
each, and their bytes. A column that can be NULL comes with a byte per row that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.ask.engines.bounded import narrow_rows, sum_pieces
from sfumato.ask.engines.bounded_arrow import Batch, Text, WholeColumn
from sfumato.ask.language.request import RowBound
from sfumato.ask.plan.dialects import printed, quoted
from sfumato.ask.plan.plan import contributions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.ask.engines.bounded_arrow import Cells
    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Aggregates, Request
    from sfumato.ask.plan.plan import Layout

    Packed: TypeAlias = Sequence[bytes | None]
    Asked: TypeAlias = Callable[[str], Packed | None]

MOST_ROWS = 2**24
"""More rows than this would take the server gigabytes to pack, so the plan bounds them there."""

_NUMBERS: Mapping[Kind, str] = {
    "integer": "CAST({} AS BIGINT)",
    "boolean": "CAST(CAST({} AS INTEGER) AS BIGINT)",
    "date": "CAST({} - DATE '1970-01-01' AS BIGINT)",
}


def aggregate_streamed(
    ask: Asked, request: Request, facts: Mapping[str, TableFacts], tables: Mapping[str, str]
) -> Aggregates | None:
    """Compute a request by the kernel, or give None where the plan has to serve.

    ``ask`` runs a query of one row in binary form; it gives None where the server cannot pack it.
    """
    if isinstance(request.bound, RowBound) or not narrow_rows(request):
        return None
    tree, layout = contributions(request, facts)
    packed = ask(_query(printed(tree, "postgres", tables=tables), layout))
    if packed is None:
        return None
    rows = int.from_bytes(packed[0] or b"", "big")
    if rows > MOST_ROWS:
        return None
    cells = tuple(_columns(packed[1:], rows, layout))
    return sum_pieces([Batch(rows, cells)] if rows else [], request, layout)


def _kinds(layout: Layout) -> list[tuple[str, Kind, bool]]:
    """Give the columns in order: their names, kinds, and whether they can be NULL."""
    assert layout.person is not None
    assert layout.person_kind is not None
    keys = zip(layout.keys, layout.key_kinds, strict=True)
    numbers = [name for name in (*layout.values, *layout.spread) if name]
    return [
        (layout.person, layout.person_kind, False),
        *((name, kind, True) for name, kind in keys),
        *((name, "integer", False) for name in numbers),
    ]


def _query(source: str, layout: Layout) -> str:
    packed = ["INT8SEND(COUNT(*))"]
    for name, kind, nullable in _kinds(layout):
        cell = quoted(name, "postgres")
        if nullable:
            packed.append(_joined(f"BOOLSEND({cell} IS NOT NULL)"))
        if kind == "text":
            text = f"COALESCE({cell}, '')" if nullable else cell
            packed += [_joined(f"INT4SEND(OCTET_LENGTH({text}))"), _joined(f"TEXTSEND({text})")]
        else:
            number = _NUMBERS[kind].format(cell)
            packed.append(_joined(f"INT8SEND({f'COALESCE({number}, 0)' if nullable else number})"))
    return (
        f"SELECT {', '.join(packed)} FROM (SELECT * FROM ({source}) AS contributions "
        f"LIMIT {MOST_ROWS + 1}) AS streamed"
    )


def _joined(sent: str) -> str:
    return f"STRING_AGG({sent}, CAST('' AS BYTEA))"


def _columns(packed: Packed, rows: int, layout: Layout) -> Iterator[Cells]:
    strings = iter(packed)
    for _, kind, nullable in _kinds(layout):
        present = _numbers(next(strings), np.dtype(np.bool_)) if nullable else _NONE
        present = _NONE if present.all() else present
        if kind != "text":
            yield WholeColumn(_numbers(next(strings), np.dtype(">i8")).astype(np.int64), present)
            continue
        starts = np.zeros(rows + 1, np.int32)
        np.cumsum(_numbers(next(strings), np.dtype(">i4")), out=starts[1:])
        yield Text(starts, _numbers(next(strings), np.dtype(np.uint8)), present)


_NONE: NDArray[np.bool_] = np.empty(0, np.bool_)


def _numbers(string: bytes | None, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(string or b"", kind)
