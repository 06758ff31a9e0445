"""Every sampler against its exact probabilities, OpenDP and the moments of scipy.

Thresholds: a χ² test fails a right sampler once in 10⁶ runs (`FALSE_ALARM`); with fixed seeds each
verdict is the same on every run. Kolmogorov–Smirnov tests of large scales use the same rate.
"""

import math
from fractions import Fraction
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

from sfumato.dp import noise
from sfumato.dp.noise.alias import FEW
from sfumato.errors import ParameterError
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square

SAMPLES = 200_000


def counts(values):
    found, number = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), number.tolist(), strict=True))


def laplace_pmf(scale, reach):
    q = math.exp(-1 / scale)
    return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + 1)}


def discrete_gaussian_pmf(variance, reach):
    weights = {x: math.exp(-(x**2) / (2 * variance)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def rounded_gaussian_pmf(variance, reach):
    sigma = math.sqrt(variance)
    points = np.arange(-reach, reach + 1)
    shares = np.diff(stats.norm.cdf((np.append(points, reach + 1) - 0.5) / sigma))
    return dict(zip(points.tolist(), shares.tolist(), strict=True))


LAPLACE = [
    Fraction(1, 5),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(100, 7),
    Fraction(57),
]
GAUSS = [
    Fraction(1, 9),
    Fraction(1),
    Fraction(5, 2),
    Fraction(100),
    Fraction(40_000),
    Fraction(12_345_678, 17),
]


@pytest.mark.parametrize("scale", LAPLACE, ids=str)
def test_discrete_laplace_follows_its_law(scale):
    with noise.insecure_seeded(1):
        drawn = noise.discrete_laplace(scale, SAMPLES)
    wanted = laplace_pmf(float(scale), int(60 * scale) + 10)
    assert drawn.dtype == np.int64
    assert chi_square(wanted, counts(drawn), SAMPLES) > FALSE_ALARM


@pytest.mark.parametrize("variance", GAUSS, ids=str)
def test_discrete_gaussian_follows_its_law(variance):
    with noise.insecure_seeded(2):
        drawn = noise.discrete_gaussian(variance, SAMPLES)
    wanted = discrete_gaussian_pmf(float(variance), int(12 * math.sqrt(variance)) + 10)
    assert chi_square(wanted, counts(drawn), SAMPLES) > FALSE_ALARM


@pytest.mark.parametrize("variance", [Fraction(1, 10**6), *GAUSS], ids=str)
def test_rounded_gaussian_follows_its_law(variance):
    with noise.insecure_seeded(3):
        drawn = noise.rounded_gaussian(variance, SAMPLES)
    wanted = rounded_gaussian_pmf(float(variance), int(12 * math.sqrt(variance)) + 10)
    assert chi_square(wanted, counts(drawn), SAMPLES) > FALSE_ALARM


@pytest.mark.parametrize(
    ("sampler", "wanted"),
    [
        (partial(noise.discrete_laplace, Fraction(3)), laplace_pmf(3, 200)),
        (partial(noise.discrete_laplace, Fraction(40)), laplace_pmf(40, 2500)),
        (partial(noise.discrete_gaussian, Fraction(4)), discrete_gaussian_pmf(4, 40)),
        (partial(noise.discrete_gaussian, Fraction(10**5)), discrete_gaussian_pmf(1e5, 4000)),
        (partial(noise.rounded_gaussian, Fraction(4)), rounded_gaussian_pmf(4, 40)),
    ],
)
def test_a_few_draws_without_the_compiler_follow_the_same_law(sampler, wanted):
    with noise.insecure_seeded(4):
        drawn = np.concatenate([sampler(FEW) for _ in range(400)])
    assert chi_square(wanted, counts(drawn), drawn.size) > FALSE_ALARM


@pytest.mark.parametrize("power", [10, 20, 30, 45, 51, 60, 90])
def test_large_scales_follow_the_continuous_law(power):
    size = 20_000 if power <= 51 else 3000
    with noise.insecure_seeded(5):
        laplace = noise.discrete_laplace(Fraction(2) ** power, size)
        discrete = noise.discrete_gaussian(Fraction(4) ** power, size)
        rounded = noise.rounded_gaussian(Fraction(4) ** power, size)
    scale = 2.0**power
    jitter = np.random.default_rng(0).uniform(-0.5, 0.5, size)
    for drawn, law in ((laplace, stats.laplace), (discrete, stats.norm), (rounded, stats.norm)):
        smooth = (drawn.astype(np.float64) + jitter) / scale
        assert stats.kstest(smooth, law.cdf).pvalue > FALSE_ALARM
        # Every low bit is used: odd and even numbers come up alike.
        odd = sum(int(x) & 1 for x in drawn)
        assert abs(odd - size / 2) < 5.5 * math.sqrt(size / 4)


def test_very_large_scales_give_python_integers_and_fine_ones_zero():
    huge = noise.discrete_laplace(Fraction(2) ** 200, 10)
    assert huge.dtype == object
    assert max(abs(int(x)) for x in huge) > 2**64
    assert noise.discrete_gaussian(Fraction(2) ** 300, 5).dtype == object
    assert noise.rounded_gaussian(Fraction(2) ** 300, 5).dtype == object
    for sampler in (noise.discrete_laplace, noise.discrete_gaussian, noise.rounded_gaussian):
        for fine in (Fraction(1, 3 * 10**9), Fraction(1, 7 * 10**30)):
            drawn = sampler(fine, 1000)
            assert drawn.shape == (1000,)
            assert not drawn.any()
        assert sampler(Fraction(10**40 + 1, 10**40), 10).dtype == np.int64


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1, 9), Fraction(1, 30)])
def test_gaussians_at_fine_scales_follow_their_laws(variance):
    """Where nearly all is 0 and the next whole number is several σ away."""
    sigma = math.sqrt(variance)
    points = range(-6, 7)
    weights = [math.exp(-(x**2) / (2 * float(variance))) for x in points]
    discrete = {x: w / sum(weights) for x, w in zip(points, weights, strict=True)}
    edges = stats.norm.cdf([(x - 0.5) / sigma for x in range(-6, 8)])
    rounded = dict(zip(points, np.diff(edges).tolist(), strict=True))
    with noise.insecure_seeded(8):
        for sampler, law in (
            (noise.discrete_gaussian, discrete),
            (noise.rounded_gaussian, rounded),
        ):
            drawn = sampler(variance, SAMPLES)
            assert chi_square(law, counts(drawn), SAMPLES) > FALSE_ALARM


