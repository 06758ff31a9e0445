"""The algorithms for traces by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.anonymize.trajectories.microaggregation import group_traces
from sfumato.anonymize.trajectories.observations import generalize_observations
from sfumato.anonymize.trajectories.plan import Precision, box_groups
from sfumato.anonymize.trajectories.resampling import along_the_way, at_moments
from sfumato.data.trajectories.trajectories import PERSON, TRIP
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.trajectories.plan import BoxPlan
    from sfumato.data.trajectories.trajectories import Trajectories

FASTEST = 70.0
"""Metres per second that nobody exceeds on the ground: 250 km/h."""
RESAMPLED = "positions between points are interpolated"


def check_promise(data: Trajectories, promise: Definition) -> None:
    """Refuse what cannot be promised about these traces."""
    for part in promise.parts:
        if not isinstance(part, KAnonymity | KmAnonymity):
            raise ParameterError(
                f"{part} says nothing about traces; promise sf.KAnonymity(k), or for people seen m "
                "times sf.KmAnonymity(k, m=…)."
            )
        if getattr(part, "on", ()) or getattr(part, "attribute", None):
            raise ParameterError(
                f"{part} names attributes, but traces have places and times alone."
            )
        if part.k > data.people:
            raise Unsatisfiable(
                f"{part} asks for {part.k:,} people who look alike, but the traces are those of "
                f"{data.people:,}."
            )
        if isinstance(part, KmAnonymity) and data.unit != PERSON:
            raise ParameterError(
                f"{part} is about people seen {part.m} times, and trips of one person would count "
                "as several; read the data with unit='person'."
            )


def microaggregate(
    data: Trajectories,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes seconds
    places: int = 8,
    time_bin: float | None = None,
    metres: float = 10.0,
    seconds: float = 60.0,
    speed: float = 2.0,
    seed: int | None = None,
) -> Decision:
    """Show every trace as boxes that it shares with those of k − 1 other people at least.

    A trip is shown at `places` equal shares of its way, a person at the middle of every `time_bin`
    (seconds; found from the time that the data span if absent). Boxes are rounded outwards to
    `metres`, moments to `seconds`. `speed` weighs a second of spread like so many metres.
    """
    if isinstance(places, bool) or not isinstance(places, int) or not 2 <= places <= 256:
        raise ParameterError(f"places must be a whole number from 2 to 256, not {places!r}.")
    if not speed >= 0:
        raise ParameterError(f"speed must be a number from 0, not {speed!r}.")
    precision = Precision(metres, seconds)
    k = max(part.k for part in promise.parts if isinstance(part, KAnonymity | KmAnonymity))
    trips = data.unit == TRIP
    positions = along_the_way(data, places) if trips else at_moments(data, time_bin)
    group = group_traces(positions, data.person, k, speed=speed)
    plan = box_groups(data, positions, group, precision, seed)
    shown = {"places": places} if trips else {"time_bin": positions.bin}
    return Decision(
        record=SearchRecord(
            "microaggregate",
            label="a search that stops where no exchange helps",
            facts=_facts(plan),
        ),
        content=plan,
        settings={"unit": data.unit, **shown, "metres": metres, "seconds": seconds},
        untruthful=(RESAMPLED,),
    )


def generalize(
    data: Trajectories,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes seconds
    levels: int = 6,
    time_bin: float = 3600.0,
    seed: int | None = None,
) -> Decision:
    """Show cells as large as it takes that m observations fit k people; the rest is left out.

    The finest cells are 2^`levels` to a side of the bounds. Traces of which nothing can be shown
    are suppressed.
    """
    if any(isinstance(part, KAnonymity) for part in promise.parts):
        raise ParameterError(
            "Cells do not make whole traces alike, as k-anonymity asks; use 'microaggregate'."
        )
    parts = [part for part in promise.parts if isinstance(part, KmAnonymity)]
    if not time_bin > 0:
        raise ParameterError(f"time_bin must be a number of seconds above 0, not {time_bin!r}.")
    k, m = max(part.k for part in parts), max(part.m for part in parts)
    plan, gone = generalize_observations(data, k, m, levels=levels, seconds=time_bin, seed=seed)
    return Decision(
        record=SearchRecord(
            "generalize",
            label="top-down, cell by cell",
            facts={**_facts(plan), "observations left out": gone},
        ),
        content=plan,
        suppressed=int((np.diff(plan.starts) == 0).sum()),
        settings={"unit": data.unit, "levels": levels, "time_bin": time_bin},
    )


def _facts(plan: BoxPlan) -> dict[str, object]:
    if not len(plan.boxes):
        return {}
    sides = plan.boxes[:, [1, 3]] - plan.boxes[:, [0, 2]]
    return {
        "mean width of a box (m)": round(float(sides[:, 0].mean()), 1),
        "mean height of a box (m)": round(float(sides[:, 1].mean()), 1),
        "mean span of time (s)": round(float(np.diff(plan.spans, axis=1).mean()), 1),
        "steps nobody could make": _impossible(plan),
    }


def _impossible(plan: BoxPlan) -> int:
    """Count steps from box to box that are too far for the time there is, wherever in the boxes."""
    low, high = plan.boxes[:, [0, 2]], plan.boxes[:, [1, 3]]
    gap = np.maximum(np.maximum(low[1:] - high[:-1], low[:-1] - high[1:]), 0.0)
    time = plan.spans[1:, 1] - plan.spans[:-1, 0]
    trace = np.repeat(np.arange(len(plan.starts) - 1), np.diff(plan.starts))
    far = np.hypot(gap[:, 0], gap[:, 1]) > FASTEST * np.maximum(time, 0.0)
    return int((far & (trace[1:] == trace[:-1])).sum())


def choose(data: Trajectories, promise: Definition, **options: Any) -> Decision:
    """Take the algorithm that fits the promise: boxes for k-anonymity, cells for k^m alone."""
    if any(isinstance(part, KAnonymity) for part in promise.parts):
        return microaggregate(data, promise, **options)
    return generalize(data, promise, **options)


ALGORITHMS: Mapping[str, Callable[..., Decision]] = {
    "best": choose,
    "microaggregate": microaggregate,
    "generalize": generalize,
}
