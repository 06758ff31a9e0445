"""Rows of a release made by the engine that is to hold them.

Contract: distinct lines go to the engine once, with the number of rows of each, and are repeated
there; rows that are a query of that very engine never leave it. A row's place among others tells
nothing: repeated lines stand in the order of their own texts, a query in that of a keyed hash.
Columns that were not generalised get their types back where the engine has such a type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.spelling import spelt
from sfumato.data.tables.row_query import Query
from sfumato.data.tables.rows import Lines, typed

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.engines.base import TableEngine
    from sfumato.data.tables.rows import Rows

_EVERYWHERE = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
_MADE = "sfumato_made"


def rows_in(engine: TableEngine, rows: Rows) -> str:
    """Return a query, in the words of the engine, of the rows with their names and types."""
    texts, kinds = _texts(engine, rows)
    names = {f"c{i}": name for i, name in enumerate(rows.columns)}
    kept = tuple(kind if _is_kept(kind, engine.dialect) else "VARCHAR" for kind in kinds)
    query = typed(_MADE, names, kept)
    if engine.dialect != "duckdb":
        query = spelt(query, engine.dialect)
    return query.replace(f"FROM {_MADE}", f"FROM ({texts}) AS {_MADE}")


def _is_kept(kind: str, dialect: str) -> bool:
    if kind in _EVERYWHERE or kind.startswith("DECIMAL("):
        return True
    return dialect == "duckdb" or (kind == "UUID" and dialect == "postgres")


def _texts(engine: TableEngine, rows: Rows) -> tuple[str, tuple[str, ...]]:
    """Return the query of the texts `c0`, `c1`, …, and the types of the columns."""
    if isinstance(rows, Query) and rows.table.engine is engine:
        return engine.spell(rows.body), rows.types
    if isinstance(rows, Query):
        held, relation = rows.table.engine.bring(rows.body)
        with held.in_order():
            found = held.connection.execute(f"SELECT * FROM {relation}").fetchnumpy()
        cells = {f"c{i}": np.asarray(found[f"c{i}"]) for i in range(len(rows.columns))}
        once = np.ones(len(rows), dtype=np.int64)
        return engine.repeated(engine.register({**cells, "n": once}), list(cells)), rows.types
    assert isinstance(rows, Lines)
    lines: dict[str, Any] = {
        f"c{c}": np.array(values, dtype=object)[codes] if len(values) else np.zeros(0, object)
        for c, (codes, values) in enumerate(zip(rows.codes, rows.values, strict=True))
    }
    times = np.bincount(rows.order, minlength=len(rows.codes[0])).astype(np.int64)
    return engine.repeated(engine.register({**lines, "n": times}), list(lines)), rows.types


def spark_frame(engine: Any, rows: Rows) -> Any:
    """Return the rows as a frame of Spark."""
    return engine.session.sql(rows_in(engine, rows))


def write_parts(engine: Any, rows: Rows, path: Path) -> None:
    """Let Spark write a folder of Parquet files, and leave nothing else in it."""
    spark_frame(engine, rows).write.parquet(path.absolute().as_uri())
    for file in [*path.iterdir()]:
        if not file.name.startswith("part-"):
            file.unlink()
    for number, file in enumerate(sorted(path.iterdir())):
        file.rename(path / f"part-{number:05d}.parquet")
