"""Traces as they are give people away; boxes hold the attackers to one in k."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.attack.places.unicity import observations

BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def people():
    columns = sf.examples.cabs(40, hours=2)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit="person")


def alone(data, cell, seconds, p):
    """Count by brute force: the share of p-subsets that nobody else has, per person."""
    starts, tokens = observations(data, cell, seconds)
    sets = [set(tokens[b:e].tolist()) for b, e in pairwise(starts)]
    shares = []
    for i, mine in enumerate(sets):
        others = sets[:i] + sets[i + 1 :]
        found = [
            not any(set(c) <= other for other in others) for c in combinations(sorted(mine), p)
        ]
        shares.append(np.mean(found))
    return np.mean(shares)


def test_exact_unicity_is_that_of_brute_force(people):
    few = people.select(np.arange(15))
    exact = sf.attack.unicity(few, cell=1500, seconds=1800, exact=True)
    assert exact.points[1] == pytest.approx(alone(few, 1500, 1800, 1))
    assert exact.points[2] == pytest.approx(alone(few, 1500, 1800, 2))


def test_draws_estimate_what_is_counted(people):
    drawn = sf.attack.unicity(people, cell=1000, seconds=3600, draws=400, points=3)
    exact = sf.attack.unicity(people, cell=1000, seconds=3600, exact=True)
    assert drawn.points[1] == pytest.approx(exact.points[1], abs=0.03)
    assert drawn.points[2] == pytest.approx(exact.points[2], abs=0.03)
    assert drawn.points[1] <= drawn.points[2] <= drawn.points[3]
    assert "40 people" in str(drawn)


def test_one_person_is_always_unique_and_copies_never():
    columns = {"person": [1, 1, 2, 2], "x": [0, 900, 0, 900], "y": [0] * 4, "time": [0, 60, 0, 60]}
    data = sf.read(columns, shape="trajectories")
    assert set(sf.attack.unicity(data).points.values()) == {0.0}
    assert set(sf.attack.unicity(data.select(np.array([0]))).points.values()) == {1.0}
    with pytest.raises(sf.errors.ParameterError):
        sf.attack.unicity(data, points=0)
    with pytest.raises(sf.errors.ParameterError):
        sf.attack.unicity(data, cell=0)


@pytest.mark.parametrize("unit", ["trip", "person"])
def test_attacks_succeed_on_traces_as_they_are_and_are_held_to_one_in_k(unit):
    columns = sf.examples.cabs(40, hours=2)
    data = sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit=unit)
    naive = sf.attack.precheck(data, original=data, shape="trajectories")
    shares = [naive.outcome(f"{p} known").share for p in ("1 point", "2 points", "3 points")]
    assert 0 < shares[0] <= shares[1] <= shares[2]
    assert naive.outcome("4 points known").share > 0.95
    assert naive.outcome("order of places").share > 0.3
    release = sf.anonymize(data, sf.KAnonymity(5))
    found = sf.attack.precheck(release)
    assert found.holds
    for attempt in found.tried:
        assert attempt.after.posterior <= 1 / 5 + 1e-9


def test_home_and_work_give_people_away():
    rng = np.random.default_rng(1)
    homes, works = rng.uniform(0, 20_000, (30, 2)), rng.uniform(0, 20_000, (30, 2))
    rows = []
    for person in range(30):
        for day in range(3):
            rows += [(person, *homes[person], day * 86400 + hour * 3600) for hour in (1, 5, 22)]
            rows += [(person, *works[person], day * 86400 + hour * 3600) for hour in (10, 14)]
    columns = dict(
        zip(("person", "x", "y", "time"), map(list, zip(*rows, strict=True)), strict=True)
    )
    data = sf.read(columns, shape="trajectories")
    naive = sf.attack.precheck(data, original=data, shape="trajectories").outcome("home and work")
    assert naive.share > 0.8
    release = sf.anonymize(data, sf.KAnonymity(4), time_bin=3600 * 6)
    assert sf.attack.precheck(release).outcome("home and work").posterior <= 0.25


def test_without_the_truth_nothing_is_tried(people):
    release = sf.anonymize(people, sf.KAnonymity(3))
    found = sf.attack.precheck(release.verify and release, original=None)
    assert found.tried  # a release knows where it came from
