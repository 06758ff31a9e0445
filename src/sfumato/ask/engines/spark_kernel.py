"""The compiled kernel on Spark's executors: each bounds and adds up the people it was given.

Contract: :func:`aggregate_on_workers` gives exactly what the plan gives that bounds by window
functions; or None, when the plan has to serve: the unit is the row, a number is too wide, or the
table is small. It raises :class:`NoKernel` where the workers do not have this version of this
package, or not the memory; Spark's own message is kept back, as it may quote a cell. Spark
computes, from the same plan, what each row contributes, and lays rows by person, so that all of a
person's are in one partition. There they pass as Arrow batches through
:mod:`sfumato.ask.engines.bounded`, and a partition gives back its totals per group. Since nobody is
in two partitions, these are added up here.
"""

from __future__ import annotations

import datetime as dt
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import __version__
from sfumato.ask.engines.bounded import gathered, narrow_rows, summed
from sfumato.ask.engines.bounded_arrow import Batch, Text, WholeColumn
from sfumato.ask.language.request import Aggregates, RowBound
from sfumato.ask.plan.dialects import printed, quoted
from sfumato.ask.plan.plan import contributions, narrow
from sfumato.data.engines.errors import unheard
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sfumato.ask.engines.bounded_arrow import Cells
    from sfumato.ask.language.language import Kind, TableFacts
    from sfumato.ask.language.request import Request
    from sfumato.ask.plan.plan import Layout

LEAST_BYTES = 2**23
"""Below this size, as Spark estimates it, starting Python on the workers costs more."""

_STREAMED: Mapping[Kind, str] = {
    "integer": "CAST({} AS BIGINT)",
    "boolean": "CAST({} AS BIGINT)",
    "date": "CAST(UNIX_DATE({}) AS BIGINT)",
    "text": "{}",
}


class NoKernel(DataError):  # noqa: N818 - says what the workers lack
    """The workers cannot run the kernel."""


def aggregate_on_workers(
    session: Any, request: Request, facts: Mapping[str, TableFacts], tables: Mapping[str, str]
) -> Aggregates | None:
    """Compute a request by the kernel, or give None where the plan has to serve."""
    if isinstance(request.bound, RowBound) or not narrow_rows(request):
        return None
    tree, layout = contributions(request, facts)
    work = partial(_partition_totals, request=request, layout=layout, version=__version__)
    frame = session.sql(_query(printed(tree, "spark", tables=tables), layout))
    if _size(frame) < LEAST_BYTES:
        return None
    rows = _collected(frame.repartition("person"), work)
    width = len(request.totals), len(request.spread)
    return _merged([_unpacked(row[0], *width) for row in rows], request)


def _collected(frame: Any, work: Any) -> list[Any]:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an optional library
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional library

    def said(error: BaseException) -> str | None:
        is_known = isinstance(error, (ImportError, PySparkException, Py4JError))
        return "The workers of Spark cannot run the kernel of this package." if is_known else None

    try:
        with unheard(said):
            rows: list[Any] = frame.mapInArrow(work, "totals BINARY").collect()
    except DataError as error:
        raise NoKernel(str(error)) from None
    return rows


