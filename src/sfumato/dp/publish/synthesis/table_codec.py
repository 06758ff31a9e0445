"""Rows of a table as codes in the engine, and synthetic codes as rows again.

Contract: coding is one pass of the engine over the table, each cell by itself, and keeps at most
``rows`` rows of each unit: those first in an order by a hash of the row, a function of the unit's
own rows. So adding a unit adds at most that many rows of codes and changes no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sfumato.data.engines.duckdb import DuckDB, plain_text, quoted, quoted_text, translated
from sfumato.data.tables.rows import fetched
from sfumato.dp.publish.synthesis.curator import Pieces, Records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Kind, Table
    from sfumato.dp.publish.synthesis.columns import Coder, Values

_PIECE = 1 << 20


def bounded_rows(table: Table, unit: str | None, rows: int) -> str:
    """Return the SQL that keeps at most ``rows`` rows of each unit, and none that is nobody's."""
    if unit is None:
        return ""
    texts = {name: plain_text(name, kind) for name, kind in table.types.items()}
    order = f"hash({', '.join(texts.values())})"
    return (
        f" WHERE {texts[unit]} <> '' "
        f"QUALIFY row_number() OVER (PARTITION BY {texts[unit]} ORDER BY {order}) <= {rows}"
    )


@dataclass(frozen=True, eq=False)
class TableRecords(Pieces):
    """Coded rows in the engine that holds the table."""

    table: Table
    relation: str
    width: int

    @classmethod
    def code(cls, table: Table, coders: Mapping[str, Coder], unit: str | None, rows: int) -> TableRecords:  # fmt: skip  # noqa: E501
        """Code a table, keeping at most ``rows`` rows of each unit."""
        listed = []
        for place, (name, coder) in enumerate(coders.items()):
            kind = "USMALLINT" if coder.coded.size < 1 << 16 else "UINTEGER"
            listed.append(f"CAST({coder.sql(table.types[name])} AS {kind}) AS c{place}")
        kept = bounded_rows(table, unit, rows)
        relation = table.engine.fresh("coded")
        table.run(
            f"CREATE TEMP TABLE {relation} AS SELECT {', '.join(listed)} FROM {table.scan}{kept}"  # noqa: S608 - quoted names
        )
        return cls(table, relation, len(coders))

    def pieces(self) -> Iterator[NDArray[Any]]:
        """Give the rows in pieces."""
        rows = self.table.engine.rows(self.relation)
        for start in range(0, rows, _PIECE):
            query = f"SELECT * FROM {self.relation} WHERE rowid BETWEEN {start} AND {start + _PIECE - 1}"  # fmt: skip  # noqa: E501, S608 - our own name
            with translated(self.table.source):
                found = self.table.engine.local.connection.execute(query).fetchnumpy()
            yield np.stack([np.asarray(found[f"c{place}"]) for place in range(self.width)])

    def drop(self) -> None:
        """Forget the coded rows."""
        self.table.run(f"DROP TABLE IF EXISTS {self.relation}")


class RowSource(Protocol):
    """Rows in some engine that can be coded and counted where they are.

    ``types`` are the types of columns in the words of DuckDB, ``kind`` is what synthetic rows come
    back as.
    """

    @property
    def name(self) -> str:
        """What the rows are called."""

    @property
    def source(self) -> str:
        """Where they came from, for messages."""

    @property
    def kind(self) -> Kind:
        """What they came as."""

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each column."""

    @property
    def typed(self) -> bool:
        """Whether the types of columns are declared where the rows live, and not by their cells."""

    @property
    def known_schema(self) -> Schema | None:
        """The schema, if there is one."""

    def code_rows(self, coders: Mapping[str, Coder], unit: str | None, rows: int) -> CodedRows:
        """Code the rows, keeping at most ``rows`` of each unit."""

    def count_texts(self, column: str, unit: str | None, rows: int) -> list[tuple[str, int]]:
        """Count the rows of every text of a column that is not empty, with the same bound."""


class CodedRows(Records, Protocol):
    """Coded rows, to be forgotten when they are counted."""

    def drop(self) -> None:
        """Forget them."""


@dataclass(frozen=True, eq=False)
class RowsOfTable:
    """What is known of the rows of a table that `sf.read` opened, wherever they are."""

    table: Table

    @property
    def name(self) -> str:
        """What the table is called."""
        return self.table.name

    @property
    def source(self) -> str:
        """Where it came from."""
        return self.table.source

    @property
    def kind(self) -> Kind:
        """What it came as."""
        return self.table.kind

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each column."""
        return self.table.types

    @property
    def typed(self) -> bool:
        """Whether a catalogue has the types: of a file or a frame they follow from the cells."""
        return self.table.kind in {"duckdb", "postgres", "spark"}

    @property
    def known_schema(self) -> Schema | None:
        """The schema, if there is one."""
        return self.table.known_schema


class TableRows(RowsOfTable):
    """The rows of a table in DuckDB."""

    def code_rows(self, coders: Mapping[str, Coder], unit: str | None, rows: int) -> TableRecords:
        """Code the rows in the engine."""
        return TableRecords.code(self.table, coders, unit, rows)

    def count_texts(self, column: str, unit: str | None, rows: int) -> list[tuple[str, int]]:
        """Count the rows of every text."""
        table = self.table
        kept = bounded_rows(table, unit, rows)
        text = plain_text(column, table.types[column])
        query = f"SELECT {text} AS t FROM {table.scan}{kept}"  # noqa: S608 - quoted names
        found = table.run(f"SELECT t, count(*) FROM ({query}) WHERE t <> '' GROUP BY t")  # noqa: S608 - as above
        return [(str(text), int(count)) for text, count in found]


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRows:
    """Decoded rows, ready to be written or handed back in kind."""

    cells: Mapping[str, Values]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.cells)

    def __len__(self) -> int:
        return next(iter(self.cells.values())).numbers.size

    def query(self, engine: DuckDB) -> str:
        """Register the cells and return the query that types them."""
        arrays: dict[str, NDArray[Any]] = {}
        listed = []
        for place, (name, values) in enumerate(self.cells.items()):
            arrays[f"c{place}"], arrays[f"c{place}_missing"] = values.numbers, values.missing
            listed.append(f"{values.sql(f'c{place}')} AS {quoted(name)}")
        return f"SELECT {', '.join(listed)} FROM {engine.register(arrays)}"  # noqa: S608 - quoted names

    def frame(self, kind: Kind) -> Any:
        """Return the rows in kind."""
        engine = _ordered()
        try:
            return fetched(engine, self.query(engine), kind)
        finally:
            engine.close()

    def write_csv(self, path: Path, delimiter: str = ",") -> None:
        """Write a CSV file with a header."""
        self._copy(path, f"FORMAT csv, HEADER true, DELIMITER {quoted_text(delimiter)}")

    def write_parquet(self, path: Path) -> None:
        """Write a Parquet file."""
        engine = DuckDB()
        try:
            engine.write_parquet(self.query(engine), path)
        finally:
            engine.close()

    def _copy(self, path: Path, options: str) -> None:
        engine = _ordered()
        try:
            engine.run(f"COPY ({self.query(engine)}) TO {quoted_text(str(path))} ({options})")
        finally:
            engine.close()


def _ordered() -> DuckDB:
    engine = DuckDB()
    engine.run("SET preserve_insertion_order = true")
    return engine
