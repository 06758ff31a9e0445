"""Columns that were made anew, on their way back to the rows of a numbered copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.base import ROW
from sfumato.data.engines.spelling import quoted_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray


def numbered_texts(texts: Mapping[str, NDArray[np.object_]]) -> dict[str, NDArray[Any]]:
    """Return columns `c0`, `c1`, … of texts beside the numbers of their rows, from 1."""
    rows = len(next(iter(texts.values()), ()))
    cells: dict[str, NDArray[Any]] = {f"c{i}": column for i, column in enumerate(texts.values())}
    return {ROW: np.arange(1, rows + 1, dtype=np.int64), **cells}


def chosen_texts(columns: Collection[str], texts: Collection[str], dialect: str) -> str:
    """Return the SQL of the columns of the copy `r`, some of them given by `g`."""
    place = {column: i for i, column in enumerate(texts)}
    return ", ".join(
        f"{f'g.c{place[c]}' if c in place else f'r.{quoted_for(c, dialect)}'} "
        f"AS {quoted_for(c, dialect)}"
        for c in columns
    )
