"""The worked examples come out right, and every named weakness is caught with a witness."""

import math
import random
import time
from dataclasses import dataclass

import numpy as np
import pytest
from specimens import Specimens, on_grid

import sfumato as sf
from sfumato.audit.claims.outputs import read

PURE = sf.PureDP(1.0)
BOUNDED = sf.PureDP(1.0, neighbours="bounded")
ONE_MORE = {"pairs": [([0, 1], [0])]}
"""For what is about noise, and not about finding data sets."""


def check(func, claim=PURE, **options):
    return sf.audit.check(func, claim, batched=True, **options)


# -- the worked examples ------------------------------------------------------------------


def func1(dataset):
    return 999


def func2(dataset):
    return len(dataset) + 10


def func3(dataset):
    return dataset[0]


def test_func1_is_private_for_every_epsilon_and_proved_without_a_run():
    for epsilon in (0, 0.1, 1, 50):
        verdict = sf.audit.check(func1, sf.PureDP(epsilon))
        assert verdict.proved
        assert not verdict.refuted
        assert verdict.epsilon_lower_bound == 0
        assert verdict.calls == 0


def test_func2_is_refuted_with_the_teachers_counter_example():
    verdict = sf.audit.check(func2, sf.PureDP(100.0))
    witness = verdict.witness
    assert verdict.refuted
    assert verdict.epsilon_lower_bound == math.inf
    assert verdict.looks == 0
    assert (witness.first, witness.second) == ([0, 1], [0])
    assert witness.outputs == (12, 11)
    assert witness.certain
    assert witness.holds(12)
    assert not witness.holds(11)
    assert "[0, 1] gives 12" in str(verdict)


def test_func3_returns_a_row():
    verdict = sf.audit.check(func3, PURE)
    assert verdict.refuted
    assert (verdict.witness.first, verdict.witness.second) == ([1, 0], [0])
    assert verdict.witness.outputs == (1, 0)
    bounded = sf.audit.check(func3, BOUNDED)
    assert bounded.refuted
    assert len(bounded.witness.first) == len(bounded.witness.second)


def test_func3_with_a_private_result_beside_the_row_is_refuted_too():
    rng = np.random.default_rng(3)
    verdict = sf.audit.check(lambda d: (on_grid(len(d) + rng.laplace()), d[0]), PURE)
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > 3


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_func4_is_not_refuted_and_its_epsilon_is_nearly_shown(epsilon):
    mechanism = sf.dp.Laplace(sensitivity=1, epsilon=epsilon)
    with sf.dp.noise.insecure_seeded(4):
        verdict = check(
            lambda d, n: mechanism.simulate(len(d), n),
            sf.PureDP(epsilon), samples=500_000, **ONE_MORE,
        )  # fmt: skip
    assert not verdict.refuted
    assert not verdict.proved
    assert epsilon - 0.03 < verdict.epsilon_lower_bound <= epsilon


NUMPY = np.random.default_rng(5)
PYTHON = random.Random(5)


@pytest.fixture(autouse=True)
def the_same_noise_in_any_order():
    """At 99 % confidence a right function is accused now and then: not by the order of tests."""
    NUMPY.bit_generator.state = np.random.default_rng(5).bit_generator.state
    PYTHON.seed(5)


def func4(dataset):
    return len(dataset) + NUMPY.laplace(0, 1.0)


def func4_by_exponentials(dataset):
    return len(dataset) + PYTHON.expovariate(1) - PYTHON.expovariate(1)


def func4_by_inversion(dataset):
    u = PYTHON.random() - 0.5
    return len(dataset) - math.copysign(math.log(1 - 2 * abs(u)), u)


def func4_in_tenths(dataset):
    return len(dataset) + round(NUMPY.laplace(0, 1.0), 1)  # 0.1 here is 0.09999999999999998 there


@pytest.mark.parametrize(
    "textbook",
    [
        func4,
        pytest.param(func4_by_exponentials, marks=pytest.mark.soak),
        pytest.param(func4_by_inversion, marks=pytest.mark.soak),
        func4_in_tenths,
    ],
)
def test_func4_of_a_textbook_is_private_and_its_rounding_is_told_beside_it(textbook):
    verdict = sf.audit.check(textbook, PURE, samples=20_000)
    assert not verdict.refuted
    assert 0.85 < verdict.epsilon_lower_bound <= 1
    leak = verdict.floating_point_leak
    assert leak.epsilon_lower_bound > 1.5
    assert leak.family in {"low bits", "atoms"}
    assert "for real numbers" in verdict.headline
    assert "rounding errors give the data away" in verdict.headline
    assert any("grid" in note for note in verdict.notes)
    verdict.require()  # the claim stands, as mathematics


