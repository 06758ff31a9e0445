"""Top-k: laws by enumeration, sensitivities of every neighbour, thresholds, and the goals."""

from __future__ import annotations

import gzip
import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.dp.noise import insecure_seeded
from sfumato.dp.publish.topk import itemsets, kernels, union
from sfumato.dp.publish.topk.baskets import baskets_of
from sfumato.dp.publish.topk.peeling import peel
from sfumato.dp.publish.topk.union import cutoff
from sfumato.dp.publish.topk.weights import UNIT, cut, threshold, weigh
from sfumato.errors import DataError, ParameterError
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square

RNG = np.random.default_rng(3)
TRANSACTIONS = Path(__file__).resolve().parents[4] / "shared/data/transactions"


def random_baskets(count, items, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.choice(items, rng.integers(0, 6), replace=False).tolist() for _ in range(count)]


# -- baskets -------------------------------------------------------------------------------------


def test_baskets_are_sets_of_public_items():
    read = baskets_of([["b", "a", "b"], "a", None, [], ["z", None, []]], domain=["a", "b", "c"])
    assert read.supports().tolist() == [2, 1, 0]
    assert sorted(read.sizes.tolist()) == [1, 2]
    numbers = baskets_of([[3, 1, 3], [7], (1,), {9}], domain=8)
    assert numbers.supports().tolist() == [0, 2, 0, 1, 0, 0, 0, 1]
    single = baskets_of(np.array([4, 4, 2]), domain=[2, 4])
    assert single.supports().tolist() == [1, 2]


def test_the_baskets_of_a_person_are_put_together():
    read = baskets_of([["a"], ["a", "b"], ["b"]], domain=["a", "b"], people=["x", "x", "y"])
    assert read.supports().tolist() == [1, 2]
    assert baskets_of({"x": ["a"], "y": ["a", "b"]}, domain=["a", "b"]).supports().tolist() == [
        2,
        1,
    ]
    with pytest.raises(DataError, match="one name for each basket"):
        baskets_of([["a"]], domain=["a"], people=["x", "y"])


def test_counts_agree_with_counter_on_random_baskets():
    for seed in range(5):
        baskets = random_baskets(60, 9, seed)
        found = baskets_of(baskets, domain=9).supports()
        counted = Counter(item for basket in baskets for item in set(basket))
        assert found.tolist() == [counted[item] for item in range(9)]


# -- the law of peeling --------------------------------------------------------------------------


def sequences(counts, picks, rate):
    """The exact law: sampling without replacement with weights exp(rate·count)."""
    law = {}
    for chosen in itertools.permutations(range(len(counts)), picks):
        left = {i: math.exp(rate * c) for i, c in enumerate(counts)}
        chance = 1.0
        for pick in chosen:
            chance *= left.pop(pick) / (sum(left.values()) + math.exp(rate * counts[pick]))
        law[chosen] = chance
    return law


@pytest.mark.parametrize("counts", [(3, 3, 1, 0, 0), (5, 4, 3, 2, 1), (0, 0, 0, 0)], ids=str)
def test_peeling_by_groups_follows_the_law_of_peeling(counts):
    rate = Fraction(1, 2)
    with insecure_seeded(4):
        seen = Counter(tuple(peel(np.array(counts), 2, rate).tolist()) for _ in range(1_500))
    assert chi_square(sequences(counts, 2, 0.5), seen, 1_500) > FALSE_ALARM


def test_peeling_is_as_private_as_it_says_by_enumeration():
    """Exact laws for all neighbours of one count vector: pure loss ≤ k·ε₀, and bounded range."""
    rate, picks = 0.7, 2
    base = (2, 1, 1, 0)
    before = sequences(base, picks, rate)
    for added in itertools.product((0, 1), repeat=4):
        after = sequences(tuple(a + b for a, b in zip(base, added, strict=True)), picks, rate)
        losses = [math.log(after[s] / before[s]) for s in before]
        assert max(map(abs, losses)) <= picks * rate + 1e-12
        raised = tuple(map(sum, zip(base, added, strict=True)))
        single = [sequences(counts, 1, rate) for counts in (raised, base)]
        first = [math.log(single[0][s] / single[1][s]) for s in single[0]]
        assert max(first) - min(first) <= rate + 1e-12  # of one pick the range, not only the size
        square = sum(after[s] * math.log(after[s] / before[s]) for s in before)
        assert square <= picks * rate**2 / 8 + 1e-12  # the zCDP bound at order 1


