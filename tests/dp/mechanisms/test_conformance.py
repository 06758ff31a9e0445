"""Every mechanism passes the public kit on its worst neighbouring pair."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.testing import check_mechanism

ONE = np.array([5.0, 7.0, 1.0])


def geometric_pmf(epsilon, sensitivity, x):
    q = math.exp(-epsilon / sensitivity)
    return (1 - q) / (1 + q) * q ** abs(x)


def discrete_gaussian_pmf(sigma, x):
    total = sum(math.exp(-(n**2) / (2 * sigma**2)) for n in range(-400, 401))
    return math.exp(-(x**2) / (2 * sigma**2)) / total


def lost(scores):
    scores = np.asarray(scores)
    return lambda picks, _: scores.max() - scores[picks]


ADDITIVE = [
    (sf.dp.Laplace(sensitivity=1, epsilon=1), (0, 1), None),
    (sf.dp.Laplace(sensitivity=1, epsilon=0.1), (0.0, 1.0), None),
    (sf.dp.Laplace(sensitivity=0.3, epsilon=2), (100.05, 100.35), None),
    (sf.dp.Laplace(sensitivity=1, epsilon=4), (-0.5, 0.5), None),
    (sf.dp.Laplace(sensitivity=1e12, epsilon=1), (0.0, 1e12), None),
    (sf.dp.Laplace(sensitivity=1e-12, epsilon=1), (0.0, 1e-12), None),
    (
        sf.dp.Laplace(sensitivity=2, epsilon=1, size=3),
        (ONE, ONE + np.array([1.0, -1.0, 0.0])),
        None,
    ),
    (sf.dp.Geometric(sensitivity=1, epsilon=1), (0, 1), partial(geometric_pmf, 1, 1)),
    (sf.dp.Geometric(sensitivity=3, epsilon=0.5), (0, 3), partial(geometric_pmf, 0.5, 3)),
    (sf.dp.Geometric(sensitivity=1, epsilon=3), (0, 1), partial(geometric_pmf, 3, 1)),
    (sf.dp.Geometric(sensitivity=2, epsilon=1, size=2), (np.array([0, 9]), np.array([1, 8])), None),
    (sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-2), (0.0, 1.0), None),
    (sf.dp.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-3, method="classic"), (0.0, 1.0), None),
    (sf.dp.Gaussian(sensitivity=5, epsilon=3, delta=1e-4), (10, 15), None),
    (sf.dp.Gaussian(sensitivity=1, rho=0.5), (0.0, 1.0), None),
    (
        sf.dp.Gaussian(sensitivity=5, epsilon=1, delta=1e-2, size=2),
        (np.zeros(2), np.array([3.0, 4.0])),
        None,
    ),
    (sf.dp.DiscreteGaussian(sensitivity=1, rho=0.125), (0, 1), partial(discrete_gaussian_pmf, 2)),
    (sf.dp.DiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-3), (0, 1), None),
]


@pytest.mark.parametrize(("mechanism", "pair", "pmf"), ADDITIVE, ids=lambda x: type(x).__name__)
def test_additive_mechanisms_conform(mechanism, pair, pmf):
    report = check_mechanism(mechanism, pair=pair, pmf=pmf)
    assert report.epsilon_lower_bound > 0.25 * report.claim[0]  # the audit is not blind
    assert report.refusals >= 11
    if not mechanism.whole:
        assert report.epsilon_from_lowest_bits < 0.05
    if pmf:
        assert report.p_value is not None


SCORES = ([0, 0, 3], [1, 1, 2])  # worst: the others rise while the best falls


@pytest.mark.parametrize("kind", [sf.dp.Exponential, sf.dp.ReportNoisyMax, sf.dp.PermuteAndFlip])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_selections_conform(kind, epsilon):
    mechanism = kind(sensitivity=1, epsilon=epsilon, size=3)
    samples = 5_000 if kind is sf.dp.PermuteAndFlip else 50_000
    report = check_mechanism(mechanism, pair=SCORES, loss=lost(SCORES[0]), samples=samples)
    assert report.epsilon_lower_bound > 0.25 * epsilon


@pytest.mark.parametrize("kind", [sf.dp.Exponential, sf.dp.ReportNoisyMax, sf.dp.PermuteAndFlip])
def test_monotone_selections_conform(kind):
    mechanism = kind(sensitivity=1, epsilon=1, size=2, monotone=True)
    samples = 5_000 if kind is sf.dp.PermuteAndFlip else 50_000
    pair = ([3, 0], [3, 1])
    report = check_mechanism(mechanism, pair=pair, loss=lost(pair[0]), samples=samples)
    assert report.epsilon_lower_bound > 0.4


def test_exponential_probabilities_are_exact():
    scores, epsilon = [1.5, 0.25, -2.0, 1.0], 1.2
    weights = np.exp(np.array(scores) * epsilon / 2)
    pmf = dict(enumerate((weights / weights.sum()).tolist()))
    mechanism = sf.dp.Exponential(sensitivity=1, epsilon=epsilon, size=4)
    report = check_mechanism(
        mechanism, pair=(scores, [0.5, 1.25, -1.0, 0.0]), pmf=pmf, loss=lost(scores)
    )
    assert report.p_value is not None


def permute_and_flip_pmf(scores, rate):
    """By enumeration of all orders."""
    from itertools import permutations

    chance = np.exp(rate * (np.array(scores) - max(scores)))
    total = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            total[i] += left * chance[i]
            left *= 1 - chance[i]
    return dict(enumerate((total / len(orders)).tolist()))


def test_permute_and_flip_probabilities_are_exact():
    scores = [2, 1.5, 0, -1]
    mechanism = sf.dp.PermuteAndFlip(sensitivity=1, epsilon=1, size=4)
    pmf = permute_and_flip_pmf(scores, 0.5)
    check_mechanism(
        mechanism, pair=(scores, [1, 2.5, 1, 0]), pmf=pmf, loss=lost(scores), samples=20_000
    )


def test_noisy_max_probabilities_are_those_of_continuous_laplace():
    # Pr[L₁ − L₂ > −2] for Laplace noise of scale b = 2: 1 − e^(−u)(2+u)/4 with u = 2/b.
    mechanism = sf.dp.ReportNoisyMax(sensitivity=1, epsilon=1, size=2)
    u = 2 / 2
    behind = math.exp(-u) * (2 + u) / 4
    pmf = {0: 1 - behind, 1: behind}
    check_mechanism(mechanism, pair=([2, 0], [1, 1]), pmf=pmf, loss=lost([2, 0]))


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_above_threshold_conforms(positives, monotone):
    mechanism = sf.dp.AboveThreshold(
        threshold=0, sensitivity=1, epsilon=2, positives=positives, monotone=monotone, size=4
    )
    pair = ([0, 0, 0, 0], [1, 1, 1, 1]) if monotone else ([0, 0, 0, 1], [1, 1, 1, 0])
    report = check_mechanism(mechanism, pair=pair, loss=lambda codes, _: np.zeros(len(codes)))
    assert report.epsilon_lower_bound > 0.2
    assert report.refusals >= 8


@pytest.mark.parametrize(
    "mechanism", [sf.dp.RandomizedResponse(truth=0.5), sf.dp.RandomizedResponse(epsilon=2)]
)
def test_randomised_response_conforms(mechanism):
    p = (1 + mechanism.lever) / 2
    report = check_mechanism(mechanism, pair=(True, False), pmf={True: p, False: 1 - p})
    assert report.epsilon_lower_bound > 0.95 * report.claim[0]


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("q", [0.5, 0.25])
def test_quantiles_conform_and_follow_their_law(neighbours, q):
    first = np.array([2, 2, 5, 9])
    second = np.array([2, 2, 9, 9]) if neighbours == "bounded" else np.array([2, 2, 5, 9, 9])
    mechanism = sf.dp.ExponentialQuantile(
        lower=0, upper=10, step=1, q=q, epsilon=1, neighbours=neighbours
    )
    points = np.arange(11)
    less = np.array([(first < v).sum() for v in points])
    upto = np.array([(first <= v).sum() for v in points])
    distance = np.maximum(0, np.maximum(less - q * 4, q * 4 - upto))
    weights = np.exp(-distance / (2 * (1 if neighbours == "bounded" else max(q, 1 - q))))
    pmf = dict(zip(points.astype(float).tolist(), (weights / weights.sum()).tolist(), strict=True))
    report = check_mechanism(
        mechanism,
        pair=(first, second),
        pmf=pmf,
        loss=lambda outputs, _: distance[outputs.astype(int)],
        samples=60_000,
    )
    assert report.epsilon_lower_bound > 0.1
    assert mechanism.rank_distances(first) == pytest.approx(distance)


def test_gaussian_noise_is_the_rounded_normal():
    mechanism = sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-5)
    with sf.dp.noise.insecure_seeded(9):
        drawn = mechanism.simulate(0.0, 100_000) / mechanism.sigma
    assert stats.kstest(drawn, stats.norm.cdf).pvalue > 1e-6


def test_laplace_noise_is_laplace():
    mechanism = sf.dp.Laplace(sensitivity=3, epsilon=0.7)
    with sf.dp.noise.insecure_seeded(10):
        drawn = mechanism.simulate(0.0, 100_000) / (3 / 0.7)
    assert stats.kstest(drawn, stats.laplace.cdf).pvalue > 1e-6


@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
def test_prices_conform(relation):
    prices = [1.0, 2.5, 4.0]
    first = [1, 1, 3, 4]
    second = [4, 1, 3, 4] if relation == "bounded" else [1, 1, 3, 4, 4]
    mechanism = sf.dp.Pricing(prices=prices, epsilon=2, neighbours=relation)
    revenue = {p: p * sum(limit >= p for limit in first) for p in prices}
    rate = 2 / (4 * (2 if relation == "bounded" else 1))
    weights = {p: math.exp(rate * r) for p, r in revenue.items()}
    pmf = {p: w / sum(weights.values()) for p, w in weights.items()}
    best = max(revenue.values())
    report = check_mechanism(
        mechanism,
        pair=(first, second),
        pmf=pmf,
        loss=lambda chosen, _: np.array([best - revenue[p] for p in chosen.tolist()]),
        samples=60_000,
    )
    assert report.epsilon_lower_bound > 0.3
    assert report.refusals >= 5
