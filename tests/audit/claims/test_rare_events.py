"""Violations that are rare, small, of many dimensions or of other records, and their bounds."""

import math

import numpy as np
import pytest
from chance import false_alarm, rounds, seeds
from specimens import Specimens, on_grid

import sfumato as sf
from sfumato.audit.claims.evidence.additive import learn_additive
from sfumato.audit.claims.evidence.ends import Ends
from sfumato.audit.claims.evidence.events import choose_among
from sfumato.audit.claims.evidence.scores import Value
from sfumato.audit.claims.excess import excess_epsilon, log_excess_tail
from sfumato.audit.claims.outputs import read
from sfumato.audit.claims.promises import Bound
from sfumato.dp.normal import gaussian_sigma_up

PURE = sf.PureDP(1.0)


def check(func, claim=PURE, **options):
    return sf.audit.check(func, claim, batched=True, seed=1, **options)


# -- rare events --------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [1e-3, 3e-3])
def test_an_exact_answer_that_comes_once_in_a_thousand_runs(probability):
    rng = np.random.default_rng(1)

    def slip(data, n):
        noisy = on_grid(len(data) + rng.laplace(0, 1, n))
        return np.where(rng.random(n) < probability, len(data) + 0.123, noisy)

    verdict = check(slip, samples=200_000)
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > 1.5


def test_an_exact_answer_is_seen_when_runs_come_one_by_one():
    rng = np.random.default_rng(2)

    def slip(data):
        return len(data) + (0.0 if rng.random() < 3e-3 else rng.laplace(0, 1))

    verdict = sf.audit.check(slip, PURE, arithmetic="real", samples=20_000, seed=2)
    assert verdict.refuted


def test_uniform_noise_is_refuted_at_its_ends():
    rng = np.random.default_rng(3)
    verdict = check(lambda d, n: len(d) + rng.uniform(-1000, 1000, n), arithmetic="real")
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > 2


@seeds(3, few=1)
def test_few_samples_of_uniform_noise_are_enough(seed):
    """One output in two thousand tells; 200,000 runs see it a hundred times."""
    rng = np.random.default_rng(1 + seed)
    verdict = check(lambda d, n: len(d) + rng.integers(-1000, 1001, n), samples=200_000)
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > 2


@pytest.mark.parametrize("delta", [1e-3, pytest.param(1e-5, marks=pytest.mark.soak)])
def test_a_gaussian_whose_noise_is_a_fifth_too_small(delta):
    right = gaussian_sigma_up(1, delta, 1)
    s = Specimens(4)
    claim = sf.ApproxDP(1.0, delta)
    verdict = check(s.gaussian_count(0.8 * right), claim)
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > 1
    assert not check(s.gaussian_count(1.001 * right), claim, samples=300_000).refuted


@rounds(2, 4)
def test_a_sparse_vector_that_also_releases_values_over_five_answers(rounds):
    """Few samples, and none of the draws may miss it or show hardly more than was claimed."""
    options = {"inputs": "answers", "size": 5, "arithmetic": "real", "samples": 200_000}
    shown = []
    for seed in range(1, rounds + 1):
        broken = Specimens(seed).sparse_vector(3, 1.0)
        verdict = sf.audit.check(broken, PURE, batched=True, seed=seed, **options)
        assert verdict.refuted
        shown.append(verdict.epsilon_lower_bound)
    assert np.mean(shown) > 1.25


