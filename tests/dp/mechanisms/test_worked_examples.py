"""Examples with known answers, for mechanisms."""

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.mechanisms.exponential import exponential_probabilities
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square


def counts(values):
    found, number = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), number.tolist(), strict=True))


LUNCH = {"pizza": 27, "salad": 23, "hamburger": 9, "pie": 0}


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (0, [0.25, 0.25, 0.25, 0.25]),
        (0.1, [0.40249, 0.32953, 0.16364, 0.10434]),
        (1, [0.88070, 0.11919, 1.0869e-4, 1.2074e-6]),
    ],
)
def test_lunch_votes(epsilon, expected):
    found = exponential_probabilities(list(LUNCH.values()), sensitivity=1, epsilon=epsilon)
    assert found == pytest.approx(expected, rel=1e-4)
    if epsilon:
        mechanism = sf.dp.Exponential(sensitivity=1, epsilon=epsilon)
        with sf.dp.noise.insecure_seeded(1):
            drawn = mechanism.simulate(LUNCH, 50_000)
        wanted = dict(enumerate(found.tolist()))
        assert chi_square(wanted, counts(drawn), 50_000) > FALSE_ALARM
        assert mechanism.release(LUNCH) in LUNCH


def test_nationality():
    mechanism = sf.dp.Exponential(sensitivity=1, epsilon=0.5)
    found = mechanism.probabilities([2, 6, 2, 2])
    assert found == pytest.approx([0.17488, 0.47537, 0.17488, 0.17488], abs=5e-6)


def test_price_is_chosen_by_exact_revenue():
    pricing = sf.dp.Pricing(prices=[2, 2.1, 3.9, 4, 4.1], epsilon=1)
    revenues = pricing.revenues([2, 4])
    assert revenues == [4, Fraction(21, 10), Fraction(39, 10), 4, 0]
    assert pricing.guarantee == sf.dp.PureDP(1.0)
    assert float(pricing.mechanism.sensitivity) == 41.0  # 4.1 in units of a tenth
    assert sf.dp.price([2, 4], [2.1, 3.9, 4.1], epsilon=60) == 3.9
    picks = [sf.dp.price([2, 4], [2.1, 4.1], epsilon=0.1) for _ in range(300)]
    assert {2.1, 4.1} == set(picks)


def test_price_probabilities_follow_the_exponential_mechanism():
    buyers, prices, epsilon = [2, 4, 4, 3], [1, 2, 3.5], 2
    pricing = sf.dp.Pricing(prices=prices, epsilon=epsilon, neighbours="bounded")
    revenue = [sum(limit >= p for limit in buyers) * p for p in prices]
    weights = np.exp(np.array(revenue) * epsilon / (2 * 3.5))
    with sf.dp.noise.insecure_seeded(2):
        drawn = [pricing.release(buyers) for _ in range(2000)]
    wanted = dict(zip(prices, (weights / weights.sum()).tolist(), strict=True))
    assert chi_square(wanted, counts(drawn), 2000) > FALSE_ALARM


def test_vaccine_a_or_b():
    cured = {"A": 640, "B": 560}
    with sf.dp.noise.insecure_seeded(3):
        picks = [sf.dp.exponential(cured, sensitivity=1, epsilon=0.02) for _ in range(4000)]
    p = 1 / (1 + math.exp(-0.02 * 80 / 2))
    assert abs(picks.count("A") - 4000 * p) < 5 * math.sqrt(4000 * p * (1 - p))


def test_top_one():
    words = ["flu"] * 60 + ["cold"] * 20
    assert sf.dp.top1(words, ["flu", "cold", "gout"], epsilon=3) == "flu"
    with sf.dp.noise.insecure_seeded(4):
        rare = [sf.dp.top1(["flu"], ["flu", "gout"], epsilon=1) for _ in range(3000)]
    p = 1 / (1 + math.exp(-1))  # monotone under add/remove: no factor 2
    assert abs(rare.count("flu") - 3000 * p) < 5 * math.sqrt(3000 * p * (1 - p))