def _size(frame: Any) -> int:
    """Give Spark's own estimate of the bytes of a frame, known before anything runs."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))  # noqa: SLF001


def _query(source: str, layout: Layout) -> str:
    assert layout.person is not None
    assert layout.person_kind is not None
    named: dict[str, Kind] = {layout.person: layout.person_kind}
    named |= dict(zip(layout.keys, layout.key_kinds, strict=True))
    named |= {name: "integer" for name in (*layout.values, *layout.spread) if name}
    cells = [
        f"{_STREAMED[kind].format(quoted(name, 'spark'))} AS {quoted(name, 'spark')}"
        for name, kind in named.items()
    ]
    return f"SELECT {', '.join(cells)} FROM ({source}) AS contributions"


def _partition_totals(
    batches: Iterable[Any], *, request: Request, layout: Layout, version: str
) -> Iterator[Any]:
    """Bound and add up the rows of a partition, on a worker."""
    import pyarrow as pa  # noqa: PLC0415 - an optional library

    if version != __version__:
        raise DataError("The workers have another version of this package than the driver.")
    kept = list(batches)  # their memory is read until the totals are made
    pieces = gathered(_piece(batch) for batch in kept if batch.num_rows)
    if pieces is None:
        raise DataError("A worker has too little memory for the rows of its partition.")
    if pieces:
        found = summed(pieces, request, layout)
        whole = _packed(found).encode()
        yield pa.RecordBatch.from_arrays([pa.array([whole], pa.binary())], ["totals"])


def _packed(found: Aggregates) -> str:
    """Write totals as JSON: whoever reads them runs nothing that a worker has written."""
    columns = (found.people, *found.totals, *found.spread)
    numbers = [[int(number) for number in column] for column in columns]
    return json.dumps([[[_written(cell) for cell in key] for key in found.keys], *numbers])


def _unpacked(
    whole: bytes | bytearray, totals: int, spread: int
) -> tuple[list[tuple[Any, ...]], list[list[int]], list[list[int]]]:
    """Read totals, of the form that was asked for: keys, numbers, and where they are spread."""
    try:
        keys, *columns = json.loads(bytes(whole))
        read = [tuple(_read(cell) for cell in key) for key in keys]
        numbers = [[_number(cell) for cell in column] for column in columns]
    except (ValueError, TypeError):
        raise DataError(_ODD_TOTALS) from None
    if len(numbers) != 1 + totals + spread or {len(column) for column in numbers} != {len(read)}:
        raise DataError(_ODD_TOTALS)
    return read, numbers[: 1 + totals], numbers[1 + totals :]


_ODD_TOTALS = "A worker of Spark gave back something else than the totals that were asked for."


def _written(cell: Any) -> Any:
    """Write a key: dates need a form of their own in JSON."""
    if isinstance(cell, dt.date):
        return {"date": cell.isoformat()}
    return cell if cell is None or isinstance(cell, bool | str) else int(cell)


def _read(cell: Any) -> Any:
    return dt.date.fromisoformat(cell["date"]) if isinstance(cell, dict) else cell


def _number(cell: Any) -> int:
    if type(cell) is not int:
        raise TypeError
    return cell


def _piece(batch: Any) -> Batch:
    return Batch(batch.num_rows, tuple(_cells(column) for column in batch.columns))


def _cells(column: Any) -> Cells:
    import pyarrow as pa  # noqa: PLC0415 - an optional library

    none = np.empty(0, np.bool_)
    present = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else none
    end = column.offset + len(column)
    if pa.types.is_int64(column.type):
        return WholeColumn(
            np.frombuffer(column.buffers()[1], np.int64)[column.offset : end], present
        )
    column = column.cast(pa.string())
    _, starts, data = column.buffers()
    places = np.frombuffer(starts, np.int32)[column.offset : column.offset + len(column) + 1]
    return Text(places, np.frombuffer(data or b"", np.uint8), present)


def _merged(
    parts: Iterable[tuple[list[tuple[Any, ...]], list[list[int]], list[list[int]]]],
    request: Request,
) -> Aggregates:
    """Add up the totals of partitions; a person is in one of them only."""
    width = 1 + len(request.totals)
    added: dict[tuple[Any, ...], list[int]] = {}
    for keys, numbers, spread in parts:
        points = list(zip(*spread, strict=True)) if spread else [()] * len(keys)
        for key, point, cells in zip(keys, points, zip(*numbers, strict=True), strict=True):
            sums = added.setdefault((key, point), [0] * width)
            for place, cell in enumerate(cells):
                sums[place] += cell
    columns = list(zip(*added.values(), strict=True)) or [()] * width
    forms = [np.int64 if narrow(total) else object for total in request.totals]
    return Aggregates(
        tuple(key for key, _ in added),
        np.array(columns[0], np.int64),
        tuple(np.array(c, form) for c, form in zip(columns[1:], forms, strict=True)),
        tuple(
            np.array([point[s] for _, point in added], np.int64) for s in range(len(request.spread))
        ),
    )