# -- records ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exact", "other"),
    [
        (sum, 10),
        (lambda d: 1000 * (max(d, default=0) > 500), 1000),
        (lambda d: 5 * sum(x < 0 for x in d), -1),
        (lambda d: 5 * sum(x != int(x) for x in d), 0.5),
        (lambda d: sum(len(x) for x in d if isinstance(x, str)), "a longer text"),
        (lambda d: sum(np.size(x) for x in d) * 2 - len(d), (1, 1)),
    ],
    ids=["10", "1000", "-1", "0.5", "text", "tuple"],
)
def test_wider_records_that_would_refute_are_told_apart_from_the_verdict(exact, other):
    rng = np.random.default_rng(6)
    func = lambda d: on_grid(exact(d) + rng.laplace(0, 1))  # noqa: E731
    verdict = sf.audit.check(func, PURE, samples=2_000, seed=6)
    assert not verdict.refuted
    assert verdict.records == (0, 1)
    assert "records 0, 1" in str(verdict)
    wider = verdict.wider
    assert wider is not None, str(verdict)
    assert wider.epsilon_lower_bound > 1
    kinds = {type(record) for record in wider.first + wider.second}
    assert type(other) in kinds
    assert "with others it falls" in verdict.headline
    assert "With wider records: D = " in str(verdict)
    verdict.require()


def test_records_that_were_named_and_functions_not_made_for_others_are_left_alone():
    rng = np.random.default_rng(7)
    count = lambda d: on_grid(len(d) + rng.laplace(0, 1))  # noqa: E731
    assert sf.audit.check(count, PURE, samples=2_000, seed=7).wider is None
    total = lambda d: on_grid(sum(d) + rng.laplace(0, 1))  # noqa: E731
    named = sf.audit.check(total, PURE, records=[0, 1], samples=2_000, seed=7)
    assert named.wider is None
    assert named.records == (0, 1)
    assert sf.audit.check(total, PURE, pairs=[([0], [0, 1])], samples=1_000).records is None

    def bits_only(data):
        if any(record not in (0, 1) for record in data):
            raise ValueError("bits only")
        return on_grid(sum(data) + rng.laplace(0, 1))

    assert sf.audit.check(bits_only, PURE, samples=2_000, seed=7).wider is None


def test_wider_records_for_a_deterministic_function():
    verdict = sf.audit.check(lambda d: any(x > 5 for x in d), PURE)
    assert not verdict.refuted
    assert verdict.wider.certain
    assert 10 in verdict.wider.first + verdict.wider.second


# -- a budget of time -----------------------------------------------------------------------


def test_seconds_are_a_budget_that_is_used_to_sharpen_the_bound():

    pairs = [([0, 1], [0])]
    quick = check(Specimens(8).laplace_count(2.0), pairs=pairs)
    # how many runs there are depends on the machine, so no seed keeps the bound from failing
    sure = {"confidence": 1 - 1e-10, "seconds": 3}
    long = check(Specimens(8).laplace_count(2.0), pairs=pairs, **sure)
    false_alarm(1e-10)
    assert quick.refuted
    assert long.refuted
    assert quick.epsilon_lower_bound < long.epsilon_lower_bound <= 2
    assert long.calls > 5 * quick.calls


def test_what_came_a_few_times_is_measured_but_does_not_rank_a_pair():
    """Seven runs against two look like ε = 1.2, and 13,000 against 10,000 are worth more."""
    often, seldom = 1.0, 2.0
    ends = Ends(
        Value(), np.array([often, seldom]), above=True, first=np.array([13_000.0, 7.0]),
        second=np.array([10_000.0, 2.0]), runs=(100_000, 100_000),
    )  # fmt: skip
    options = {"runs": 10**7, "cautions": (0.45, 0.2), "join": "never"}
    bounds = [Bound(0.1, 0.0)]
    first, other = choose_among([ends], bounds, seldom=400, **options)
    assert (first.event.threshold, other.event.threshold) == (often, seldom)
    (lucky,) = choose_among([ends], bounds, **options)
    assert lucky.event.threshold == seldom