def test_scores_that_are_not_monotone_would_break_the_bound():
    """Why the 2 may be dropped: with changes in both directions the same rate costs more."""
    rate = 0.7
    before, after = sequences((1, 1), 1, rate), sequences((2, 0), 1, rate)
    assert max(abs(math.log(after[s] / before[s])) for s in before) > 0.9 * rate
    worse = sequences((1, 1) + (0,) * 6, 1, rate), sequences((2, 0) + (0,) * 6, 1, rate)
    assert max(worse[0][s] / worse[1][s] for s in worse[0]) < math.exp(2 * rate)


# -- weights and thresholds ----------------------------------------------------------------------


@pytest.mark.parametrize("typical", [1, 3, 5])
def test_a_basket_of_any_size_has_bounded_weights(typical):
    for size in (1, 2, 3, 4, 7, 50, 1_000):
        added = weigh(baskets_of([list(range(size))], domain=1_000), typical).astype(object)
        assert (added**2).sum() <= typical * UNIT * UNIT
        assert added.max() <= UNIT


def test_removing_any_basket_moves_the_weights_by_its_own():
    baskets = random_baskets(12, 8, 7)
    whole = weigh(baskets_of(baskets, domain=8), 2)
    for i in range(len(baskets)):
        less = weigh(baskets_of(baskets[:i] + baskets[i + 1 :], domain=8), 2)
        assert ((whole - less).astype(object) ** 2).sum() <= 2 * UNIT * UNIT


def test_baskets_are_cut_at_random_and_by_themselves():
    read = baskets_of([list(range(10)), [1, 2], list(range(5))])
    seen = Counter()
    for _ in range(300):
        short = cut(read, 3)
        assert short.sizes.tolist() == [3, 2, 3]
        seen.update(short.items[:3].tolist())
    assert len(seen) == 10
    assert min(seen.values()) > 40


def test_own_items_of_one_basket_pass_the_threshold_as_rarely_as_promised():
    from scipy.stats import norm

    failure = Fraction(1, 1_000)
    tau = threshold(3.0 * UNIT, 20, 5, failure) / UNIT
    for size in range(1, 21):
        weight = min(1.0, math.sqrt(5 / size))
        assert size * norm.sf((tau - weight) / 3.0) <= float(failure) * (1 + 1e-6)
    tau = cutoff(4.0, 20, failure)
    for size in range(1, 21):
        assert size * norm.sf((tau - 1 / math.sqrt(size)) / 4.0) <= float(failure) * (1 + 1e-6)


def test_one_basket_moves_the_heights_by_at_most_one_wherever_it_comes():
    rng = np.random.default_rng(1)
    for trial in range(60):
        baskets = [rng.choice(7, rng.integers(1, 5), replace=False).tolist() for _ in range(9)]
        goal = float(rng.uniform(0.3, 4.0))
        whole = baskets_of(baskets, domain=7)
        order = rng.permutation(9)
        full = np.zeros(7)
        kernels.move_toward(whole.starts, whole.items, order, goal, full)
        gone = trial % 9
        less = np.zeros(7)
        kernels.move_toward(whole.starts, whole.items, order[order != gone], goal, less)
        assert np.sqrt(((full - less) ** 2).sum()) <= 1 + 1e-12
        assert full.max() <= goal


def test_set_union_names_what_many_have_and_nothing_that_one_has():
    words = [["flu", "fever"]] * 300 + [[f"name {i}"] for i in range(300)]
    found = sf.dp.set_union(words, epsilon=1, delta=1e-6)
    assert found.items == ("fever", "flu")
    assert found.guarantee.epsilon == 1.0
    assert "2 items" in str(found)
    assert len(sf.dp.set_union([], epsilon=1, delta=1e-6)) == 0


# -- itemsets ------------------------------------------------------------------------------------


def test_supports_of_sets_are_those_of_brute_force():
    baskets = random_baskets(200, 7, 5)
    read = baskets_of(baskets, domain=7)
    found = itemsets.combine(read, np.array([5, 0, 3, 6]), 3)
    held = [set(basket) for basket in baskets]
    assert found.supports.size == 4 + 6 + 4
    names = set()
    for number in range(found.supports.size):
        items = found.members(number)
        names.add(items)
        assert found.supports[number] == sum(set(items) <= basket for basket in held)
    assert len(names) == found.supports.size