def test_scales_with_huge_denominators_are_taken_exactly():
    near_one = Fraction(10**50 + 1, 10**50)
    with noise.insecure_seeded(6):
        drawn = noise.discrete_laplace(near_one, SAMPLES)
    assert chi_square(laplace_pmf(1.0, 60), counts(drawn), SAMPLES) > FALSE_ALARM


@pytest.mark.parametrize("scale", [1.0, 10.0, 1000.0])
def test_moments_agree_with_scipy(scale):
    with noise.insecure_seeded(7):
        laplace = noise.discrete_laplace(Fraction(scale), SAMPLES)
        gauss = noise.rounded_gaussian(Fraction(scale) ** 2, SAMPLES)
    for drawn, law in (
        (laplace, stats.dlaplace(1 / scale)),
        (gauss, stats.norm(scale=math.sqrt(scale**2 + 1 / 12))),  # Sheppard's correction
    ):
        mean, variance, skew, kurtosis = law.stats("mvsk")
        error = math.sqrt(variance / SAMPLES)
        assert abs(drawn.mean() - mean) < 5 * error
        spread = variance * math.sqrt((kurtosis + 2) / SAMPLES)
        assert abs(drawn.var() - variance) < 5 * spread + 2e-3 * (scale == 1.0)
        assert abs(stats.skew(drawn) - skew) < 0.1
        assert abs(stats.kurtosis(drawn) - kurtosis) < 0.5


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_opendp_draws_from_the_same_distribution(kind, scale):
    dp = import_module("opendp.prelude")  # part of the development extra: never skipped
    dp.enable_features("contrib")
    size = 20_000
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    maker = dp.m.make_laplace
    if kind == "gaussian":
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        maker = dp.m.make_gaussian
    theirs = np.array(maker(*space, scale=scale)([0] * size))
    with noise.insecure_seeded(8):
        if kind == "laplace":
            ours = noise.discrete_laplace(Fraction(scale), size)
        else:
            ours = noise.discrete_gaussian(Fraction(scale) ** 2, size)
    edges = np.arange(-3 * scale, 3 * scale + 1) - 0.5
    table = np.array(
        [np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) for x in (ours, theirs)]
    )
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_scales_that_are_not_positive_are_refused():
    for sampler in (noise.discrete_laplace, noise.discrete_gaussian, noise.rounded_gaussian):
        for bad in (0, -1, Fraction(-1, 3)):
            with pytest.raises(ParameterError, match="above 0"):
                sampler(bad, 10)


