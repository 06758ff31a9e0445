"""A table of people: where its rows are, what its columns mean, and its counts.

A `Table` holds no rows. It knows how the engine scans them and hands out frequency
tables over any of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sfumato.data.engines.base import ROW
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.data.wording import look_like_a_record
from sfumato.errors import DataError, SchemaError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from sfumato.data.engines.base import TableEngine
    from sfumato.data.engines.counted import Counted
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.schema import Schema

_HEAD = 1 << 20
INTERNAL = "sfumato_internal"
"""How the names of columns begin that are made on the way."""

_PACKED = frozenset({".gz", ".zst", ".xlsx", ".xlsm"})
"""Endings of files whose bytes are no lines."""

Kind = Literal[
    "csv", "parquet", "pandas", "polars", "arrow", "columns", "duckdb", "postgres", "spark"
]

__all__ = ["ROW", "Kind", "Table", "bind_hierarchies", "value_counts"]


@dataclass(frozen=True, eq=False, repr=False)
class Table(Shown):
    """Rows in an engine, with a schema once it is known.

    `scan` is the SQL relation, `types` the SQL type per column, `kind` what it was read
    from, so that a release can be given back in kind. `declared` overrides the types of
    columns of a CSV file in frames that are handed back. `untruthful` lists operations already
    done to it after which single records are no longer facts.
    """

    shape: ClassVar[str] = "table"

    engine: TableEngine
    name: str
    source: str
    kind: Kind
    scan: str
    types: dict[str, str]
    delimiter: str = ","
    untruthful: tuple[str, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)
    known_schema: Schema | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Say what it is without types, which may list cells, or a first line that is a record."""
        listed = ", ".join(self.columns[:6]) + (", …" if len(self.columns) > 6 else "")
        named = "without names" if look_like_a_record(self.columns) else f"({listed})"
        return f"<Table {self.name} from {self.source}: {len(self.columns)} columns {named}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the data."""
        return tuple(self.types)

    @property
    def schema(self) -> Schema:
        """The schema; an error where none was given."""
        if self.known_schema is None:
            raise SchemaError(
                f"{self.source} has no schema yet; write one with `sfumato inspect`, or give "
                "schema=…"
            )
        return self.known_schema

    def with_schema(self, schema: Schema) -> Table:
        """Return the same table under a schema, checked against its columns."""
        schema.check_columns(self.columns, self.source)
        return replace(self, known_schema=schema)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Columns the schema gives no role; a release leaves them out."""
        return self.schema.check_columns(self.columns, self.source)

    @cached_property
    def rows(self) -> int:
        """Number of records."""
        with self.explained():
            return self.engine.rows(self.scan)

    def about(self, sample: int) -> float:
        """Estimate the number of records; exact where the engine knows it without a scan."""
        path = Path(self.source)
        if self.kind != "csv" or path.suffix.lower() in _PACKED or not path.is_file():
            return float(self.rows)
        with path.open("rb") as file:
            head = file.read(_HEAD)
            lines = max(head.count(b"\n"), 1)
            return max(file.seek(0, 2) / (len(head) / lines), float(sample))

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of ours on the engine that holds the rows."""
        with self.explained():
            return self.engine.run(query)

    def explained(self) -> AbstractContextManager[None]:
        """Turn errors of the engine into sentences of ours."""
        return self.engine.explained(self.source)

    def text(self, column: str) -> str:
        """Return the SQL of a cell's text."""
        return self.engine.text(column, self.types[column])

    def ways_missing(self, column: str) -> tuple[bool, bool]:
        """Tell whether cells are missing as NULL, and as the empty text or NaN."""
        with self.explained():
            return self.engine.ways_missing(self.scan, column, self.types[column])

    def count(self, columns: Sequence[str]) -> Counted:
        """Count the distinct combinations of some columns."""
        with self.explained():
            counted = self.engine.count(self.scan, {c: self.types[c] for c in columns})
        if not len(counted.counts):
            lacks = "a header but no records" if self.kind == "csv" else "no records"
            raise DataError(f"{self.source} has {lacks}; at least one record is needed.")
        return counted

    def distinct(self, columns: Sequence[str], rows: int) -> int:
        """Count the distinct combinations of some columns among the first rows of a scan."""
        cells = ", ".join(f"{self.text(c)} AS c{i}" for i, c in enumerate(columns)) or "1 AS c0"
        [(found,)] = self.run(
            f"SELECT COUNT(*) FROM (SELECT DISTINCT * FROM (SELECT {cells} FROM {self.scan} "
            f"LIMIT {int(rows)}) AS sampled) AS lines"
        )
        return int(found)

    def materialize(self) -> Table:
        """Return the same table copied into the engine, for work that needs several passes.

        The copy numbers its rows in the column `ROW`, in the order of the data.
        """
        ours = [name for name in self.columns if name.casefold().startswith(INTERNAL)]
        if ours:
            raise SchemaError(
                f"{self.source} has a column '{ours[0]}'; names that begin with {INTERNAL} are "
                "needed for this work itself. Give the column another name."
            )
        with self.explained():
            return replace(self, scan=self.engine.numbered(self.scan, self.types))

    def drop(self) -> None:
        """Forget a copy that `materialize` made."""
        with self.explained():
            self.engine.drop(self.scan)


