"""Cells as a table of the kind the data came in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def frame(columns: Sequence[str], rows: Sequence[Sequence[Any]], kind: str) -> Any:
    """Make a table of the kind that was read; a mapping of lists where no library is at hand."""
    cells = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    if kind == "polars":
        import polars  # noqa: ICN001, PLC0415 - the caller handed us one of its frames

        return polars.DataFrame(cells, strict=False)
    if kind == "arrow":
        import pyarrow  # noqa: ICN001, PLC0415 - the same

        return pyarrow.table(cells)
    if kind in {"pandas", "csv", "parquet", "duckdb", "postgres"}:
        pandas = _pandas(required=kind == "pandas")
        if pandas is not None:
            return pandas.DataFrame(cells, columns=list(columns))
    if kind == "spark":
        return _pandas(required=True).DataFrame(cells, columns=list(columns))
    return cells


def _pandas(*, required: bool) -> Any:
    if "pandas" not in sys.modules and not required:
        from importlib.util import find_spec  # noqa: PLC0415 - asked for once per table

        if find_spec("pandas") is None:
            return None
    import pandas  # noqa: ICN001, PLC0415 - an optional library of the caller's

    return pandas
