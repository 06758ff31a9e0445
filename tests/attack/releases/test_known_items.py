"""Attacks with known items against brute force, and before and after a release."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sfumato as sf

NAMES = [f"i{n}" for n in range(7)]


def random_sets(rng, count=18):
    return [list(rng.choice(NAMES, size=rng.integers(1, 6), replace=False)) for _ in range(count)]


def fewest(sets, members, m):
    known = [c for size in range(1, m + 1) for c in combinations(sorted(members), size)]
    return min(sum(set(c) <= set(other) for other in sets) for c in known)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_whoever_is_left_with_one_set_is_found(m):
    rng = np.random.default_rng(m)
    for _ in range(60):
        sets = random_sets(rng)
        outcome = sf.attack.known_items(sets, m=m)
        expected = [fewest(sets, members, m) for members in sets]
        assert outcome.exposed == sum(left == 1 for left in expected)
        assert outcome.figures["fewest sets left"] == min(expected)
        for finding in outcome.findings:
            shown = set(finding.evidence["items"])
            assert len(shown) <= m
            assert sum(shown <= set(other) for other in sets) == 1


def surest(sets, members, m, barred=()):
    best = 0.0
    for secret in set(members) - set(barred):
        rest = sorted(set(members) - {secret})
        for size in range(m + 1):
            for known in combinations(rest, size):
                having = [other for other in sets if set(known) <= set(other)]
                best = max(best, sum(secret in other for other in having) / len(having))
    return best


@pytest.mark.parametrize("m", [1, 2])
def test_items_that_follow_are_learnt(m):
    rng = np.random.default_rng(10 + m)
    for _ in range(40):
        sets = random_sets(rng)
        outcome = sf.attack.item_inference(sets, m=m, confidence=0.75, gain=0.001)
        assert outcome.posterior == pytest.approx(max(surest(sets, s, m) for s in sets))
        assert outcome.exposed <= sum(surest(sets, s, m) >= 0.75 - 1e-9 for s in sets)
        assert sf.attack.item_inference(sets, m=m, items=["nothing"]).exposed == 0


def test_absences_rule_sets_out():
    sets = [["a", "b"], ["a", "b", "c"], ["a", "b", "c"], ["a", "b", "c"]]
    assert sf.attack.known_items(sets, m=2).exposed == 0
    outcome = sf.attack.known_absences(sets, m=2, absent=1)
    assert outcome.exposed == 1  # who bought no c
    assert outcome.findings[0].posterior == 1


def test_a_release_stops_what_it_promises_to_stop():
    rng = np.random.default_rng(3)
    data = sf.read(random_sets(rng, 60), shape="sets", hierarchy=2)
    release = sf.anonymize(data, sf.KmAnonymity(3, m=2))
    found = sf.attack.precheck(release, absent=1)
    attempts = {attempt.name: attempt for attempt in found.tried}
    assert attempts["known items"].verdict in {"stopped", "fails"}
    assert "known items and absences" in attempts
    whole = sf.anonymize(data, sf.KAnonymity(3))
    checked = sf.attack.precheck(whole, absent=3, known=3)
    assert not [a.name for a in checked.tried if a.after.succeeds and "inference" not in a.name]


def test_two_huge_baskets_do_not_stop_an_attack():
    huge = [str(i) for i in range(3000)]
    sets = [huge, [*huge, "x"], *[["1", "2"]] * 9]
    outcome = sf.attack.known_items(sets, m=2)
    assert outcome.exposed == 1  # whoever has the x


def test_of_no_sets_nobody_is_found():
    assert sf.attack.known_items([]).exposed == 0
    assert sf.attack.item_inference([], items=["a"]).exposed == 0
