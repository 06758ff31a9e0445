"""Mix zones: batches that leave nothing to match by, and an attacker who tries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.places.mix_zones import Mixed
from sfumato.attack.places.mixing import naive_batches
from sfumato.data.places.passages import Passages, find_passages

pytest.importorskip("scipy")
BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture(scope="module")
def cabs():
    columns = sf.examples.cabs(150, hours=3, every=20)
    return sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS)


@pytest.fixture(scope="module")
def zones(cabs):
    return sf.places.MixZones.learn(cabs, k=3, zones=6, side=600.0)


@pytest.fixture(scope="module")
def mixed(cabs, zones):
    return sf.places.mix(zones, cabs)


@pytest.fixture(scope="module")
def in_time(cabs, zones):
    return sf.places.mix(replace(zones, late=False), cabs)


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


@pytest.mark.parametrize("late", [True, False])
def test_batches_hold_and_nothing_links_across_a_zone(cabs, mixed, in_time, late):
    mixed = mixed if late else in_time
    assert isinstance(mixed, Mixed)
    found = sf.places.verify_mixing(mixed, cabs, k=3)
    assert found.holds, found
    assert found.smallest >= 3
    assert mixed.exchanged > mixed.held_back
    assert mixed.exchanged + mixed.held_back == len(mixed.passages)
    assert len(mixed.points) + mixed.suppressed == len(cabs.times)
    assert "held back" in str(mixed)


def test_a_verifier_sees_a_batch_that_is_too_small_and_a_pseudonym_that_is_kept(cabs, mixed):
    batch = mixed.batch.copy()
    batch[np.flatnonzero(batch == 0)[0]] = -1
    assert sf.places.verify_mixing(replace(mixed, batch=batch), cabs, k=3).too_small == 1
    points = np.column_stack([cabs.places, cabs.times])
    kept = replace(mixed, points=points, pseudonym=cabs.owner)
    assert sf.places.verify_mixing(kept, cabs, k=3).linked > 100
    hasty = mixed.points.copy()
    hasty[:, 2] -= 1.0  # a second before it may be shown
    assert sf.places.verify_mixing(replace(mixed, points=hasty), cabs, k=3).linked > 100


def test_late_reports_begin_at_one_moment_and_stay_late_by_what_was_waited(cabs, mixed):
    late = mixed.late[mixed.batch >= 0]
    assert (late > 0).all()
    assert mixed.mean_lateness == pytest.approx(late.mean())
    shown = {(x, y) for x, y, _ in mixed.points.tolist()}
    for p in np.flatnonzero(mixed.batch >= 0)[:50].tolist():
        trace = cabs.trace(int(mixed.passages.trace[p]))
        behind = trace[(trace[:, 2] >= mixed.passages.left[p])]
        if len(behind):  # what others lose between leaving and the moment is shown here
            assert tuple(behind[0, :2].tolist()) in shown
    # whoever enters the next zone is seen there late
    again = mixed.seen.entered - mixed.passages.entered
    assert (again >= 0).all()
    assert (again > 0).any()


def test_timing_and_history_succeed_on_a_naive_zone_and_are_held_to_one_in_k_on_ours(cabs, zones):
    passages = zones.passages(cabs)
    habits = sf.attack.Habits.learn(passages, len(zones))  # the attacker has seen everything
    naive = naive_batches(passages, 3)
    for by, least in (("timing", 0.5), ("turns", 0.40), ("both", 0.55)):
        found = sf.attack.match_exits(passages, naive, passages.left, habits, by=by)
        assert found.success > least, (by, found)
        assert found.succeeds
    for played in (zones.exchange(passages), replace(zones, late=False).exchange(passages)):
        seen = played.passages, played.batch, played.moment
        for by in ("timing", "turns", "both", "within", "last"):
            found = sf.attack.match_exits(*seen, habits, by=by)
            assert not found.succeeds, (by, found)
    turns = sf.attack.exit_entropies(*seen, habits, by="turns")
    np.testing.assert_allclose(turns, np.log2(3))
    assert sf.attack.exit_entropies(passages, naive, passages.left, habits).mean() < 1.2


def split_by_hours(traces, parts):
    hour = np.floor(traces.times[traces.starts[:-1]] / 600).astype(int)
    return [traces.select(np.flatnonzero(hour % parts == part)) for part in range(parts)]


def made_passages(rng, batches):
    """Entries through one side of one zone; who leaves to the east needs 20 s, to the north 200."""
    entered = np.arange(4 * batches) * 60.0
    out = np.where(rng.random(4 * batches) < 0.5, 1, 3)
    took = np.where(out == 1, 20.0, 200.0) * rng.uniform(0.9, 1.1, 4 * batches)
    nothing = np.zeros(4 * batches, np.int64)
    return Passages(
        trace=np.arange(4 * batches), person=np.arange(4 * batches), box=nothing, side_in=nothing,
        side_out=out, entered=entered, left=entered + took,
    )  # fmt: skip


def test_a_moment_that_is_the_last_exit_tells_and_one_that_entries_decide_does_not():
    past, later = (made_passages(np.random.default_rng(seed), 150) for seed in (1, 2))
    habits = sf.attack.Habits.learn(past, 1)
    zones = sf.places.MixZones(
        np.array([[0.0, 400.0, 0.0, 400.0]]), habits.turns, np.array([230.0]), 4, 900.0
    )
    played = zones.exchange(later)
    batch, moment = played.batch, played.moment
    assert (batch >= 0).all()
    by_exit = np.array([later.left[batch == b].max() for b in batch.tolist()])
    found = sf.attack.match_exits(later, batch, by_exit, habits, by="last")
    assert found.succeeds, found
    for by in ("within", "last", "both"):
        held = sf.attack.match_exits(later, batch, moment, habits, by=by)
        assert not held.succeeds, (by, held)
    entered = np.sort(later.entered.reshape(-1, 4).max(axis=1))
    np.testing.assert_allclose(np.unique(moment), entered + 230.0)  # whoever turned where


def test_a_batch_with_somebody_still_inside_is_held_back_as_a_whole():
    later = made_passages(np.random.default_rng(3), 20)
    slow = np.full(1, 100.0)
    zones = sf.places.MixZones(np.array([[0.0, 1.0, 0.0, 1.0]]), np.ones((1, 4, 4)), slow, 4, 900.0)
    played = zones.exchange(later)
    batch, moment = played.batch, played.moment
    assert (batch < 0).any()
    for number in range(batch.max() + 1):
        assert (batch == number).sum() == 4
    assert (moment >= later.left)[batch >= 0].all()


def test_zones_learnt_on_some_hours_hold_on_others(cabs):
    learnt, judged, held_out = split_by_hours(cabs, 3)
    zones = sf.places.MixZones.learn(learnt, k=3, zones=6, side=600.0)
    decided = sf.attack.try_zones(zones, learnt, judged)
    assert len(decided.by_zone) == len(decided.exits) == len(zones)
    good = sf.places.keep_valid(zones, decided.by_zone, slack=0.2)
    assert 1 <= len(good) <= len(zones)
    for by in ("both", "within", "last"):
        measured = sf.attack.try_zones(good, learnt, held_out, by=by)
        assert measured.people > 50
        assert not measured.succeeds, (by, measured)


def test_without_delay_timing_succeeds_and_the_result_says_so(cabs):
    zones = sf.places.MixZones.learn(cabs, k=3, zones=6, side=600.0, waits=False)
    mixed = sf.places.mix(zones, cabs)
    assert sf.places.verify_mixing(mixed, cabs, k=3).holds
    assert mixed.mean_delay == 0
    assert "without delay" in str(mixed)
    assert sf.attack.try_zones(zones, cabs, cabs, by="timing").succeeds
    assert not sf.attack.try_zones(zones, cabs, cabs, by="turns").succeeds


def test_who_is_farther_away_when_reports_begin_again_is_known_unless_reports_stay_late(
    cabs, mixed, in_time
):
    found = sf.attack.match_reappearances(in_time, cabs)
    assert found.people > 100
    assert found.succeeds, found
    assert "can be matched" in str(in_time)
    held = sf.attack.match_reappearances(mixed, cabs)
    assert held.people > 300
    assert not held.succeeds, held
    assert "late on average" in str(mixed)


def test_a_late_exchange_is_the_plain_one_where_nobody_meets_two_zones():
    later = made_passages(np.random.default_rng(5), 40)
    zones = sf.places.MixZones(
        np.array([[0.0, 1.0, 0.0, 1.0]]), np.ones((1, 4, 4)), np.array([150.0]), 4, 200.0
    )
    late, plain = zones.exchange(later), replace(zones, late=False).exchange(later)
    np.testing.assert_array_equal(late.batch >= 0, plain.batch >= 0)
    mixed = plain.batch >= 0
    assert 0 < mixed.sum() < len(mixed)
    np.testing.assert_allclose(late.moment[mixed], plain.moment[mixed])
    np.testing.assert_allclose(late.late[mixed], (plain.moment - later.left)[mixed])


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
    assert picture.count("<text") == len(zones) + 1  # each has its number, and the scale its length
    with pytest.raises(sf.errors.Unsatisfiable, match="151"):
        sf.places.MixZones.learn(cabs, k=151)
    with pytest.raises(sf.errors.ParameterError):
        sf.places.MixZones.learn(cabs, k=2, side=0)
    one = sf.read({"person": ["a"], "x": [0.0], "y": [0.0], "time": [1]}, shape="trajectories")
    with pytest.raises(sf.errors.Unsatisfiable):
        sf.places.MixZones.learn(one, k=1)


def test_a_page_shows_zones_evidence_and_attacks(cabs, zones, mixed, tmp_path):
    page = sf.places.write_zone_report(tmp_path / "zones.html", mixed, cabs, past=cabs).read_text()
    assert "Exchange among 3 people holds" in page
    assert page.count('class="after"') == 1
    for zone in range(len(zones)):
        assert f'<th scope="row">{zone + 1}</th>' in page
    for told in ("turns and travel times", "by distance when reports begin again", "33.3 %"):
        assert told in page
    assert "http" not in page.replace("http-equiv", "")
    naive = sf.places.mix(replace(zones, waits=False, late=False), cabs)
    told = sf.places.write_zone_report(tmp_path / "naive.html", naive, cabs, past=cabs).read_text()
    assert "Without delay: whoever knows how long people take can match them" in told
    assert "succeeds" in told
    broken = replace(mixed, pseudonym=np.zeros_like(mixed.pseudonym))  # all under one name
    told = sf.places.write_zone_report(tmp_path / "b.html", broken, cabs, past=cabs).read_text()
    assert "does not hold" in told