def test_sizes_from_none_to_over_a_block_are_right():
    for size in (0, 1, FEW, FEW + 1, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 40_000):
        assert noise.discrete_laplace(5, size).shape == (size,)
        assert noise.discrete_gaussian(Fraction(10**8), size).shape == (size,)
        assert noise.rounded_gaussian(3, size).shape == (size,)
        assert noise.below(7, size).shape == (size,)
        assert noise.bernoulli(Fraction(1, 3), size).shape == (size,)


@pytest.mark.parametrize("variance", [Fraction(10**5), Fraction(3)], ids=str)
@pytest.mark.parametrize("discrete", [True, False])
def test_the_remainder_of_the_table_serves_many_draws_too(variance, discrete, monkeypatch):
    """Shares cut by a sixteenth leave that much to the remainder; the law stays the same."""
    gaussian = import_module("sfumato.dp.noise.gaussian")
    alias = import_module("sfumato.dp.noise.alias")
    plan = gaussian._plan(variance, discrete=discrete)
    shares = [share - share // 16 for share in plan.table.shares]
    spare = (1 << plan.table.level) - 1 - len(shares)
    cells = np.array(alias._alias(shares + [0] * spare, plan.table.level), dtype=np.uint64)
    table = alias.AliasTable(plan.weights, cells, plan.table.level, tuple(shares))
    settled = []
    settle = alias.AliasTable.settle
    monkeypatch.setattr(
        alias.AliasTable, "settle", lambda self, source: settled.append(1) or settle(self, source)
    )
    cut = gaussian._Plan(variance, discrete, plan.power, table)
    with noise.insecure_seeded(11):
        drawn = np.concatenate([gaussian._sample(cut, 200, noise.stream()) for _ in range(4)])
    law = discrete_gaussian_pmf if discrete else rounded_gaussian_pmf
    wanted = law(float(variance), int(12 * math.sqrt(variance)) + 10)
    assert 10 < len(settled) < 200
    assert chi_square(wanted, counts(drawn), drawn.size) > FALSE_ALARM


@pytest.mark.parametrize("variance", [Fraction(2), Fraction(12_000), Fraction(10**9, 7)], ids=str)
@pytest.mark.parametrize("discrete", [True, False])
def test_what_is_surely_accepted_is_accepted_in_every_bin(variance, discrete):
    gaussian = import_module("sfumato.dp.noise.gaussian")
    plan = gaussian._plan(variance, discrete=discrete)
    count = len(plan.table.shares)
    least = min(math.exp(-plan.weights.exponent(number, Fraction(1))) for number in range(count))
    sure = plan.weights.sure(count) / 256
    assert least - 1 / 64 < sure <= least


def test_a_block_after_a_point_beyond_64_bits_is_still_drawn():
    """A point so far out makes room for Python integers, which no compiled loop can fill."""
    gaussian = import_module("sfumato.dp.noise.gaussian")
    plan = gaussian._plan(Fraction(10**6), discrete=True)
    with noise.insecure_seeded(5):
        room = np.empty(4_000, dtype=object)
        points, left = gaussian._candidates(plan, room, gaussian.stream())
    kept = np.delete(points, left).astype(np.float64)
    assert stats.kstest(kept / 1000, "norm").pvalue > 1e-6
