"""`sf.read`: bring data of any shape in."""

from __future__ import annotations

from typing import Any

from sfumato.data.tables.sources import read as read_table
from sfumato.data.tables.table import Table
from sfumato.errors import ParameterError
from sfumato.shape import find_shape, shape_names


def read(source: Any, *, schema: Any = None, shape: str | None = None, **options: Any) -> Any:
    """Return data in the shape they have: a `Table` unless `shape` names another.

    `schema` is a `Schema` or the path of a YAML file. A table comes from a CSV or Parquet file, a
    frame (pandas, Polars, Arrow) or a mapping of columns, with the options `name`, `delimiter`,
    `encoding` and `types`; other shapes say in their own pages what they read.

    >>> import sfumato as sf
    >>> sf.read({"age": [30, 41]}).columns
    ('age',)
    """
    held = getattr(source, "shape", None)
    if isinstance(held, str) and held in shape_names() and not isinstance(source, Table):
        if shape not in {None, held}:
            raise ParameterError(f"The data have the shape '{held}', not '{shape}'.")
        return source if schema is None else find_shape(held).read(source, schema=schema, **options)
    if shape in {None, "table"}:
        return read_table(source, schema=schema, **options)
    return find_shape(shape or "table").read(source, schema=schema, **options)