@pytest.mark.parametrize("textbook", [func4, func4_in_tenths])
def test_the_program_of_func4_is_refuted_when_it_is_judged_bit_by_bit(textbook):
    verdict = sf.audit.check(textbook, PURE, arithmetic="float", samples=20_000, **ONE_MORE)
    assert verdict.refuted
    assert verdict.witness.family in {"low bits", "atoms"}
    if verdict.witness.family == "low bits":
        assert verdict.floating_point_leak is verdict.witness
        assert any("grid" in note for note in verdict.notes)
    real = sf.audit.check(textbook, PURE, arithmetic="real", samples=4_000, **ONE_MORE)
    assert not real.refuted
    assert real.floating_point_leak is None


def test_software_that_delivers_batches_is_judged_bit_by_bit():
    verdict = sf.audit.check(Specimens(5).float_laplace_count(1.0), PURE, batched=True)
    assert verdict.refuted
    assert verdict.witness.family == "low bits"
    assert verdict.floating_point_leak is verdict.witness


def test_noise_on_a_grid_has_no_rounding_to_tell():
    with sf.dp.noise.insecure_seeded(6):
        verdict = sf.audit.check(
            lambda d: on_grid(len(d) + NUMPY.laplace(0, 1.0)), PURE, samples=8_000, **ONE_MORE
        )
    assert not verdict.refuted
    assert verdict.floating_point_leak is None


def test_wrong_mathematics_is_refuted_one_by_one():
    for wrong in (
        lambda d: len(d) + NUMPY.laplace(0, 0.5),
        lambda d: (len(d) + NUMPY.laplace(0, 1.0), d[0]),
        lambda d: len(d) + 1e9 + NUMPY.laplace(0, 0.5),
        lambda d: (len(d) + NUMPY.laplace(0, 0.5)) * 1e-12,
    ):
        verdict = sf.audit.check(wrong, PURE)
        assert verdict.refuted
        assert verdict.witness.family != "low bits"


# -- noise ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("func", "least"),
    [
        (lambda s: lambda d, n: np.full(n, len(d) + 10.0), 4.0),
        (lambda s: s.laplace_count(2.0), 1.3),
        (lambda s: s.laplace_count(1.1), 1.0),
        (lambda s: s.laplace_count(1.01), 1.0),
        (lambda s: s.geometric_count(2.0), 1.3),
        (lambda s: s.noise_from_the_data(1.0), 1.5),
        (lambda s: s.float_laplace_count(1.0), 2.0),
    ],
    ids=["noiseless", "half scale", "1.1", "1.01", "geometric", "scale from data", "floats"],
)
def test_wrong_noise_on_a_count(func, least):
    wrong = func(Specimens(7))
    verdict = check(wrong, **ONE_MORE)
    assert verdict.refuted
    assert verdict.epsilon_lower_bound > least
    if verdict.witness.guesses is None:
        assert_replays(verdict, wrong)


def test_wrong_sensitivity():
    wrong = Specimens(8).laplace_sum(1.0, sensitivity=1.0)
    assert not check(wrong, samples=50_000).refuted  # right for records 0 and 1
    verdict = check(wrong, records=[0, 5])
    assert verdict.refuted
    assert 2 < verdict.epsilon_lower_bound <= 5
    assert 5 in verdict.witness.first + verdict.witness.second


def test_a_histogram_that_forgets_that_one_replaced_record_changes_two_bins():
    s = Specimens(9)
    forgetful = s.histogram(1.0, sensitivity=1.0)
    records = [0, 1, 2]
    assert not check(forgetful, records=records, samples=50_000).refuted
    verdict = check(forgetful, BOUNDED, records=records, samples=400_000)
    assert verdict.refuted
    assert 1 < verdict.epsilon_lower_bound <= 2
    right = s.histogram(1.0, sensitivity=2.0)
    assert not check(right, BOUNDED, records=records, samples=50_000).refuted


def test_a_person_with_several_rows_is_not_protected_by_noise_for_one():
    s = Specimens(10)
    people = [{"user": user, "spent": 1} for user in "aabbcc"]
    count = s.laplace_count(1.0)
    claim = sf.PureDP(1.0, neighbours=sf.Unit("user", rows=2))
    verdict = check(count, claim, records=people)
    assert verdict.refuted
    assert 1 < verdict.epsilon_lower_bound <= 2
    assert not check(count, PURE, records=people, samples=50_000).refuted


