"""(k, δ): move the places of like traces towards each other until all are within δ.

Groups of at least k people are those that `microaggregation` finds. At every moment, places farther
than a radius from the group's mean are moved to its edge (Abul, Bonchi, Nanni: Never Walk Alone,
ICDE 2008); others stay where they were. Nothing is thrown away: no trace is outside a group.

Proof that the promise is kept: after moving, two members are at most 2·radius apart. A place is
shown as the cell of the public grid it lies in, so that places anywhere in the two cells are at
most 2·radius + 2·√2·grid apart; the radius is chosen such that this is δ, with a reserve for what
writing rounds and for a degree of longitude being longest at the latitude nearest to the equator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.trajectories.plan import BoxPlan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trajectories.plan import Precision
    from sfumato.anonymize.trajectories.resampling import Positions
    from sfumato.data.trajectories.trajectories import Trajectories

WRITTEN = 0.5
"""Metres that writing a place may add."""
FEWEST_CELLS = 3.0
"""δ must be at least so many sides of a cell."""


@dataclass(frozen=True)
class Moves:
    """How far places were moved: the mean and the largest move in metres, the share that moved."""

    mean: float
    largest: float
    share: float


def move_together(
    data: Trajectories,
    positions: Positions,
    group: NDArray[np.int64],
    delta: float,
    precision: Precision,
    seed: int | None,
) -> tuple[BoxPlan, Moves]:
    """Return cells for the places of every trace, with those of its group within `delta`."""
    radius = _radius(data, delta, precision.metres)
    n, count = positions.times.shape
    size = np.bincount(group).astype(np.float64)
    centre = np.zeros((len(size), count, 2))
    np.add.at(centre, group, positions.places)
    centre /= size[:, None, None]
    offset = positions.places - centre[group]
    away = np.hypot(offset[..., 0], offset[..., 1])
    kept = np.minimum(1.0, radius / np.maximum(away, 1e-12))
    placed = centre[group] + offset * kept[..., None]
    boxes = precision.boxes(placed, placed, data.frame)
    moved = away * (1.0 - kept)
    plan = BoxPlan(
        data, np.arange(n + 1, dtype=np.int64) * count, boxes.reshape(-1, 4),
        _spans(positions, group, size, precision)[group].reshape(-1, 2), group, seed,
        shows_group=True, moved=moved.ravel(),
    )  # fmt: skip
    return plan, Moves(float(moved.mean()), float(moved.max()), float((moved > 0).mean()))


def _radius(data: Trajectories, delta: float, metres: float) -> float:
    if delta < FEWEST_CELLS * metres:
        raise ParameterError(
            f"delta = {delta:g} m is less than {FEWEST_CELLS:g} sides of the grid that places are "
            f"rounded to ({metres:g} m); choose a larger delta or a finer grid with metres=…."
        )
    return max(delta / longest_metre(data) / 2 - math.sqrt(2) * metres - WRITTEN, 0.0)


def longest_metre(data: Trajectories) -> float:
    """Return how much longer a metre of the plane's x can be than it is at the plane's origin."""
    if not data.frame.degrees:
        return 1.0
    latitude = np.radians(data.frame.restore(data.places[:, 1], 1))
    here = float(np.cos(latitude).max())
    return max(here / math.cos(math.radians(data.frame.origin[1])), 1.0)


def _spans(
    positions: Positions,
    group: NDArray[np.int64],
    size: NDArray[np.float64],
    precision: Precision,
) -> NDArray[np.float64]:
    """Return the moments of each group: time bins, or for trips the mean moments of its members."""
    if not positions.spread:
        half = positions.bin / 2
        moments = np.broadcast_to(positions.times[0], (len(size), positions.times.shape[1]))
        return np.stack([moments - half, moments + half], axis=-1)
    total = np.zeros((len(size), positions.times.shape[1]))
    np.add.at(total, group, positions.times)
    mean = total / size[:, None]
    return precision.spans(mean, mean)
