"""What became of requests in a stream: a box and a moment each, or dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Frame


@dataclass(frozen=True)
class Cloaked:
    """What became of one request: its number, and its box and moment, or None where it was dropped.

    `box` is (low x, high x, low y, high y, first moment, last moment), the same for all who
    left with it; `together` tells them by a number. With memory, `since` is the moment at which her
    session began: requests with the same may go under one pseudonym, others may not.
    """

    request: int
    moment: float
    box: tuple[float, ...] | None
    together: int = -1
    since: float | None = None


@dataclass(frozen=True, eq=False)
class StreamResult:
    """What became of many requests, an entry each; `together` is the number of the box or −1.

    `k`, `reach` and `wait` are what each asked for. With memory, `since` is the moment at which the
    session of its user began (no number for what was dropped): requests of a user with the same
    `since` may go under one pseudonym, others may not.
    """

    released: NDArray[np.bool_]
    moment: NDArray[np.float64]
    delay: NDArray[np.float64]
    together: NDArray[np.int64]
    boxes: NDArray[np.float64]
    k: NDArray[np.int64]
    reach: NDArray[np.float64]
    wait: NDArray[np.float64]
    since: NDArray[np.float64] | None = None

    @property
    def success(self) -> float:
        """The share of requests that left in a box."""
        return float(self.released.mean()) if len(self.released) else 0.0

    @property
    def relative_area(self) -> float:
        """The mean area of a box, as a share of the area its request would tolerate."""
        boxes = self.boxes[self.together[self.released]]
        area = (boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])
        return float((area / (2 * self.reach[self.released]) ** 2).mean()) if len(area) else 0.0

    @property
    def mean_delay(self) -> float:
        """The mean number of seconds that those who left had waited."""
        return float(self.delay[self.released].mean()) if self.released.any() else 0.0

    def columns(self, frame: Frame) -> dict[str, NDArray[np.float64]]:
        """Return a row per request in the order of boxes; nothing tells whose it is.

        Places are in the coordinates of `frame`; what was dropped has no numbers, and comes last.
        """
        boxes = np.full((len(self.released), 6), np.nan)
        boxes[self.released] = self.boxes[self.together[self.released]]
        across, up = frame.names
        found = {
            f"{across}_low": frame.restore(boxes[:, 0], 0),
            f"{across}_high": frame.restore(boxes[:, 1], 0),
            f"{up}_low": frame.restore(boxes[:, 2], 1),
            f"{up}_high": frame.restore(boxes[:, 3], 1),
            "time_first": boxes[:, 4],
            "time_last": boxes[:, 5],
            "moment": np.where(self.released, self.moment, np.nan),
        }
        left = np.flatnonzero(self.released)
        by_box = left[np.lexsort([self.together[left], self.moment[left]])]
        order = np.concatenate([by_box, np.flatnonzero(~self.released)])
        return {name: column[order] for name, column in found.items()}

    def __str__(self) -> str:
        return (
            f"{len(self.released):,} requests: {100 * self.success:.1f} % left, relative area "
            f"{self.relative_area:.3f}, mean delay {self.mean_delay:.1f} s, "
            f"{int((~self.released).sum()):,} dropped"
        )


class Decided(NamedTuple):
    """Requests that were decided in one go: number, moment, box or −1, begin of the session."""

    number: NDArray[np.int64]
    when: NDArray[np.float64]
    box: NDArray[np.int64]
    since: NDArray[np.float64]


def told(
    decided: Decided, boxes: NDArray[np.float64], began: int, *, memory: bool
) -> list[Cloaked]:
    """Return decided requests one by one; `boxes` are those numbered from `began` on."""
    columns = zip(decided.number, decided.when, decided.box, decided.since, strict=True)
    return [
        Cloaked(
            int(number), float(moment),
            tuple(boxes[b - began].tolist()) if b >= 0 else None, int(b),
            float(since) if memory and b >= 0 else None,
        )
        for number, moment, b, since in columns
    ]  # fmt: skip
