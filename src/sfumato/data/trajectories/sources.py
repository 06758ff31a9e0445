"""Bring traces in: a CSV file, also packed, or Parquet, a frame, or columns; every row is a point.

Columns of the person, of x or longitude, of y or latitude and of the time are found by their usual
names or named by `person`, `x`, `y` and `time`; with a column of the `trip`, or a `gap` of seconds
after which a new one begins, each trip is a trace, otherwise each person is. Rows may stand in any
order: they are sorted by time. What cannot be a point (a missing number, a latitude of 95°) is an
error that names the row; what lies outside the public `bounds` is left out and counted.
"""

from __future__ import annotations

import gzip
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.atomic import PrivateFolder
from sfumato.data.engines.duckdb import quoted
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read as read_table
from sfumato.data.trajectories.trajectories import (
    PERSON,
    PERSON_NAMES,
    TRIP,
    UNITS,
    Frame,
    Trajectories,
    read_bounds,
)
from sfumato.data.wording import did_you_mean, listed
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Table

USUAL = {
    "person": PERSON_NAMES,
    "x": ("x", "lon", "lng", "long", "longitude"),
    "y": ("y", "lat", "latitude"),
    "time": ("time", "t", "timestamp", "datetime", "date_time"),
    "trip": ("trip", "trip_id", "trajectory_id", "trajectory", "trace"),
}
"""What columns are usually called, by what they hold."""
DEGREES = frozenset(USUAL["x"][1:]) | frozenset(USUAL["y"][1:])
WRITTEN = "written_"
FORMATS = ("%Y/%m/%d %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%Y%m%d%H%M%S")
"""Ways to write a moment, beside ISO 8601."""


def read_trajectories(
    source: Any,
    *,
    unit: str | None = None,
    gap: float | None = None,
    degrees: bool | None = None,
    bounds: Sequence[float] | str | None = None,
    person: str | None = None,
    x: str | None = None,
    y: str | None = None,
    time: str | None = None,
    trip: str | None = None,
    name: str | None = None,
    **options: Any,
) -> Trajectories:
    """Return the traces of a source; `unit` is "trip" or "person"."""
    if isinstance(source, Trajectories):
        return source
    named = {"person": person, "x": x, "y": y, "time": time, "trip": trip}
    with _unpacked(source) as readable:
        table = brought(read_table(readable, name=name, **options))
        columns = {what: _column(table, what, given) for what, given in named.items()}
        chosen = _unit(unit, columns["trip"], gap)
        raw = _fetch(table, columns, with_trip=chosen == TRIP and gap is None)
    if degrees is None:
        degrees = bool({str(columns["x"]).lower(), str(columns["y"]).lower()} & DEGREES)
    _check(raw, degrees)
    frame = _frame(raw, degrees, read_bounds(bounds))
    title = name or (
        Path(source).name.split(".")[0] if isinstance(source, str | Path) else "trajectories"
    )
    return _assemble(raw, frame, chosen, gap, (title, table.kind))


def read_rows(
    source: Any, *, bounds: Sequence[float] | str | None, also: Mapping[str, str | None]
) -> tuple[dict[str, Any], Frame]:
    """Return the points of a source row by row, as they stand, and how their places are written.

    Arrays are called person (as written), x, y, t and what `also` calls further columns (as
    written, empty where nothing is), for those that it names. Nothing is left out.
    """
    with _unpacked(source) as readable:
        table = brought(read_table(readable))
        columns = {what: _column(table, what, None) for what in ("person", "x", "y", "time")}
        further = {what: _column(table, what, name) for what, name in also.items() if name}
        further["person"] = columns["person"]
        raw = _fetch(table, columns, with_trip=False, also=further)
    degrees = bool({str(columns["x"]).lower(), str(columns["y"]).lower()} & DEGREES)
    _check(raw, degrees)
    return raw, _frame(raw, degrees, read_bounds(bounds))


@contextmanager
def _unpacked(source: Any) -> Iterator[Any]:
    """Give a packed file (`.csv.gz`, `.txt.gz`) unpacked in a private folder; else as it is."""
    if not isinstance(source, str | Path) or Path(source).suffix.lower() != ".gz":
        yield source
        return
    with PrivateFolder() as folder:
        target = Path(folder) / f"{Path(source).name.split('.')[0]}.csv"
        try:
            with gzip.open(source, "rb") as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)
        except (OSError, EOFError):
            raise DataError(f"{source} cannot be unpacked; give the path of a gzip file.") from None
        yield target


# -- columns ---------------------------------------------------------------------------


def _column(table: Table, what: str, given: str | None) -> str | None:
    if given is not None:
        if given not in table.columns:
            raise ParameterError(
                f"There is no column '{given}'; there are {listed(table.columns)}."
                f"{did_you_mean(given, table.columns)}"
            )
        return given
    by_name = {column.strip().lower(): column for column in table.columns}
    found = next((by_name[usual] for usual in USUAL[what] if usual in by_name), None)
    if found is None and what != "trip":
        raise ParameterError(
            f"Say which column holds the {what}, with {what}=…; there are {listed(table.columns)}."
        )
    return found


def _unit(unit: str | None, trip: str | None, gap: float | None) -> str:
    if unit not in {None, *UNITS}:
        raise ParameterError(f"unit must be 'trip' or 'person', not {unit!r}.")
    if gap is not None and not (isinstance(gap, int | float) and gap > 0):
        raise ParameterError(f"gap must be a number of seconds above 0, not {gap!r}.")
    if unit == TRIP and trip is None and gap is None:
        raise ParameterError(
            "Trips need a column that numbers them, with trip=…, or the seconds without a point "
            "after which a new one begins, with gap=…."
        )
    return unit or (TRIP if trip is not None or gap is not None else PERSON)


