"""What is given away of traces: boxes in space and time, in an order that tells nothing.

The file has a row per box: the number of the `trace` (random), the number of its `person` among
those who share its boxes, the box, and the first and the last moment. The number of a person says
how many people are in a group and nothing else: it begins again in every group and links nothing.
Where groups are not told by equal boxes, a column `group` tells them: those who run together within
δ, or the pieces between two cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.trajectories.plan import BoxPlan
    from sfumato.data.trajectories.trajectories import Frame, Trajectories
    from sfumato.decision import Decision

DIGITS = 1e6
"""A millionth of a degree is a tenth of a metre; edges are rounded outwards to it."""
PIECE = "piece"
"""What is protected where traces are cut: a piece of a person's trace."""


@dataclass(frozen=True, eq=False, repr=False)
class TracesArtefact:
    """Released traces: the boxes of trace i are rows `starts[i]` up to `starts[i + 1]`."""

    starts: NDArray[np.int64]
    boxes: NDArray[np.float64]
    spans: NDArray[np.float64]
    person: NDArray[np.int64]
    frame: Frame
    unit: str
    clock: bool
    kind: str = "csv"
    group: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The release as columns: trace, person, edges of boxes, moments."""
        sizes = np.diff(self.starts)
        across, up = self.frame.names
        found: dict[str, Any] = {
            "trace": np.repeat(np.arange(1, len(sizes) + 1), sizes),
            "person": np.repeat(self.person, sizes),
        }
        if self.group is not None:
            found["group"] = np.repeat(self.group, sizes)
        edges = ((across, "low", 0), (across, "high", 1), (up, "low", 2), (up, "high", 3))
        for name, end, column in edges:
            found[f"{name}_{end}"] = self._written(self.boxes[:, column], column // 2, end == "low")
        for name, column in (("time_first", 0), ("time_last", 1)):
            seconds = self.spans[:, column]
            found[name] = seconds.astype("datetime64[s]") if self.clock else seconds
        return found

    def _written(self, edge: NDArray[np.float64], axis: int, low: bool) -> NDArray[np.float64]:
        value = self.frame.restore(edge, axis) * DIGITS
        return (np.floor(value + 1e-3) if low else np.ceil(value - 1e-3)) / DIGITS

    @cached_property
    def data(self) -> Any:
        """The release as a frame of the kind the traces came in; else as columns."""
        if self.kind == "polars":
            import polars as pl  # noqa: PLC0415 - loaded only for whoever uses it

            return pl.DataFrame(self.columns)
        if self.kind == "arrow":
            import pyarrow as pa  # noqa: PLC0415 - loaded only for whoever uses it

            return pa.table(self.columns)
        if self.kind == "pandas":
            import pandas as pd  # noqa: PLC0415 - loaded only for whoever uses it

            return pd.DataFrame(self.columns)
        return self.columns

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv` or `release.parquet`."""
        form = file_format or ("parquet" if self.kind == "parquet" else "csv")
        if form not in {"csv", "parquet"}:
            raise DataError(f"Traces are written as 'csv' or 'parquet', not '{form}'.")
        path = folder / f"release.{form}"
        engine = DuckDB()
        name = engine.register(self.columns)
        told = ", header" if form == "csv" else ""
        chosen = ", ".join(quoted(column) for column in self.columns)
        engine.run("SET preserve_insertion_order = true")
        engine.run(
            f"COPY (SELECT {chosen} FROM {name}) TO {quoted_text(str(path))} (FORMAT {form}{told})"  # noqa: S608 - quoted
        )
        return path

    def manifest(self) -> dict[str, Any]:
        """Return what a trace is, and how places are written."""
        return {
            "protected_unit": self.unit,
            "coordinates": "degrees" if self.frame.degrees else "metres",
            "bounds": None if self.frame.bounds is None else list(self.frame.bounds),
        }


def apply(data: Trajectories, decision: Decision) -> TracesArtefact:
    """Return the released traces in random order; those without a box are left out."""
    plan: BoxPlan = decision.content
    order = np.flatnonzero(np.diff(plan.starts)).astype(np.int64)
    shuffle(order, RandomWords(plan.seed))
    sizes = np.diff(plan.starts)[order]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.repeat(plan.starts[order] - starts[:-1], sizes) + np.arange(starts[-1])
    group = plan.group[order]
    return TracesArtefact(
        starts, plan.boxes[rows], plan.spans[rows], _people(group, plan.person[order]),
        data.frame, data.unit if plan.whole is None else PIECE, data.clock, data.kind,
        _in_order_of_release(group) if plan.shows_group else None,
    )  # fmt: skip


def _in_order_of_release(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers of groups from 1 as they appear, so that they tell nothing."""
    _, first, index = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(1, len(first) + 1)
    return rank[index.reshape(-1)]


def _people(group: NDArray[np.int64], person: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give numbers to the people of each group from 1, in the order of the release."""
    pairs, first, index = np.unique(
        np.column_stack([group, person]), axis=0, return_index=True, return_inverse=True
    )
    order = np.lexsort([first, pairs[:, 0]])
    groups = pairs[order, 0]
    begins = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1])
    place = np.arange(len(order)) - np.repeat(begins, np.diff([*begins, len(order)]))
    number = np.empty(len(order), np.int64)
    number[order] = place + 1
    return number[index.reshape(-1)]
