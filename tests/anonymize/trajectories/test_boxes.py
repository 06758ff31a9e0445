"""Boxes that k people share: nothing unprotected, nobody counted twice, no better exchange left."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.trajectories.grouping_kernel import exchange, group_greedily
from sfumato.anonymize.trajectories.microaggregation import group_traces, mean_sides
from sfumato.anonymize.trajectories.resampling import Positions, along_the_way, at_moments

BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def cabs():
    columns = sf.examples.cabs(40, hours=2)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS)


def test_every_trip_shares_its_boxes_with_k_people(cabs):
    release = sf.anonymize(cabs, sf.KAnonymity(4))
    assert release.suppressed == 0
    assert len(release.artefact) == len(cabs)
    columns = release.data
    rows = np.column_stack(
        [columns[c].astype(np.float64) for c in columns if c not in {"trace", "person"}]
    )
    people = defaultdict(set)
    for trace in np.unique(columns["trace"]):
        mine = columns["trace"] == trace
        people[rows[mine].tobytes()].add(int(columns["person"][mine][0]))
    assert min(map(len, people.values())) >= 4
    assert release.verify().holds


def test_boxes_hold_the_positions_of_their_members(cabs):
    release = sf.anonymize(cabs, sf.KAnonymity(3), places=5)
    plan = release.decision.content
    at = along_the_way(cabs, 5)
    boxes, spans = plan.boxes.reshape(len(cabs), 5, 4), plan.spans.reshape(len(cabs), 5, 2)
    assert (boxes[:, :, 0] <= at.places[:, :, 0] + 1e-6).all()
    assert (boxes[:, :, 1] >= at.places[:, :, 0] - 1e-6).all()
    assert (boxes[:, :, 2] <= at.places[:, :, 1] + 1e-6).all()
    assert (boxes[:, :, 3] >= at.places[:, :, 1] - 1e-6).all()
    assert ((spans[:, :, 0] <= at.times + 1e-6) & (spans[:, :, 1] >= at.times - 1e-6)).all()
    # the written degrees hold them, too
    lon = cabs.frame.restore(at.places[:, :, 0], 0)
    assert release.data["lon_low"].min() <= lon.min() + 1e-9
    assert release.data["lon_high"].max() >= lon.max() - 1e-9


def test_edges_lie_on_the_public_grid_not_on_anybody(cabs):
    plan = sf.anonymize(cabs, sf.KAnonymity(3), metres=50.0, seconds=300.0).decision.content
    bounds = cabs.frame.plane_bounds
    for side, edge in enumerate(bounds):  # beyond the bounds nothing is shown
        inner = plan.boxes[:, side][np.abs(plan.boxes[:, side] - edge) > 1e-9]
        assert len(inner) > len(plan.boxes) / 2
        np.testing.assert_allclose(inner / 50.0, np.round(inner / 50.0), atol=1e-9)
    np.testing.assert_allclose(plan.spans % 300.0, 0.0)


def test_people_as_units_are_shown_at_fixed_moments():
    columns = sf.examples.cabs(40, hours=2)
    people = sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit="person")
    release = sf.anonymize(people, sf.KAnonymity(5), time_bin=600)
    assert release.verify().holds
    assert len(release.artefact) == 40
    spans = release.decision.content.spans
    np.testing.assert_allclose(np.diff(spans, axis=1), 600)
    np.testing.assert_allclose(spans % 600, 0)
    with pytest.raises(sf.errors.ParameterError, match="pieces"):
        sf.anonymize(people, sf.KAnonymity(5), time_bin=1)


def brute_force(features, k):
    """Return the least cost over all divisions into groups of at least k."""

    def divide(left):
        if len(left) < k:
            return np.inf if left else 0.0
        first, rest = left[0], left[1:]
        best = np.inf
        for size in range(k, len(left) + 1):
            for others in combinations(rest, size - 1):
                group = [first, *others]
                price = np.ptp(features[group], axis=0).sum() * size
                if price < best:
                    best = min(best, price + divide([i for i in rest if i not in others]))
        return best

    return divide(list(range(len(features))))


def cost(features, group):
    """Return the sum over traces of the ranges of their group."""
    return sum(
        np.ptp(features[group == g], axis=0).sum() * (group == g).sum() for g in np.unique(group)
    )


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_near_the_best_there_are(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(0, 1, (9, 3)).astype(np.float32)
    person = np.arange(9)
    found = group_greedily(features, person, 3)
    before = cost(features, found)
    exchange(features, person, found, 3, 3, 50, 2)
    assert np.bincount(found).min() >= 3
    best = brute_force(features, 3)
    assert best - 1e-3 <= cost(features, found) <= before + 1e-4
    assert cost(features, found) <= 1.35 * best


@pytest.mark.parametrize("long", [0, 1])
def test_boxes_of_a_long_town_are_about_square(long):
    rng = np.random.default_rng(2)
    places = rng.normal(0, 1000, (120, 6, 2)).cumsum(axis=1)
    places[:, :, long] *= 1.4
    times = np.tile(np.arange(6) * 600.0, (120, 1))
    found = group_traces(
        Positions(places, times, spread=False, bin=600.0), np.arange(120), 4, speed=2.0
    )
    assert np.bincount(found).min() >= 4
    flat = places.reshape(120, 12)
    width, height = mean_sides(flat, found)
    ranges = np.array([np.ptp(places[found == g], axis=0).mean(axis=0) for g in found])
    np.testing.assert_allclose((width, height), ranges.mean(axis=0))
    plain = group_greedily(flat.astype(np.float32), np.arange(120), 4)
    exchange(flat.astype(np.float32), np.arange(120), plain, 30, 4, 60, 20)
    wide, high = mean_sides(flat, plain)
    assert max(width, height) < max(wide, high)
    assert abs(np.log(width / height)) < abs(np.log(wide / high))


def test_trips_of_one_person_do_not_make_a_group():
    rng = np.random.default_rng(5)
    features = rng.normal(0, 1, (60, 4)).astype(np.float32)
    features[:30] *= 0.01  # thirty trips of one person in one place
    person = np.concatenate([np.zeros(30, np.int64), 1 + np.arange(30) % 7])
    found = group_greedily(features, person, 4)
    exchange(features, person, found, int(found.max()) + 1, 4, 30, 8)
    for group in range(int(found.max()) + 1):
        assert len(set(person[found == group])) >= 4


def test_resampling_keeps_the_ends_and_stands_still():
    data = sf.read(
        {"person": ["a"] * 3 + ["b"] * 2 + ["c"], "x": [0, 10, 10, 5, 5, 7], "y": [0.0] * 6,
         "time": [0, 10, 30, 0, 60, 9]}, shape="trajectories",
    )  # fmt: skip
    at = along_the_way(data, 3)
    np.testing.assert_allclose(at.places[0, :, 0], [0, 5, 10])
    np.testing.assert_allclose(at.times[0, :2], [0, 5])
    np.testing.assert_allclose(at.places[1, :, 0], 5)
    np.testing.assert_allclose(at.times[1], [0, 30, 60])
    np.testing.assert_allclose(at.places[2, :, 0], 7)
    moments = at_moments(data, 20)
    np.testing.assert_allclose(moments.places[0, :, 0], [10, 10, 10, 10])
    assert moments.times[0, 0] == 10


def test_promises_that_cannot_be_kept_are_refused(cabs):
    with pytest.raises(sf.errors.Unsatisfiable, match="41 people who look alike"):
        sf.anonymize(cabs, sf.KAnonymity(41))
    one = sf.read({"person": ["a"], "x": [0.0], "y": [0.0], "time": [1]}, shape="trajectories")
    with pytest.raises(sf.errors.Unsatisfiable, match="are those of 1"):
        sf.anonymize(one, sf.KAnonymity(2))
    with pytest.raises(sf.errors.ParameterError, match="names attributes"):
        sf.anonymize(cabs, sf.KAnonymity(2, on=("lon",)))
    with pytest.raises(sf.errors.ParameterError, match="unit='person'"):
        sf.anonymize(cabs, sf.KmAnonymity(2, m=2))
    with pytest.raises(sf.errors.ParameterError):
        sf.anonymize(cabs, sf.TCloseness(0.2, "x"))


def test_equal_points_are_boxed():
    same = {"person": list("abcdef"), "x": [1.0] * 6, "y": [2.0] * 6, "time": [5] * 6}
    release = sf.anonymize(sf.read(same, shape="trajectories"), sf.KAnonymity(3))
    assert release.verify().holds
    assert (release.data["x_high"] > release.data["x_low"]).all()


def test_the_order_of_a_release_tells_nothing(cabs):
    first = sf.anonymize(cabs, sf.KAnonymity(3), seed=1).data["lon_low"]
    second = sf.anonymize(cabs, sf.KAnonymity(3), seed=2).data["lon_low"]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(np.sort(first), np.sort(second))


@pytest.mark.real_data
def test_the_cabs_of_san_francisco_reach_the_goal(san_francisco):
    trips = san_francisco(hours=(8, 12), unit="trip")
    trips = trips.select(np.flatnonzero(trips.sizes >= 3))
    assert len(trips) == 6116
    release = sf.anonymize(trips, sf.KAnonymity(5))
    facts = release.provenance.record.facts
    assert facts["mean width of a box (m)"] < 1100 > facts["mean height of a box (m)"]
    assert release.verify().holds


@pytest.mark.real_data
@pytest.mark.scale
def test_whole_days_of_cabs_reach_the_goal(san_francisco):
    people = san_francisco(hours=(8, 12), unit="person")
    release = sf.anonymize(people, sf.KAnonymity(5), time_bin=600)
    facts = release.provenance.record.facts
    assert facts["mean width of a box (m)"] + facts["mean height of a box (m)"] < 6600
    assert release.verify().holds


def test_steps_that_nobody_could_make_are_counted():
    rows = [(p, 0.0, 0.0, 0) for p in "abc"] + [(p, 90_000.0, 0.0, 60) for p in "abc"]
    columns = dict(
        zip(("person", "x", "y", "time"), map(list, zip(*rows, strict=True)), strict=True)
    )
    data = sf.read(columns, shape="trajectories", gap=600)
    release = sf.anonymize(data, sf.KAnonymity(3), places=2)
    assert release.provenance.record.facts["steps nobody could make"] == 3