def _fetch(
    table: Table,
    columns: Mapping[str, str | None],
    *,
    with_trip: bool,
    also: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Return the columns as arrays: numbers where they are numbers, codes for people and trips.

    Those of `also` come as they are written, and take the place of the codes.
    """
    kept = table.materialize()
    time = quoted(str(columns["time"]))
    written = f"trim(CAST({time} AS VARCHAR))"
    tries = ", ".join(f"try_strptime({written}, '{form}')" for form in FORMATS)
    number = f"TRY_CAST({written} AS DOUBLE)"
    moment = f"epoch(coalesce(TRY_CAST({written} AS TIMESTAMP), {tries}))"
    trip = ""
    if with_trip:
        trip = f", dense_rank() OVER (ORDER BY {table.text(str(columns['trip']))}) - 1 AS trip"
    written_too = "".join(
        f", {table.text(str(column))} AS {quoted(WRITTEN + what)}"
        for what, column in (also or {}).items()
    )
    query = (
        f"SELECT dense_rank() OVER (ORDER BY {table.text(str(columns['person']))}) - 1 AS person, "
        f"{table.text(str(columns['person']))} = '' AS nobody, "
        f"TRY_CAST({quoted(str(columns['x']))} AS DOUBLE) AS x, "
        f"TRY_CAST({quoted(str(columns['y']))} AS DOUBLE) AS y, "
        f"{number} AS number, {moment} AS moment{trip}{written_too} "
        f"FROM {kept.scan} ORDER BY sfumato_internal_row"
    )
    fetched = kept.engine.local.connection.execute(query).fetchnumpy()
    kept.drop()
    raw = {name: _plain(column) for name, column in fetched.items()}
    clock = bool(np.isnan(raw["number"]).any())
    raw["t"] = raw["moment"] if clock else raw["number"]
    raw["clock"] = np.array(clock)
    for what in also or {}:
        raw[what] = raw.pop(WRITTEN + what)
    return raw


def _plain(column: Any) -> NDArray[Any]:
    """Return an array in which what is missing is no number."""
    if isinstance(column, np.ma.MaskedArray):
        return column.filled(np.nan if column.dtype.kind == "f" else 0)
    return np.asarray(column)


def _check(raw: dict[str, Any], degrees: bool) -> None:
    """Refuse rows that are no points, naming the first by its number."""
    if not len(raw["t"]):
        raise DataError("There is no point in the data; at least one is needed.")
    _refuse(raw["nobody"].astype(bool), "name no person")
    _refuse(~(np.isfinite(raw["x"]) & np.isfinite(raw["y"])), "have no finite coordinates")
    _refuse(~np.isfinite(raw["t"]), "have no time that can be read")
    if degrees:
        off = (np.abs(raw["y"]) > 90) | (np.abs(raw["x"]) > 180)
        _refuse(off, "have a latitude beyond 90° or a longitude beyond 180°")


def _refuse(bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        first = int(np.argmax(bad)) + 1
        raise DataError(
            f"{int(bad.sum())} row(s) {what} (the first is record {first}); mend or drop them."
        )


# -- traces ----------------------------------------------------------------------------


def _frame(
    raw: dict[str, Any], degrees: bool, bounds: tuple[float, float, float, float] | None
) -> Frame:
    """Choose an origin: the middle of the bounds, or a whole degree or kilometre near the data."""
    if bounds is not None:
        return Frame(degrees, ((bounds[0] + bounds[1]) / 2, (bounds[2] + bounds[3]) / 2), bounds)
    if not degrees:
        return Frame()
    across, up = (float(np.round(np.median(raw[axis]))) for axis in ("x", "y"))
    return Frame(degrees, (across, up))


def _assemble(
    raw: dict[str, Any], frame: Frame, unit: str, gap: float | None, named: tuple[str, str]
) -> Trajectories:
    inside = np.ones(len(raw["t"]), dtype=np.bool_)
    if frame.bounds is not None:
        x0, x1, y0, y1 = frame.bounds
        inside = (raw["x"] >= x0) & (raw["x"] <= x1) & (raw["y"] >= y0) & (raw["y"] <= y1)
        if not inside.any():
            raise DataError("No point lies inside the bounds; check their order (x, x, y, y).")
    person, t = raw["person"][inside].astype(np.int64), raw["t"][inside].astype(np.float64)
    trip = raw["trip"][inside].astype(np.int64) if "trip" in raw else np.zeros(len(t), np.int64)
    order = np.lexsort([t, trip, person])
    person, trip, t = person[order], trip[order], t[order]
    new = np.concatenate([[True], (np.diff(person) != 0) | (np.diff(trip) != 0)])
    again = np.concatenate([[False], np.diff(t) == 0]) & ~new
    if gap is not None and unit == TRIP:
        new |= np.concatenate([[False], np.diff(t) > gap])
    keep = ~again
    chosen = order[keep]
    starts = np.concatenate([np.flatnonzero(new[keep]), [int(keep.sum())]])
    return Trajectories(
        name=named[0], starts=starts.astype(np.int64),
        places=frame.project(raw["x"][inside][chosen], raw["y"][inside][chosen]),
        times=t[keep], person=person[keep][starts[:-1]], frame=frame, unit=unit,
        clock=bool(raw["clock"]), kind=named[1], outside=int((~inside).sum()),
        repeated=int(again.sum()),
    )  # fmt: skip
