"""The enclosed normal distribution against an independent series and scipy."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction as F
from functools import cache

import pytest
from scipy.special import ndtr
from scipy.stats import norm

import sfumato as sf
from sfumato.dp.normal import (
    gaussian_delta_up,
    gaussian_epsilon_up,
    gaussian_sigma_up,
    normal_cdf,
    normal_cdf_bounds,
    normal_cdf_down,
    normal_cdf_up,
)
from sfumato.errors import ParameterError


@cache
def arctan_inverse(n):
    """arctan(1/n) to the precision of the context."""
    total, power, k = Decimal(0), Decimal(1) / n, 0
    while abs(power) > Decimal(10) ** -430:
        total += power / (2 * k + 1) * (-1) ** k
        power, k = power / (n * n), k + 1
    return total


@cache
def cdf(x):
    """Φ(x) by the alternating Maclaurin series with 440 digits, which the package does not use."""
    with localcontext() as context:
        context.prec = 440
        context.Emin, context.Emax = -(10**9), 10**9
        pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
        exact = Decimal(F(x).numerator) / Decimal(F(x).denominator)
        term, total, k = exact, exact, 0
        while abs(term) > Decimal(10) ** -420 or k < 2 * exact * exact:
            k += 1
            term = -term * exact * exact / (2 * k)
            total += term / (2 * k + 1)
        return Decimal("0.5") + total / (2 * pi).sqrt()


POINTS = [0, 1e-300, 0.1, F(1, 3), 0.999, 1, 2.5, 2.9999, 3, 3.0001, 5, 8, 12.25, 20]


@pytest.mark.parametrize("x", [*POINTS, *(-x for x in POINTS)], ids=str)
def test_bounds_enclose_and_are_tight(x):
    low, high = normal_cdf_bounds(x)
    exact = cdf(x)
    with localcontext() as context:
        context.prec = 440
        assert low < exact < high
        assert high - low < Decimal("1e-25") * exact


@pytest.mark.parametrize("x", [-1e6, -500.0, -40.0, -38.5, -3.0, 0.0, 4.0, 40.0])
def test_floats_against_scipy(x):
    assert normal_cdf_down(x) <= normal_cdf_up(x)
    assert normal_cdf_up(x) == pytest.approx(ndtr(x), rel=1e-12, abs=1e-320)
    assert normal_cdf(x) == pytest.approx(ndtr(x), rel=1e-12, abs=1e-320)
    assert 0 <= normal_cdf_down(x) <= 1


def delta(mu, epsilon):
    with localcontext() as context:
        context.prec = 440
        a, b = F(mu) / 2 - F(epsilon) / F(mu), -F(mu) / 2 - F(epsilon) / F(mu)
        power = (Decimal(F(epsilon).numerator) / Decimal(F(epsilon).denominator)).exp()
        return cdf(a) - power * cdf(b)


@pytest.mark.parametrize("mu", [0.1, 0.3, 1, 4])
@pytest.mark.parametrize("epsilon", [0, 0.001, 0.5, 1, 2])
def test_delta_is_rounded_up_and_no_more(mu, epsilon):
    exact = delta(mu, epsilon)
    found = gaussian_delta_up(mu, epsilon)
    assert Decimal(found) >= exact
    assert Decimal(math.nextafter(found, 0)) <= exact * Decimal("1.000000000000001")


@pytest.mark.parametrize("goal", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("size", [0.1, 1, 10])
def test_inverses_keep_delta_and_are_tight(goal, size):
    epsilon = gaussian_epsilon_up(size, goal)
    assert delta(size, epsilon) <= Decimal(goal)
    assert delta(size, epsilon * (1 - 1e-12)) > Decimal(goal) or epsilon == 0
    sigma = gaussian_sigma_up(size, goal)
    assert delta(1 / F(sigma), size) <= Decimal(goal)
    assert delta(1 / F(sigma * (1 - 1e-12)), size) > Decimal(goal)


def test_known_values():
    assert gaussian_sigma_up(1, 1e-6) == pytest.approx(4.2246788893, rel=1e-9)
    classic = math.sqrt(2 * math.log(1.25 / 1e-6))
    assert gaussian_sigma_up(1, 1e-6) < classic
    assert gaussian_sigma_up(1, 1e-6, sensitivity=3) == pytest.approx(3 * 4.2246788893, rel=1e-9)
    assert gaussian_delta_up(0, 1) == 0
    assert gaussian_delta_up(1, 0) == pytest.approx(2 * norm.cdf(0.5) - 1, rel=1e-12)
    assert gaussian_epsilon_up(0.5, 0.9) == 0


@pytest.mark.parametrize("mu", [1e-8, 1e-10, 1e-30, 1e-300])
def test_gaussian_noise_always_has_a_delta(mu):
    """The loss of a normal variable has no bound, so δ > 0 for every μ > 0 and every ε."""
    assert gaussian_delta_up(mu, 1) > 0
    assert not sf.GDP(mu).implies(sf.ApproxDP(1, 0))
    assert not sf.GDP(mu).implies(sf.PureDP(1))
    assert gaussian_delta_up(mu, 1e300) > 0


def test_only_no_release_at_all_has_no_delta():
    assert gaussian_delta_up(0, 1) == 0
    assert sf.GDP(0).implies(sf.ApproxDP(1, 0))


def test_tails_too_small_for_a_decimal_stay_enclosed():
    assert normal_cdf_up(-1e10) > 0
    assert normal_cdf_down(-1e10) == 0
    assert normal_cdf_up(1e10) == 1
    assert normal_cdf_down(1e10) < 1


@pytest.mark.parametrize("delta", [0, -1, F(1, 10**400)])
def test_no_sigma_gives_delta_0(delta):
    with pytest.raises(ParameterError):
        gaussian_sigma_up(1, delta)
    with pytest.raises(ParameterError):
        gaussian_epsilon_up(1, delta)


def test_extreme_epsilons():
    """σ ≈ 1/√(2ε) for a huge ε: μ/2 = ε/μ, where Φ is ½, up to a vanishing share."""
    assert gaussian_sigma_up(10**300, F(1, 10**6)) == pytest.approx(2**-0.5 * 1e-150)
    assert gaussian_epsilon_up(10**100, 1e-6) == pytest.approx(5e199)
    with pytest.raises(ParameterError, match="large enough"):
        gaussian_epsilon_up(10**200, 1e-6)