def test_randomized_response_that_tells_the_truth_too_often():
    s = Specimens(11)
    keep = math.e / (1 + math.e)
    assert not check(s.randomized_response(keep), BOUNDED, samples=100_000).refuted
    assert check(s.randomized_response(0.75), BOUNDED).refuted
    assert check(s.randomized_response(0.75), sf.LocalDP(1.0)).refuted


# -- selections and sparse vectors -------------------------------------------------------


def test_noisy_max_may_tell_the_winner_and_not_its_value():
    s = Specimens(12)
    assert not check(s.noisy_max(1.0), inputs="answers", samples=100_000).refuted
    verdict = check(s.noisy_max(1.0, value=True), inputs="answers")
    assert verdict.refuted
    assert np.abs(np.subtract(verdict.witness.first, verdict.witness.second)).max() <= 1


def assert_replays(verdict, func):
    """Measure the witness again, in other batches: its bound must be no accident of ours."""
    witness = verdict.witness
    seen = [
        sum(
            int(witness.test.of(read(func(data, size), size)).sum())
            for size in (50_000, 1_000, 30_000, 19_000)
        )
        for data in (witness.first, witness.second)
    ]
    ratio = math.log((seen[0] + 0.5) / (seen[1] + 0.5))
    doubt = math.sqrt(1 / (seen[0] + 0.5) + 1 / (seen[1] + 0.5))
    assert ratio > verdict.epsilon_lower_bound - 4 * doubt


@pytest.mark.parametrize(
    ("variant", "positives"),
    [
        (3, 1),
        pytest.param(3, 2, marks=pytest.mark.soak),
        (4, 1),
        pytest.param(4, 3, marks=pytest.mark.soak),
        (5, 1),
        (6, 1),
    ],
)
def test_broken_sparse_vectors(variant, positives):
    broken = Specimens(20 + variant).sparse_vector(variant, 1.0, positives=positives)
    verdict = check(broken, inputs="answers")
    assert verdict.refuted
    if variant == 5:
        assert verdict.epsilon_lower_bound > 4
    if verdict.witness.guesses is None:
        assert_replays(verdict, broken)


@pytest.mark.parametrize("positives", [1, 3])
def test_the_right_sparse_vector_stands(positives):
    right = Specimens(30).sparse_vector(1, 1.0, positives=positives)
    verdict = check(right, inputs="answers", samples=200_000)
    assert not verdict.refuted


# -- outputs of other kinds ---------------------------------------------------------------


@dataclass
class Answer:
    name: str
    amount: float


class Plain:
    def __init__(self, amount):
        self.amount = amount


def leaks(kind, rng):
    """Functions that hide a fair bit well, except for one detail of the output's kind."""

    def run(data):
        bit = int(rng.integers(2))
        many = sum(data) >= 2
        if kind == "exception type":
            if many and rng.random() < 0.5:
                raise KeyError(bit)
            return bit
        if kind == "exception message":
            raise_if(rng.random() < 0.5, f"{len(data) > 2} is not allowed")
            return bit
        if kind == "type":
            return float(bit) if many and rng.random() < 0.5 else bit
        if kind == "text":
            return f"yes, {len(data)}" if rng.random() < 0.5 else "no"
        if kind == "length":
            return [bit] * (len(data) if rng.random() < 0.5 else 1)
        if kind == "dataclass":
            return Answer("x", len(data) if rng.random() < 0.5 else -1)
        if kind == "object":
            return Plain(len(data) if rng.random() < 0.5 else -1)
        if kind == "mapping":
            return {"bit": bit, "seen": set(data) if rng.random() < 0.5 else set()}
        if kind == "array":
            return np.array([bit, len(data) if rng.random() < 0.5 else 0])
        return None if many else bit

    return run


def raise_if(condition, message):
    if condition:
        raise ValueError(message)


@pytest.mark.parametrize(
    "kind",
    ["exception type", "exception message", "type", "text", "length", "dataclass", "object",
     "mapping", "array", "nothing"],
)  # fmt: skip
def test_outputs_of_every_kind_are_seen(kind):
    verdict = sf.audit.check(leaks(kind, np.random.default_rng(13)), PURE, samples=4_000)
    assert verdict.refuted, str(verdict)
    assert verdict.epsilon_lower_bound > 2
    witness = verdict.witness
    hits, rng = [0, 0], np.random.default_rng(16)
    for _ in range(200):  # the event can be asked again, and means what it meant
        for side, data in enumerate((witness.first, witness.second)):
            try:
                output = leaks(kind, rng)(list(data))
            except (KeyError, ValueError) as error:
                from sfumato.audit.claims.outputs import Raised

                output = Raised(type(error).__name__, str(error))
            hits[side] += witness.holds(output)
    assert hits[0] > 50
    assert hits[1] < 10


