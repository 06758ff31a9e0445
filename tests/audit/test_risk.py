"""Risks by hand, and estimates of population uniqueness where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma as exact_digamma

from sfumato.audit.equations import digamma, solve_pair
from sfumato.audit.risk import reidentification_risk
from sfumato.audit.uniqueness import population_uniques
from sfumato.errors import DataError, ParameterError

SIZES = np.array([1, 1, 2, 6])


def test_prosecutor_and_marketer_by_hand():
    risk = reidentification_risk(SIZES, threshold=0.2)
    assert risk.prosecutor == 1
    assert risk.prosecutor_mean == risk.marketer == pytest.approx(4 / 10)
    assert risk.prosecutor_above == pytest.approx(4 / 10)  # 1 + 1 + 2 records above 0.2
    assert risk.sample_uniqueness == pytest.approx(2 / 10)
    assert risk.journalist is None
    assert reidentification_risk(SIZES, threshold=0.5).prosecutor_above == pytest.approx(2 / 10)
    # Mean over records, written out: 1, 1, 1/2, 1/2, six times 1/6.
    each = [1, 1, *[1 / 2] * 2, *[1 / 6] * 6]
    assert risk.prosecutor_mean == pytest.approx(sum(each) / 10)


def test_journalist_by_hand():
    risk = reidentification_risk(SIZES, np.array([1, 4, 5, 6]), threshold=0.2)
    assert risk.journalist == 1
    assert risk.journalist_mean == risk.marketer == pytest.approx((1 + 1 / 4 + 2 / 5 + 1) / 10)
    assert risk.journalist_above == pytest.approx((1 + 1) / 10)  # 1/1 and 1/4
    assert risk.population_uniqueness == pytest.approx(1 / 10)
    assert len(risk.rows()) == 9
    assert len(reidentification_risk(SIZES).rows()) == 5


def test_refusals():
    with pytest.raises(DataError, match="more records than"):
        reidentification_risk(SIZES, np.array([1, 1, 1, 6]))
    with pytest.raises(ParameterError):
        reidentification_risk(np.array([], dtype=np.int64))
    with pytest.raises(ParameterError):
        reidentification_risk(SIZES, threshold=2)


# -- estimates ------------------------------------------------------------------------


def sample_sizes(population, share, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice(population, int(share * len(population)), replace=False)
    return np.unique(drawn, return_counts=True)[1]


def uniques_of(population):
    return int((np.unique(population, return_counts=True)[1] == 1).sum())


def test_zayatz_is_bayes_with_the_hypergeometric():
    sizes, people = np.array([1] * 10 + [2] * 4 + [5]), 100
    n = int(sizes.sum())
    once = {j: stats.hypergeom(people, j, n).pmf(1) for j in (1, 2, 5)}
    chance = 10 * once[1] / (10 * once[1] + 4 * once[2] + once[5])
    found = population_uniques(sizes, people, model="zayatz")
    assert found.uniques == pytest.approx(10 * chance * people / n)
    assert found.share == pytest.approx(found.uniques / 100)


def test_pitman_solves_its_likelihood_equations():
    """The fitted parameters make the likelihood of Pitman's formula stationary."""
    population = np.random.default_rng(3).zipf(1.5, 40_000)
    sizes = sample_sizes(population, 0.05, 4)
    n, u = int(sizes.sum()), len(sizes)
    found = population_uniques(sizes, 40_000, model="pitman").uniques

    def log_likelihood(theta, alpha):
        i = np.arange(1, u)
        value = np.log(theta + i * alpha).sum() - np.log(theta + np.arange(1, n)).sum()
        for size in sizes[sizes > 1]:
            value += np.log(np.arange(1, size) - alpha).sum()
        return value

    from scipy.optimize import minimize

    best = minimize(
        lambda x: -log_likelihood(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))),
        [3.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-8, "maxiter": 2000},
    ).x
    theta, alpha = math.exp(best[0]), 1 / (1 + math.exp(-best[1]))
    expected = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha)) * 40_000**alpha
    assert found == pytest.approx(expected, rel=1e-3)
    assert found == pytest.approx(uniques_of(population), rel=0.25)


def test_snb_finds_the_uniques_of_its_own_model():
    rng = np.random.default_rng(8)
    members = 1 + rng.negative_binomial(1.2, 0.25, 30_000)
    population = np.repeat(np.arange(len(members)), members)
    sizes = sample_sizes(population, 0.4, 9)
    found = population_uniques(sizes, len(population), model="snb")
    assert found.uniques == pytest.approx((members == 1).sum(), rel=0.15)


def test_decision_rule_says_which_model_it_used():
    population = np.random.default_rng(5).zipf(1.5, 40_000)
    small = population_uniques(sample_sizes(population, 0.05, 1), 40_000)
    large = population_uniques(sample_sizes(population, 0.5, 1), 40_000)
    assert small.model == "pitman"
    assert large.model in {"zayatz", "snb"}
    assert small.uniques == pytest.approx(uniques_of(population), rel=0.3)
    assert large.uniques == pytest.approx(uniques_of(population), rel=0.1)


def test_extremes():
    assert population_uniques(np.array([2, 3]), 100).uniques == 0
    census = population_uniques(np.array([1, 1, 3]), 5)
    assert (census.uniques, census.model) == (2, "census")
    with pytest.raises(ParameterError, match="at least as many people"):
        population_uniques(np.array([5]), 4)
    with pytest.raises(ParameterError, match="dankar, zayatz, pitman, snb"):
        population_uniques(np.array([1]), 4, model="guess")


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.5, 1, 2.3, 5.99, 6, 47.1, 1e6])
def test_digamma(x):
    assert digamma(x) == pytest.approx(float(exact_digamma(x)), abs=1e-10, rel=1e-10)


def test_two_equations():
    found = solve_pair(lambda x, y: (x * x + y - 3, x - y + 1), [(5.0, 5.0)])
    assert found == pytest.approx((1, 2))
    assert solve_pair(lambda x, y: (x * x + 1, y), [(1.0, 1.0)]) is None
    with pytest.raises(ValueError):
        digamma(0)
