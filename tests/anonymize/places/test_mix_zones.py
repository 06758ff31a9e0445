"""Mix zones: batches that leave nothing to match by, and an attacker who tries."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.places.mix_zones import Mixed
from sfumato.attack.places.mixing import naive_batches
from sfumato.data.places.passages import find_passages

pytest.importorskip("scipy")
BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def cabs():
    columns = sf.examples.cabs(150, hours=3, every=20)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS)


@pytest.fixture(scope="module")
def zones(cabs):
    return sf.places.MixZones.learn(cabs, k=3, zones=6, side=600.0)


def test_passages_are_found_where_a_trace_crosses():
    data = sf.read(
        {"person": ["a"] * 3 + ["b"] * 2 + ["c"] * 2, "x": [-10, 5, 5, 0, 20, 3, 4],
         "y": [5, 5, 30, -5, 15, 3, 4], "time": [0, 15, 40, 0, 20, 0, 9]}, shape="trajectories",
    )  # fmt: skip
    found = find_passages(data, np.array([[0.0, 10.0, 0.0, 10.0]]))
    assert len(found) == 2
    first = found.select(found.person == 0)
    assert (first.side_in[0], first.side_out[0]) == (0, 3)  # from the west to the north
    assert first.entered[0] == pytest.approx(10.0)
    assert first.left[0] == pytest.approx(15 + 5)
    second = found.select(found.person == 1)
    assert (second.side_in[0], second.side_out[0]) == (2, 1)
    assert (second.entered[0], second.left[0]) == pytest.approx((5.0, 10.0))


def test_zones_lie_where_traffic_is_and_do_not_touch(cabs, zones):
    assert 3 <= len(zones) <= 6
    assert np.allclose(zones.turns.sum(axis=2)[zones.turns.sum(axis=2) > 0], 1.0)
    assert len(zones.passages(cabs)) > 300


def test_batches_hold_and_nothing_links_across_a_zone(cabs, zones):
    mixed = sf.places.mix(zones, cabs)
    assert isinstance(mixed, Mixed)
    found = sf.places.verify_mixing(mixed, cabs, k=3)
    assert found.holds, found
    assert found.smallest >= 3
    assert mixed.exchanged > mixed.held_back
    assert mixed.exchanged + mixed.held_back == len(mixed.passages)
    assert len(mixed.points) + mixed.suppressed == len(cabs.times)
    assert "held back" in str(mixed)


def test_a_verifier_sees_a_batch_that_is_too_small_and_a_pseudonym_that_is_kept(cabs, zones):
    mixed = sf.places.mix(zones, cabs)
    batch = mixed.batch.copy()
    batch[np.flatnonzero(batch == 0)[0]] = -1
    broken = Mixed(zones, mixed.points, mixed.pseudonym, mixed.passages, batch, mixed.moment, 0)
    assert sf.places.verify_mixing(broken, cabs, k=3).too_small == 1
    kept = Mixed(
        zones, np.column_stack([cabs.places, cabs.times]), cabs.owner, mixed.passages, mixed.batch,
        mixed.moment, 0,
    )  # fmt: skip
    assert sf.places.verify_mixing(kept, cabs, k=3).linked > 100


def test_timing_and_history_succeed_on_a_naive_zone_and_are_held_to_one_in_k_on_ours(cabs, zones):
    passages = zones.passages(cabs)
    habits = sf.attack.Habits.learn(passages, len(zones))  # the attacker has seen everything
    naive = naive_batches(passages, 3)
    for by, least in (("timing", 0.5), ("turns", 0.40), ("both", 0.55)):
        found = sf.attack.match_exits(passages, naive, passages.left, habits, by=by)
        assert found.success > least, (by, found)
        assert found.succeeds
    batch, moment = zones.batch(passages)
    for by in ("timing", "turns", "both"):
        found = sf.attack.match_exits(passages, batch, moment, habits, by=by)
        assert not found.succeeds, (by, found)
    turns = sf.attack.exit_entropies(passages, batch, moment, habits, by="turns")
    np.testing.assert_allclose(turns, np.log2(3))
    assert sf.attack.exit_entropies(passages, naive, passages.left, habits).mean() < 1.2


def test_only_zones_that_hold_are_kept(zones):
    success = [1 / 3] * (len(zones) - 1) + [0.9]
    assert len(sf.places.keep_valid(zones, success)) == len(zones) - 1


def test_who_waits_too_long_is_held_back(cabs):
    quick = sf.places.MixZones.learn(cabs, k=3, zones=4, side=600.0, max_delay=1.0)
    mixed = sf.places.mix(quick, cabs)
    assert mixed.held_back > mixed.exchanged
    assert sf.places.verify_mixing(mixed, cabs, k=3).holds


def test_a_map_is_drawn_and_bad_input_gets_a_sentence(cabs, zones):
    picture = sf.places.draw_zones(zones, cabs)
    assert picture.startswith("<svg")
    assert picture.count("<rect") == len(zones) + 1
    with pytest.raises(sf.errors.Unsatisfiable, match="151"):
        sf.places.MixZones.learn(cabs, k=151)
    with pytest.raises(sf.errors.ParameterError):
        sf.places.MixZones.learn(cabs, k=2, side=0)
    one = sf.read({"person": ["a"], "x": [0.0], "y": [0.0], "time": [1]}, shape="trajectories")
    with pytest.raises(sf.errors.Unsatisfiable):
        sf.places.MixZones.learn(one, k=1)
