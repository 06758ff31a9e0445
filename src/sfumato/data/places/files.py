"""Files of places: users at one moment, or requests with their times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import quoted
from sfumato.data.places.points import NAMES, Points, read_points
from sfumato.data.tables.sources import read as read_table
from sfumato.data.trajectories.sources import read_trajectories
from sfumato.data.trajectories.trajectories import PERSON_NAMES
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.trajectories.trajectories import Frame


def read_point_file(path: Path) -> Points:
    """Return the places of users in a CSV or Parquet file."""
    table = read_table(path)
    known = {name.lower(): name for name in table.columns}
    pair = next((pair for pair in NAMES if pair[0] in known and pair[1] in known), None)
    if pair is None:
        raise DataError(f"{path} needs the columns x and y, or lon and lat.")
    kept = table.materialize()
    chosen = [f"TRY_CAST({quoted(known[name])} AS DOUBLE)" for name in pair]
    named = next((name for name in PERSON_NAMES if name in known), None)
    person = "sfumato_internal_row" if named is None else table.text(known[named])
    rows = kept.run(
        f"SELECT {', '.join(chosen)}, {person} FROM {kept.scan} ORDER BY sfumato_internal_row"
    )
    if not rows:
        raise DataError(f"There is no point in {path}; at least one is needed.")
    array = np.array([(np.nan if x is None else x, np.nan if y is None else y) for x, y, _ in rows])
    people = np.array([who for _, _, who in rows]) if named is not None else None
    return read_points(array.reshape(-1, 2), people=people, degrees=pair[0] != "x")


def read_request_file(path: Path, *, bounds: str | None) -> tuple[dict[str, Any], Frame, int]:
    """Return requests (user, time, x, y in metres) in the order of time, and their frame.

    The number says how many lay outside the bounds and are left out.
    """
    if bounds is None:
        raise ParameterError("A stream needs public bounds: --bounds=LOW_X,HIGH_X,LOW_Y,HIGH_Y.")
    traces = read_trajectories(path, bounds=bounds, unit="person")
    order = np.argsort(traces.times, kind="stable")
    requests = {
        "user": traces.person[traces.owner][order], "time": traces.times[order],
        "x": traces.places[order, 0], "y": traces.places[order, 1],
    }  # fmt: skip
    return requests, replace(traces.frame), traces.outside
