"""Statistics of traces, for one trip or for one user with several.

Unit. A *trip* is one trace with all its points. A *user* is ``Unit("person", rows=c)``: of her
traces at most c are kept, drawn at random among her own with no regard to anybody else's, so that
she changes nothing but what she adds.

Sensitivity. Each statistic puts a kept trace into some of its counts, once each: into one of them
at most, or for cells into at most so many as are kept of the cells that it touches, drawn at random
among its own again. Which counts these are depends on the trace and on public numbers alone (the
bounds, the grid, the region). So a trip that is added raises at most `most` counts by one and
lowers none, and a user at most c · `most`: given what is drawn for everybody else, which has the
same law with and without her. That is Δ₁ of all counts together, and geometric noise of scale Δ₁/ε
on each is ε-differentially private.

Bounds must be public: an origin taken from the data would move everybody's coordinates by a
rounding error when somebody leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.trajectories.trajectories import read_bounds
from sfumato.dp.neighbours import PrivacyUnit, Trip, Unit
from sfumato.dp.publish.statistics.nested import keep
from sfumato.dp.publish.statistics.statistic import (
    MeasuredValue,
    Statistic,
    add_noise,
    noise_margin,
    whole,
)
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

HOUR, HOURS = 3600, 24
MOST_CELLS, MOST_ENDS = 256, 16
"""The finest grids: cells per side, and cells per side where pairs of them are counted."""


class TraceStatistic(Statistic):
    """A statistic of traces."""

    shape: ClassVar[str] = "trajectories"
    units: ClassVar[tuple[type[PrivacyUnit], ...]] = (Trip, Unit)

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return 1 for a trip; the trips that are kept of a user otherwise."""
        return _trips(unit)

    def _noisy(self, counts: Any, unit: PrivacyUnit, epsilon: Fraction) -> Any:
        most = self.sensitivity(unit)
        assert most is not None
        return add_noise(counts, most, epsilon)

    def _margin(self, unit: PrivacyUnit, epsilon: Fraction) -> float:
        most = self.sensitivity(unit)
        assert most is not None
        return noise_margin(most, epsilon)


