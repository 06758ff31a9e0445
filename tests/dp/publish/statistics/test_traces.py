"""Statistics of traces: what is counted, what a trip or a user changes at most, and refusals."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.trajectories.trajectories import Frame, Trajectories
from sfumato.dp.neighbours import Person, Trip, Unit
from sfumato.dp.publish.statistics import traces
from sfumato.errors import ParameterError

HUGE = Fraction(10**6)
"""So much ε that noise is nothing, to look at what is counted."""
BOUNDS = (0, 8, 0, 8)


def traces_of(trips, bounds=BOUNDS):
    """Return trips, given as (person, [(x, y, seconds), …]), as reading them would."""
    trips = sorted(trips, key=lambda trip: trip[0])
    names = sorted({who for who, _ in trips})
    points = np.array([point for _, points in trips for point in points], dtype=float)
    frame = Frame(bounds=bounds)
    return Trajectories(
        "made up", np.cumsum([0, *(len(points) for _, points in trips)]), points[:, :2],
        points[:, 2], np.array([names.index(who) for who, _ in trips]), frame,
    )  # fmt: skip


def random_trips(rng, people=4, most=3):
    return [
        (
            f"p{who}",
            [(*rng.uniform(0, 7.99, 2).round(2), 60.0 * i) for i in range(rng.integers(1, 6))],
        )
        for who in range(people)
        for _ in range(rng.integers(1, most + 1))
    ]


TWO = [
    ("ann", [(1, 1, 0), (5, 1, 60), (5, 5, 120)]),
    ("ann", [(1, 1, 600), (1, 7, 660)]),
    ("bob", [(7, 7, 0), (1, 1, 60)]),
]


def ask(statistic, trips, unit=None, **options):
    return statistic.measure(traces_of(trips, **options), unit or Trip(), HUGE).value


def test_traces_are_counted():
    assert ask(traces.Trips(), TWO) == 3
    assert ask(traces.Trips(), TWO, Unit("person", rows=1)) == 2
    assert ask(traces.TripsThrough((4, 8, 0, 2)), TWO) == 1
    assert ask(traces.TripsThrough((0, 2, 0, 2)), TWO) == 3
    assert ask(traces.TripsThrough((0, 2, 0, 2), between=(0, 60)), TWO) == 1
    assert ask(traces.CellVisits(2, most=4), TWO) == [[3, 1], [1, 2]]
    pairs = np.array(ask(traces.TripsBetween(2), TWO))
    assert pairs[0, 3] == pairs[0, 2] == pairs[3, 0] == 1
    assert pairs.sum() == 3


def test_hours_are_those_of_the_first_point():
    data = sf.read(
        {
            "person": ["a", "a", "b"], "trip": [0, 0, 1], "x": [1, 2, 3], "y": [1, 2, 3],
            "time": ["2008-06-08 09:59:00", "2008-06-08 10:30:00", "2008-06-08 23:00:00"],
        },
        shape="trajectories", bounds=BOUNDS, unit="trip",
    )  # fmt: skip
    found = traces.TripsByHour().measure(data, Trip(), HUGE).value
    assert {hour: count for hour, count in enumerate(found) if count} == {9: 1, 23: 1}


def test_cells_are_those_of_brute_force():
    rng = np.random.default_rng(3)
    for _ in range(100):
        trips = random_trips(rng)
        wanted = np.zeros((4, 4), int)
        for _, points in trips:
            for row, column in {(int(y // 2), int(x // 2)) for x, y, _ in points}:
                wanted[row, column] += 1
        assert ask(traces.CellVisits(4, most=16), trips) == wanted.tolist()


@pytest.mark.parametrize("unit", [Trip(), Trip(points=1), Unit("person", rows=2)])
@pytest.mark.parametrize(
    "statistic",
    [
        traces.Trips(),
        traces.TripsThrough((0, 5, 0, 5)),
        traces.CellVisits(3, most=2),
        traces.TripsBetween(2),
    ],
)
def test_a_unit_changes_no_more_than_is_said(statistic, unit, monkeypatch):
    """Others keep what they drew: coins are tied to the trace, as in the proof."""
    rng = np.random.default_rng(8)

    def first_few(owner, most):
        order = np.argsort(owner, kind="stable")
        first = np.searchsorted(owner[order], owner[order])
        return np.sort(order[np.arange(len(order)) - first < most])

    monkeypatch.setattr(traces, "keep", first_few)
    monkeypatch.setattr(traces, "add_noise", lambda value, *_: value)
    most = statistic.sensitivity(unit)
    reached = 0
    for _ in range(100):
        trips = random_trips(rng)
        if isinstance(unit, Unit):
            gone = trips[0][0]
            fewer = [trip for trip in trips if trip[0] != gone]
        else:
            fewer = trips[1:]
        before, after = (np.array(ask(statistic, which, unit)) for which in (trips, fewer))
        moved = int(np.abs(before - after).sum())
        assert moved <= most
        reached = max(reached, moved)
    assert reached == most


def test_a_session_names_the_unit_and_charges(tmp_path):
    data = traces_of(TWO * 30)
    ledger = tmp_path / "ledger.db"
    with sf.Session(data, unit="trip", budget=sf.PureDP(3), ledger=str(ledger)) as session:
        answer = session.ask(sf.dp.queries.CellVisits(2, most=2), epsilon=1)
        assert np.shape(answer.value) == (2, 2)
        assert "one trip" in str(answer)
        assert answer.margin > 0
        assert session.ask(sf.dp.queries.CellVisits(2, most=2), epsilon=1).value == answer.value
        assert session.remaining.epsilon == 2
        words = str(session.estimate(sf.dp.queries.Trips(), epsilon=1, guess=2))
        assert "nothing to use" in words
    unit = sf.dp.Unit("person", rows=2)
    with sf.Session(data, unit=unit, budget=sf.PureDP(1), name="by person") as session:
        assert "at most 2 trips" in json.dumps(session.ask(traces.Trips(), epsilon=1).notes)


@pytest.mark.parametrize(
    ("make", "unit", "message"),
    [
        (lambda: traces.CellVisits(0), Trip(), "cells"),
        (lambda: traces.CellVisits(500), Trip(), "at most 256"),
        (lambda: traces.TripsBetween(20), Trip(), "at most 16"),
        (lambda: traces.TripsThrough((1, 0, 0, 1)), Trip(), "four public numbers"),
        (lambda: traces.TripsThrough((0, 1, 0, 1), between=(5, 5)), Trip(), "earlier one first"),
        (traces.Trips, Unit("person"), "rows=5"),
        (traces.Trips, Person(), "Trip, Unit"),
        (traces.TripsByHour, Trip(), "a date"),
    ],
)
def test_refusals(make, unit, message):
    def whole_question():
        statistic = make()
        statistic.check(unit)
        statistic.measure(traces_of(TWO), unit, Fraction(1))

    with pytest.raises(ParameterError, match=message):
        whole_question()


def test_places_without_public_bounds_are_refused():
    with pytest.raises(ParameterError, match="public bounds"):
        ask(traces.CellVisits(2), TWO, bounds=None)
