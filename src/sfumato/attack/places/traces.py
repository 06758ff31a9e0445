"""Find the trace of a person of whom something is known: points, an order of places, home and work.

Somebody knows a little of a person from elsewhere and looks for released traces that fit. She is
left with all people whose traces show the same as the best: if there are n of them she is one in n
sure. What is known comes from the traces as they were; the release is all she sees beside that.

* points: p places with their moments; the best fits are those nearest in space and time;
* order: p places in their order, without moments; all traces that pass them in this order fit;
* home and work: the cell where a person is most at night, and by day; traces fit that show both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import NEARLY, Outcome
from sfumato.data.wording import some
from sfumato.shape import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.attack.attack import Knowledge
    from sfumato.data.trajectories.trajectories import Trajectories
    from sfumato.released.trajectories import TracesView

    Fit = Callable[[int, np.random.Generator], NDArray[np.bool_]]
    """From a person to the groups of traces that fit her."""

TARGETS = 200
SPEED = 10.0
"""Metres that a second of distance in time counts for: about 36 km/h."""
CELL = 500.0
DAY, MORNING, EVENING = 86_400.0, 28_800.0, 72_000.0
ORDER_NAME, HOME_NAME = "order of places", "home and work"


def known_points(view: TracesView, knowledge: Knowledge, *, points: int = 4) -> Outcome:
    """Attack with `points` places and moments of a person."""
    from sfumato.attack.places import traces_kernel as kernel  # noqa: PLC0415 - compiles

    truth = truth_of(view, knowledge)
    first = _first_of_groups(view)

    def fit(person: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        rows = _rows_of(truth, person)
        chosen = rng.choice(rows, min(points, len(rows)), replace=False)
        known = np.column_stack([truth.places[chosen], truth.times[chosen]])
        away = kernel.misfits(view.starts, view.boxes, view.spans, first, known, SPEED)
        return np.asarray(away <= away.min() + 1.0)

    knows = f"{some(points, 'place')} of a person, with the moment"
    return _outcome(points_name(points), knows, view, truth, fit, knowledge)


def points_name(points: int) -> str:
    """Return what the attack with so many points is called."""
    return f"{some(points, 'point')} known"


def known_order(view: TracesView, knowledge: Knowledge, *, points: int = 4) -> Outcome:
    """Attack with the order in which a person was at `points` places."""
    from sfumato.attack.places import traces_kernel as kernel  # noqa: PLC0415 - compiles

    truth = truth_of(view, knowledge)
    first = _first_of_groups(view)

    def fit(person: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        rows = _rows_of(truth, person)
        trace = rng.choice(np.unique(truth.owner[rows]))
        rows = rows[truth.owner[rows] == trace]
        chosen = np.sort(rng.choice(rows, min(points, len(rows)), replace=False))
        low = np.floor(truth.places[chosen] / CELL) * CELL
        return np.asarray(kernel.pass_in_order(view.starts, view.boxes, first, low, CELL))

    knows = f"{points} places of a trace in their order, to {CELL:g} m"
    return _outcome(ORDER_NAME, knows, view, truth, fit, knowledge)


def home_and_work(view: TracesView, knowledge: Knowledge) -> Outcome:
    """Attack with the cells in which a person mostly is at night and by day."""
    truth = truth_of(view, knowledge)
    owner = np.repeat(np.arange(view.records), np.diff(view.starts))
    night, day = _at_night(view.spans.mean(axis=1)), ~_at_night(view.spans.mean(axis=1))

    def fit(person: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        del rng
        rows = _rows_of(truth, person)
        dark = _at_night(truth.times[rows])
        fits = np.ones(len(view.people), np.bool_)
        for part, boxes in ((dark, night), (~dark, day)):
            if not part.any():
                continue
            cells = np.floor(truth.places[rows[part]] / CELL)
            kinds, counts = np.unique(cells, axis=0, return_counts=True)
            low = kinds[np.argmax(counts)] * CELL
            meets = boxes & _meets(view.boxes, low)
            fits &= np.isin(np.arange(len(fits)), view.alike[np.unique(owner[meets])])
        return fits

    knows = f"where a person lives and works, to {CELL:g} m"
    return _outcome(HOME_NAME, knows, view, truth, fit, knowledge)


def no_truth(view: Any, knowledge: Knowledge) -> str | None:
    """Say that what is known of people must come from somewhere."""
    if view.original or knowledge.original is not None:
        return None
    return "nothing is known of the people: give the traces as they came (original=…)"


def truth_of(view: TracesView, knowledge: Knowledge) -> Trajectories:
    """Return the traces as they came, in the plane of the view."""
    truth: Trajectories = read(knowledge.original, shape="trajectories")
    if truth.frame == view.frame:
        return truth
    from dataclasses import replace  # noqa: PLC0415 - used here alone

    x, y = (truth.frame.restore(truth.places[:, axis], axis) for axis in (0, 1))
    return replace(truth, places=view.frame.project(x, y), frame=view.frame)


def _outcome(
    attack: str, knows: str, view: TracesView, truth: Trajectories, fit: Fit, knowledge: Knowledge
) -> Outcome:
    """Try people one by one, and tell how sure the adversary is of a trace that fits."""
    rng = np.random.default_rng(0)  # whom the adversary looks for; nothing of it is released
    people = np.unique(truth.person)
    targets = people if len(people) <= TARGETS else rng.choice(people, TARGETS, replace=False)
    prior = 1.0 / max(int(view.people.sum()), 1)
    sure = np.array([_sureness(fit(int(person), rng), view, prior) for person in targets])
    return Outcome(
        attack=attack, knows=knows, measure="confidence", people=len(targets),
        exposed=int((sure >= knowledge.confidence - NEARLY).sum()), prior=prior,
        posterior=float(sure.max(initial=0.0)), threshold=knowledge.confidence, findings=(),
        remedy=f"{int(1 / knowledge.confidence) + 1}-anonymity",
        figures={"mean confidence": float(sure.mean()) if len(sure) else 0.0},
    )  # fmt: skip


def _sureness(fits: NDArray[np.bool_], view: TracesView, prior: float) -> float:
    if not fits.any():
        return prior
    if view.original:  # people are numbered throughout: trips of one person expose her all the same
        return 1.0 / len(np.unique(view.person[fits[view.alike]]))
    return 1.0 / int(view.people[fits].sum())


def _first_of_groups(view: TracesView) -> NDArray[np.int64]:
    """Return one trace of each group."""
    return np.unique(view.alike, return_index=True)[1].astype(np.int64)


def _rows_of(truth: Trajectories, person: int) -> NDArray[np.int64]:
    return np.flatnonzero(truth.person[truth.owner] == person)


def _at_night(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    of_day = np.mod(times, DAY)
    return (of_day < MORNING) | (of_day >= EVENING)


def _meets(boxes: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.bool_]:
    across = (boxes[:, 0] < low[0] + CELL) & (boxes[:, 1] >= low[0])
    return np.asarray(across & (boxes[:, 2] < low[1] + CELL) & (boxes[:, 3] >= low[1]))
