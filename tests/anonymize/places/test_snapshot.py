"""Boxes for everybody at one moment: k users each, reciprocal, whatever the places are."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.places.orders import hilbert_index

RECIPROCAL = ("auto", "best", "kd", "hilbert", "grid")


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(3)
    centres = rng.uniform(0, 10_000, (6, 2))
    return centres[rng.integers(6, size=1500)] + rng.normal(0, 300, (1500, 2))


@pytest.mark.parametrize("method", RECIPROCAL)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_every_box_is_shared_and_does_not_depend_on_who_asks(places, method, k):
    def again(user):
        # the same users, given in another order, with `user` first
        order = np.roll(np.arange(len(places)), -user)
        return sf.places.cloak(places[order], k=k, method=method, people=order).boxes[0]

    made = sf.places.cloak(places, k=k, method=method)
    assert made.reciprocal
    found = sf.places.verify_cloaks(places, made.boxes, k=k, again=again, samples=6)
    assert found.holds, found
    assert found.smallest >= k
    sizes = np.bincount(made.group)
    assert sizes.min() >= k


def test_each_user_has_her_own_k(places):
    k = np.random.default_rng(0).choice([2, 5, 30], len(places), p=[0.6, 0.35, 0.05])
    for method in RECIPROCAL:
        made = sf.places.cloak(places, k=k, method=method)
        assert sf.places.verify_cloaks(places, made.boxes, k=k).holds, method


def test_boxes_are_as_large_as_asked_for(places):
    least = np.where(np.arange(len(places)) % 50 == 0, 250_000.0, 0.0)
    made = sf.places.cloak(places, k=5, min_area=least)
    assert (made.areas >= least - 1e-3).all()
    assert sf.places.verify_cloaks(places, made.boxes, k=5).holds
    assert sf.places.cloak(np.zeros((8, 2)), k=4, min_area=100).areas.min() >= 100


def test_equal_places_and_few_users():
    same = np.ones((7, 2))
    for method in RECIPROCAL:
        made = sf.places.cloak(same, k=3, method=method)
        assert sf.places.verify_cloaks(same, made.boxes, k=3).holds
    assert len(sf.places.cloak(np.zeros((0, 2)), k=1)) == 0
    with pytest.raises(sf.errors.Unsatisfiable, match="there are 7"):
        sf.places.cloak(same, k=8)
    with pytest.raises(sf.errors.Unsatisfiable):
        sf.places.cloak([[1.0, 2.0]], k=2)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([[1.0, np.nan]], {}, "no finite coordinates .the first is number 1"),
        ([1.0, 2.0], {}, "rows of two numbers"),
        ([["a", "b"]], {}, "rows of two numbers"),
        ({"a": [1]}, {}, "columns x and y"),
        ([[1.0, 2.0], [3.0, 4.0]], {"people": ["ann", "ann"]}, "two places at one moment"),
        ([[1.0, 2.0], [3.0, 4.0]], {"people": ["ann"]}, "1 people were named for 2"),
        ({"lon": [200.0], "lat": [1.0]}, {}, "beyond 180"),
        ([[1.0, 2.0]], {"k": 0}, "k must be"),
        ([[1.0, 2.0]], {"k": [1, 2]}, "one for each of 1"),
        ([[1.0, 2.0]], {"k": 1, "method": "hilbret"}, "Did you mean 'hilbert'"),
        ([[1.0, 2.0]], {"k": 1, "min_area": -1}, "square metres"),
    ],
)
def test_bad_input_gets_a_sentence(points, options, message):
    with pytest.raises(sf.errors.InputError, match=message):
        sf.places.cloak(points, **options)


def test_degrees_come_back_as_degrees():
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-122.5, -122.4, 50), rng.uniform(37.7, 37.8, 50)
    made = sf.places.cloak({"lon": lon, "lat": lat}, k=5).columns()
    assert ((made["lon_low"] <= lon + 1e-9) & (lon <= made["lon_high"] + 1e-9)).all()
    assert ((made["lat_low"] <= lat + 1e-9) & (lat <= made["lat_high"] + 1e-9)).all()


def test_the_hilbert_curve_visits_every_cell_by_steps_of_one():
    side = 16
    cells = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
    order = np.argsort(hilbert_index(cells.astype(float) * (65535 / 15)))
    steps = np.abs(np.diff(cells[order], axis=0)).sum(axis=1)
    assert (steps == 1).all()


def test_what_is_not_reciprocal_says_so_and_fails(places):
    for method in ("casper", "nearest"):
        made = sf.places.cloak(places, k=6, method=method)
        assert not made.reciprocal
        assert "NOT" in repr(made)
        inside = (
            (places >= made.boxes[:, [0, 2]] - 1e-6) & (places <= made.boxes[:, [1, 3]] + 1e-6)
        ).all()
        assert inside
        for i in range(0, len(places), 97):  # the box holds k users, and that is not enough
            x0, x1, y0, y1 = made.boxes[i] + [-1e-6, 1e-6, -1e-6, 1e-6]
            held = (
                (places[:, 0] >= x0)
                & (places[:, 0] <= x1)
                & (places[:, 1] >= y0)
                & (places[:, 1] <= y1)
            )
            assert held.sum() >= 6
        assert not sf.places.verify_cloaks(places, made.boxes, k=6).holds


def test_attacks_succeed_on_naive_boxes_and_are_held_to_one_in_k_on_ours(places):
    naive = sf.places.cloak(places, k=5, method="nearest").boxes
    assert sf.attack.who_asked(naive, k=5).succeeds
    assert sf.attack.centre_of_box(places, naive, k=5).success > 0.4
    for method in ("kd", "grid", "hilbert"):
        ours = sf.places.cloak(places, k=5, method=method).boxes
        asked = sf.attack.who_asked(ours, k=5)
        assert not asked.succeeds
        assert asked.worst <= 1 / 5
        centre = sf.attack.centre_of_box(places, ours, k=5)
        assert not centre.succeeds, centre
    assert "fails" in str(asked)


def test_a_verifier_sees_every_fault(places):
    boxes = sf.places.cloak(places, k=5).boxes.copy()
    boxes[7] += 1000
    found = sf.places.verify_cloaks(places, boxes, k=5)
    assert found.outside >= 1 <= found.too_small
    with pytest.raises(sf.errors.PromiseBroken):
        found.raise_if_broken()
    people = np.arange(len(places)) % 2
    made = sf.places.cloak(places, k=5)
    assert not sf.places.verify_cloaks(places, made.boxes, k=5, people=people).holds
    assert sf.places.verify_cloaks(places, made.boxes, k=5, again=lambda _: (0, 1, 0, 1)).changed
