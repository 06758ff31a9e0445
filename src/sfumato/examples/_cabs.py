"""Cabs that never drove: points of made-up trips in a made-up city, with person, trip and time.

The city is a grid of streets; a few places attract most trips. A cab drives along streets at a
speed of its own, turns at junctions, and reports where it is every minute or so. Nothing is
downloaded and nobody is real; the numbers come from a seeded generator, which is right for
examples and for nothing that is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BOUNDS = (-122.52, -122.36, 37.70, 37.82)
"""Public bounds of the city: low and high longitude, low and high latitude."""
BLOCK = 0.0025
"""Degrees between two streets."""
ATTRACTIONS = np.array([[-122.405, 37.785, 4.0], [-122.42, 37.775, 2.0], [-122.44, 37.765, 1.5],
                        [-122.475, 37.74, 1.0], [-122.39, 37.735, 1.0]])  # fmt: skip
START = np.datetime64("2025-06-08T08:00:00")


def cabs(
    n: int = 120, *, hours: float = 4.0, every: float = 60.0, seed: int = 1
) -> dict[str, NDArray[Any]]:
    """Return the points of n cabs as columns: cab, trip, lon, lat, time.

    Read them with ``sf.read(…, shape="trajectories", person="cab", bounds=…)``.
    """
    rng = np.random.default_rng(seed)
    rows: list[NDArray[np.float64]] = []
    trips = 0
    for cab in range(n):
        now, here = rng.uniform(0, 900), _place(rng)
        while now < hours * 3600:
            there = _place(rng)
            way = _streets(here, there, rng)
            times, points = _drive(way, now, every, rng)
            kept = times < hours * 3600
            trips += 1
            owner = np.tile([cab, trips], (len(times), 1))
            rows.append(np.column_stack([owner, points, times])[kept])
            now, here = float(times[-1]) + rng.exponential(240), there
    table = np.concatenate(rows)
    return {
        "cab": table[:, 0].astype(np.int64),
        "trip": table[:, 1].astype(np.int64),
        "lon": np.round(table[:, 2], 5),
        "lat": np.round(table[:, 3], 5),
        "time": (START + np.round(table[:, 4]).astype("timedelta64[s]")).astype(str).astype(object),
    }


def _place(rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a junction, most likely near an attraction."""
    chosen = rng.choice(len(ATTRACTIONS), p=ATTRACTIONS[:, 2] / ATTRACTIONS[:, 2].sum())
    place = ATTRACTIONS[chosen, :2] + rng.normal(0, 0.012, 2)
    low, high = np.array([BOUNDS[0], BOUNDS[2]]) + BLOCK, np.array([BOUNDS[1], BOUNDS[3]]) - BLOCK
    snapped: NDArray[np.float64] = np.round(np.clip(place, low, high) / BLOCK) * BLOCK
    return snapped


def _streets(
    here: NDArray[np.float64], there: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the corners of a way along streets."""
    turn = here.copy()
    axis = int(rng.integers(2))
    share = np.round(rng.uniform() * (there - here)[axis] / BLOCK) * BLOCK
    turn[axis] += share
    second = turn.copy()
    second[1 - axis] = there[1 - axis]
    return np.array([here, turn, second, there])


def _drive(
    way: NDArray[np.float64], now: float, every: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return moments and places of the points that a cab reports on its way."""
    metres = (way - way[0]) * [88_000.0, 110_574.0]
    gone = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(metres, axis=0).T))])
    lasts = max(float(gone[-1]) / rng.uniform(5.0, 11.0), every)
    times = np.concatenate(
        [[0.0], np.cumsum(every * rng.uniform(0.6, 1.4, int(lasts / every) + 1))]
    )
    times = np.append(times[times < lasts], lasts)
    at = times / lasts * gone[-1]
    points = np.column_stack([np.interp(at, gone, way[:, axis]) for axis in (0, 1)])
    return now + times, points + rng.normal(0, 0.00004, points.shape)
