"""Calibration of Gaussian noise, against an independent computation with scipy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import sfumato as sf
from sfumato.errors import ParameterError


def delta_of(sigma, epsilon):
    """Balle and Wang, with logarithms of tails to keep digits."""
    first = norm.logcdf(0.5 / sigma - epsilon * sigma)
    second = epsilon + norm.logcdf(-0.5 / sigma - epsilon * sigma)
    return math.exp(first) * -math.expm1(second - first)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 4, 20])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_analytic_sigma_is_the_smallest_that_holds(epsilon, delta):
    oracle = brentq(lambda sigma: delta_of(sigma, epsilon) - delta, 1e-3, 1e4, xtol=1e-12)
    variance = sf.dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=delta).variance
    sigma = math.sqrt(variance)
    assert sigma == pytest.approx(oracle, rel=1e-6)
    assert delta_of(sigma, epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_sigma_grows_with_sensitivity_and_hardly_with_the_dimension(epsilon):
    one = sf.dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=1e-6)
    assert sf.dp.Gaussian(sensitivity=7, epsilon=epsilon, delta=1e-6).sigma == pytest.approx(
        7 * one.sigma, rel=1e-5
    )
    wide = sf.dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=1e-6, size=10_000)
    assert one.sigma < wide.sigma < 1.001 * one.sigma


def test_the_classic_sigma_fails_beyond_one_and_is_refused():
    sigma = math.sqrt(2 * math.log(1.25 / 0.05)) / 8
    assert delta_of(sigma, 8) > 2 * 0.05
    with pytest.raises(ParameterError, match="analytic"):
        sf.dp.Gaussian(sensitivity=1, epsilon=8, delta=0.05, method="classic")
    for epsilon in (1, 0.3, 0.01):
        for delta in (0.5, 1e-3, 1e-9):
            root = math.sqrt(
                sf.dp.Gaussian(
                    sensitivity=1, epsilon=epsilon, delta=delta, method="classic"
                ).variance
            )
            assert delta_of(root, epsilon) <= delta


def test_rho_gives_its_variance_and_its_guarantees():
    mechanism = sf.dp.Gaussian(sensitivity=2, rho=0.5)
    assert mechanism.variance == 1
    assert mechanism.guarantee == sf.dp.ZCDP(0.5)
    assert mechanism.sigma == pytest.approx(2, rel=1e-5)
    assert mechanism.gdp.mu == pytest.approx(1)
    discrete = sf.dp.DiscreteGaussian(sensitivity=3, rho=Fraction(1, 8))
    assert discrete.steps_squared(1) == 9 * 4
    assert discrete.zcdp.rho == 0.125


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.2, 1e-9), (5, 1e-3)])
def test_discrete_gaussian_meets_epsilon_delta_exactly(epsilon, delta):
    """Canonne, Kamath and Steinke, Theorem 7: δ of the discrete Gaussian in one dimension."""
    mechanism = sf.dp.DiscreteGaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    variance = float(mechanism.steps_squared(1))
    reach = int(40 * math.sqrt(variance)) + 5
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2 * variance))
    shares = weights / weights.sum()
    cut = epsilon * variance
    true = shares[points > cut - 0.5].sum() - math.exp(epsilon) * shares[points > cut + 0.5].sum()
    assert 0 < true <= delta
    analytic = sf.dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    assert 1 < math.sqrt(variance) / analytic.sigma < 1.35


@pytest.mark.parametrize("sigma", [0.4, 1, 3, 30, 400])
def test_discrete_gaussian_mean_error_is_exact(sigma):
    mechanism = sf.dp.DiscreteGaussian(
        sensitivity=1, rho=Fraction(1) / (2 * Fraction(str(sigma)) ** 2)
    )
    points = np.arange(-int(40 * sigma) - 5, int(40 * sigma) + 6)
    weights = np.exp(-(points**2) / (2 * sigma**2))
    mean = (np.abs(points) * weights).sum() / weights.sum()
    assert mechanism.error.expected == pytest.approx(mean, rel=1e-4)
    assert mechanism.error.expected >= mean * (1 - 1e-12)


def test_parameters_that_exclude_each_other():
    with pytest.raises(ParameterError, match="exactly one"):
        sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-5, rho=1)
    with pytest.raises(ParameterError, match="exactly one"):
        sf.dp.Gaussian(sensitivity=1)
    with pytest.raises(ParameterError, match="delta="):
        sf.dp.Gaussian(sensitivity=1, epsilon=1)
    with pytest.raises(ParameterError, match="Laplace"):
        sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=0)
    with pytest.raises(ParameterError, match="one calibration"):
        sf.dp.DiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-5, method="classic")
    with pytest.raises(ParameterError, match="'analytic' or 'classic'"):
        sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-5, method="best")
    with pytest.raises(ParameterError, match="zCDP"):
        _ = sf.dp.DiscreteGaussian(sensitivity=1, rho=1).gdp
