"""What users ask for themselves: a file with a person per row, and k, min_area, reach or wait.

Contract: a profile says at least one of these for a person; an empty cell says nothing. Numbers are
checked when they are read, and a wrong one is told by its row, never by its value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.tables.sources import read as read_table
from sfumato.data.trajectories.trajectories import PERSON_NAMES
from sfumato.data.wording import listed
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

ASKED = {
    "k": "a whole number from 1",
    "min_area": "a number of square metres from 0",
    "reach": "a number of metres above 0",
    "wait": "a number of seconds above 0",
}
"""What a user may ask for, and what is allowed."""


@dataclass(frozen=True)
class Profiles:
    """What people ask for, by name; what is not asked for is what everybody gets."""

    asked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of_each(
        self,
        name: str,
        people: Sequence[str],
        usual: float,
        own: Sequence[str] | None = None,
        rows: Sequence[int] | None = None,
    ) -> NDArray[Any]:
        """Return what each asks for: in the cell of her row (`own`), in her profile, or `usual`.

        `rows` are the numbers of the rows in the file, where they stand in another order.
        """
        found = [self.asked.get(str(who), {}).get(name, usual) for who in people]
        if own is not None:
            for i, cell in enumerate(own):
                if cell != "":
                    found[i] = read_asked(name, cell, f"record {rows[i] if rows else i + 1}")
        return np.array(found, dtype=np.int64 if name == "k" else np.float64)


def read_profiles(path: Path | None) -> Profiles:
    """Return the profiles of a CSV or Parquet file; none where there is no file."""
    if path is None:
        return Profiles()
    table = read_table(path)
    known = {column.strip().lower(): column for column in table.columns}
    person = next((known[name] for name in PERSON_NAMES if name in known), None)
    names = [name for name in ASKED if name in known]
    if person is None or not names:
        raise DataError(
            f"{path} needs a column person and at least one of {listed(list(ASKED))}; there are "
            f"{listed(table.columns)}."
        )
    kept = table.materialize()
    chosen = ", ".join(table.text(known[name]) for name in names)
    rows = kept.run(
        f"SELECT {table.text(person)}, {chosen} FROM {kept.scan} ORDER BY sfumato_internal_row"
    )
    kept.drop()
    asked: dict[str, dict[str, float]] = {}
    for number, (who, *cells) in enumerate(rows, start=1):
        if who == "" or who in asked:
            fault = "names no person" if who == "" else "names a person a second time"
            raise DataError(f"Record {number} of {path} {fault}; give every person one row.")
        asked[who] = {
            name: read_asked(name, cell, f"record {number} of {path}")
            for name, cell in zip(names, cells, strict=True)
            if cell != ""
        }
    return Profiles(asked)


def read_asked(name: str, cell: str, where: str) -> float:
    """Return what is asked for in a cell, or say where it is wrong."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    good = math.isfinite(value) and (value >= 0 if name == "min_area" else value > 0)
    if not good or (name == "k" and value != int(value)):
        raise DataError(f"{name} must be {ASKED[name]} in {where}; mend it, or leave it empty.")
    return value
