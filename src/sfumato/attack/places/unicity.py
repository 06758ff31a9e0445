"""Unicity: how many people are the only ones who were where they were, for p points known.

De Montjoye, Hidalgo, Verleysen, Blondel: Unique in the Crowd, Scientific Reports 2013. A point is a
cell and a time bin. For p points the share is estimated from draws of points of every person, or,
for one or two points, counted over all of them (`exact`). Nobody needs a release for it: it is the
risk of traces as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import checked_count
from sfumato.errors import ParameterError
from sfumato.representation import Shown
from sfumato.shape import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

EXACT = 2
"""Points up to which all combinations are counted."""


@dataclass(frozen=True)
class Unicity(Shown):
    """The share of people (weighing each alike) singled out by so many points.

    `points` maps the number of known points to the mean share of draws, or of all combinations
    where it was counted exactly, that nobody else fits.
    """

    points: Mapping[int, float]
    people: int
    cell: float
    seconds: float
    exact: bool

    def __str__(self) -> str:
        shares = ", ".join(f"{p}: {100 * share:.0f} %" for p, share in self.points.items())
        how = "counted" if self.exact else "estimated"
        return (
            f"unique by points known of {self.people:,} people, cells of {self.cell:g} m and "
            f"{self.seconds:g} s ({how}): {shares}"
        )


def unicity(
    data: Any,
    *,
    points: int = 4,
    cell: float = 500.0,
    seconds: float = 3600.0,
    draws: int = 20,
    exact: bool = False,
    seed: int = 0,
    **options: Any,
) -> Unicity:
    """Measure how many people are unique for 1 … `points` known points.

    `data` are traces as `sf.read(…, shape="trajectories")` returns them, or anything it reads.
    Trips of one person are taken together. `exact` counts all pairs instead of drawing.
    """
    traces = read(data, shape="trajectories", **options)
    checked_count("points", points, low=1)
    checked_count("draws", draws, low=1)
    if not (cell > 0 and seconds > 0):
        raise ParameterError("cell (metres) and seconds must be above 0.")
    if exact and points > EXACT:
        points = EXACT
    starts, tokens = observations(traces, cell, seconds)
    holders = _holders(starts, tokens)
    from sfumato.attack.places import unicity_kernel as kernel  # noqa: PLC0415 - compiles

    if exact:
        found = kernel.count_all(starts, tokens, *holders)
        shares = dict(zip((1, 2), map(float, found), strict=True))
    else:
        rng = np.random.default_rng(seed)  # the adversary's luck; nothing of it is released
        shares = {}
        for p in range(1, points + 1):
            coins = rng.random((len(starts) - 1, draws, p))
            shares[p] = float(kernel.share_of_draws(starts, tokens, *holders, coins))
    wanted = {p: share for p, share in shares.items() if p <= points}
    return Unicity(wanted, len(starts) - 1, cell, seconds, exact)


def observations(
    traces: Trajectories, cell: float, seconds: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for every person the sorted numbers of the (cell, time bin) she was seen in."""
    at = np.floor(traces.places / cell).astype(np.int64)
    rows = np.column_stack([at, np.floor(traces.times / seconds).astype(np.int64)])
    low = rows.min(axis=0)
    width = rows.max(axis=0) - low + 1
    key = ((rows[:, 0] - low[0]) * width[1] + rows[:, 1] - low[1]) * width[2] + rows[:, 2] - low[2]
    _, token = np.unique(key, return_inverse=True)
    _, person = np.unique(traces.person[traces.owner], return_inverse=True)
    count = int(token.max()) + 1
    pairs = np.unique(person.reshape(-1) * count + token.reshape(-1))
    sizes = np.bincount(pairs // count)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), pairs % count


def _holders(
    starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for every token the sorted people who have it."""
    people = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(tokens, kind="stable")
    sizes = np.bincount(tokens)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), people[order]
