"""Extreme parameters are served exactly or refused in words; nothing leaves its domain."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp import noise
from sfumato.dp.mechanisms import gaussian as gaussian_module
from sfumato.errors import ParameterError, SfumatoError


@pytest.mark.parametrize(
    ("scores", "odds"),
    [
        (np.array([2**63, 2**63 + 2], dtype=np.uint64), math.exp(-1)),
        (np.array([0, 2**64 - 1], dtype=np.uint64), 0.0),
        (np.array([False, True]), math.exp(-0.5)),
        (np.array([-(2**63), 2**63 - 1]), 0.0),
        (np.array([-1.7e308, 1.7e308]), 0.0),
        ([10**400, 10**400 + 2], math.exp(-1)),
        ([-(10**400), 10**400], 0.0),
        ([0.0, 2.0], math.exp(-1)),
    ],
)
def test_probabilities_are_right_for_every_type_of_score(scores, odds):
    mechanism = sf.dp.Exponential(sensitivity=1, epsilon=1)
    with np.errstate(all="raise", under="ignore", over="ignore"):
        worse, better = mechanism.probabilities(scores)
    assert worse + better == pytest.approx(1)
    assert worse == pytest.approx(odds / (1 + odds), rel=1e-12)


@pytest.mark.parametrize("mechanism", [sf.dp.Exponential, sf.dp.PermuteAndFlip])
@pytest.mark.parametrize("delta", [0.1, 0.3, 0.7, 1e23, 5e-324, 123.456])
@pytest.mark.parametrize("monotone", [True, False])
def test_selections_count_floats_as_the_binary_numbers_they_are(mechanism, delta, monotone):
    """Scores [Δ, 0] and [0, Δ] differ by the float Δ, not by the decimal it prints as."""
    rate = mechanism(sensitivity=delta, epsilon=1, monotone=monotone).rate
    assert rate * Fraction(delta) * (1 if monotone else 2) <= 1
    assert (
        rate * Fraction(delta) * (1 if monotone else 2) >= 1 - Fraction(1, 10**15) or delta < 1e-300
    )


@pytest.mark.parametrize("epsilon", ["0.1", "1", "1/3", "7"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_the_discrete_gaussian_has_at_least_the_noise_of_the_tested_rho(epsilon, delta):
    exact = Fraction(epsilon), Fraction(delta)
    rho = gaussian_module._concentrated(*exact)
    variance = sf.dp.DiscreteGaussian(sensitivity=1, epsilon=epsilon, delta=delta).variance
    assert 1 / (2 * variance) <= min(Fraction(repr(rho)), Fraction(rho))


def test_geometric_noise_covers_a_long_float_sensitivity():
    for delta in (float(2**60 + 2**9), 1.1529215046068472e18, 2.0**70):
        steps = sf.dp.Geometric(sensitivity=delta, epsilon=1).steps(1)
        assert steps >= Fraction(delta)
        wide = sf.dp.DiscreteGaussian(sensitivity=delta, rho=0.5).steps_squared(1)
        assert wide >= Fraction(delta) ** 2


@pytest.mark.parametrize(
    "domain",
    [
        {"lower": 0, "upper": 1e-322},
        {"lower": 0, "upper": 1, "step": "1e-310"},
        {"lower": "-1e400", "upper": 0},
        {"lower": 0, "upper": "1e400"},
        {"lower": 0, "upper": 1, "step": "1e400"},
    ],
)
def test_domains_beyond_floats_are_refused(domain):
    with pytest.raises(ParameterError, match=r"2\^"):
        sf.dp.quantile([0, 1], 0.5, epsilon=1, **domain)


@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 1e-290), (-1e300, 1e300), (1e15, 1e15 + 1), (0.1, 0.3)]
)
def test_quantiles_stay_in_their_domain(lower, upper):
    values = [lower, upper, 0, 1e308, -1e308, 10**400]
    for kind in (values[:5], [int(x) for x in values]):
        drawn = sf.dp.ExponentialQuantile(lower=lower, upper=upper, epsilon=1).simulate(kind, 200)
        assert np.isfinite(drawn).all()
        assert lower <= drawn.min() <= drawn.max() <= upper


def test_quantiles_take_ratios_and_refuse_before_anything_is_drawn(monkeypatch):
    values = list(range(100))
    low, high = sf.dp.quantiles(values, ["2/3", "1/3"], lower=0, upper=99, epsilon=100)[::-1]
    assert 28 <= low <= 38
    assert 61 <= high <= 71
    drawn = []
    monkeypatch.setattr(sf.dp.ExponentialQuantile, "simulate", lambda *_: drawn.append(1) or [0.0])
    for orders in ([0.5, "half"], [0.5, None], [0.5, 1.5], [0.5, True]):
        with pytest.raises(ParameterError):
            sf.dp.quantiles(values, orders, lower=0, upper=99, epsilon=1)
    assert not drawn


HUGE = 10**400


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: sf.dp.Laplace(sensitivity=1, epsilon=1, size="a"),
        lambda: sf.dp.Laplace(sensitivity=1, epsilon=1, size=math.nan),
        lambda: sf.dp.Laplace(sensitivity=1, epsilon=1, size=[2]),
        lambda: sf.dp.Laplace(sensitivity=1, epsilon=np.bool_(True)),
        lambda: sf.dp.Laplace(sensitivity=1, epsilon="1e-320").error,
        lambda: sf.dp.Laplace(sensitivity=1, epsilon="1e-320").scale,
        lambda: sf.dp.Geometric(sensitivity=HUGE, epsilon=1).error,
        lambda: sf.dp.Exponential(sensitivity=HUGE, epsilon=1, size=2).error,
        lambda: sf.dp.PermuteAndFlip(sensitivity=HUGE, epsilon=1, size=2).error,
        lambda: sf.dp.ReportNoisyMax(sensitivity=HUGE, epsilon=1, size=2).error,
        lambda: sf.dp.AboveThreshold(threshold=0, sensitivity=HUGE, epsilon=1).error,
        lambda: sf.dp.ExponentialQuantile(lower=0, upper=1, epsilon=Fraction(1, HUGE)).error,
        lambda: sf.dp.Exponential(sensitivity=1, epsilon=HUGE).probabilities([1, 2]),
        lambda: sf.dp.gaussian(1, sensitivity=1, epsilon=None, delta=1e-5),
        lambda: sf.dp.discrete_gaussian(1, sensitivity=1, epsilon=HUGE, delta=1e-5),
        lambda: sf.dp.laplace(1, sensitivity=sf.dp.sensitivity(sf.dp.Count()), epsilon=1),
        lambda: sf.dp.price([1], [HUGE], epsilon=1),
        lambda: noise.discrete_laplace(math.nan, 3),
        lambda: noise.discrete_gaussian(math.inf, 3),
        lambda: noise.rounded_gaussian("x", 3),
        lambda: noise.below(2**70, 3),
    ],
)
def test_extremes_are_refused_in_words(attempt):
    with pytest.raises(SfumatoError) as refusal:
        attempt()
    assert str(refusal.value).endswith(".")
    assert len(str(refusal.value)) < 1000


def test_refusals_name_what_to_use():
    with pytest.raises(ParameterError, match=r"\.l1 for Laplace"):
        sf.dp.laplace(1, sensitivity=sf.dp.sensitivity(sf.dp.Count()), epsilon=1)
    with pytest.raises(ParameterError, match="integer_below"):
        noise.below(2**70, 3)
    with pytest.raises(ParameterError) as refusal:
        sf.dp.gaussian(1, sensitivity=1, epsilon=None, delta=1e-5)
    assert "rho" not in str(refusal.value)  # which gaussian() does not take


@pytest.mark.parametrize("epsilon", [1e300, HUGE, 1e-300])
def test_extreme_gaussians_are_served_or_refused_in_words(epsilon):
    try:
        released = sf.dp.gaussian(1, sensitivity=1, epsilon=epsilon, delta=1e-5)
    except ParameterError:
        released = 0.0  # in words; any other exception fails here
    assert math.isfinite(released)


@pytest.mark.parametrize("error", [OverflowError, decimal.Overflow, ZeroDivisionError])
def test_arithmetic_that_overflows_is_put_in_words(monkeypatch, error):
    def overflows(*_):
        raise error

    monkeypatch.setattr(gaussian_module, "gaussian_sigma_up", overflows)
    monkeypatch.setattr(gaussian_module, "delta_at", overflows)
    for mechanism in (sf.dp.Gaussian, sf.dp.DiscreteGaussian):
        with pytest.raises(ParameterError, match="use an ε between"):
            mechanism(sensitivity=1, epsilon=0.123456, delta=1e-5)


def test_extremes_that_are_served():
    assert sf.dp.price([HUGE, -HUGE, 3], [1, 5], epsilon=1000) in {1, 5}
    revenues = sf.dp.Pricing(prices=[2, 5], epsilon=1).revenues([HUGE, 3, -HUGE])
    assert revenues == [4, 5]
    assert sf.dp.RandomizedResponse(epsilon=HUGE).lever == 1.0
    assert sf.dp.Laplace(sensitivity="1e-322", epsilon=1).error.expected > 0
    assert abs(sf.dp.laplace(0.0, sensitivity=1, epsilon="1e-300")) < 1e304
