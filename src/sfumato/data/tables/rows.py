"""The rows of a release, ready to be written or handed back.

Two ways to hold them, one interface (`Rows`):

* `Lines`: the distinct released lines and the order in which they stand. A release of
  ten million people has few distinct lines, so writing it is mostly copying bytes.
* `Query` (in `row_query.py`): a query the engine streams, for tables whose lines are
  nearly all different or must keep their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from sfumato.compiled import kernel
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Kind

_TROUBLE = re.compile(r'[",;|\t\r\n]')
"""Characters that could be taken for a separator or the end of a cell."""

CHUNK = 1 << 24
"""Bytes composed at a time when writing."""


class Rows(Protocol):
    """The rows of a release."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns."""
        ...

    def __len__(self) -> int: ...

    def write_csv(self, path: Path, delimiter: str = ",") -> None:
        """Write a CSV file with a header."""
        ...

    def write_parquet(self, path: Path) -> None:
        """Write a Parquet file."""
        ...

    def frame(self, kind: Kind) -> Any:
        """Return the rows as the kind of table they were read from."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Lines:
    """Distinct lines as codes per column, and for each released row its line.

    `types[c]` is the SQL type a column had and still fits, so that a number that was not
    generalised comes back as a number.
    """

    columns: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    values: tuple[tuple[str, ...], ...]
    order: NDArray[np.int32]
    types: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.order)

    def write_csv(self, path: Path, delimiter: str = ",") -> None:
        """Write a CSV file by copying each row's line."""
        lines = self._texts(delimiter)
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        joined = np.frombuffer(b"".join(lines), dtype=np.uint8)
        header = delimiter.join(cell(c, delimiter) for c in self.columns) + "\n"
        with path.open("wb") as file:
            file.write(header.encode())
            self._copy(file, joined, starts, lengths)

    def _copy(
        self,
        file: BinaryIO,
        joined: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> None:
        longest = int(lengths.max(initial=1))
        step = max(1, CHUNK // longest)
        buffer = np.empty(min(step, max(len(self.order), 1)) * longest, dtype=np.uint8)
        for begin in range(0, len(self.order), step):
            filled = _gather(self.order[begin : begin + step], joined, starts, buffer)
            file.write(buffer[:filled].data)

    def _texts(self, delimiter: str) -> list[bytes]:
        cells = [[cell(value, delimiter) for value in values] for values in self.values]
        if len(cells) == 1:
            # A line with one empty cell would be read as a blank line.
            cells = [[text or '""' for text in cells[0]]]
        rows = zip(*(codes.tolist() for codes in self.codes), strict=True)
        return [
            (delimiter.join(c[i] for c, i in zip(cells, row, strict=True)) + "\n").encode()
            for row in rows
        ]

    def write_parquet(self, path: Path) -> None:
        """Write a Parquet file through the engine."""
        engine = DuckDB()
        try:
            engine.write_parquet(self._query(engine), path)
        finally:
            engine.close()

    def frame(self, kind: Kind) -> Any:
        """Return the rows in kind."""
        engine = DuckDB()
        try:
            with engine.in_order():
                return fetched(engine, self._query(engine), kind)
        finally:
            engine.close()

    def _query(self, engine: DuckDB) -> str:
        """Hand over each line once, and return the query that looks a row's line up.

        So what is held grows with lines; of a row there is the number of its line alone.
        """
        columns: dict[str, Any] = {}
        for c, (codes, values) in enumerate(zip(self.codes, self.values, strict=True)):
            dictionary = np.array(values, dtype=object)
            columns[f"c{c}"] = dictionary[codes] if len(values) else dictionary
        given = engine.register({**columns, "line": np.arange(len(self.codes[0]))})
        lines, cells = engine.fresh("lines"), _typed_cells(columns, self.types)
        named = ", ".join(f"{cell} AS c{c}" for c, cell in enumerate(cells))
        engine.run(
            f"CREATE TEMP TABLE {lines} AS SELECT {named}, line::INTEGER AS line FROM {given}"
        )
        engine.drop(given)
        order = engine.register({"line": self.order})
        shown = ", ".join(f"l.c{c} AS {quoted(name)}" for c, name in enumerate(self.columns))
        return f"SELECT {shown} FROM {order} o JOIN {lines} l ON o.line = l.line"


def cell(text: str, delimiter: str) -> str:
    """Return a cell as CSV wants it."""
    if delimiter in text or _TROUBLE.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def copy_rows(engine: DuckDB, query: str, path: Path, options: str) -> None:
    """Write the rows of a query to a file, in their order."""
    with engine.in_order():
        engine.run(f"COPY ({query}) TO {quoted_text(str(path))} ({options})")


def typed(relation: str, names: dict[str, str], types: tuple[str, ...]) -> str:
    """Return the query that gives text columns their names and types back."""
    cells = _typed_cells(names, types)
    chosen = [
        f"{value} AS {quoted(name)}" for value, name in zip(cells, names.values(), strict=True)
    ]
    return f"SELECT {', '.join(chosen)} FROM {relation}"


def _typed_cells(names: Iterable[str], types: tuple[str, ...]) -> list[str]:
    """Return the SQL of cells with their types, from texts of which the empty one is no value."""
    texts = [f"nullif({name}, '')" for name in names]
    return [
        text if kind == "VARCHAR" else f"CAST({text} AS {kind})"
        for text, kind in zip(texts, types, strict=True)
    ]


def fetched(engine: DuckDB, query: str, kind: Kind) -> Any:
    """Run a query and return its result as the wanted kind of table."""
    if kind == "polars":
        import polars  # noqa: ICN001, PLC0415 - the caller handed us one of its frames

        return polars.DataFrame(engine.connection.sql(query))
    if kind == "arrow":
        return engine.connection.sql(query).to_arrow_table()
    if kind in {"pandas", "csv", "parquet", "duckdb", "postgres", "spark"} and _has_pandas():
        return engine.connection.sql(query).df()
    names = list(engine.types(f"({query})"))
    rows = engine.run(query)
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 - optional
    except ImportError:
        return False
    return True


def _plain_gather(
    order: NDArray[np.int32],
    joined: NDArray[np.uint8],
    starts: NDArray[np.int64],
    buffer: NDArray[np.uint8],
) -> int:
    text, ends = joined.tobytes(), starts.tolist()
    lines = [text[begin:end] for begin, end in pairwise(ends)]
    copied = b"".join([lines[i] for i in order.tolist()])
    buffer[: len(copied)] = np.frombuffer(copied, dtype=np.uint8)
    return len(copied)


@kernel(
    _plain_gather,
    loss=lambda order, _joined, starts, _buffer: 1.5e-7 * len(order) + 2e-7 * len(starts),
)
def _gather(order, joined, starts, buffer):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Copy the lines of `order` one after the other into the buffer; return the bytes used."""
    at = 0
    for i in range(len(order)):
        begin = starts[order[i]]
        length = starts[order[i] + 1] - begin
        for j in range(length):
            buffer[at + j] = joined[begin + j]
        at += length
    return at
