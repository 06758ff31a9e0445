"""Tables of the conformance kit as Arrow tables, with the types their kinds say."""

from __future__ import annotations

import pyarrow as pa

TYPES = {
    "integer": pa.int64(),
    "real": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


def arrow(table):
    """Give a table of the kit as an Arrow table; NaN stays NaN."""
    columns = {
        name: pa.array(list(table.cells[name]), type=TYPES[kind], from_pandas=False)
        for name, kind in table.kinds.items()
    }
    return pa.table(columns)
