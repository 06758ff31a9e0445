"""Requests as they come: boxes that hold, deadlines that are kept, nothing lost uncounted."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.places.stream_kernel import LARGEST
from sfumato.anonymize.places.stream_settings import MOST_USERS
from sfumato.attack.places.cloaks import sessions_of

BOUNDS = (0, 6000, 0, 6000)


def traffic(n=4000, users=150, seed=0, spread=6000):
    rng = np.random.default_rng(seed)
    return {
        "user": rng.integers(users, size=n),
        "time": np.sort(rng.uniform(0, 1800, n)),
        "x": np.clip(rng.normal(spread / 2, spread / 5, n), 0, 6000),
        "y": np.clip(rng.normal(spread / 2, spread / 5, n), 0, 6000),
    }


@pytest.mark.parametrize("mode", ["eager", "deadline", "marginal"])
def test_every_box_holds_and_every_deadline_is_kept(mode):
    requests = traffic()
    k = np.random.default_rng(1).integers(2, 6, 4000)
    cloaker = sf.places.Cloaker(bounds=BOUNDS, mode=mode, reach=800, wait=60)
    result = cloaker.process(**requests, k=k)
    found = sf.places.verify_stream(requests, result, wait=60)
    assert found.holds, found
    assert result.success > 0.5
    assert cloaker.waiting == 0
    assert cloaker.released + cloaker.dropped == cloaker.arrived == 4000
    assert cloaker.released == result.released.sum()
    assert (result.delay <= 60 + 1e-6).all()


def test_waiting_buys_smaller_boxes():
    requests = traffic()
    found = {
        mode: sf.places.Cloaker(bounds=BOUNDS, mode=mode, reach=800, wait=60).process(**requests)
        for mode in ("eager", "marginal", "deadline")
    }
    assert found["eager"].mean_delay < found["marginal"].mean_delay < found["deadline"].mean_delay
    assert found["eager"].relative_area > found["marginal"].relative_area
    assert found["eager"].relative_area > found["deadline"].relative_area
    assert "dropped" in str(found["eager"])


def test_one_after_the_other_is_the_same_as_all_at_once():
    requests = traffic(600, 40)
    whole = sf.places.Cloaker(bounds=BOUNDS, k=3, mode="eager", reach=800, wait=60)
    result = whole.process(**requests)
    single = sf.places.Cloaker(bounds=BOUNDS, k=3, mode="eager", reach=800, wait=60, capacity=128)
    done = []
    for user, time, x, y in zip(*requests.values(), strict=True):
        done += single.submit(int(user), time=time, x=x, y=y)
    done += single.finish()
    assert sorted(d.request for d in done) == list(range(600))
    boxes = {d.request: d.box for d in done}
    for i in range(600):
        mine = tuple(result.boxes[result.together[i]]) if result.released[i] else None
        assert boxes[i] == pytest.approx(mine) if mine else boxes[i] is None


def test_the_same_user_twice_is_one_user():
    cloaker = sf.places.Cloaker(bounds=BOUNDS, k=2, mode="eager")
    assert cloaker.submit("ann", time=0, x=10, y=10) == []
    assert cloaker.submit("ann", time=1, x=10, y=11) == []
    left = cloaker.submit("bob", time=2, x=12, y=10)
    assert len(left) >= 2
    assert {d.box for d in left} == {left[0].box}


def test_a_lonely_request_is_dropped_at_its_deadline_and_counted():
    cloaker = sf.places.Cloaker(bounds=BOUNDS, k=2, wait=30)
    cloaker.submit("ann", time=0, x=10, y=10)
    assert cloaker.waiting == 1
    assert cloaker.advance(29) == []
    [dropped] = cloaker.advance(31)
    assert dropped.box is None
    assert dropped.moment == pytest.approx(30)
    assert (cloaker.waiting, cloaker.dropped) == (0, 1)


def test_memory_is_bounded():
    cloaker = sf.places.Cloaker(bounds=BOUNDS, k=50, wait=1000, capacity=16)
    for i in range(100):
        cloaker.submit(i, time=float(i), x=10 + 50 * (i % 100), y=10)
    assert cloaker.waiting <= 16
    assert cloaker.dropped >= 84
    cloaker.finish()
    assert cloaker.dropped == 100


def test_what_finds_no_room_is_dropped_and_counted_one_by_one_and_all_at_once():
    requests = traffic(400, 300)
    options = {"bounds": BOUNDS, "k": 6, "reach": 700, "wait": 400, "capacity": 32}
    whole, single = sf.places.Cloaker(**options), sf.places.Cloaker(**options)
    result = whole.process(**requests)
    assert whole.arrived == 400 == whole.released + whole.dropped
    assert sf.places.verify_stream(requests, result, wait=400).holds
    assert (result.delay[~result.released] == 0).any()  # turned away as they came
    assert result.released.sum() == whole.released > 0
    done = []
    for user, time, x, y in zip(*requests.values(), strict=True):
        done += single.submit(int(user), time=time, x=x, y=y)
    done += single.finish()
    assert sorted(d.request for d in done) == list(range(400))
    assert (single.arrived, single.waiting) == (400, 0)


@pytest.mark.parametrize("memory", [False, True])
def test_users_of_whom_nothing_waits_are_forgotten(memory):
    cloaker = sf.places.Cloaker(
        bounds=BOUNDS, k=2, wait=10, mode="eager", capacity=64, memory=memory, session=60
    )
    for i in range(3000):  # pseudonyms that never come back
        cloaker.submit(f"user {i}", time=float(i), x=10, y=10)
    cloaker.finish()
    assert (cloaker.released, cloaker.dropped) == (3000, 0)
    assert len(cloaker._users) <= 200
    assert len(cloaker._state.known) <= 400


def test_memory_holds_though_users_are_numbered_anew():
    rng = np.random.default_rng(9)
    n = 3000
    requests = {
        "user": rng.integers(40, size=n), "time": np.sort(rng.uniform(0, 6000, n)),
        "x": rng.uniform(0, 800, n), "y": rng.uniform(0, 800, n),
    }  # fmt: skip
    options = {"bounds": BOUNDS, "k": 3, "wait": 60, "memory": True, "session": 1e9}
    small = sf.places.Cloaker(**options, capacity=128).process(**requests)
    assert small.success > 0.2
    held = sf.attack.intersection(sessions_of(requests["user"], small.together), k=3)
    assert held.people > 10
    assert held.worst <= 1 / 3 + 1e-9


def test_crowds_larger_than_a_box_is_searched_for():
    assert MOST_USERS == LARGEST
    n = LARGEST + 6
    crowd = {
        "user": np.arange(n), "time": np.arange(n) / 10, "x": np.full(n, 5.0), "y": np.ones(n),
    }  # fmt: skip
    served = sf.places.Cloaker(bounds=BOUNDS, k=LARGEST, mode="eager").process(**crowd)
    assert sf.places.verify_stream(crowd, served, wait=120).holds
    assert served.released.sum() == LARGEST
    # all of one kind: everybody is looked at, and nobody leaves
    same = sf.places.Cloaker(bounds=BOUNDS, k=2, diversity=2, mode="deadline")
    assert same.process(**crowd, place=["clinic"] * n).success == 0.0
    for asked in ({"k": LARGEST + 1}, {"diversity": LARGEST + 1}):
        with pytest.raises(sf.errors.ParameterError, match="at most 64 in a stream"):
            sf.places.Cloaker(bounds=BOUNDS, **asked)


def test_intersection_succeeds_without_memory_and_is_held_to_k_with_it():
    rng = np.random.default_rng(4)
    rounds, users = 6, 60
    home = rng.uniform(500, 5500, (users, 2))
    rows = [
        (u, 100.0 * r + rng.uniform(0, 20), *(home[u] + rng.normal(0, 250, 2)).clip(0, 6000))
        for r in range(rounds)
        for u in range(users)
    ]
    rows.sort(key=lambda row: row[1])
    requests = dict(
        zip(("user", "time", "x", "y"), map(np.array, zip(*rows, strict=True)), strict=True)
    )
    k = 4
    options = {
        "bounds": BOUNDS,
        "k": k,
        "reach": 2500,
        "wait": 60,
        "mode": "deadline",
        "session": 1e6,
    }
    naive = sf.places.Cloaker(**options).process(**requests)
    attacked = sf.attack.intersection(sessions_of(requests["user"], naive.together), k=k)
    assert attacked.success > 0.6
    kept = sf.places.Cloaker(**options, memory=True).process(**requests)
    assert sf.places.verify_stream(requests, kept, wait=60).holds
    assert kept.success > 0.3
    held = sf.attack.intersection(sessions_of(requests["user"], kept.together), k=k)
    assert held.people > 20
    assert held.worst <= 1 / k + 1e-9


def test_places_in_a_box_can_be_asked_to_differ():
    cloaker = sf.places.Cloaker(bounds=BOUNDS, k=2, diversity=2, mode="eager")
    cloaker.submit("ann", time=0, x=10, y=10, place="clinic")
    assert cloaker.submit("bob", time=1, x=11, y=10, place="clinic") == []
    left = cloaker.submit("cy", time=2, x=12, y=10, place="bakery")
    assert len(left) >= 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": 4.0}, "Time goes backwards"),
        ({"x": 7000.0}, "outside the bounds"),
        ({"y": float("nan")}, "no finite number"),
        ({"x": "here"}, "no finite number"),
        ({"k": 0}, "k must be"),
        ({"k": 65}, "at most 64"),
        ({"wait": -1}, "wait must be"),
    ],
)
def test_bad_requests_get_a_sentence(change, message):
    cloaker = sf.places.Cloaker(bounds=BOUNDS, k=2)
    cloaker.submit("ann", time=5, x=1, y=1)
    with pytest.raises(sf.errors.InputError, match=message):
        cloaker.submit("bob", **{"time": 6.0, "x": 1.0, "y": 1.0, **change})


def test_bad_settings_get_a_sentence():
    for options in ({"mode": "soon"}, {"k": 0}, {"reach": 0}, {"bounds": (0, 1)}):
        with pytest.raises(sf.errors.ParameterError):
            sf.places.Cloaker(**{"bounds": BOUNDS, **options})
    with pytest.raises(sf.errors.DataError, match="backwards"):
        sf.places.Cloaker(bounds=BOUNDS).process(user=[1, 2], time=[5, 3], x=[1, 1], y=[1, 1])
    two = {"user": [1, 2], "time": [3, 5], "x": [1, 1], "y": [1, 1]}
    for k in ([2], [2.5, 2.5], [2, 0], [2, 65]):
        with pytest.raises(sf.errors.ParameterError, match="k must be"):
            sf.places.Cloaker(bounds=BOUNDS).process(**two, k=k)


def test_no_request_one_user_and_equal_points():
    def run(**requests):
        return sf.places.Cloaker(bounds=BOUNDS, k=2).process(**requests)

    assert len(run(user=[], time=[], x=[], y=[]).released) == 0
    alone = run(user=["ann"] * 3, time=[1, 1, 2], x=[1, 1, 1], y=[1, 1, 1])
    assert alone.success == 0.0  # three requests are one user
    equal = run(user=["ann", "bob"], time=[1, 1], x=[1, 1], y=[1, 1])
    assert equal.boxes.tolist() == [[1, 1, 1, 1, 1, 1]]
    assert equal.success == 1.0  # each with a single request


def test_the_dial_shows_what_waiting_buys():
    options = {"bounds": BOUNDS, "reach": 800, "wait": 60}
    found = sf.places.measure_dial(traffic(1500), ks=(2, 4), rates=(2000.0,), **options)
    assert [(s.k, s.mode) for s in found[:3]] == [(2, "deadline"), (2, "marginal"), (2, "eager")]
    for k in (2, 4):
        deadline, marginal, eager = (s for s in found if s.k == k)
        assert eager.mean_delay < marginal.mean_delay < deadline.mean_delay
        assert eager.relative_area > deadline.relative_area
    assert found[0].success >= found[3].success  # more company is harder to find
    picture = sf.places.draw_dial(found)
    assert picture.count("<circle") == 6
    assert "k = 4" in picture
    with pytest.raises(sf.errors.ParameterError):
        sf.places.measure_dial(traffic(10), ks=(), **options)
