"""The columns of records while the rows stay where they are: brought here one by one when needed.

Contract: a numbered copy of the table is made in the engine that holds it. A column comes into this
process when an operation asks for it, as codes into its distinct texts; where that engine is a
database, a warning says so. What an operation made of columns goes back, row number by row number,
and all other columns never leave the engine. Rows are numbered in the order of the data, so the
same seed gives the same records on every engine.
"""

# SQL here is built from names that `engine.quoted` quotes.
# ruff: noqa: S608

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import DuckDB, cell_text
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.tables.rows import typed
from sfumato.data.tables.table import ROW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column: codes into its distinct texts, and its SQL type."""

    codes: NDArray[np.int32]
    values: tuple[str, ...]
    kind: str = "VARCHAR"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing."""
        absent = np.array([value == MISSING for value in self.values], dtype=np.bool_)
        return absent[self.codes]


class StoredColumns(Mapping[str, Column]):
    """The columns of a numbered copy, of which some are here and some were replaced."""

    def __init__(
        self, copy: Table, here: dict[str, Column], replaced: Mapping[str, Column]
    ) -> None:
        self.copy = copy
        self._here = here
        self._replaced = replaced

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy.columns)

    def __len__(self) -> int:
        return len(self.copy.columns)

    def __getitem__(self, name: str) -> Column:
        if name in self._replaced:
            return self._replaced[name]
        if name not in self._here:
            if name not in self.copy.types:
                raise KeyError(name)
            self._announce(name)
            self._here[name] = _load(self.copy, name)
        return self._here[name]

    def __contains__(self, name: object) -> bool:
        return name in self.copy.types

    @property
    def rows(self) -> int:
        """How many records there are."""
        for column in self._replaced.values():
            return len(column.codes)
        return self.copy.rows

    def with_columns(self, changed: Mapping[str, Column]) -> StoredColumns:
        """Return the same columns with some replaced."""
        return StoredColumns(self.copy, self._here, {**self._replaced, **changed})

    def _announce(self, name: str) -> None:
        if self._here or self.copy.engine.dialect == "duckdb":
            return
        warnings.warn(
            f"{self.copy.source}: the columns that these operations work on ('{name}' is the "
            "first) are brought from the database into this process, which must be trusted with "
            "them; other columns stay there.",
            UserWarning,
            stacklevel=2,
        )

    def written(self, untruthful: Sequence[str]) -> Table:
        """Return the table with what was made in the place of what was there.

        Where records were added every column is new, and all are here; else what was replaced goes
        back into the engine.
        """
        table = self.copy
        with table.explained():
            if self.rows != table.rows:
                table = self._whole()
            elif self._replaced:
                texts = {name: _texts(column) for name, column in self._replaced.items()}
                scan = table.engine.replaced(table.scan, table.types, texts)
                table = replace(table, scan=scan)
        return replace(table, untruthful=(*table.untruthful, *untruthful))

    def _whole(self) -> Table:
        """Put all columns into the embedded engine."""
        engine = self.copy.engine.local
        cells: dict[str, Any] = {
            f"c{i}": np.array(column.values, dtype=object)[column.codes]
            for i, column in enumerate(self.values())
        }
        names = {f"c{i}": name for i, name in enumerate(self)}
        kinds = tuple(column.kind for column in self.values())
        target = engine.fresh("perturbed")
        with engine.in_order():
            frame = engine.register(cells)
            engine.run(f"CREATE TEMP TABLE {target} AS {typed(frame, names, kinds)}")
            engine.drop(frame)
        self.copy.engine.drop(self.copy.scan)
        return replace(self.copy, engine=engine, scan=target)


def _load(copy: Table, name: str) -> Column:
    """Encode one column by its distinct texts, numbered as they first occur."""
    with copy.explained():
        query = f"SELECT {copy.text(name)} AS cell FROM {copy.scan} ORDER BY {ROW}"
        engine, relation = copy.engine.bring(query)
        with engine.in_order():
            codes, values = _encoded(engine, relation)
        if copy.engine.dialect != "duckdb":
            engine.drop(relation)
    return Column(codes, values, copy.types[name])


def _encoded(engine: DuckDB, relation: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    kind = engine.fresh("kind")
    engine.run(f"CREATE TYPE {kind} AS ENUM (SELECT DISTINCT cell FROM {relation})")
    texts = [str(row[0]) for row in engine.run(f"SELECT unnest(enum_range(NULL::{kind}))")]
    found = engine.connection.execute(
        f"SELECT enum_code(cell::{kind})::INTEGER AS code FROM {relation}"
    ).fetchnumpy()["code"]
    engine.run(f"DROP TYPE {kind}")
    codes = np.asarray(found, dtype=np.int32)
    first = np.full(len(texts), len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place[codes], tuple(texts[i] for i in order.tolist())


def _texts(column: Column) -> NDArray[np.object_]:
    """Return the texts of the cells as a column of this type writes them: 2 as 2.0 among floats."""
    values = np.array(column.values, dtype=object)
    if column.kind != "VARCHAR" and len(values):
        engine = DuckDB()
        cells = typed(engine.register({"cell": values}), {"cell": "cell"}, (column.kind,))
        query = f"SELECT {cell_text('cell', column.kind)} AS cell FROM ({cells})"
        with engine.in_order():
            rows = engine.run(query)
        values = np.array([row[0] for row in rows], dtype=object)
        engine.close()
    texts: NDArray[np.object_] = values[column.codes]
    return texts


def stored_columns(table: Table) -> StoredColumns:
    """Make a numbered copy of a table where it is, and give its columns."""
    return StoredColumns(table.materialize(), {}, {})
