"""Trajectories: points in the plane, in the order of time, one trace per trip or per person.

Contract: the points of a trace are sorted by time and no two share a moment; `person` tells whose
trace it is by a number without meaning. Places are metres in a plane: `Frame` says how they came
from degrees, and gives them back. Bounds are public: they come from knowledge, never from the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EAST, NORTH = 111_320.0, 110_574.0
"""Metres of a degree of longitude at the equator, and of a degree of latitude."""

TRIP, PERSON = "trip", "person"
UNITS = (TRIP, PERSON)


PERSON_NAMES = ("person", "person_id", "user", "user_id", "uid", "userid", "id")
"""What a column that tells people apart is usually called."""


@dataclass(frozen=True)
class Frame:
    """How places are written: degrees around an origin, or a plane as it is.

    The projection is equirectangular: within a city its error is below one in a thousand. `bounds`
    are the public (low x, high x, low y, high y) in the coordinates of the data, or None.
    """

    degrees: bool = False
    origin: tuple[float, float] = (0.0, 0.0)
    bounds: tuple[float, float, float, float] | None = None

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Metres of one unit of x and of y."""
        if not self.degrees:
            return 1.0, 1.0
        return EAST * math.cos(math.radians(self.origin[1])), NORTH

    def project(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates as metres in the plane, one row per place."""
        east, north = self.scale
        return np.column_stack([(x - self.origin[0]) * east, (y - self.origin[1]) * north])

    def restore(self, plane: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Return one coordinate of places in the plane as it was written."""
        found: NDArray[np.float64] = plane / self.scale[axis] + self.origin[axis]
        return found

    @property
    def names(self) -> tuple[str, str]:
        """What the two coordinates are called in a release."""
        return ("lon", "lat") if self.degrees else ("x", "y")

    @property
    def plane_bounds(self) -> NDArray[np.float64] | None:
        """The bounds in the plane: low x, high x, low y, high y."""
        if self.bounds is None:
            return None
        x0, x1, y0, y1 = self.bounds
        ends = self.project(np.array([x0, x1]), np.array([y0, y1]))
        return ends.T.ravel()


def read_bounds(bounds: Sequence[float] | str | None) -> tuple[float, float, float, float] | None:
    """Return public bounds, or say what is wrong with them."""
    if bounds is None:
        return None
    ends = bounds.split(",") if isinstance(bounds, str) else bounds
    try:
        x0, x1, y0, y1 = (float(end) for end in ends)
    except (TypeError, ValueError):
        x0 = x1 = y0 = y1 = math.nan
    if not all(map(math.isfinite, (x0, x1, y0, y1))) or not (x0 < x1 and y0 < y1):
        raise ParameterError(
            "bounds must be four public numbers (low x, high x, low y, high y), from knowledge and "
            "never from the data."
        )
    return x0, x1, y0, y1


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories(Shown):
    """Traces of people: the points of trace i are `places[starts[i]:starts[i + 1]]`.

    `times` are seconds, `clock` tells whether they count from 1970 (so a release shows dates).
    `outside` counts points that lay outside the public bounds and were left out, `repeated` those
    at a moment at which the same trace had a point already.
    """

    name: str
    starts: NDArray[np.int64]
    places: NDArray[np.float64]
    times: NDArray[np.float64]
    person: NDArray[np.int64]
    frame: Frame = field(default_factory=Frame)
    unit: str = TRIP
    clock: bool = False
    kind: str = "csv"
    outside: int = 0
    repeated: int = 0
    shape: ClassVar[str] = "trajectories"
    schema: ClassVar[None] = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        traces = (
            f"{len(self):,} {self.unit} traces" if self.unit == TRIP else f"{len(self):,} people"
        )
        return f"<Trajectories {self.name}: {traces}, {len(self.times):,} points>"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each trace."""
        return np.diff(self.starts)

    @cached_property
    def people(self) -> int:
        """Number of people the traces belong to."""
        return len(np.unique(self.person))

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The trace of each point."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Metres travelled in each trace."""
        steps = np.hypot(*np.diff(self.places, axis=0, append=self.places[-1:]).T)
        steps[self.starts[1:] - 1] = 0.0  # from the end of a trace to the start of the next
        return np.add.reduceat(steps, self.starts[:-1])

    def trace(self, index: int) -> NDArray[np.float64]:
        """Return one trace as rows (x, y, time)."""
        chosen = slice(self.starts[index], self.starts[index + 1])
        return np.column_stack([self.places[chosen], self.times[chosen]])

    def select(self, chosen: NDArray[np.int64]) -> Trajectories:
        """Return some of the traces."""
        from dataclasses import replace  # noqa: PLC0415 - used here alone

        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        index = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return replace(
            self, starts=starts, places=self.places[index], times=self.times[index],
            person=self.person[chosen],
        )  # fmt: skip
