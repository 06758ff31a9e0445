"""Histograms of arrays: exact bins, exact noise, and a black-box check of the claim."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from chance import audited, many_runs
from scipy import stats

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square

SURE = 300
RNG = np.random.default_rng(11)


def tally(values):
    found, number = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), number.tolist(), strict=True))


def laplace_pmf(scale, reach=400):
    q = math.exp(-1 / scale)
    return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + 1)}


def gaussian_pmf(sigma, reach=400):
    points = np.arange(-reach, reach + 1)
    shares = np.diff(stats.norm.cdf((np.append(points, reach + 1) - 0.5) / sigma))
    return dict(zip(points.tolist(), shares.tolist(), strict=True))


# -- exact bins ------------------------------------------------------------------------------


def test_counts_are_those_of_numpy():
    values = RNG.normal(50, 20, 1000)
    edges = [0, 10, 25.5, 60, 100]
    found = sf.dp.histogram(values, bins=edges, epsilon=SURE)
    assert found.values.tolist() == np.histogram(values, edges)[0].tolist()
    assert found.edges == ((0.0, 10.0, 25.5, 60.0, 100.0),)
    equal = sf.dp.histogram(values, bins=8, bounds=(0, 100), epsilon=SURE)
    assert equal.values.tolist() == np.histogram(values, 8, (0, 100))[0].tolist()


def test_several_dimensions_are_those_of_numpy():
    values = RNG.random((500, 3))
    bins = [[0, 0.3, 1], [0, 0.5, 0.7, 1], [0.1, 0.9]]
    found = sf.dp.histogram(values, bins=bins, epsilon=SURE)
    assert found.values.tolist() == np.histogramdd(values, bins)[0].tolist()
    mixed = sf.dp.histogram(
        {"sex": ["f", "m", "f", "x"], "age": [1, 30, 70, 2]},
        bins=[["f", "m"], [0, 18, 99]],
        epsilon=SURE,
    )
    assert mixed.values.tolist() == [[1, 1], [0, 1]]
    assert mixed.edges == (("f", "m"), (0.0, 18.0, 99.0))
    equal = sf.dp.histogram(values, bins=4, bounds=[(0, 1)] * 3, epsilon=SURE)
    assert equal.values.shape == (4, 4, 4)
    assert equal.values.sum() == 500


def test_what_is_no_number_is_in_no_bin_and_raises_nothing():
    odd = [5, None, math.nan, math.inf, -math.inf, "x", [1], 10**400, 10, 10.5, True]
    assert sf.dp.histogram(odd, bins=[0, 6, 10], epsilon=SURE).values.tolist() == [2, 1]
    rows = [("a", 1), ("a",), None, ("b", "x"), ([], 1)]
    found = sf.dp.histogram(rows, bins=[["a", "b"], [0, 2]], epsilon=SURE)
    assert found.values.tolist() == [[1], [0]]
    assert sf.dp.histogram([], bins=[["a", "b"], [0, 2]], epsilon=SURE).values.shape == (2, 1)


def test_sums_are_clamped_and_exact():
    places = ["a", "b", "a", "c", "a"]
    sums = [1.5, -7.25, 100, 3, None]
    found = sf.dp.histogram(places, bins=["a", "b"], sums=sums, sum_bounds=(-5, 10), epsilon=1e6)
    assert found.values == pytest.approx([11.5, -5], abs=1e-3)
    assert found.step == Fraction(1, 2**17)
    whole = sf.dp.histogram(
        [0, 0, 5], bins=[0, 1, 9], sums=[2**40, 7, 3], sum_bounds=(0, 2**41), epsilon=1e15
    )
    assert whole.step == 1
    assert whole.values.tolist() == [2**40 + 7, 3]


# -- sensitivities and noise -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("neighbours", "more", "scale"),
    [
        ("unbounded", {}, 1),
        ("bounded", {}, 2),
        (sf.Unit("id", rows=3), {}, 3),
        (sf.Unit("id", groups=2, rows_per_group=2), {}, 4),
    ],
)
def test_noise_of_counts_has_the_derived_scale(neighbours, more, scale):
    epsilon = 0.5
    empty = np.full(40_000, -1.0)
    with sf.dp.noise.insecure_seeded(3):
        found = sf.dp.histogram(
            empty, bins=30_000, bounds=(0, 1), epsilon=epsilon, neighbours=neighbours, **more
        )
    assert found.sensitivity.l1 == scale
    pmf = laplace_pmf(scale / epsilon)
    assert chi_square(pmf, tally(found.values), 30_000) > FALSE_ALARM
    inside = np.abs(found.values) <= found.half_width(0.9)
    assert 0.9 <= inside.mean() < 0.97
    low, high = found.interval(0.9)
    assert ((low <= 0) & (high >= 0)).mean() == inside.mean()


def test_gaussian_noise_of_counts_is_rounded_and_has_the_analytic_sigma():
    relation = sf.dp.Neighbours("bounded")
    with sf.dp.noise.insecure_seeded(4):
        found = sf.dp.histogram(
            [], bins=30_000, bounds=(0, 1), epsilon=1, delta=1e-5, neighbours=relation
        )
    sigma = sf.dp.Gaussian(sensitivity=found.sensitivity.l2, epsilon=1, delta=1e-5).sigma
    assert found.sensitivity.l2 == pytest.approx(math.sqrt(2))
    assert found.guarantee == sf.ApproxDP(1.0, 1e-5, neighbours=relation)
    assert chi_square(gaussian_pmf(sigma), tally(found.values), 30_000) > FALSE_ALARM
    concentrated = sf.dp.histogram([], bins=[0, 1], rho=0.5)
    assert concentrated.guarantee == sf.ZCDP(0.5)


def test_noise_of_sums_has_the_sensitivity_of_the_bounds():
    with sf.dp.noise.insecure_seeded(5):
        found = sf.dp.histogram(
            [-1.0],
            bins=20_000,
            bounds=(0, 1),
            sums=[5],
            sum_bounds=(-(2**21), 2**20),
            epsilon=2**19,
        )
    assert found.step == 1
    assert found.sensitivity.l1 == 2**21
    assert chi_square(laplace_pmf(4), tally(found.values), 20_000) > FALSE_ALARM
    bounded = sf.dp.histogram(
        [0], bins=[0, 1, 2], sums=[5], sum_bounds=(0, 8), epsilon=1, neighbours="bounded"
    )
    assert bounded.sensitivity.l1 * bounded.step == 16


# -- the claim, as a black box -----------------------------------------------------------------


def noisy(sums=False, **price):
    def ask(records):
        if sums:
            places = [place for place, _ in records]
            values = [value for _, value in records]
            found = sf.dp.histogram(
                places, bins=["a", "b"], sums=values, sum_bounds=(0, 4), **price
            )
        else:
            found = sf.dp.histogram(records, bins=[0, 1, 2], **price)
        return tuple(found.values.tolist())

    return ask


NEIGHBOURS = sf.PureDP(1.0, neighbours=sf.dp.BOUNDED)
CLAIMS = [
    (noisy(epsilon=1), sf.PureDP(1.0), [0, 1, 5, None, "x"], [([1], [1, 1]), ([1], [1, "x"])]),
    (noisy(epsilon=1, neighbours="bounded"), NEIGHBOURS, [0, 1], [([1, 0], [1, 1])]),
    (
        noisy(sums=True, epsilon=1), sf.PureDP(1.0), [("a", 4), ("b", 9), ("a", None), ("c", 1)],
        [([], [("b", 9)]), ([("a", 4)], [("a", 4), ("a", None)])],
    ),
    (noisy(epsilon=1, delta=1e-2), sf.ApproxDP(1.0, 1e-2), [0, 1, 5], [([1], [1, 1])]),
]  # fmt: skip


@pytest.mark.parametrize(("func", "claim", "records", "pairs"), CLAIMS)
@audited
def test_the_claim_is_not_refuted(func, claim, records, pairs, refuted):
    """By few runs on the worst pairs, and by many on all pairs of these records."""
    assert not refuted(func, claim, None if refuted is many_runs else pairs, records=records)


@audited
def test_a_claim_of_too_little_is_refuted(refuted):
    pairs = None if refuted is many_runs else CLAIMS[0][-1]
    assert refuted(noisy(epsilon=2.0), sf.PureDP(0.5), pairs, records=[0, 1], samples=2_000)


BAD = [
    {"bins": [0, 1]},
    {"bins": 10, "epsilon": 1},
    {"bins": 0, "bounds": (0, 1), "epsilon": 1},
    {"bins": 3, "bounds": (1, 1), "epsilon": 1},
    {"bins": [1, 0], "epsilon": 1},
    {"bins": [0, math.inf], "epsilon": 1},
    {"bins": "auto", "epsilon": 1},
    {"bins": ["a", "a"], "epsilon": 1},
    {"bins": [], "epsilon": 1},
    {"bins": [0, 1], "epsilon": 0},
    {"bins": [0, 1], "epsilon": 1, "rho": 1},
    {"bins": [0, 1], "delta": 1e-6},
    {"bins": [0, 1], "epsilon": 1, "sum_bounds": (0, 1)},
    {"bins": [0, 1], "epsilon": 1, "sums": [1, 2, 3]},
    {"bins": [0, 1], "epsilon": 1, "sums": [1, 2, 3], "sum_bounds": (0, 0)},
    {"bins": [0, 1], "epsilon": 1, "sums": [1], "sum_bounds": (0, 1)},
    {"bins": [0, 1], "epsilon": 1, "neighbours": sf.Unit("id")},
    {"bins": [[0, 1], [0, 1]], "epsilon": 1, "bounds": [(0, 1)]},
    {"bins": 10**8, "bounds": (0, 1), "epsilon": 1},
]


@pytest.mark.parametrize("given", BAD, ids=str)
def test_bad_parameters_are_refused(given):
    with pytest.raises((ParameterError, DataError)) as caught:
        sf.dp.histogram([0, 1, 1], **given)
    assert "nan" not in str(caught.value)


def test_an_array_of_another_shape_is_refused():
    with pytest.raises(DataError, match="shape"):
        sf.dp.histogram(np.zeros((3, 2)), bins=[0, 1], epsilon=1)
