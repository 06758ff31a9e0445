"""Passages: when traces enter and leave boxes, and through which side.

Between two points a trace runs straight. A passage begins where it crosses into a box and ends
where it crosses out; one that begins or ends inside is none. Sides are 0 west, 1 east, 2 south, 3
north.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

SIDES = ("west", "east", "south", "north")


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages of traces through boxes, in the order of boxes and of entry times."""

    box: NDArray[np.int64]
    trace: NDArray[np.int64]
    person: NDArray[np.int64]
    entered: NDArray[np.float64]
    left: NDArray[np.float64]
    side_in: NDArray[np.int64]
    side_out: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.box)

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Passages:
        """Return some of the passages."""
        return Passages(
            self.box[chosen], self.trace[chosen], self.person[chosen], self.entered[chosen],
            self.left[chosen], self.side_in[chosen], self.side_out[chosen],
        )  # fmt: skip

    @property
    def lasts(self) -> NDArray[np.float64]:
        """Seconds spent inside."""
        found: NDArray[np.float64] = self.left - self.entered
        return found


def find_passages(data: Trajectories, boxes: NDArray[np.float64]) -> Passages:
    """Return all passages of traces through boxes (rows low x, high x, low y, high y)."""
    from sfumato.data.places.passage_kernel import cross  # noqa: PLC0415 - compiles

    parts = []
    for number, box in enumerate(np.asarray(boxes, np.float64)):
        found = cross(data.places, data.times, data.starts, box)
        rows = np.column_stack([np.full(len(found), float(number)), found])
        parts.append(rows[np.argsort(rows[:, 2], kind="stable")])
    table = np.concatenate(parts) if parts else np.zeros((0, 6))
    trace = table[:, 1].astype(np.int64)
    return Passages(
        table[:, 0].astype(np.int64), trace, data.person[trace], table[:, 2], table[:, 3],
        table[:, 4].astype(np.int64), table[:, 5].astype(np.int64),
    )  # fmt: skip
