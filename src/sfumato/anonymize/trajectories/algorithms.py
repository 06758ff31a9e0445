"""The algorithms for traces by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.anonymize.definitions.nearness import CoLocalization
from sfumato.anonymize.trajectories.artefact import PIECE
from sfumato.anonymize.trajectories.microaggregation import group_traces
from sfumato.anonymize.trajectories.nearness import move_together
from sfumato.anonymize.trajectories.observations import generalize_observations
from sfumato.anonymize.trajectories.plan import Precision, box_groups
from sfumato.anonymize.trajectories.resampling import along_the_way, at_moments
from sfumato.anonymize.trajectories.splitting import Cells, split_observations
from sfumato.data.trajectories.trajectories import PERSON, TRIP
from sfumato.data.wording import check_options
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.trajectories.plan import BoxPlan
    from sfumato.anonymize.trajectories.resampling import Positions
    from sfumato.data.trajectories.trajectories import Trajectories

FASTEST = 70.0
"""Metres per second that nobody exceeds on the ground: 250 km/h."""
RESAMPLED = "positions between points are interpolated"
MOVED = "places are moved towards those of others"
MOVED_IN_TIME = "times of a trip are the mean times of its group"


def check_promise(data: Trajectories, promise: Definition) -> None:
    """Refuse what cannot be promised about these traces."""
    for part in promise.parts:
        if not isinstance(part, KAnonymity | KmAnonymity | CoLocalization):
            raise ParameterError(
                f"{part} says nothing about traces; promise sf.KAnonymity(k), or for people seen m "
                "times sf.KmAnonymity(k, m=…)."
            )
        if isinstance(part, CoLocalization) and len(promise.parts) > 1:
            raise ParameterError(
                f"{part} moves places and shows them, where other promises show boxes; promise it "
                "alone, or leave it out: traces that share boxes need it not."
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
    if any(isinstance(part, CoLocalization) for part in promise.parts):
        raise ParameterError(f"{promise} is about places that are moved; use 'approach'.")
    k = max(part.k for part in promise.parts if isinstance(part, KAnonymity | KmAnonymity))
    alike = _alike(data, k, places, time_bin, speed, Precision(metres, seconds))
    plan = box_groups(data, alike.positions, alike.group, alike.precision, seed)
    return Decision(
        record=SearchRecord(
            "microaggregate",
            label="a search that stops where no exchange helps",
            facts=_facts(plan),
        ),
        content=plan,
        settings=alike.settings,
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
    cells = _cells(promise, levels, time_bin)
    plan, gone, _ = generalize_observations(
        data, cells.k, cells.m, levels=levels, seconds=time_bin, seed=seed
    )
    return Decision(
        record=SearchRecord(
            "generalize",
            label="top-down, cell by cell",
            facts=_facts(plan, {"observations left out": gone}),
        ),
        content=plan,
        suppressed=int((np.diff(plan.starts) == 0).sum()),
        settings={"unit": data.unit, "levels": levels, "time_bin": time_bin},
    )


def split(
    data: Trajectories,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes seconds
    levels: int = 6,
    time_bin: float = 3600.0,
    cuts: int | None = None,
    price: float = 1.0,
    seed: int | None = None,
) -> Decision:
    """Cut traces at common moments where that saves more than it costs; then as `generalize`.

    At most `cuts` cuts are made. A cut costs as much as `price` observations left out, for each
    trace that goes on behind it. What is promised is about pieces, which a release says.
    """
    cells = _cells(promise, levels, time_bin)
    plan, gone, moments = split_observations(data, cells, price=price, most=cuts, seed=seed)
    shown = np.diff(plan.starts) > 0
    there = np.unique(plan.person[shown])
    return Decision(
        record=SearchRecord(
            "split",
            label="the best cuts, given a top-down search between them",
            facts=_facts(
                plan,
                {
                    "observations left out": gone,
                    "cuts common to all traces": len(moments),
                    "pieces": int(shown.sum()),
                },
            ),
        ),
        content=plan,
        suppressed=data.people - len(there),
        settings={
            "unit": PIECE,
            "levels": levels,
            "time_bin": time_bin,
            "price": price,
            "cuts": list(moments),
        },
    )


def approach(
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
    """Move places of like traces together until they are within δ; this is no k-anonymity.

    Options are those of `microaggregate`; places are shown as cells of `metres`.
    """
    if not all(isinstance(part, CoLocalization) for part in promise.parts):
        raise ParameterError(
            f"Traces that run near each other are still told apart; 'approach' keeps no {promise}. "
            "Use 'microaggregate' or 'generalize'."
        )
    [part] = (part for part in promise.parts if isinstance(part, CoLocalization))
    alike = _alike(data, part.k, places, time_bin, speed, Precision(metres, seconds))
    plan, moves = move_together(
        data, alike.positions, alike.group, part.delta, alike.precision, seed
    )
    return Decision(
        record=SearchRecord(
            "approach",
            label="places moved towards the middle of groups; no k-anonymity",
            facts={
                "mean move of a place (m)": round(moves.mean, 1),
                "largest move of a place (m)": round(moves.largest, -1),
                "places moved (%)": round(100 * moves.share, 1),
                "groups": int(alike.group.max()) + 1,
                "steps nobody could make": _impossible(plan),
            },
        ),
        content=plan,
        settings=alike.settings,
        untruthful=(RESAMPLED, MOVED, *((MOVED_IN_TIME,) if data.unit == TRIP else ())),
    )


def _cells(promise: Definition, levels: int, time_bin: float) -> Cells:
    """Return what is asked of cells, or refuse a promise that cells cannot keep."""
    if any(isinstance(part, KAnonymity) for part in promise.parts):
        raise ParameterError(
            "Cells do not make whole traces alike, as k-anonymity asks; use 'microaggregate'."
        )
    if any(isinstance(part, CoLocalization) for part in promise.parts):
        raise ParameterError(f"{promise} is about places that are moved; use 'approach'.")
    if isinstance(time_bin, bool) or not isinstance(time_bin, int | float) or not time_bin > 0:
        raise ParameterError(f"time_bin must be a number of seconds above 0, not {time_bin!r}.")
    parts = [part for part in promise.parts if isinstance(part, KmAnonymity)]
    return Cells(max(part.k for part in parts), max(part.m for part in parts), levels, time_bin)


class _Alike(NamedTuple):
    """Traces as rows of equal length in groups of like ones, and the settings that tell how."""

    positions: Positions
    group: NDArray[np.int64]
    precision: Precision
    settings: dict[str, Any]


def _alike(
    data: Trajectories,
    k: int,
    places: int,
    time_bin: float | None,
    speed: float,
    precision: Precision,
) -> _Alike:
    """Put traces of at least k people into every group."""
    if isinstance(places, bool) or not isinstance(places, int) or not 2 <= places <= 256:
        raise ParameterError(f"places must be a whole number from 2 to 256, not {places!r}.")
    if not speed >= 0:
        raise ParameterError(f"speed must be a number from 0, not {speed!r}.")
    trips = data.unit == TRIP
    positions = along_the_way(data, places) if trips else at_moments(data, time_bin)
    group = group_traces(positions, data.person, k, speed=speed)
    sampling: dict[str, Any] = {"places": places} if trips else {"time_bin": positions.bin}
    rounding = {"metres": precision.metres, "seconds": precision.seconds}
    return _Alike(positions, group, precision, {"unit": data.unit, **sampling, **rounding})


def _facts(plan: BoxPlan, more: Mapping[str, object] | None = None) -> dict[str, object]:
    """Tell how large boxes are, and what `more` there is to tell."""
    if not len(plan.boxes):
        return dict(more or {})
    sides = plan.boxes[:, [1, 3]] - plan.boxes[:, [0, 2]]
    return {
        "mean width of a box (m)": round(float(sides[:, 0].mean()), 1),
        "mean height of a box (m)": round(float(sides[:, 1].mean()), 1),
        "mean span of time (s)": round(float(np.diff(plan.spans, axis=1).mean()), 1),
        "steps nobody could make": _impossible(plan),
        **(more or {}),
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
    parts = promise.parts
    name = "generalize"
    if any(isinstance(part, KAnonymity) for part in parts):
        name = "microaggregate"
    elif any(isinstance(part, CoLocalization) for part in parts):
        name = "approach"
    check_options(f"Algorithm '{name}'", ALGORITHMS[name], options)
    return ALGORITHMS[name](data, promise, **options)


ALGORITHMS: Mapping[str, Callable[..., Decision]] = {
    "best": choose,
    "microaggregate": microaggregate,
    "generalize": generalize,
    "split": split,
    "approach": approach,
}