# -- the bound for claims with δ ---------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.05), (0.5, 0.02), (1.0, 0.1)])
def test_the_tail_of_an_excess_is_never_too_small_by_enumeration(epsilon, delta):
    """Against the exact tail, summed over all counts, at the worst of many probabilities."""
    from scipy.stats import binom

    n, m, factor = 40, 30, math.exp(epsilon)
    first, second = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    seen = first - factor * second * n / m
    for k, j in ((30, 5), (20, 2), (12, 0), (35, 10), (40, 12)):
        told = math.exp(log_excess_tail(k, n, j, m, epsilon, delta))
        at_least = seen >= k - factor * j * n / m - 1e-9
        exact = 0.0
        for q in np.linspace(0, (1 - delta) / factor, 60):
            law = np.outer(
                binom.pmf(np.arange(n + 1), n, factor * q + delta),
                binom.pmf(np.arange(m + 1), m, q),
            )
            exact = max(exact, law[at_least].sum())
        assert exact <= told * (1 + 1e-9)
        assert told < 30 * exact + 1e-12 or told == 1.0  # and not for nothing


@rounds(100, 300)
def test_an_excess_bound_fails_no_more_often_than_allowed(rounds):
    rng = np.random.default_rng(9)
    q, epsilon, delta, n = 0.05, 0.7, 0.01, 2_000
    p = math.exp(epsilon) * q + delta
    draws = zip(rng.binomial(n, p, rounds), rng.binomial(n, q, rounds), strict=True)
    shown = [excess_epsilon(int(a), n, int(b), n, delta, 0.2) for a, b in draws]
    assert np.mean(np.array(shown) > epsilon) <= 0.2
    assert np.median(shown) > 0.2


# -- sums of learned weights ------------------------------------------------------------------


def test_weights_count_what_two_columns_say_only_once():
    rng = np.random.default_rng(10)
    sides = []
    for chance in (0.6, 0.4):
        bit = (rng.random(20_000) < chance).astype(float)
        sides.append(read(np.stack([bit, bit, rng.random(20_000)], axis=1), 20_000))
    score = learn_additive(*sides, ranges=2)
    probe = read(np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 0.5]]), 2)
    ones, zeros = score.of(probe)
    assert ones - zeros == pytest.approx(2 * math.log(1.5), abs=0.15)  # not twice that


def test_running_totals_are_read_as_what_each_adds():
    rng = np.random.default_rng(11)
    sides = [
        read(np.cumsum(shift + rng.laplace(0, 10, (100_000, 10)), axis=1), 100_000)
        for shift in (0.0, 1.0)
    ]
    score = learn_additive(*sides, ranges=2, innovations=True)
    raw = learn_additive(*sides, ranges=2)
    for one, least in ((score, 0.6), (raw, 0.0)):
        high = one.of(sides[0]) > np.quantile(one.of(sides[0]), 0.98)
        other = one.of(sides[1]) > np.quantile(one.of(sides[0]), 0.98)
        assert math.log(high.mean() / other.mean()) > least


# -- DP-Sniper's mechanisms -------------------------------------------------------------------


@pytest.mark.parametrize("variant", [pytest.param(3, marks=pytest.mark.soak), 4])
def test_sparse_vectors_at_a_small_claim_are_refuted(variant):
    """ε = 0.1: after 400 runs the right pair looks like the others, and must be kept."""
    broken = Specimens(12).sparse_vector(variant, 0.1, threshold=1.0)
    budget = {"seconds": 120} if variant == 3 else {"samples": 1_500_000}
    verdict = check(broken, sf.PureDP(0.1), inputs="answers", arithmetic="real", **budget)
    assert verdict.refuted


def test_bits_that_tell_little_each_tell_much_together():
    rng = np.random.default_rng(13)
    keep = 1 / (1 + math.exp(-0.05))

    def bits(given, n):
        chances = np.where(np.arange(20) % 5 < 2, abs(1 - given[0] - keep), keep)
        return (rng.random((n, 20)) < chances).astype(np.int8)

    verdict = check(bits, sf.PureDP(0.2), inputs="answers", pairs=[([0.0], [1.0])], samples=500_000)
    assert verdict.refuted  # the truth is 8 · 0.05
    assert 0.2 < verdict.epsilon_lower_bound <= 0.4
