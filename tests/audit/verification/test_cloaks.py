"""Cloaks checked by code that shares nothing with the cloaking: every fault in a copy is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf

BOUNDS = (0, 6000, 0, 6000)
KINDS = np.array(["clinic", "bakery", "school"], dtype=object)


@pytest.fixture(scope="module")
def requests():
    rng = np.random.default_rng(5)
    n = 900
    return {
        "user": rng.integers(30, size=n),
        "time": np.sort(rng.uniform(0, 2400, n)),
        "x": rng.uniform(0, 1500, n),
        "y": rng.uniform(0, 1500, n),
        "k": rng.integers(2, 4, n),
        "reach": rng.choice([900.0, 1400.0], n),
        "wait": rng.choice([20.0, 90.0], n),
        "place": KINDS[rng.integers(3, size=n)],
    }


@pytest.fixture(scope="module")
def made(requests):
    cloaker = sf.places.Cloaker(
        bounds=BOUNDS, mode="deadline", diversity=2, memory=True, session=500
    )
    return cloaker.process(**requests)


def check(requests, result, **options):
    return sf.places.verify_stream(requests, result, **{"diversity": 2, "session": 500, **options})


def test_each_user_has_her_own_k_reach_and_wait(requests, made):
    found = check(requests, made)
    assert found.holds, found
    assert made.success > 0.2
    left = made.released
    assert made.delay[left & (requests["wait"] == 20.0)].max() <= 20 + 1e-6
    assert made.delay[left & (requests["wait"] == 90.0)].max() > 20
    # one maximum for all finds no fault where the impatient were kept waiting
    slow = replace(made, moment=made.moment + 40, delay=made.delay + 40)
    assert check(requests, slow, wait=200).late == 0
    assert check(requests, slow).late > 0


def test_a_box_beyond_what_one_of_its_users_tolerates_is_found(requests, made):
    assert check({**requests, "reach": np.full(900, 300.0)}, made).far > 0
    wider = made.boxes + np.array([-2000, 2000, -2000, 2000, 0, 0])
    assert check(requests, replace(made, boxes=wider)).far == made.released.sum()


def test_places_that_are_too_much_alike_are_found(requests, made):
    member = np.flatnonzero(made.together == made.together[made.released][0])
    place = requests["place"].copy()
    place[member] = "clinic"
    found = check({**requests, "place": place}, made)
    assert found.alike == len(member)
    assert "places too much alike" in str(found)
    place[member] = None  # nothing known of a place is no kind of place
    assert check({**requests, "place": place}, made).alike == len(member)
    with pytest.raises(sf.errors.ParameterError, match="labels="):
        check({name: column for name, column in requests.items() if name != "place"}, made)


def test_boxes_that_intersect_in_too_few_users_are_found(requests, made):
    naive = sf.places.Cloaker(bounds=BOUNDS, mode="deadline").process(**requests)
    with pytest.raises(sf.errors.ParameterError, match="without memory"):
        check(requests, naive, diversity=1)
    linked = replace(naive, since=np.where(naive.released, 0.0, np.nan))  # all of a user's
    found = check(requests, linked, diversity=1)
    assert found.linked > 100
    assert "leave too few users" in str(found)
    with pytest.raises(sf.errors.PromiseBroken):
        found.raise_if_broken()
    left = made.released
    sessions = set(zip(requests["user"][left], made.since[left], strict=True))
    assert 30 < len(sessions) < 0.6 * left.sum()  # they end, and most have several boxes
    assert check(requests, made, session=None).linked == 0


def test_a_pseudonym_that_changes_too_early_is_found(requests, made):
    each = replace(made, since=made.moment)  # another with every box
    assert check(requests, each).linked > 0
    assert check(requests, made, session=3000).linked > 0


def test_one_user_moved_to_another_box_is_found(requests, made):
    boxes = made.together.copy()
    first = np.flatnonzero(made.released)[0]
    boxes[first] = boxes[made.released].max()
    found = check(requests, replace(made, together=boxes))
    assert found.outside >= 1
    assert not found.holds
    with pytest.raises(sf.errors.DataError, match="900 requests"):
        check(requests, replace(made, released=made.released[1:]))


def test_one_after_the_other_tells_sessions_too(requests, made):
    cloaker = sf.places.Cloaker(
        bounds=BOUNDS, mode="deadline", diversity=2, memory=True, session=500
    )
    done = []
    for i in range(200):
        asked = {name: column[i].item() if hasattr(column[i], "item") else column[i]
                 for name, column in requests.items()}  # fmt: skip
        done += cloaker.submit(asked.pop("user"), **asked)
    assert any(d.box for d in done)
    for d in done:
        assert (d.since is None) == (d.box is None)
        if d.box is not None:
            assert d.since == made.since[d.request]


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(3)
    return rng.uniform(0, 3000, (300, 2))


def test_boxes_smaller_than_asked_for_are_found(places):
    least = np.where(np.arange(300) % 10 == 0, 90_000.0, 0.0)
    made = sf.places.cloak(places, k=3, min_area=least)
    assert sf.places.verify_cloaks(places, made.boxes, k=3, min_area=least).holds
    small = sf.places.cloak(places, k=3)
    found = sf.places.verify_cloaks(places, small.boxes, k=3, min_area=least)
    assert found.narrow > 0
    assert not found.holds
    assert "smaller than asked for" in str(found)
    with pytest.raises(sf.errors.ParameterError, match="one for each of 300"):
        sf.places.verify_cloaks(places, made.boxes, k=3, min_area=[1.0])


@pytest.mark.parametrize("method", ["best", "kd", "hilbert", "grid"])
def test_boxes_of_one_kind_of_place_are_found_and_merged(places, method):
    kinds = KINDS[(places[:, 0] // 1000).astype(int)]  # a quarter of the town for each
    kinds[::7] = None
    naive = sf.places.cloak(places, k=4, method=method)
    found = sf.places.verify_cloaks(places, naive.boxes, k=4, diversity=2, labels=kinds)
    assert found.alike > 100

    def again(user):
        order = np.roll(np.arange(300), -user)
        return sf.places.cloak(
            places[order], k=4, method=method, people=order, diversity=2, labels=kinds[order]
        ).boxes[0]

    made = sf.places.cloak(places, k=4, method=method, diversity=2, labels=kinds)
    assert made.reciprocal
    found = sf.places.verify_cloaks(
        places, made.boxes, k=4, diversity=2, labels=kinds, again=again, samples=4
    )
    assert found.holds, found
    assert found.boxes > 5  # not everybody in one