def bind_hierarchies(counted: Counted, schema: Schema) -> tuple[Hierarchy, ...]:
    """Return the hierarchy of each quasi-identifier over the values it really has.

    They stand in the order of the schema, which may differ from that of the columns.
    """
    place = {name: c for c, name in enumerate(counted.columns)}
    return tuple(
        schema.hierarchy_for(name, counted.values[place[name]], value_counts(counted, place[name]))
        for name in schema.quasi_names
    )


def value_counts(counted: Counted, column: int) -> dict[str, int]:
    """Return how often each value of a column occurs."""
    values = counted.values[column]
    totals = np.bincount(counted.codes[column], weights=counted.counts, minlength=len(values))
    return {value: int(total) for value, total in zip(values, totals, strict=True)}


def frequency_table(
    counted: Counted,
    schema: Schema,
    hierarchies: Sequence[Hierarchy],
    judged: Sequence[str],
) -> tuple[FrequencyTable, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Aggregate counts to quasi-identifiers and judged attributes.

    Returns the frequency table and, for each combination of `counted`, its tuple's number.
    """
    quasi = schema.quasi_names
    columns = []
    for name, hierarchy in zip(quasi, hierarchies, strict=True):
        c = counted.columns.index(name)
        leaves = np.array([hierarchy.codes[value] for value in counted.values[c]], dtype=np.int32)
        columns.append(leaves[counted.codes[c]])
    values = []
    for name in judged:
        c = counted.columns.index(name)
        order = schema.order_of(name, counted.values[c])
        place = {value: i for i, value in enumerate(order)}
        codes = np.array([place[value] for value in counted.values[c]], dtype=np.int32)
        columns.append(codes[counted.codes[c]])
        values.append(order)
    stacked = np.stack(columns, axis=1) if columns else np.zeros((len(counted.counts), 0), np.int32)
    distinct, index = _distinct(stacked)
    counts = np.bincount(index, weights=counted.counts, minlength=len(distinct)).astype(np.int64)
    table = FrequencyTable(
        quasi,
        tuple(judged),
        np.ascontiguousarray(distinct[:, : len(quasi)], dtype=np.int32),
        np.ascontiguousarray(distinct[:, len(quasi) :], dtype=np.int32),
        counts,
        tuple(values),
    )
    return table, index


def _distinct(
    rows: np.ndarray[tuple[int, int], np.dtype[np.int32]],
) -> tuple[
    np.ndarray[tuple[int, int], np.dtype[np.int32]], np.ndarray[tuple[int], np.dtype[np.int64]]
]:
    """Return the distinct rows in order and the number of each row's; by one key if it fits."""
    radix = rows.max(axis=0, initial=0).astype(object) + 1
    if np.prod(radix, initial=1) < 2**62:
        keys = np.zeros(len(rows), dtype=np.int64)
        for c, base in enumerate(radix):
            keys = keys * int(base) + rows[:, c]
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        return rows[first], index.reshape(-1).astype(np.int64)
    distinct, index = np.unique(rows, axis=0, return_inverse=True)
    return distinct, index.reshape(-1).astype(np.int64)