def test_supports_that_are_released_shrink_with_the_set():
    sets = [(1,), (2,), (1, 2), (1, 2, 3)]
    settled = itemsets.settle_supports(sets, np.array([10.0, -3.0, 12.0, 11.0]))
    assert settled.tolist() == [10.0, 0.0, 0.0, 0.0]


# -- accounting and the claim --------------------------------------------------------------------

WAYS = [
    {"epsilon": 0.4}, {"epsilon": 0.4, "counts": True}, {"rho": 0.3, "algorithm": "gaussian"},
    {"rho": 0.3, "counts": True}, {"rho": 0.3, "set_size": 3}, {"epsilon": 0.4, "set_size": 2},
    {"rho": 0.3, "set_size": 3, "counts": True},
]  # fmt: skip


@pytest.mark.parametrize("noise", ["none", "huge", "negative", "alternating"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_entries_add_up_to_the_budget_whatever_the_noise(adversarial, noise, way):
    adversarial(noise)
    found = sf.dp.top_k(random_baskets(50, 60), 45 if "set_size" in way else 3, items=60, **way)
    total = Fraction(str(way.get("epsilon", way.get("rho"))))
    assert sum(entry.cost for entry in found.entries) == total


def test_nothing_but_released_numbers_decides_the_candidates(recorded, replayed):
    first, second = random_baskets(400, 60, 1), random_baskets(3, 60, 2)
    with recorded() as kept:
        sf.dp.top_k(first, 5, items=60, rho=0.5, algorithm="gaussian")
    found = []
    for baskets in (first, second):
        with replayed(kept):
            found.append(sf.dp.top_k(baskets, 5, items=60, rho=0.5, algorithm="gaussian").items)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("way", "claim"),
    [
        ({"epsilon": 1}, sf.PureDP(1.0, neighbours="transaction")),
        ({"epsilon": 1, "counts": True}, sf.PureDP(1.0, neighbours="transaction")),
    ],
    ids=str,
)
@audited
def test_the_claim_is_not_refuted(way, claim, refuted):
    def ask(records):
        found = sf.dp.top_k(records, 2, items=["a", "b", "c"], **way)
        return found.items if found.counts is None else (found.items, *found.counts.tolist())

    pairs = [([], [["a", "b"]]), ([["c"]], [["c"], ["a", "b", "c"]])]
    assert not refuted(ask, claim, pairs)


@audited
def test_peeling_with_the_whole_budget_for_each_pick_is_refuted(refuted):
    """The common mistake: ε for each of k picks, instead of ε/k."""

    def won(records):
        counts = np.array([len(records)] * 5 + [0] * 5)  # a basket holds the first five items
        return set(peel(counts, 5, Fraction(3)).tolist()) == set(range(5))

    claim = sf.PureDP(3.0, neighbours="transaction")
    assert refuted(won, claim, [([], [list("abcde")])], runs=1_000)


# -- use -----------------------------------------------------------------------------------------


def test_the_way_is_told_before_it_is_paid_for():
    small = sf.dp.plan_top_k(100, items=16_470, epsilon=0.1, delta=1e-6)
    assert small.algorithm == "gaussian"
    large = sf.dp.plan_top_k(50, items=16_470, epsilon=1, delta=1e-6)
    assert large.algorithm == "peeling"
    assert large.resolution < small.resolution
    pure = sf.dp.plan_top_k(50, items=16_470, epsilon=1)
    assert "ε/50" in str(pure)
    assert sf.dp.plan_top_k(50, items=None, epsilon=1, delta=1e-6).algorithm == "gaussian"
    assert sf.dp.plan_top_k(50, items=900, epsilon=1, delta=1e-6, set_size=3).items == 36_050
    found = sf.dp.top_k([["a"]] * 50, 1, items=["a", "b"], epsilon=1)
    assert str(found.plan) == str(sf.dp.plan_top_k(1, items=2, epsilon=1))


def test_what_noise_decides_is_said():
    poor = [
        sf.dp.top_k([["a"]] * 5, 3, items=list("abcd"), epsilon=0.1, counts=True) for _ in range(20)
    ]
    assert any("noise decides" in told for found in poor for told in found.notes)
    rich = sf.dp.top_k([["a", "b", "c"]] * 9_000, 3, items=list("abcd"), epsilon=1, counts=True)
    assert not rich.notes
    assert rich.counts == pytest.approx([9_000] * 3, abs=300)
    few = sf.dp.top_k([["a"]] * 500, 3, epsilon=1, delta=1e-6)
    assert few.items == ("a",)
    assert "Only 1 items" in few.notes[0]


def test_pictures_and_words():
    found = sf.dp.top_k([["a", "b"]] * 500, 2, items=list("abc"), epsilon=1, counts=True)
    assert found.picture().count('class="above"') == 2
    assert "a (" in str(found)
    assert "not paid for" in sf.dp.top_k([["a"]], 1, items=["a", "b"], epsilon=1).picture()
    pairs = sf.dp.top_k([["a", "b"]] * 500, 3, items=list("abc"), epsilon=9, set_size=2)
    assert "a, b" in pairs.picture()


BAD = [
    {"k": 0}, {"k": 1.5}, {"k": 9}, {"epsilon": None}, {"epsilon": 0}, {"algorithm": "magic"},
    {"set_size": 4}, {"items": None}, {"items": []}, {"items": ["a", "a"]}, {"items": "abc"},
    {"items": 0}, {"basket_size": 0}, {"algorithm": "gaussian"},
    {"items": None, "delta": 1e-6, "algorithm": "peeling"}, {"items": None, "set_size": 2},
    {"items": None, "delta": 1e-6, "neighbours": "bounded"},
]  # fmt: skip


@pytest.mark.parametrize("given", BAD, ids=str)
def test_bad_parameters_are_refused_in_a_sentence(given):
    whole = {"k": 2, "epsilon": 1, "items": ["a", "b", "c"], **given}
    with pytest.raises((ParameterError, DataError)) as caught:
        sf.dp.top_k([["a"]], **whole)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("given", [{"at_most": 51}, {"delta": 0}, {"neighbours": "bounded"}])
def test_set_union_refuses_what_is_not_proved(given):
    with pytest.raises(ParameterError):
        sf.dp.set_union([["a"]], **{"epsilon": 1, "delta": 1e-6, **given})


# -- the goals, on real transactions -------------------------------------------------------------


@pytest.mark.real_data
def test_bms1_reaches_its_rows():
    file = TRANSACTIONS / "BMS1.dat.gz"
    if not file.exists():
        pytest.skip(f"{file} is absent")
    with gzip.open(file, "rt") as lines:
        baskets = [[int(item) for item in line.split()] for line in lines]
    domain = sorted({item for basket in baskets for item in basket})
    read = baskets_of(baskets, domain=domain)
    best = {domain[i] for i in np.argsort(-read.supports(), kind="stable")[:50]}
    with insecure_seeded(1):
        found = [sf.dp.top_k(read, 50, items=domain, epsilon=1, delta=1e-6).items for _ in range(4)]
        named = sf.dp.set_union(baskets, epsilon=1, delta=1e-6)
    assert np.mean([len(best & set(items)) / 50 for items in found]) >= 0.95
    assert len(named) >= 355


# -- words that nobody has listed, looked at from outside ---------------------------------------


def named(records):
    """What set union says of a word that some records have, and of one that they all have."""
    found = sf.dp.set_union([["rare"] if r else ["common"] for r in records], epsilon=1, delta=0.1)
    return "rare" in found.items, "common" in found.items


RARE = [([0] * 4, [0] * 4 + [1]), ([1] * 6, [1] * 7)]


@audited
def test_the_claim_of_set_union_is_not_refuted(refuted):
    assert not refuted(named, sf.ApproxDP(1, 0.1), RARE, samples=2_000)


@audited
def test_set_union_without_its_threshold_is_refuted(monkeypatch, refuted):
    monkeypatch.setattr(union, "cutoff", lambda *_: 0.3)  # whatever occurs is named
    monkeypatch.setattr(union, "gaussian_sigma_up", lambda *_: 0.2)
    assert refuted(named, sf.ApproxDP(1, 0.1), RARE, samples=2_000)


def test_sets_that_were_read_are_baskets():
    # b is in more baskets than c, or either might be picked; at ε = 400 noise changes nothing
    baskets = [["a", "b"], ["a"], ["a", "c"], ["a", "b"]] * 30
    read = sf.read(baskets, shape="sets")
    people = list(range(60)) * 2
    for options in ({}, {"people": people}):
        found = sf.dp.top_k(read, 2, items=["a", "b", "c"], epsilon=400, counts=True, **options)
        plain = sf.dp.top_k(baskets, 2, items=["a", "b", "c"], epsilon=400, counts=True, **options)
        assert found.items == plain.items
        assert found.counts.tolist() == plain.counts.tolist()
    assert set(sf.dp.set_union(read, epsilon=50, delta=1e-6).items) == {"a", "b", "c"}
