"""Synthetic trajectories: ``sf.dp.synthesize_trajectories(trips, box=…, …)``.

A trip becomes a row: where it starts, where it is at half of its points and where it ends (each a
cell of 6 × 6 and inside it one of 4 × 4), how many points it has, and how long it is. The engine
synthesises rows; a row becomes a polyline through its three places, with its number of points and
about its length.

Promise: that of the budget, for one trip, or for one person with at most m trips of which m are
kept. Proof: the box, grids and bins are public; a trip is coded by itself, places outside the box
count as the nearest inside, so it is one row of the engine's (:mod:`.curator`). Decoding is
post-processing.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.data.cells import as_labels, as_numbers, cells_of, items_of
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import Neighbours, Row, Trip, Unit
from sfumato.dp.noise import stream
from sfumato.dp.publish.synthesis.artefacts import Synthetic
from sfumato.dp.publish.synthesis.budget import read_budget
from sfumato.dp.publish.synthesis.curator import CodeArray, Curator
from sfumato.dp.publish.synthesis.currencies import Contribution
from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain
from sfumato.dp.publish.synthesis.engine import SynthesisSettings, fit
from sfumato.dp.publish.synthesis.particles import uniforms
from sfumato.dp.queries.bounds import read_ends
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.publish.synthesis.budget import Budget
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_CELLS, _PARTS = 6, 4
_PLACES = ("start", "middle", "end")
_POINTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 40, 50, 60)
"""Where the bins of the number of points begin; the last one ends at 80."""
_LENGTHS = (0.0, *np.geomspace(0.3, 60.0, 31).tolist())
"""Edges of the bins of lengths, as multiples of 1/17 of the diagonal of the box (about a kilometre
of a city); what is longer counts as the longest."""
_PULL, _PULLS = 0.7, 5


@dataclass(frozen=True)
class Box:
    """A public box, in degrees or in any plane; ``scale`` is the size of a unit of x and of y."""

    low: tuple[float, float]
    high: tuple[float, float]
    scale: tuple[float, float]

    @classmethod
    def read(cls, box: Sequence[float], *, degrees: bool) -> Box:
        """Read (x₀, x₁, y₀, y₁); degrees of longitude and latitude become kilometres."""
        try:
            x0, x1, y0, y1 = (float(end) for end in box)
        except (TypeError, ValueError, OverflowError):
            x0 = x1 = y0 = y1 = math.nan
        if not (x0 < x1 and y0 < y1) or not all(map(math.isfinite, (x0, x1, y0, y1))):
            raise ParameterError(
                "box= is four public numbers (low x, high x, low y, high y), from knowledge and "
                "never from the data."
            )
        for ends, axis in (((x0, x1), "x"), ((y0, y1), "y")):
            read_ends(ends, f"bounds of {axis} in box=")
        if not degrees:
            return cls((x0, y0), (x1, y1), (1.0, 1.0))
        north = math.cos(math.radians((y0 + y1) / 2))
        return cls((x0, y0), (x1, y1), (111.32 * north, 110.57))

    @property
    def sides(self) -> NDArray[np.float64]:
        """Width and height, in units of the scale."""
        return (np.array(self.high) - self.low) * self.scale

    @property
    def step(self) -> float:
        """What lengths are measured in: 1/17 of the diagonal."""
        return float(np.hypot(*self.sides)) / 17

    def inside(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale points to the box and clamp them; what is no number is the middle."""
        scaled = (np.clip(points, self.low, self.high) - self.low) * self.scale
        return np.clip(np.where(np.isnan(scaled), self.sides / 2, scaled), 0, self.sides)

    def outside(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give scaled points back in the coordinates of the box."""
        points: NDArray[np.float64] = np.clip(scaled, 0, self.sides) / self.scale + self.low
        return points


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticTrajectories(Synthetic):
    """Synthetic trips, each an array of points (x, y)."""

    trips: tuple[NDArray[np.float64], ...]

    unit: ClassVar[str] = "trip"

    def __len__(self) -> int:
        return len(self.trips)

    @property
    def data(self) -> tuple[NDArray[np.float64], ...]:
        """The synthetic trips."""
        return self.trips

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.csv`: trip, place in the trip, x, y."""
        if file_format not in {None, "csv"}:
            raise DataError(f"Synthetic trips are written as 'csv', not '{file_format}'.")
        path = folder / "release.csv"
        with path.open("w", encoding="utf-8") as file:
            file.write("trip,point,x,y\n")
            for t, trip in enumerate(self.trips):
                file.writelines(f"{t},{k},{x:.6f},{y:.6f}\n" for k, (x, y) in enumerate(trip))
        return path


def synthesize_trajectories(
    trips: Sequence[Any],
    *,
    box: Sequence[float],
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    degrees: bool = True,
    people: Sequence[Hashable] | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "trip",
    name: str = "trajectories",
) -> Release:
    """Make synthetic trips that may be given away.

    Each trip is an array of points (x, y), two at least; ``box`` is the public (low x, high x, low
    y, high y), of degrees of longitude and latitude unless ``degrees=False``. ``people`` names
    whose each trip is; ``neighbours=Unit("person", rows=5)`` then protects people, keeping five
    trips of each.
    """
    frame = Box.read(box, degrees=degrees)
    budget = read_trips_budget(epsilon, delta, rho, neighbours)
    if people is None and isinstance(Neighbours.of(neighbours).unit, Unit):
        raise ParameterError("people= names whose each trip is, where people are protected.")
    # Where single trips are protected nobody's others may depend on one: all are kept.
    owners = people if isinstance(Neighbours.of(neighbours).unit, Unit) else None
    kept = _kept(trips, owners, budget.currency.unit.rows)
    domain = domain_of_trips()
    rows_of_codes = CodeArray(code_trips(frame, kept))
    curator = Curator(rows_of_codes, domain, budget.currency, budget.amount)
    made = fit(curator, domain, settings=settings_for(budget))
    artefact = SyntheticTrajectories(
        name=name, guarantee=budget.guarantee, measurements=made.measured,
        book=tuple(curator.book), currency=budget.currency.name, estimated=made.total,
        notes=(*budget.notes, *made.doubts), trips=decode_trips(frame, made.sample()),
    )  # fmt: skip
    return artefact.release("particles raked to noisy tables of places, points and lengths", box=list(box))  # fmt: skip  # noqa: E501


def read_trips_budget(
    epsilon: Stated | None,
    delta: Stated | None,
    rho: Stated | None,
    neighbours: Neighbours | PrivacyUnit | str,
) -> Budget:
    """Read a budget for trips, or for people with at most so many of them."""
    relation = Neighbours.of(neighbours)
    unit = Contribution(trips_per_unit(relation), relation.bounded)
    return read_budget(epsilon, delta, rho, relation, unit)


def trips_per_unit(relation: Neighbours) -> int:
    """Give how many trips of one unit are kept."""
    if isinstance(relation.unit, Trip):
        return 1
    if isinstance(relation.unit, (Row, Unit)):
        return parameters.rows_per_unit(relation)
    raise ParameterError(
        "Trips are protected one by one, or by Unit('person', rows=…) with people=, which names "
        "whose each trip is."
    )


def settings_for(budget: Budget) -> SynthesisSettings:
    """Give the constants of the engine: pure prices add up, so rounds are fewer and dearer."""
    return SynthesisSettings(atoms=_CELLS**2, rounds_per_column=2 if budget.pure else 8)


def _kept(
    trips: Sequence[Any], people: Sequence[Hashable] | None, rows: int
) -> list[NDArray[np.float64]]:
    """Read trips of at least two points, and keep at most ``rows`` of each person."""
    if people is not None and len(people) != len(trips):
        raise DataError("people= names one person for each trip.")
    seen: Counter[Hashable] = Counter()
    kept = []
    owners = range(len(trips)) if people is None else as_labels(cells_of(people))
    for trip, owner in zip(trips, owners, strict=True):
        points = _points(trip)
        if owner is None or points.ndim != 2 or points.shape[0] < 2 or points.shape[1] != 2:
            continue  # no error: it would tell of one trip
        seen[owner] += 1
        if seen[owner] <= rows:
            kept.append(points)
    return kept


def _points(trip: Any) -> NDArray[np.float64]:
    """Read a trip of points (x, y); one of which a point is none is empty."""
    if isinstance(trip, np.ndarray):
        return as_numbers(trip).reshape(trip.shape)
    points = [items_of(point) for point in items_of(trip)]
    if any(len(point) != 2 for point in points):
        return np.zeros((0, 2))
    return as_numbers([cell for point in points for cell in point]).reshape(-1, 2)


def domain_of_trips() -> Domain:
    """Give the public columns of a coded trip."""
    columns = []
    for place in _PLACES:
        columns.append(CodedColumn(f"{place} cell", _CELLS**2))
        columns.append(CodedColumn(f"{place} within its cell", _PARTS**2))
    columns.append(CodedColumn("points", len(_POINTS), ordered=True))
    columns.append(CodedColumn("length", len(_LENGTHS), ordered=True))
    return Domain(tuple(columns))


def code_trips(box: Box, trips: Sequence[NDArray[np.float64]]) -> NDArray[np.uint32]:
    """Code trips, each by itself, one line per column."""
    codes = np.zeros((2 * len(_PLACES) + 2, len(trips)), dtype=np.uint32)
    if not trips:
        return codes
    counts = np.array([len(trip) for trip in trips])
    points = box.inside(np.concatenate(trips))
    first = np.cumsum(counts) - counts
    for k, at in enumerate((first, first + (counts - 1) // 2, first + counts - 1)):
        parts = _CELLS * _PARTS
        fine = np.minimum(points[at] / box.sides * parts, parts - 1).astype(np.int64)
        cell, part = fine // _PARTS, fine % _PARTS
        codes[2 * k] = cell[:, 0] * _CELLS + cell[:, 1]
        codes[2 * k + 1] = part[:, 0] * _PARTS + part[:, 1]
    steps = np.hypot(*np.diff(points, axis=0, append=points[-1:]).T)
    steps[first + counts - 1] = 0.0  # from the end of a trip to the start of the next
    lengths = np.add.reduceat(steps, first) / box.step
    codes[-2] = np.searchsorted(_POINTS, counts, side="right") - 1
    codes[-1] = np.searchsorted(_LENGTHS, lengths, side="right") - 1
    return codes


# -- from rows to trips ---------------------------------------------------------------------


def decode_trips(box: Box, codes: NDArray[np.uint32]) -> tuple[NDArray[np.float64], ...]:
    """Draw a polyline for each row."""
    source = stream()
    count = codes.shape[1]
    ways = np.stack([_spots(box, codes[2 * k], codes[2 * k + 1], uniforms(source, 2 * count)) for k in range(3)])  # fmt: skip  # noqa: E501
    ends = np.array([*_POINTS[1:], 80])
    begins = np.array(_POINTS)[codes[6]]
    points = begins + np.floor(uniforms(source, count) * (ends[codes[6]] - begins)).astype(int)
    edges = np.array([*_LENGTHS, 70.0])
    lengths = edges[codes[7]] + uniforms(source, count) * (edges[codes[7] + 1] - edges[codes[7]])
    lines = _polylines(ways, points, lengths * box.step)
    return tuple(np.split(box.outside(lines), np.cumsum(points)[:-1]))


def _spots(
    box: Box, cells: NDArray[np.uint32], parts: NDArray[np.uint32], coins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw a place uniformly in a part of a cell."""
    cell = np.stack(np.divmod(cells, _CELLS), axis=1).astype(np.float64)
    part = np.stack(np.divmod(parts, _PARTS), axis=1).astype(np.float64)
    spot: NDArray[np.float64] = (cell + (part + coins.reshape(-1, 2)) / _PARTS) / _CELLS * box.sides
    return spot


def _polylines(
    ways: NDArray[np.float64], counts: NDArray[np.int64], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Place points evenly on start–middle–end, made shorter or longer to about their length."""
    start, middle, end = ways
    chord = (start + end) / 2
    for _ in range(_PULLS):
        far = _norm(middle - start) + _norm(end - middle) > lengths
        middle = np.where(far[:, None], chord + _PULL * (middle - chord), middle)
    legs = _norm(middle - start), _norm(end - middle)
    straight = legs[0] + legs[1]
    trip = np.repeat(np.arange(counts.size), counts)
    place = np.arange(trip.size) - np.repeat(np.cumsum(counts) - counts, counts)
    at = place / (counts[trip] - 1) * straight[trip]
    early = at <= legs[0][trip]
    share = np.where(early, at / _some(legs[0][trip]), (at - legs[0][trip]) / _some(legs[1][trip]))
    begin = np.where(early[:, None], start[trip], middle[trip])
    ahead = np.where(early[:, None], middle[trip], end[trip])
    line = begin + share[:, None] * (ahead - begin)
    size, across = _detours(start, end, counts, lengths, straight)
    inner = (place > 0) & (place < counts[trip] - 1)
    signs = np.where(inner, np.where(place % 2, 1.0, -1.0), 0.0)
    found: NDArray[np.float64] = line + (signs * size[trip])[:, None] * across[trip]
    return found


def _detours(
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    counts: NDArray[np.int64],
    lengths: NDArray[np.float64],
    straight: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give how far points swerve across each trip, in turns, that it be as long as wanted."""
    gaps = counts - 1
    more = np.maximum((lengths / gaps) ** 2 - (straight / gaps) ** 2, 0.0)
    size = np.where(counts > 2, 0.5 * np.sqrt(more) * gaps / np.maximum(counts - 2, 1), 0.0)
    along = end - start
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / _some(_norm(along))[:, None]
    return size, across


def _norm(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hypot(vectors[:, 0], vectors[:, 1])


def _some(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(lengths > 0, lengths, 1.0)
