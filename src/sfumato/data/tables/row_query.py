"""The rows of a release as a query the engine streams.

For tables whose lines are nearly all different (free text, pseudonyms), that must keep
their order, or that do not fit in memory. The records of a distinct tuple are joined with
the generalised tuple they get; where a tuple is shared between classes, its records are
numbered in a random order and dealt out.

The order of the release is that of a keyed hash of the row number: nobody without the key,
which is thrown away, can tell which row was where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import quoted, quoted_text
from sfumato.data.tables.rows import copy_rows, fetched, typed
from sfumato.data.tables.table import ROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.engines.duckdb import DuckDB
    from sfumato.data.tables.table import Kind, Table


@dataclass(frozen=True, eq=False, repr=False)
class Dealing:
    """Which records get which generalised texts.

    Row `j`: of the records whose cells in `match` columns are `match[name][j]`, numbers
    `first[j]` to `last[j]` (counted from 1) get the texts `texts[name][j]`.
    """

    match: Mapping[str, NDArray[np.object_]]
    texts: Mapping[str, NDArray[np.object_]]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    shared: bool


@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """Rows that live in the engine until they are written."""

    table: Table
    columns: tuple[str, ...]
    types: tuple[str, ...]
    body: str
    n: int

    def __len__(self) -> int:
        return self.n

    def write_csv(self, path: Path, delimiter: str = ",") -> None:
        """Stream to a CSV file with a header."""
        texts = ", ".join(f"c{i} AS {quoted(c)}" for i, c in enumerate(self.columns))
        options = f"FORMAT csv, HEADER true, DELIMITER {quoted_text(delimiter)}"
        with self.table.explained():
            engine, relation = self.table.engine.bring(self.body)
            copy_rows(engine, f"SELECT {texts} FROM {relation}", path, options)

    def write_parquet(self, path: Path) -> None:
        """Stream to a Parquet file."""
        with self.table.explained():
            engine, query = self._typed()
            engine.write_parquet(query, path)

    def _typed(self) -> tuple[DuckDB, str]:
        """Return the rows with their types, and the embedded engine in which they are."""
        engine, relation = self.table.engine.bring(self.body)
        names = {f"c{i}": name for i, name in enumerate(self.columns)}
        return engine, typed(relation, names, self.types)

    def frame(self, kind: Kind) -> Any:
        """Return the rows in kind; they are loaded into memory."""
        with self.table.explained():
            return fetched(*self._typed(), kind)


def dealt_query(
    table: Table,
    columns: Sequence[str],
    dealing: Dealing,
    *,
    replacements: Mapping[str, Mapping[str, str]],
    types: Mapping[str, str],
    key: str,
    keep: bool,
) -> Query:
    """Return the released rows of a materialised table.

    Which records of a shared tuple get which texts is decided by a keyed hash, never by their
    order or other cells. `replacements` maps the values of a column to other texts
    (pseudonyms). `keep` leaves the rows in the order of the data.
    """
    engine = table.engine
    arrays: dict[str, Any] = {f"m{i}": v for i, v in enumerate(dealing.match.values())}
    arrays |= {f"t{i}": v for i, v in enumerate(dealing.texts.values())}
    arrays |= {"first_": dealing.first, "last_": dealing.last}
    deal = engine.register(arrays)
    place = f"sha256({quoted_text(key)} || {ROW}::VARCHAR)"
    joined = " AND ".join(f"r.{_key(i)} = d.m{i}" for i in range(len(dealing.match)))
    keys = "".join(f", {table.text(name)} AS {_key(i)}" for i, name in enumerate(dealing.match))
    inner = f"SELECT *, {place} AS sfumato_internal_place{keys} FROM {table.scan}"
    if dealing.shared:
        parts = ", ".join(_key(i) for i in range(len(dealing.match)))
        number = f"row_number() OVER (PARTITION BY {parts} ORDER BY sfumato_internal_place)"
        inner = f"SELECT *, {number} AS sfumato_internal_number FROM ({inner})"
        joined += " AND r.sfumato_internal_number BETWEEN d.first_ AND d.last_"
    sources, chosen = "", []
    for i, name in enumerate(columns):
        if name in dealing.texts:
            chosen.append(f"d.t{list(dealing.texts).index(name)} AS c{i}")
        elif name in replacements:
            mapping = replacements[name]
            given = engine.register(
                {
                    "old": np.array(list(mapping), dtype=object),
                    "new": np.array(list(mapping.values()), dtype=object),
                }
            )
            sources += f" JOIN {given} p{i} ON p{i}.old = {_in(table, name)}"
            chosen.append(f"p{i}.new AS c{i}")
        else:
            chosen.append(f"{_in(table, name)} AS c{i}")
    body = (
        f"SELECT {', '.join(chosen)} FROM ({inner}) r JOIN {deal} d ON {joined}{sources} "
        f"ORDER BY r.{ROW if keep else 'sfumato_internal_place'}"
    )
    n = int((dealing.last - dealing.first + 1).sum())
    kinds = tuple(types.get(name, "VARCHAR") for name in columns)
    return Query(table, tuple(columns), kinds, body, n)


def _key(i: int) -> str:
    """Return the name of the i-th matched cell, which no column of the data should have."""
    return f"sfumato_internal_key{i}"


def _in(table: Table, name: str) -> str:
    """Return the SQL of a cell's text, qualified with the row's alias."""
    return table.text(name).replace(quoted(name), f"r.{quoted(name)}")
