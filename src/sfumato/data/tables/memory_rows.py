"""Rows brought into memory, for work that is done on whole records.

Noise, swapping, sets within records, traces and training work on rows, not on counts. Where a
database holds them, they are brought into the embedded engine of this process, which must be
trusted with them: a warning says so. Their types and the texts of their cells stay the same.
"""

# SQL here is built from names that `quoted` quotes.

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.data.engines.base import ROW
from sfumato.data.engines.duckdb import quoted

if TYPE_CHECKING:
    from sfumato.data.tables.table import Table


def brought(table: Table) -> Table:
    """Return the table with its rows in the embedded engine, in their order."""
    if table.engine.dialect == "duckdb":
        return table
    warnings.warn(
        f"{table.source}: this work is done on rows, not on counts, so they are brought from the "
        "database into this process, which must be trusted with them.",
        UserWarning,
        stacklevel=2,
    )
    cells = ", ".join(f"{quoted(c)} AS c{i}" for i, c in enumerate(table.columns))
    copy = table.materialize()
    with table.explained():
        engine, relation = table.engine.bring(f"SELECT {cells} FROM {copy.scan} ORDER BY {ROW}")
        copy.drop()
        kept = engine.fresh("kept")
        typed = ", ".join(
            f"{_typed(f'c{i}', kind)} AS {quoted(c)}"
            for i, (c, kind) in enumerate(table.types.items())
        )
        with engine.in_order():
            engine.run(f"CREATE TEMP TABLE {kept} AS SELECT {typed} FROM {relation}")
        engine.drop(relation)
    return replace(table, engine=engine, scan=kept)


def _typed(text: str, kind: str) -> str:
    """Give a text its type back; a text stays as it is."""
    if kind == "VARCHAR":
        return text
    if kind == "VARCHAR[]":
        return f"from_json(nullif({text}, ''), '[\"VARCHAR\"]')"
    return f"CAST(nullif({text}, '') AS {kind})"
