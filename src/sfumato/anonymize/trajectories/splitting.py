"""k^m of traces that are cut: fewer observations are under one pseudonym, so more can be shown.

Terrovitis, Poulis, Mamoulis, Skiadopoulos: Local suppression and splitting techniques for privacy
preserving publication of trajectories, TKDE 2017. They cut single traces. A single cut is undone by
whoever sees that one trace ends where, alone of all, another begins; so cuts are common here: at a
moment of cutting all traces are cut, and the pieces between two cuts (a window) get pseudonyms of
their own. Within a window the search for k^m (`observations`) generalises cells and leaves out.

Promise: of every piece, any m observations shown are those of at least k people's pieces. A
person has at most one piece in a window, so observations in several windows leave k people in
each of them. Nothing is promised to whoever can put pieces together: where one ends and another
begins is shown, and `sf.attack.rejoin_pieces` tells how often that is enough.

Which cuts: an observation costs 1 where it is left out and the share of levels it lost where it is
shown as a larger cell; a cut costs `price` for every trace that goes on behind it. Costs of windows
add up, so the best cuts, given the search within windows, are found by dynamic programming over
the candidate moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.trajectories.observations import generalize_observations
from sfumato.anonymize.trajectories.plan import BoxPlan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trajectories.trajectories import Trajectories

MOST_MOMENTS = 24
"""Moments at which cuts are considered; every so many time bins where there are more bins."""


@dataclass(frozen=True, eq=False)
class Cells:
    """How observations are made: cells 2^levels to a side, time bins of so many seconds."""

    k: int
    m: int
    levels: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Window:
    """What is shown of the traces between two cuts; row i of the plan is trace `traces[i]`."""

    plan: BoxPlan | None
    traces: NDArray[np.int64]
    left_out: int
    cost: float


def split_observations(
    data: Trajectories, cells: Cells, *, price: float, most: int | None, seed: int | None
) -> tuple[BoxPlan, int, tuple[float, ...]]:
    """Return the boxes of every piece, the number of observations left out, and the cuts.

    At most `most` cuts are made, as many as pay where it is None.
    """
    if isinstance(price, bool) or not isinstance(price, int | float) or not price >= 0:
        raise ParameterError(f"price must be a number from 0, not {price!r}.")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
        raise ParameterError(f"cuts must be a whole number from 0, not {most!r}.")
    edges = moments_of(data, cells.seconds)
    allowed = len(edges) if most is None else most
    cuts, windows = best_windows(data, cells, edges, price, allowed)
    return _join(data, windows, seed), sum(window.left_out for window in windows), cuts


def moments_of(data: Trajectories, seconds: float) -> NDArray[np.float64]:
    """Return the edges of time bins at which traces may be cut, with both ends of the data."""
    first, last = (int(np.floor(t / seconds)) for t in (data.times.min(), data.times.max()))
    step = max(-(-(last - first + 1) // MOST_MOMENTS), 1)
    edges = np.arange(first, last + 1, step)
    return np.append(edges, last + 1) * seconds


def best_windows(
    data: Trajectories, cells: Cells, edges: NDArray[np.float64], price: float, most: int
) -> tuple[tuple[float, ...], list[Window]]:
    """Return the cuts of least cost, at most `most` of them, and what is shown between them.

    `least[c, j]` is the least cost of everything before edge j with c cuts; its last window begins
    at some edge i, before which the same holds with one cut less.
    """
    n = len(edges) - 1
    most = min(most, n - 1)
    windows: dict[tuple[int, int], Window] = {}
    least, came = np.full((most + 1, n + 1), np.inf), np.zeros((most + 1, n + 1), np.int64)
    pays = [price * going_on(data, float(edge)) for edge in edges]
    for j in range(1, n + 1):
        for i in range(j) if most else [0] if j == n else []:
            windows[i, j] = show_window(data, cells, float(edges[i]), float(edges[j]))
            if i == 0:
                least[0, j] = windows[i, j].cost
                continue
            cost = least[:-1, i] + pays[i] + windows[i, j].cost
            better = np.flatnonzero(cost < least[1:, j]) + 1
            least[better, j], came[better, j] = cost[better - 1], i
    cuts, chosen = [], []
    c, j = int(np.argmin(least[:, n])), n
    while j:
        i = int(came[c, j])
        chosen.append(windows[i, j])
        cuts.append(float(edges[i]))
        c, j = c - 1, i
    return tuple(cuts[-2::-1]), chosen[::-1]


def going_on(data: Trajectories, moment: float) -> int:
    """Count the traces that have points before a moment and from it on."""
    begin, end = data.times[data.starts[:-1]], data.times[data.starts[1:] - 1]
    return int(((begin < moment) & (end >= moment)).sum())


def show_window(data: Trajectories, cells: Cells, begin: float, end: float) -> Window:
    """Search what can be shown of the points from `begin` up to `end`."""
    inside = (data.times >= begin) & (data.times < end)
    sizes = np.bincount(data.owner[inside], minlength=len(data))
    traces = np.flatnonzero(sizes)
    if not len(traces):
        return Window(None, traces, 0, 0.0)
    part = replace(
        data, starts=np.concatenate([[0], np.cumsum(sizes[traces])]).astype(np.int64),
        places=data.places[inside], times=data.times[inside], person=data.person[traces],
    )  # fmt: skip
    plan, left_out, cost = generalize_observations(
        part, cells.k, cells.m, levels=cells.levels, seconds=cells.seconds, seed=None
    )
    return Window(plan, traces, left_out, cost)


def _join(data: Trajectories, windows: list[Window], seed: int | None) -> BoxPlan:
    """Return one plan with the pieces of all windows; people are numbered within a window."""
    shown = [(number, w, w.plan) for number, w in enumerate(windows) if w.plan is not None]
    sizes = np.concatenate([np.diff(plan.starts) for _, _, plan in shown])
    return BoxPlan(
        data, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([plan.boxes for _, _, plan in shown]),
        np.concatenate([plan.spans for _, _, plan in shown]),
        np.concatenate([np.full(len(w.traces), number, np.int64) for number, w, _ in shown]),
        seed, shows_group=True, whole=np.concatenate([w.traces for _, w, _ in shown]),
    )  # fmt: skip
