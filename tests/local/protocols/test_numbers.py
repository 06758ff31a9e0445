"""Means and distributions of numbers: unbiased, with the variance of the papers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato.local.protocols import em
from sfumato.local.protocols.square_wave import best_reach

Z = 5.0
MEANS = [sf.local.Duchi, sf.local.Piecewise, sf.local.Hybrid]


def reading(protocol, code):
    """Read one code: a number of the grid, or an answer of the coin."""
    step, answer = protocol.scales
    if code >= protocol.outputs:
        return answer * (2 * (code - protocol.outputs) - 1)
    return step * (code - (protocol.outputs - 1) / 2)


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize("epsilon", [0.3, 1, 2, 6])
@pytest.mark.parametrize("x", [-1, -0.4, 0, 0.123456, 1])
def test_the_exact_mean_and_variance_of_one_report(kind, epsilon, x):
    grid = {} if kind is sf.local.Duchi else {"grid": 61}
    protocol = kind(epsilon=epsilon, **grid)
    table = protocol.distribution(x)
    mean = sum(float(p) * reading(protocol, code) for code, p in table.items())
    square = sum(float(p) * reading(protocol, code) ** 2 for code, p in table.items())
    assert mean == pytest.approx(x, abs=1e-6)
    assert square - mean**2 == pytest.approx(protocol.variance(1, x), rel=1e-6)
    assert protocol.variance(1, x) <= protocol.variance(1) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1, 2, 6])
def test_variances_are_those_of_the_papers(epsilon):
    grown, half = math.exp(epsilon), math.exp(epsilon / 2)
    for x in (0.0, 0.5, 1.0):
        duchi = ((grown + 1) / (grown - 1)) ** 2 - x**2
        piecewise = x**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        assert sf.local.Duchi(epsilon=epsilon).variance(1, x) == pytest.approx(duchi, rel=1e-5)
        assert sf.local.Piecewise(epsilon=epsilon).variance(1, x) == pytest.approx(
            piecewise, rel=1e-3
        )
    worst = [kind(epsilon=epsilon).variance(1) for kind in MEANS]
    assert worst[2] <= min(worst[:2]) * (1 + 1e-9)


@pytest.mark.parametrize("kind", MEANS)
def test_means_are_unbiased_and_err_as_stated(kind, seeded):
    protocol = kind((0, 200), epsilon=1)
    values = np.linspace(20, 150, 4_000)
    found = [protocol.estimate(protocol.perturb(values)) for _ in range(50)]
    errors = np.array([e.mean for e in found]) - values.mean()
    stated = np.mean([e.standard_error for e in found])
    assert abs(errors.mean()) < Z * stated / math.sqrt(50)
    # The standard error is about the population: the spread of the values comes on top.
    coins_alone = math.sqrt(max(stated**2 - values.var() / 4_000, 0))
    assert errors.std() == pytest.approx(coins_alone, rel=0.45)
    inside = [e.interval(0.99)[0] < values.mean() < e.interval(0.99)[1] for e in found]
    assert sum(inside) >= 45
    assert "reports" in str(found[0])


def test_numbers_outside_the_bounds_count_as_the_bounds(seeded):
    protocol = sf.local.Duchi((0, 1), epsilon=8)
    estimate = protocol.estimate(protocol.perturb([5.0] * 3_000 + [-9.0] * 1_000))
    assert estimate.mean == pytest.approx(0.75, abs=Z * estimate.standard_error)


@pytest.mark.parametrize("kind", [*MEANS, sf.local.SquareWave])
def test_missing_and_odd_numbers_are_refused(kind):
    protocol = kind((0, 1), epsilon=1)
    for bad in ([0.5, float("nan")], [[0.5]], ["x"], [None]):
        with pytest.raises(DataError):
            protocol.perturb(bad)
    assert len(protocol.perturb([float("inf"), -float("inf")])) == 2
    for bounds in ((1, 0), (0, 0), (0, float("inf")), (0,), 3):
        with pytest.raises(ParameterError):
            kind(bounds, epsilon=1)
    with pytest.raises(ParameterError):
        kind((0, 1), epsilon=0)


def test_square_wave_finds_the_shape(seeded):
    wave = sf.local.SquareWave((0, 10), epsilon=2, bins=64)
    values = np.concatenate([np.linspace(2, 3, 15_000), np.linspace(7, 9, 15_000)])
    found = wave.estimate(wave.perturb(values))
    assert found.frequencies.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(values.mean(), abs=0.15)
    assert found.quantile(0.25) == pytest.approx(2.5, abs=0.4)
    assert found.share_between(4, 6) < 0.05
    assert found.share_between(0, 10) == pytest.approx(1)
    assert found.variance == pytest.approx(values.var(), rel=0.15)
    assert "biased" in repr(found)
    rough = wave.estimate(wave.perturb(values), smooth=False)
    assert np.abs(np.diff(rough.frequencies)).sum() > np.abs(np.diff(found.frequencies)).sum()


def test_em_climbs_to_the_likeliest_distribution():
    """Compare with a plain implementation by matrices, run for long."""
    wave = sf.local.SquareWave((0, 1), epsilon=1.2, bins=6)
    window = wave.window
    matrix = np.array(
        [
            [float(wave.distribution((v + 0.5) / 6)[j]) for v in range(6)]
            for j in range(window.outputs)
        ]
    )
    truth = np.array([0.05, 0.1, 0.35, 0.3, 0.15, 0.05])
    counts = np.rint(1e7 * matrix @ truth).astype(np.int64)
    plain = np.full(6, 1 / 6)
    for _ in range(20_000):
        plain = plain * (matrix.T @ (counts / (matrix @ plain)))
        plain /= plain.sum()
    assert plain == pytest.approx(truth, abs=1e-3)
    assert em.fit(window, 6, counts, smooth=False) == pytest.approx(plain, abs=2e-3)


def test_the_reach_of_the_square_wave_is_the_papers():
    for epsilon in (0.5, 1.0, 3.0):
        grown = math.exp(epsilon)
        wanted = (epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon))
        assert best_reach(epsilon) == pytest.approx(wanted)
    assert best_reach(1e-3) == pytest.approx(0.5, abs=1e-3)
    assert best_reach(1e-6) == 0.5


@pytest.mark.parametrize(
    ("protocol", "good", "bad"),
    [
        (sf.local.Duchi((0, 100), epsilon=1), [65534, 65535], [0, 5, 65533]),
        (sf.local.Piecewise((0, 100), epsilon=1, grid=10), [0, 9], [10, 11, 12, 60_000]),
        (sf.local.Hybrid((0, 100), epsilon=1, grid=10), [0, 9, 10, 11], [12, 60_000]),
        (sf.local.Hybrid((0, 100), epsilon=0.5, grid=10), [10, 11], [0, 9, 12, 65535]),
    ],
)
def test_codes_that_no_device_makes_are_refused(protocol, good, bad):
    possible = {code for x in (0, 50, 100) for code, p in protocol.distribution(x).items() if p}
    assert set(good) <= possible
    assert not set(bad) & possible
    codes = np.array([*good, *bad], dtype=np.uint16)
    accepted = sf.local.well_formed(protocol, {"code": codes})
    assert accepted.tolist() == [True] * len(good) + [False] * len(bad)


def test_intervals_of_means_do_not_collapse(seeded):
    one = sf.local.Duchi((0, 1), epsilon=1)
    found = one.estimate(one.perturb([0.5]))
    assert found.standard_error >= math.sqrt(one.variance(1, 1.0)) > 0
    # At the bound almost all readings agree, and their spread alone says too little.
    for kind, n in ((sf.local.Hybrid, 30), (sf.local.Duchi, 30), (sf.local.Piecewise, 30)):
        protocol = kind((0, 1), epsilon=8)
        hits = 0
        for _ in range(200):
            low, high = protocol.estimate(protocol.perturb([1.0] * n)).interval()
            hits += low <= 1 <= high
        assert hits >= 180, kind.__name__