def test_an_exception_is_an_output_that_is_named():
    rng = np.random.default_rng(14)
    verdict = sf.audit.check(lambda d: rng.choice([1 / (len(d) - 2)]), PURE, pairs=[([0, 1], [0])])
    assert verdict.refuted
    assert "ZeroDivisionError" in str(verdict)


def test_timing_is_seen_when_asked():
    rng = np.random.default_rng(15)

    def slow_for_many(data):
        if sum(data) >= 2:
            time.sleep(0.001)  # a busy machine's delays are rarer
        return int(rng.integers(2))

    pairs = [([1], [1, 1])]
    blind = sf.audit.check(slow_for_many, PURE, pairs=pairs, samples=1_000)
    assert not blind.refuted
    seen = sf.audit.check(slow_for_many, PURE, pairs=pairs, samples=1_000, timing=True)
    assert seen.refuted


# -- approximate and other claims -----------------------------------------------------------


def delta_of_gaussian(epsilon, sigma):
    """Balle and Wang (ICML 2018), Theorem 8, sensitivity 1."""
    from scipy.stats import norm

    a, b = 1 / (2 * sigma), epsilon * sigma
    return norm.cdf(a - b) - math.exp(epsilon) * norm.cdf(-a - b)


def test_the_region_of_a_gaussian_lies_below_its_exact_curve_and_near_it():
    sigma = 1.2
    delta = delta_of_gaussian(1.0, sigma)
    s = Specimens(16)
    claim = sf.ApproxDP(1.0, delta * 1.01)
    verdict = check(s.gaussian_count(sigma), claim, samples=1_000_000, **ONE_MORE)
    assert not verdict.refuted
    assert 0.9 * delta < verdict.delta_lower_bound <= delta
    for epsilon in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0):
        assert verdict.delta_at(epsilon) <= delta_of_gaussian(epsilon, sigma)
    assert verdict.delta_at(0.0) > 0.97 * delta_of_gaussian(0.0, sigma)
    assert verdict.epsilon_at(delta) == pytest.approx(1.0, abs=0.05)
    claim = sf.ApproxDP(1.0, delta * 0.9)
    refuted = check(s.gaussian_count(sigma), claim, samples=1_000_000, **ONE_MORE)
    assert refuted.refuted


@pytest.mark.parametrize(
    ("claim", "right", "wrong"),
    [
        (sf.GDP(1.0), 1.0, 0.85),
        (sf.ZCDP(0.5), 1.0, 0.7),
        (sf.RDP({2: 1.0, 8: 4.0}), 1.0, 0.6),
        (sf.ApproxDP(1.0, 1e-3), 3.8, 1.9),
        (sf.ApproxDP(1.0, 1e-6), 5.3, 1.0),
    ],
    ids=["GDP", "zCDP", "RDP", "approximate", "small delta"],
)
def test_gaussian_noise_against_every_kind_of_claim(claim, right, wrong):
    s = Specimens(17)
    assert not check(s.gaussian_count(right), claim, samples=100_000, **ONE_MORE).refuted
    assert check(s.gaussian_count(wrong), claim, **ONE_MORE).refuted


def test_a_catastrophe_that_is_rarer_than_delta_is_allowed():
    rng = np.random.default_rng(18)

    def publishes_all_with_probability(p):
        return lambda d, n: np.where(rng.random(n) < p, float(len(d)), -1.0)

    claim = sf.ApproxDP(0.1, 0.01)
    assert not check(publishes_all_with_probability(0.01), claim, samples=200_000).refuted
    verdict = check(publishes_all_with_probability(0.02), claim, samples=200_000)
    assert verdict.refuted
    assert 0.015 < verdict.delta_lower_bound <= 0.02
    assert check(publishes_all_with_probability(0.01), sf.PureDP(3.0)).refuted


def test_two_distributions_of_the_worked_examples():
    """0, 1 with 1/2, 1/2 and with 1/3, 2/3 is (0, 1/6)-private and nothing better."""
    rng = np.random.default_rng(19)
    run = lambda d, n: (rng.random(n) < (0.5 if len(d) > 1 else 2 / 3)).astype(int)  # noqa: E731
    pairs = [([0, 1], [0])]
    assert not check(run, sf.ApproxDP(0.0, 1 / 6), pairs=pairs, samples=300_000).refuted
    assert check(run, sf.ApproxDP(0.0, 0.16), pairs=pairs, samples=300_000).refuted
