"""Samples of generalised rows: δ is exact, groups are public, and broken copies are caught."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.noise.uniform import bernoulli
from sfumato.dp.publish.generalized import excess, plan_sample
from sfumato.dp.tradeoff import Pair
from sfumato.errors import ParameterError

TREE = sf.Hierarchy.from_rows([("a", "vowel", "*"), ("e", "vowel", "*"), ("b", "other", "*")])


def law(size, least, share):
    """What is shown of a group of so many rows: its count from k on, or nothing."""
    masses = [math.comb(size, j) * share**j * (1 - share) ** (size - j) for j in range(size + 1)]
    shown = {j: mass for j, mass in enumerate(masses) if j >= least}
    return shown | {None: sum(masses[:least], Fraction(0))}


@pytest.mark.parametrize(("least", "share", "epsilon"), [
    (3, Fraction(1, 4), 1), (5, Fraction(1, 2), 1), (2, Fraction(1, 20), Fraction(1, 10)),
    (8, Fraction(3, 10), Fraction(1, 2)),
])  # fmt: skip
def test_delta_is_the_worst_over_all_groups(least, share, epsilon):
    """Every pair of neighbouring groups up to a size is compared, outcome by outcome."""
    stated = excess(least, share, Fraction(epsilon))
    found = [
        Pair.of(law(size, least, share), law(size - 1, least, share)).delta(epsilon)
        for size in range(1, 60)
    ]
    assert max(found) <= float(stated) * (1 + 1e-12)  # which was rounded up
    assert max(found) == pytest.approx(float(stated), rel=1e-9)


def test_beyond_the_largest_share_no_k_helps():
    share, least = Fraction(9, 10), 40  # 1 − e^(−1) is 0.63
    pair = Pair.of(law(41, least, share), law(40, least, share))
    assert pair.delta(1) > 1e-3


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1, 1e-6), (2, 1e-9), (10, 1e-5)])
def test_a_plan_keeps_its_promise_with_the_least_k(epsilon, delta):
    plan = plan_sample(epsilon=epsilon, delta=delta)
    assert plan.share <= 1 - math.exp(-epsilon)
    assert plan.delta <= delta
    assert excess(plan.least - 1, plan.share, Fraction(str(epsilon))) > delta


def test_groups_are_counts_of_generalised_rows_of_a_sample():
    people = {"letter": ["a"] * 4000 + ["e"] * 3000 + ["b"] * 2000 + ["?"] * 1000 + ["b"]}
    release = sf.dp.count_generalized(
        people, {"letter": 1}, epsilon=1, delta=1e-6, hierarchies={"letter": TREE}
    )
    plan = sf.dp.plan_sample(epsilon=1, delta=1e-6)
    shown = dict(zip(release.data["letter"], release.data["count"], strict=True))
    assert set(shown) == {"vowel", "other", "*"}
    for label, size in (("vowel", 7000), ("other", 2001), ("*", 1000)):
        spread = math.sqrt(size * float(plan.share))
        assert shown[label] == pytest.approx(size * float(plan.share), abs=6 * spread)
    assert str(release.promise).startswith("approximate differential privacy")


def test_small_groups_are_left_out_and_nothing_looks_like_no_rows(tmp_path):
    plan = sf.dp.plan_sample(epsilon=1, delta=1e-6)
    few = {"letter": ["a"] * (plan.least - 1)}
    assert sf.dp.count_generalized(few, {"letter": 0}, epsilon=1, delta=1e-6).data["count"] == []
    (tmp_path / "none.csv").write_text("letter\n")
    none = sf.dp.count_generalized(tmp_path / "none.csv", {"letter": 0}, epsilon=1, delta=1e-6)
    assert none.data["count"] == []


def test_a_release_is_saved_and_verified(tmp_path):
    release = sf.dp.count_generalized({"x": ["a"] * 500}, {"x": 0}, epsilon=1, delta=1e-6)
    release.save(tmp_path / "out")
    assert "count" in (tmp_path / "out" / "release.csv").read_text()


@pytest.mark.parametrize(("levels", "said"), [
    ({"y": 0}, "no column"), ({"x": 1}, "stated beforehand"), ({"x": -1}, "whole number"),
    ({"x": True}, "whole number"),
])  # fmt: skip
def test_bad_levels_are_told(levels, said):
    with pytest.raises(ParameterError, match=said):
        sf.dp.count_generalized({"x": ["a"]}, levels, epsilon=1, delta=1e-6)


def test_a_level_above_the_root_and_rules_that_look_at_values_are_refused():
    with pytest.raises(ParameterError, match="levels 0 to 2"):
        sf.dp.count_generalized(
            {"x": ["a"]}, {"x": 3}, epsilon=1, delta=1e-6, hierarchies={"x": TREE}
        )
    schema = sf.Schema(quasi={"x": sf.Hierarchy.frequency()})
    with pytest.raises(ParameterError, match="look at the values"):
        sf.dp.count_generalized({"x": ["a"]}, {"x": 1}, epsilon=1, delta=1e-6, schema=schema)


def test_people_with_several_rows_are_refused():
    schema = sf.Schema(quasi=["x"], identifiers=["who"], unit="who")
    with pytest.raises(ParameterError, match="one row"):
        sf.dp.count_generalized(
            {"x": ["a"], "who": ["1"]}, {"x": 0}, epsilon=1, delta=1e-6, schema=schema
        )


@pytest.mark.parametrize("price", [
    {"epsilon": 0, "delta": 1e-6}, {"epsilon": -1, "delta": 1e-6}, {"epsilon": 1, "delta": 0},
    {"epsilon": math.inf, "delta": 1e-6}, {"epsilon": 1, "delta": 1}, {"epsilon": 99, "delta": 0.1},
])  # fmt: skip
def test_bad_prices_are_told(price):
    with pytest.raises(ParameterError):
        sf.dp.plan_sample(**price)


def shown_count(least, share):
    """A function for the checker: what is shown of the one group that rows can be in."""

    def run(data, count):
        kept = bernoulli(share, count * max(len(data), 1)).reshape(count, -1)[:, : len(data)]
        totals = kept.sum(axis=1)
        return np.where(totals >= least, totals, -1)

    return run


def test_the_checker_refutes_a_k_that_is_too_small_and_not_the_right_one():
    plan = sf.dp.plan_sample(epsilon=1, delta=0.01)
    promise = sf.ApproxDP(1, 0.01)
    worst = [1] * round(plan.least / float(1 - (1 - plan.share) * Fraction(math.exp(-1))))
    options = {"batched": True, "samples": 200_000}
    right, wrong = shown_count(plan.least, plan.share), shown_count(1, plan.share)
    for pair in ((worst, worst[1:]), ([1], [])):
        assert not sf.audit.check(right, promise, pairs=[pair], **options).refuted
    assert sf.audit.check(wrong, promise, pairs=[([1], [])], **options).refuted
