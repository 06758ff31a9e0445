"""Conversions against the mechanisms they are about, and against the formulas to many digits."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import sfumato as sf
from sfumato.dp import Pair, geometric_pair
from sfumato.dp.accounting import convert
from sfumato.dp.accounting.conversions import delta_at, delta_from_renyi, epsilon_from_renyi
from sfumato.errors import ParameterError


def gaussian_delta(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 3, 50])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_zcdp_to_approximate_is_the_best_order_and_holds_for_the_gaussian(rho, delta):
    found = sf.ZCDP(rho).to(sf.ApproxDP, delta=delta)

    def cost(log_order):
        a = 1 + math.exp(log_order)
        return rho * a + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)

    best = min(
        minimize_scalar(cost, bounds=(lo, lo + 6), method="bounded", options={"xatol": 1e-10}).fun
        for lo in range(-12, 30, 3)
    )
    assert found.epsilon == pytest.approx(max(0.0, best), rel=1e-7, abs=1e-9)
    true_delta = gaussian_delta(math.sqrt(2 * rho), found.epsilon)
    assert true_delta <= delta * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 3, 8])
@pytest.mark.parametrize("order", [1.01, 1.5, 2, 3, 10, 100])
def test_pure_bounds_the_renyi_divergence_of_randomised_response(epsilon, order):
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    logs = math.log(p), -epsilon + math.log(p)  # of p and 1 − p
    terms = order * logs[0] + (1 - order) * logs[1], order * logs[1] + (1 - order) * logs[0]
    divergence = np.logaddexp(*terms) / (order - 1)
    pure = sf.PureDP(epsilon)
    assert divergence <= pure.to(sf.ZCDP).rho * order + 1e-12
    assert divergence <= pure.to(sf.RDP).at(max(order, 1.25)) + 1e-12


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 4])
def test_pure_to_gaussian_touches_the_curve_of_randomised_response(epsilon):
    mu = sf.PureDP(epsilon).to(sf.GDP).mu
    assert mu == pytest.approx(-2 * norm.ppf(1 / (1 + math.exp(epsilon))), rel=1e-9)
    grid = np.linspace(1e-6, 1 - 1e-6, 2001)
    promised = np.maximum(1 - math.exp(epsilon) * grid, math.exp(-epsilon) * (1 - grid))
    assert np.all(norm.cdf(norm.ppf(1 - grid) - mu) <= promised + 1e-9)


@pytest.mark.parametrize("mu", [0.1, 1, 3])
def test_gaussian_to_approximate_is_exact(mu):
    found = sf.GDP(mu).to(sf.ApproxDP, delta=1e-5)
    assert gaussian_delta(mu, found.epsilon) == pytest.approx(1e-5, rel=1e-6)
    assert sf.GDP(mu).to(sf.ZCDP).rho == pytest.approx(mu**2 / 2)
    assert sf.GDP(mu).to(sf.RDP).at(4) == pytest.approx(2 * mu**2)


def test_gdp_is_tighter_than_zcdp_and_zcdp_than_one_order():
    delta = 1e-6
    exact = sf.GDP(1).to(sf.ApproxDP, delta=delta).epsilon
    concentrated = sf.ZCDP(0.5).to(sf.ApproxDP, delta=delta).epsilon
    one_order = sf.RDP({4: 2.0}).to(sf.ApproxDP, delta=delta).epsilon
    assert exact < concentrated < one_order
    textbook = 0.5 + math.sqrt(4 * 0.5 * math.log(1 / delta))  # Bun and Steinke, Proposition 1.3
    assert concentrated < textbook


def test_renyi_formulas_are_inverse():
    order, divergence, delta = F(7, 2), F(3, 10), F(1, 10**5)
    epsilon = epsilon_from_renyi(order, divergence, delta)
    assert delta_from_renyi(order, divergence, epsilon) == pytest.approx(delta, rel=1e-20)
    assert delta_from_renyi(order, divergence, epsilon) >= 0
    assert delta_from_renyi(order, F(10), F(0)) == 1
    assert 0 < delta_from_renyi(F(1000), F(0), F(10**9)) < F(1, 10**800)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.9])
def test_delta_below_epsilon_is_that_of_randomised_response(epsilon):
    pair = geometric_pair(1)
    assert float(delta_at(sf.PureDP(1), epsilon)) == pytest.approx(pair.delta(epsilon), rel=1e-12)


def test_delta_below_epsilon_of_an_approximate_pair():
    """With probability δ everything is revealed, and else it is randomised response."""
    epsilon, delta = 1.0, 0.01
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    here = {"D": delta, 0: (1 - delta) * p, 1: (1 - delta) * (1 - p)}
    there = {"E": delta, 1: (1 - delta) * p, 0: (1 - delta) * (1 - p)}
    pair = Pair.of(here, there)
    assert pair.delta(1.0) == pytest.approx(delta)
    for smaller in (0.0, 0.5, 0.99):
        promised = float(delta_at(sf.ApproxDP(epsilon, delta), smaller))
        assert promised == pytest.approx(pair.delta(smaller), rel=1e-9)


def test_kinds_that_do_not_follow_are_refused():
    for guarantee, kind in (
        (sf.ApproxDP(1, 1e-6), sf.PureDP),
        (sf.ApproxDP(1, 1e-6), sf.ZCDP),
        (sf.ApproxDP(1, 1e-6), sf.GDP),
        (sf.ZCDP(1), sf.PureDP),
        (sf.ZCDP(1), sf.GDP),
        (sf.RDP({2: 1.0}), sf.ZCDP),
        (sf.RDP({2: 1.0}), sf.GDP),
        (sf.GDP(1), sf.PureDP),
        (sf.ZCDP(1), sf.ApproxDP),
        (sf.PureDP(1), sf.LocalDP),
        (sf.PureDP(2000), sf.GDP),
    ):
        with pytest.raises(ParameterError):
            convert(guarantee, kind)
    with pytest.raises(ParameterError, match="no smaller one"):
        sf.ApproxDP(1, 1e-6).to(sf.ApproxDP, delta=1e-7)
    with pytest.raises(ParameterError, match="delta="):
        sf.ZCDP(1).to(sf.ApproxDP, delta=0)


def test_simple_conversions():
    assert sf.PureDP(1).to(sf.ApproxDP, delta=1e-6) == sf.ApproxDP(1, 1e-6)
    assert sf.ApproxDP(1, 1e-6).to(sf.ApproxDP, delta=1e-5) == sf.ApproxDP(1, 1e-5)
    assert sf.ApproxDP(1, 0).to(sf.PureDP) == sf.PureDP(1)
    assert sf.LocalDP(1).to(sf.PureDP).neighbours.bounded
    assert sf.ZCDP(0).to(sf.ApproxDP, delta=1e-6).epsilon == 0
    assert sf.PureDP(0).to(sf.GDP) == sf.GDP(0)
    assert sf.PureDP(1).to(sf.PureDP) == sf.PureDP(1)
