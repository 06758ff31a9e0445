"""Released traces as a stranger sees them: rows of boxes, and which traces show the same.

Traces as they came are seen the same way, each point a box without extent: so attacks can be tried
on them before anything is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.data.tables.sources import read as read_table
from sfumato.data.trajectories.sources import read_trajectories
from sfumato.data.trajectories.trajectories import Frame, Trajectories
from sfumato.data.wording import listed
from sfumato.errors import DataError
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.tables.table import Table

EDGES = ("low", "high")
MOMENTS = ("time_first", "time_last")


@dataclass(frozen=True, eq=False, kw_only=True)
class TracesView(View):
    """Traces as boxes: those of trace i are rows `starts[i]` up to `starts[i + 1]`.

    `boxes` has low x, high x, low y, high y in metres of a plane and `spans` the first and last
    moment in seconds; `written` holds the same as the file writes it, which is what decides whether
    two traces show the same. `person` numbers the people (within a group of like traces, where a
    release shows it), `group` those who run together or lie between the same cuts; −1 where nothing
    tells. `further` names columns that no release has.
    """

    shape: ClassVar[str] = "trajectories"
    unit: ClassVar[str] = "trace"

    starts: NDArray[np.int64]
    boxes: NDArray[np.float64]
    spans: NDArray[np.float64]
    written: NDArray[np.float64]
    person: NDArray[np.int64]
    frame: Frame
    group: NDArray[np.int64]
    original: bool = False
    further: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Number of traces."""
        return len(self.starts) - 1

    @cached_property
    def alike(self) -> NDArray[np.int64]:
        """The group of each trace: traces that show the same boxes in the same order."""
        known: dict[bytes, int] = {}
        rows = np.ascontiguousarray(self.written)
        found = np.empty(self.records, np.int64)
        for i, (b, e) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            found[i] = known.setdefault(rows[b:e].tobytes(), len(known))
        return found

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """Number of people in each group; traces where nothing tells people apart."""
        groups = int(self.alike.max(initial=-1)) + 1
        if (self.person < 0).any():
            return np.bincount(self.alike, minlength=groups)
        pairs = np.unique(np.column_stack([self.alike, self.person]), axis=0)
        return np.bincount(pairs[:, 0], minlength=groups)

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - people who look alike
        """Return the people whose traces look alike."""
        return Classes(self.people.astype(np.int64))

    def describe(self, group: int) -> Mapping[str, str]:
        """Show a group by its number of boxes and the first of them."""
        trace = int(np.argmax(self.alike == group))
        first = self.boxes[self.starts[trace]]
        sides = f"{first[1] - first[0]:,.0f} m × {first[3] - first[2]:,.0f} m"
        count = int(self.starts[trace + 1] - self.starts[trace])
        return {"boxes": str(count), "first box": sides}


def see_traces(
    source: Any,
    *,
    called: str | None = None,
    promise: Any = None,
    schema: Any = None,  # noqa: ARG001 - the columns say what they are
    manifest: Any = None,  # noqa: ARG001 - the file tells everything
    **options: Any,
) -> TracesView:
    """Look at a released file, or at traces as they came."""
    title = called or (str(source) if isinstance(source, str | Path) else "the traces")
    if isinstance(source, Trajectories):
        return _see_original(source, title)
    table = read_table(source, **options)
    if "time_first" not in table.columns and {"x_low", "lon_low"}.isdisjoint(table.columns):
        return _see_original(read_trajectories(table), title)
    across, up = _coordinates(table)
    shown = [*(f"{a}_{e}" for a in (across, up) for e in EDGES), *MOMENTS]
    expected = ["trace", "person", "group", *shown]
    cells = _fetch(table, [name for name in expected if name in table.columns])
    written = np.column_stack([cells[name] for name in shown])
    if not np.isfinite(written).all():
        raise DataError(
            "A released box or moment is no number; the file is not a release of traces."
        )
    trace = cells["trace"].astype(np.int64)
    order = np.argsort(trace, kind="stable")
    written, trace = written[order], trace[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(trace)) + 1, [len(trace)]]).astype(
        np.int64
    )
    if not len(trace):
        starts = np.zeros(1, np.int64)
    person, group = (_by_trace(cells, name, order, starts) for name in ("person", "group"))
    frame = _frame(written, degrees=across == "lon")
    low, high = (
        frame.project(written[:, 0], written[:, 2]),
        frame.project(written[:, 1], written[:, 3]),
    )
    return TracesView(
        source=title, promise=promise, starts=starts,
        boxes=np.column_stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]]),
        spans=written[:, 4:], written=written, person=person, frame=frame, group=group,
        further=tuple(name for name in table.columns if name not in expected),
    )  # fmt: skip


def _by_trace(
    cells: dict[str, NDArray[np.float64]],
    name: str,
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return a number per trace from a column, −1 where there is none; it must be one per trace."""
    if name not in cells:
        return np.full(len(starts) - 1, -1, np.int64)
    if not np.isfinite(cells[name]).all():
        raise DataError(f"Column '{name}' has cells that are no numbers; no release has such.")
    numbers = cells[name].astype(np.int64)[order]
    if (np.repeat(numbers[starts[:-1]], np.diff(starts)) != numbers).any():
        raise DataError(
            f"A trace has more than one number in column '{name}'; no release has such."
        )
    return numbers[starts[:-1]]


def _coordinates(table: Table) -> tuple[str, str]:
    for across, up in (("lon", "lat"), ("x", "y")):
        wanted = [f"{axis}_{end}" for axis in (across, up) for end in EDGES]
        if all(name in table.columns for name in ("trace", *wanted, *MOMENTS)):
            return across, up
    raise DataError(
        "A release of traces has the columns trace, x_low, x_high, y_low, y_high (or lon_… and "
        f"lat_…), time_first and time_last; this file has {listed(table.columns)}."
    )


def _fetch(table: Table, names: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return columns as numbers, moments as seconds; the rows in the order of the file."""
    kept = table.materialize()
    chosen = []
    for name in names:
        text = f'CAST("{name}" AS VARCHAR)'
        number = f"TRY_CAST({text} AS DOUBLE)"
        moment = f"epoch(TRY_CAST({text} AS TIMESTAMP))"
        chosen.append(f"coalesce({number}{f', {moment}' if name in MOMENTS else ''}) AS {name}")
    query = f"SELECT {', '.join(chosen)} FROM {kept.scan} ORDER BY sfumato_internal_row"  # noqa: S608 - names of ours
    fetched = kept.engine.local.connection.execute(query).fetchnumpy()
    kept.drop()
    return {
        name: np.ma.filled(column.astype(np.float64), np.nan) for name, column in fetched.items()
    }


def _frame(written: NDArray[np.float64], *, degrees: bool) -> Frame:
    if not degrees or not len(written):
        return Frame(degrees)
    return Frame(True, (float(written[:, :2].mean()), float(written[:, 2:4].mean())))


def _see_original(data: Trajectories, title: str) -> TracesView:
    x, y = data.places.T
    boxes = np.column_stack([x, x, y, y])
    spans = np.column_stack([data.times, data.times])
    return TracesView(
        source=title, starts=data.starts, boxes=boxes, spans=spans,
        written=np.hstack([boxes, spans]), person=data.person, frame=data.frame,
        group=np.full(len(data), -1, np.int64), original=True,
    )  # fmt: skip
