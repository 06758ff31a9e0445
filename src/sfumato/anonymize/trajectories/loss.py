"""What released traces lost, each figure between 0 (nothing) and 1.

* boxes: the mean side of a box, as a share of the side of the region;
* times: the mean span of a box, as a share of the time the data span;
* queries: the mean relative error of counts of traces seen in a box and a time, assuming
  that a released trace is anywhere in its box alike;
* trips: how far the distributions of (first cell, last cell) are apart, and lengths: those of the
  length of traces measured through the middles of boxes (Jensen–Shannon divergence, base 2);
* moves, where places were moved: the mean move, as a share of the mean side of the region;
* cuts, where traces were cut: the share of pieces that are the rest of an earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.trajectories.artefact import TracesArtefact
    from sfumato.anonymize.trajectories.plan import BoxPlan
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.decision import Decision

CELLS = 6
QUERIES = 200
LENGTHS = 20


def measure(data: Trajectories, decision: Decision, artefact: TracesArtefact) -> dict[str, float]:
    """Return the losses, the one that was minimised first."""
    plan: BoxPlan = decision.content
    if not len(artefact.boxes):
        return {"boxes": 1.0, "times": 1.0, "queries": 1.0, "trips": 1.0, "lengths": 1.0}
    region = region_of(data)
    sides = region[[1, 3]] - region[[0, 2]]
    boxes = plan.boxes[:, [1, 3]] - plan.boxes[:, [0, 2]]
    span = max(float(np.ptp(data.times)), 1e-9)
    middles = (plan.boxes[:, [0, 2]] + plan.boxes[:, [1, 3]]) / 2
    changes = _changes(plan, float(sides.mean()))
    return {
        **({} if plan.moved is None else changes),
        "boxes": float(np.clip(boxes / sides, 0, 1).mean()),
        "times": float(np.clip(np.diff(plan.spans, axis=1) / span, 0, 1).mean()),
        "queries": query_error(data, plan, region),
        "trips": _divergence(
            _ends(data.places, data.starts, region), _ends(middles, plan.starts, region)
        ),
        "lengths": _divergence(*_lengths(data, middles, plan.starts)),
        **changes,
    }


def _changes(plan: BoxPlan, side: float) -> dict[str, float]:
    """Return what moving and cutting cost, where it was done."""
    found = {}
    if plan.moved is not None:
        found["moves"] = float(np.clip(plan.moved / side, 0, 1).mean())
    if plan.whole is not None:
        shown = plan.whole[np.diff(plan.starts) > 0]
        found["cuts"] = 1.0 - len(np.unique(shown)) / max(len(shown), 1)
    return found


def region_of(data: Trajectories) -> NDArray[np.float64]:
    """Return the public bounds, or the extent of the data: low x, high x, low y, high y."""
    bounds = data.frame.plane_bounds
    if bounds is None:
        low, high = data.places.min(axis=0), data.places.max(axis=0)
        high = np.where(high > low, high, low + 1.0)
        bounds = np.array([low[0], high[0], low[1], high[1]])
    return bounds


def query_error(data: Trajectories, plan: BoxPlan, region: NDArray[np.float64]) -> float:
    """Compare counts of points by cell and time with those that the boxes let one expect.

    Both are shares of all points, since a release shows fewer or more places than points came.
    """
    rng = np.random.default_rng(16)  # which questions are asked; nothing here is released
    times = float(data.times.min()), float(data.times.max()) + 1e-6
    points = [np.ascontiguousarray(axis) for axis in (*data.places.T, data.times)]
    ends = [np.ascontiguousarray(axis) for axis in (*plan.boxes[:, [0, 2]].T, plan.spans[:, 0])]
    tops = [np.ascontiguousarray(axis) for axis in (*plan.boxes[:, [1, 3]].T, plan.spans[:, 1])]
    errors = []
    for _ in range(QUERIES):
        low, high = _query(rng, region, times)
        inside, part = np.True_, np.float64(1.0)
        for d in range(3):
            inside = inside & (points[d] >= low[d]) & (points[d] < high[d])
            shared = np.minimum(tops[d], high[d]) - np.maximum(ends[d], low[d])
            part = part * (np.maximum(shared, 0.0) / (tops[d] - ends[d]))
        true, told = float(inside.mean()), float(part.mean())
        errors.append(min(abs(told - true) / max(true, 0.002), 1.0))
    return float(np.mean(errors))


def _query(
    rng: np.random.Generator, region: NDArray[np.float64], times: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low = np.array([region[0], region[2], times[0]])
    side = np.array([region[1], region[3], times[1]]) - low
    share = rng.uniform(0.15, 0.5, 3)
    begin = low + rng.uniform(0, 1 - share) * side
    return begin, begin + share * side


def _ends(
    places: NDArray[np.float64], starts: NDArray[np.int64], region: NDArray[np.float64]
) -> NDArray[np.float64]:
    there = np.flatnonzero(np.diff(starts))
    share = (places - region[[0, 2]]) / (region[[1, 3]] - region[[0, 2]])
    cell = np.clip((share * CELLS).astype(np.int64), 0, CELLS - 1)
    number = cell[:, 0] * CELLS + cell[:, 1]
    both = number[starts[there]] * CELLS**2 + number[starts[there + 1] - 1]
    return np.bincount(both, minlength=CELLS**4).astype(np.float64)


def _lengths(
    data: Trajectories, middles: NDArray[np.float64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    steps = np.hypot(*np.diff(middles, axis=0, append=middles[-1:]).T)
    there = np.flatnonzero(np.diff(starts))
    steps[starts[there + 1] - 1] = 0.0
    after = np.add.reduceat(steps, starts[there])
    edges = np.linspace(0.0, float(max(data.lengths.max(), after.max(), 1.0)), LENGTHS + 1)
    return np.histogram(data.lengths, edges)[0] * 1.0, np.histogram(after, edges)[0] * 1.0


def _divergence(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    p, q = first / max(first.sum(), 1.0), second / max(second.sum(), 1.0)
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(v > 0, v * np.log2(v / middle), 0.0).sum() for v in (p, q)]
    return float(np.clip(sum(parts) / 2, 0.0, 1.0))
