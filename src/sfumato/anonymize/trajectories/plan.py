"""What was decided about traces: which box, in space and time, stands for each place of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trajectories.resampling import Positions
    from sfumato.data.trajectories.trajectories import Frame, Trajectories


@dataclass(frozen=True, eq=False)
class BoxPlan:
    """Boxes for traces: those of trace i are rows `starts[i]` up to `starts[i + 1]`.

    `boxes` has low x, high x, low y, high y in metres and `spans` the first and the last moment.
    `group` is a number per trace: people are numbered within their group, which a release shows
    where `shows_group` says so. `data` are the traces as they came; `seed` repeats the order of a
    release. Where traces are cut, row i is a piece of trace `whole[i]`; `moved` has the metres that
    places were moved, where they were.
    """

    data: Trajectories
    starts: NDArray[np.int64]
    boxes: NDArray[np.float64]
    spans: NDArray[np.float64]
    group: NDArray[np.int64]
    seed: int | None = None
    shows_group: bool = False
    whole: NDArray[np.int64] | None = None
    moved: NDArray[np.float64] | None = None

    @property
    def person(self) -> NDArray[np.int64]:
        """The person of each row."""
        return self.data.person if self.whole is None else self.data.person[self.whole]


@dataclass(frozen=True)
class Precision:
    """The public grid that boxes and moments are rounded outwards to, in metres and seconds.

    Without it the edge of a box would be the exact coordinate of whoever is farthest out.
    """

    metres: float = 10.0
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for name in ("metres", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ParameterError(f"The precision in {name} must be above 0, not {value!r}.")

    def boxes(
        self, low: NDArray[np.float64], high: NDArray[np.float64], frame: Frame
    ) -> NDArray[np.float64]:
        """Round boxes outwards; the public bounds need not be left for that."""
        grid = self.metres
        low, high = np.floor(low / grid) * grid, np.ceil(high / grid) * grid
        high = np.where(high == low, low + grid, high)
        bounds = frame.plane_bounds
        if bounds is not None:
            low, high = np.maximum(low, bounds[[0, 2]]), np.minimum(high, bounds[[1, 3]])
        return np.stack([low[..., 0], high[..., 0], low[..., 1], high[..., 1]], axis=-1)

    def spans(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round spans of time outwards."""
        grid = self.seconds
        first, last = np.floor(low / grid) * grid, np.ceil(high / grid) * grid
        return np.stack([first, np.where(last == first, first + grid, last)], axis=-1)


def box_groups(
    data: Trajectories,
    positions: Positions,
    group: NDArray[np.int64],
    precision: Precision,
    seed: int | None,
) -> BoxPlan:
    """Give every trace the boxes of its group: around all positions that its members have."""
    groups, (n, count) = int(group.max()) + 1, positions.times.shape
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(groups))
    low = np.minimum.reduceat(positions.places[order], first, axis=0)
    high = np.maximum.reduceat(positions.places[order], first, axis=0)
    if positions.spread:
        early = np.minimum.reduceat(positions.times[order], first, axis=0)
        late = np.maximum.reduceat(positions.times[order], first, axis=0)
        spans = precision.spans(early, late)
    else:
        half = positions.bin / 2
        moments = positions.times[: len(first)]
        spans = np.stack([moments - half, moments + half], axis=-1)
    boxes = precision.boxes(low, high, data.frame)
    starts = np.arange(n + 1, dtype=np.int64) * count
    return BoxPlan(
        data, starts, boxes[group].reshape(-1, 4), spans[group].reshape(-1, 2), group, seed
    )