def test_randomised_response_with_alpha_one_half_is_ln_3():
    mechanism = sf.dp.RandomizedResponse(truth=0.5)
    assert mechanism.guarantee.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert mechanism.guarantee.epsilon >= math.log(3)
    for alpha in (0.1, 0.25, 0.9):
        ratio = (1 + alpha) / (1 - alpha)
        epsilon = sf.dp.RandomizedResponse(truth=alpha).guarantee.epsilon
        assert epsilon == pytest.approx(math.log(ratio), rel=1e-14)


def test_warners_coins_estimate_eighty_of_a_hundred():
    # Truthful with 0.75: n = 100, true yes 80, expected yes 65, estimate (65 − 25)/.5 = 80.
    mechanism = sf.dp.RandomizedResponse(truth=0.5)
    answers = np.arange(100) < 65
    assert mechanism.estimate(answers) == pytest.approx(0.80)
    assert mechanism.estimate(~answers) == pytest.approx(0.20)


def test_geometric_probabilities():
    lam = 2.0
    q = math.exp(-1 / lam)
    wanted = {x: (1 - q) / (1 + q) * math.exp(-abs(x) / lam) for x in range(-80, 81)}
    with sf.dp.noise.insecure_seeded(5):
        drawn = sf.dp.Geometric(sensitivity=1, epsilon=0.5).simulate(0, 200_000)
    assert chi_square(wanted, counts(drawn), 200_000) > FALSE_ALARM


@pytest.mark.parametrize(
    ("size", "sensitivity", "epsilon"), [(1, 1, 0.5), (10, 1, 0.1), (1000, 2.5, 2)]
)
def test_laplace_utility(size, sensitivity, epsilon):
    mechanism = sf.dp.Laplace(sensitivity=sensitivity, epsilon=epsilon, size=size)
    scale = sensitivity / epsilon
    assert mechanism.error.total == pytest.approx(size * scale, rel=2e-3)
    assert mechanism.error.total >= size * scale
    for beta in (0.5, 0.05, 1e-6):
        assert mechanism.error.tail(beta) == pytest.approx(scale * math.log(size / beta), rel=2e-3)
    with sf.dp.noise.insecure_seeded(6):
        errors = np.abs(mechanism.simulate(np.zeros(size), 200_000 // size))
    assert errors.sum(axis=1).mean() == pytest.approx(size * scale, rel=0.03)
    spread = math.sqrt(0.2 * 0.8 / len(errors))
    assert (errors.max(axis=1) > mechanism.error.tail(0.2)).mean() < 0.2 + 5 * spread


def test_count_has_scale_one_over_epsilon():
    assert sf.dp.Laplace(sensitivity=1, epsilon=0.25).scale == pytest.approx(4.0, rel=1e-12)
    assert sf.dp.Geometric(sensitivity=1, epsilon=0.25).scale == 4.0


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-5), (0.5, 1e-6), (0.1, 1e-9)])
def test_classic_gaussian_sigma(epsilon, delta):
    sigma = sf.dp.Gaussian(sensitivity=3, epsilon=epsilon, delta=delta, method="classic").sigma
    formula = 3 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert sigma == pytest.approx(formula, rel=2e-6)
    assert sigma >= formula
    assert sf.dp.Gaussian(sensitivity=3, epsilon=epsilon, delta=delta).sigma < sigma


def test_the_calls_of_the_public_contract():
    assert isinstance(sf.dp.laplace(546, sensitivity=1, epsilon=0.5), float)
    released = sf.dp.geometric(np.array([1, 2, 3]), sensitivity=1, epsilon=0.5)
    assert released.dtype == np.int64
    assert isinstance(sf.dp.geometric(546, sensitivity=1, epsilon=0.5), int)
    x = np.array([[0.5, 1.5], [2.5, 3.5]])
    assert sf.dp.gaussian(x, sensitivity=1, epsilon=0.5, delta=1e-6).shape == (2, 2)
    assert sf.dp.exponential([1, 2, 3], sensitivity=1, epsilon=1.0) in {0, 1, 2}