@dataclass(frozen=True)
class Trips(TraceStatistic):
    """How many traces there are."""

    def measure(self, data: Trajectories, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count traces, of every user at most so many."""
        value = int(self._noisy(len(_kept(data, unit)), unit, epsilon))
        return MeasuredValue(value, self._margin(unit, epsilon), _notes(unit))


@dataclass(frozen=True)
class TripsThrough(TraceStatistic):
    """How many traces have a point in a region, and between two moments where they are given.

    `region` is (low x, high x, low y, high y) in the coordinates of the data, `between` two moments
    in seconds (from 1970 where the data have dates).
    """

    region: tuple[float, float, float, float]
    between: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "region", read_bounds(self.region))
        if self.between is not None:
            object.__setattr__(self, "between", _moments(self.between))

    def measure(self, data: Trajectories, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count traces that were there."""
        x, y = _coordinates(data)
        x0, x1, y0, y1 = self.region
        there = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        if self.between is not None:
            there &= (data.times >= self.between[0]) & (data.times < self.between[1])
        seen = np.zeros(len(data), np.bool_)
        seen[data.owner[there]] = True
        value = int(self._noisy(int(seen[_kept(data, unit)].sum()), unit, epsilon))
        return MeasuredValue(value, self._margin(unit, epsilon), _notes(unit))


@dataclass(frozen=True)
class TripsByHour(TraceStatistic):
    """How many traces begin in each hour of the day, from 0 to 23."""

    def measure(self, data: Trajectories, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count traces by the hour of their first point."""
        if not data.clock:
            raise ParameterError("Hours of the day need moments with a date; these are numbers.")
        begins = data.times[data.starts[:-1]][_kept(data, unit)]
        hour = (np.floor(begins / HOUR) % HOURS).astype(np.int64)
        counts = np.bincount(hour, minlength=HOURS).astype(np.int64)
        value = [int(x) for x in self._noisy(counts, unit, epsilon)]
        return MeasuredValue(value, self._margin(unit, epsilon), _notes(unit))


@dataclass(frozen=True)
class CellVisits(TraceStatistic):
    """How many traces touch each cell of a public grid: rows from low y, each from low x.

    Of the cells that a trace touches at most `most` are kept, drawn at random.
    """

    cells: int
    most: int = 1

    def __post_init__(self) -> None:
        _grid(self.cells, MOST_CELLS)
        whole("most", self.most)

    def sensitivity(self, unit: PrivacyUnit) -> int | None:
        """Return the cells that are kept of a trace, times the traces of a user."""
        return _trips(unit) * self._cells_kept(unit)

    def _cells_kept(self, unit: PrivacyUnit) -> int:
        points = unit.points if isinstance(unit, Trip) else None
        limits = [self.most, self.cells**2, *([] if points is None else [points])]
        return min(limits)

    def measure(self, data: Trajectories, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count traces by cell."""
        owner, cell = np.divmod(
            np.unique(data.owner * self.cells**2 + _cells(data, self.cells)), self.cells**2
        )
        kept = np.zeros(len(data), np.bool_)
        kept[_kept(data, unit)] = True
        owner, cell = owner[kept[owner]], cell[kept[owner]]
        cell = cell[keep(owner, self._cells_kept(unit))]
        counts = np.bincount(cell, minlength=self.cells**2).astype(np.int64)
        noisy = np.asarray(self._noisy(counts, unit, epsilon)).reshape(self.cells, self.cells)
        note = f"at most {self._cells_kept(unit)} cells of each trace were kept, drawn at random"
        return MeasuredValue(noisy.tolist(), self._margin(unit, epsilon), (note, *_notes(unit)))


@dataclass(frozen=True)
class TripsBetween(TraceStatistic):
    """How many traces lead from each cell of a public grid to each: row by first, column by last.

    Cells are numbered row by row from low y, each row from low x.
    """

    cells: int

    def __post_init__(self) -> None:
        _grid(self.cells, MOST_ENDS)

    def measure(self, data: Trajectories, unit: PrivacyUnit, epsilon: Fraction) -> MeasuredValue:
        """Count traces by the cells of their first and last points."""
        count, kept = self.cells**2, _kept(data, unit)
        cell = _cells(data, self.cells)
        pair = cell[data.starts[:-1][kept]] * count + cell[data.starts[1:][kept] - 1]
        counts = np.bincount(pair, minlength=count**2).astype(np.int64)
        noisy = np.asarray(self._noisy(counts, unit, epsilon)).reshape(count, count)
        return MeasuredValue(noisy.tolist(), self._margin(unit, epsilon), _notes(unit))


def _trips(unit: PrivacyUnit) -> int:
    """Return how many traces of one unit count."""
    if not isinstance(unit, Unit):
        return 1
    if unit.rows is None:
        raise ParameterError(
            f"{unit} may change the figures without limit; say how many of her trips are kept, as "
            "in Unit('person', rows=5)."
        )
    return unit.rows


def _kept(data: Trajectories, unit: PrivacyUnit) -> NDArray[np.int64]:
    """Return the traces that count: of every user at most so many, drawn at random."""
    return keep(data.person, _trips(unit)) if isinstance(unit, Unit) else np.arange(len(data))


def _notes(unit: PrivacyUnit) -> tuple[str, ...]:
    if not isinstance(unit, Unit):
        return ()
    return (f"at most {_trips(unit)} trips of each person were kept, drawn at random",)


def _coordinates(data: Trajectories) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return places as they were written; only public bounds say so without other people's."""
    if data.frame.bounds is None:
        raise ParameterError(
            "Statistics of places need public bounds; read the traces with bounds=(low x, high x, "
            "low y, high y)."
        )
    return data.frame.restore(data.places[:, 0], 0), data.frame.restore(data.places[:, 1], 1)


def _cells(data: Trajectories, side: int) -> NDArray[np.int64]:
    """Return the cell of each point in a grid over the public bounds."""
    x, y = _coordinates(data)
    assert data.frame.bounds is not None
    x0, x1, y0, y1 = data.frame.bounds
    column = np.clip(np.floor((x - x0) / (x1 - x0) * side), 0, side - 1).astype(np.int64)
    row = np.clip(np.floor((y - y0) / (y1 - y0) * side), 0, side - 1).astype(np.int64)
    found: NDArray[np.int64] = row * side + column
    return found


def _grid(cells: Any, most: int) -> None:
    if whole("cells, per side of the grid,", cells) > most:
        raise ParameterError(f"A grid has at most {most} cells per side here, not {cells!r}.")


def _moments(between: Any) -> tuple[float, float]:
    try:
        first, last = (float(moment) for moment in between)
    except (TypeError, ValueError):
        first = last = math.nan
    if not first < last:
        raise ParameterError("between must be two moments in seconds, the earlier one first.")
    return first, last
