"""Traces of any length as rows of equal length, so that they can be compared and boxed.

* A trip becomes its positions after equal shares of its way, the first and last point among them,
  each with the moment it was there.
* A person becomes her positions at fixed moments, the middle of every time bin; the bins are whole
  multiples of their length, so they say nothing about the data.

Between two points a person is taken to move straight on; before the first and after the last she is
taken to stay. Resampled positions are therefore no longer facts, and a release says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

BINS = (60.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0, 86400.0, 604800.0, 2592000.0)  # fmt: skip  # noqa: E501
"""Lengths of time bins to choose from, in seconds."""
FEW_BINS = 144
MOST_BINS = 2000


@dataclass(frozen=True, eq=False)
class Positions:
    """Where traces are: `places[i, j]` is place j of trace i, `times[i, j]` the moment.

    `spread` tells whether moments differ between traces (trips), `bin` is the length of time bins
    otherwise.
    """

    places: NDArray[np.float64]
    times: NDArray[np.float64]
    spread: bool
    bin: float = 0.0


def along_the_way(data: Trajectories, count: int) -> Positions:
    """Return positions after equal shares of each trip's way."""
    steps = np.hypot(*np.diff(data.places, axis=0, prepend=data.places[:1]).T)
    steps[data.starts[:-1]] = 0.0
    gone = np.cumsum(steps)
    base = gone[data.starts[:-1]]
    whole = gone[data.starts[1:] - 1] - base
    shares = np.linspace(0.0, 1.0, count)
    # One search serves all trips: way plus a share of steps that keeps points in order where
    # somebody stands still, shifted so that trips follow each other.
    still = np.arange(len(steps)) - data.starts[data.owner]
    last = np.maximum(data.sizes - 1, 1)
    fraction = np.where(
        whole[data.owner] > 0,
        (gone - base[data.owner]) / np.maximum(whole, 1e-9)[data.owner],
        still / last[data.owner],
    )
    key = data.owner * 2.0 + np.clip(fraction, 0.0, 1.0)
    wanted = (np.arange(len(data)) * 2.0)[:, None] + shares
    return _interpolate(data, key, wanted.ravel(), spread=True, count=count)


def at_moments(data: Trajectories, seconds: float | None) -> Positions:
    """Return positions in the middle of every time bin that the data touch."""
    low, high = float(data.times.min()), float(data.times.max())
    if seconds is None:
        seconds = next((b for b in BINS if (high - low) / b < FEW_BINS), BINS[-1])
    if not seconds > 0 or not np.isfinite(seconds):
        raise ParameterError(f"time_bin must be a number of seconds above 0, not {seconds!r}.")
    first, last = int(np.floor(low / seconds)), int(np.floor(high / seconds))
    if last - first >= MOST_BINS:
        raise ParameterError(
            f"Bins of {seconds:g} s cut the time of the data into {last - first + 1:,} pieces; at "
            f"most {MOST_BINS:,} are possible. Choose longer ones, or a shorter time."
        )
    moments = (np.arange(first, last + 1) + 0.5) * seconds
    span = max(high - low, seconds) * 4.0
    key = data.owner * span + (data.times - low)
    wanted = (np.arange(len(data)) * span)[:, None] + np.clip(moments - low, 0.0, high - low)
    ends = data.owner[data.starts[:-1]] * span
    begin, end = data.times[data.starts[:-1]] - low, data.times[data.starts[1:] - 1] - low
    wanted = np.clip(wanted, (ends + begin)[:, None], (ends + end)[:, None])
    found = _interpolate(data, key, wanted.ravel(), spread=False, count=len(moments))
    return Positions(found.places, np.broadcast_to(moments, found.times.shape), False, seconds)


def _interpolate(
    data: Trajectories,
    key: NDArray[np.float64],
    wanted: NDArray[np.float64],
    *,
    spread: bool,
    count: int,
) -> Positions:
    columns = [np.interp(wanted, key, values) for values in (*data.places.T, data.times)]
    n = len(data)
    places = np.stack([columns[0].reshape(n, count), columns[1].reshape(n, count)], axis=2)
    return Positions(places, columns[2].reshape(n, count), spread)
