"""Files of places: users at one moment, or requests with their times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import quoted
from sfumato.data.places.points import NAMES, Points, read_points
from sfumato.data.tables.sources import read as read_table
from sfumato.data.trajectories.sources import read_rows
from sfumato.data.trajectories.trajectories import PERSON_NAMES, Frame
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PointFile:
    """Users at one moment, with further columns of the file as they are written."""

    points: Points
    also: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RequestFile:
    """Requests in the order of time, in metres of a plane; `outside` counts those left out.

    `row` numbers the rows of the file, from 1.
    """

    user: NDArray[Any]
    time: NDArray[np.float64]
    places: NDArray[np.float64]
    frame: Frame
    outside: int
    row: list[int]
    also: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """What a stream is asked: user, time, x and y."""
        return {
            "user": self.user, "time": self.time, "x": self.places[:, 0], "y": self.places[:, 1],
        }  # fmt: skip


def read_point_file(path: Path, also: Mapping[str, str | None] | None = None) -> PointFile:
    """Return the places of users in a CSV or Parquet file; `also` names further columns."""
    table = read_table(path)
    known = {name.lower(): name for name in table.columns}
    pair = next((pair for pair in NAMES if pair[0] in known and pair[1] in known), None)
    if pair is None:
        raise DataError(f"{path} needs the columns x and y, or lon and lat.")
    further = {what: name for what, name in (also or {}).items() if name}
    for name in further.values():
        if name not in table.columns:
            raise ParameterError(
                f"There is no column '{name}'; there are {listed(table.columns)}."
                f"{did_you_mean(name, table.columns)}"
            )
    kept = table.materialize()
    named = next((name for name in PERSON_NAMES if name in known), None)
    chosen = [
        *(f"TRY_CAST({quoted(known[name])} AS DOUBLE)" for name in pair),
        "sfumato_internal_row" if named is None else table.text(known[named]),
        *(table.text(name) for name in further.values()),
    ]
    rows = kept.run(f"SELECT {', '.join(chosen)} FROM {kept.scan} ORDER BY sfumato_internal_row")
    if not rows:
        raise DataError(f"There is no point in {path}; at least one is needed.")
    across, up, who, *cells = (list(column) for column in zip(*rows, strict=True))
    array = np.array([[np.nan if v is None else v for v in axis] for axis in (across, up)]).T
    people = np.array(who) if named is not None else None
    return PointFile(
        read_points(array.reshape(-1, 2), people=people, degrees=pair[0] != "x"),
        dict(zip(further, cells, strict=True)),
    )


def read_request_file(
    path: Path, *, bounds: str | None, also: Mapping[str, str | None] | None = None
) -> RequestFile:
    """Return the requests of a CSV or Parquet file; `also` names further columns."""
    if bounds is None:
        raise ParameterError("A stream needs public bounds: --bounds=LOW_X,HIGH_X,LOW_Y,HIGH_Y.")
    raw, frame = read_rows(path, bounds=bounds, also=also or {})
    assert frame.bounds is not None
    x0, x1, y0, y1 = frame.bounds
    inside = (raw["x"] >= x0) & (raw["x"] <= x1) & (raw["y"] >= y0) & (raw["y"] <= y1)
    if not inside.any():
        raise DataError("No point lies inside the bounds; check their order (x, x, y, y).")
    order = np.argsort(raw["t"], kind="stable")
    order = order[inside[order]]
    return RequestFile(
        raw["person"][order], raw["t"][order].astype(np.float64),
        frame.project(raw["x"][order], raw["y"][order]), frame, int((~inside).sum()),
        (order + 1).tolist(),
        {what: raw[what][order].tolist() for what, name in (also or {}).items() if name},
    )  # fmt: skip
