"""Planar Laplace noise on a grid: the exact distribution, the promise, no floating-point leak."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.noise import insecure_seeded, stream
from sfumato.dp.places.lattice_noise import _exact_chance, _flip, _on_ring, planar_noise
from sfumato.testing import check_mechanism

REACH = 60


def probabilities(gamma):
    """Return Pr[z] for |z|∞ ≤ REACH, summed over a window beyond which next to nothing lies."""
    axis = np.arange(-REACH, REACH + 1)
    weights = np.exp(-float(gamma) * np.hypot(axis[:, None], axis[None]))
    return weights / weights.sum()


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 3), Fraction(5, 2)])
def test_noise_has_exactly_the_stated_distribution(gamma):
    n = 300_000
    with insecure_seeded(1):
        z = planar_noise(gamma, n)
    inside = (np.abs(z) <= REACH).all(axis=1)
    expected = n * probabilities(gamma)
    seen = np.zeros_like(expected)
    np.add.at(seen, (z[inside, 0] + REACH, z[inside, 1] + REACH), 1)
    common = expected >= 20
    rest = expected[~common].sum()
    pieces = (seen - expected)[common] ** 2 / expected[common]
    statistic = pieces.sum() + (seen[~common].sum() + (~inside).sum() - rest) ** 2 / max(rest, 1e-9)
    degrees = int(common.sum())
    # χ² with that many degrees: five and a half standard deviations above its mean
    assert statistic < degrees + 5.5 * math.sqrt(2 * degrees), (statistic, degrees)
    if degrees > 30:
        assert statistic > degrees - 5.5 * math.sqrt(2 * degrees)


def test_rings_are_complete_and_each_point_is_there_once():
    for r in range(5):
        count = 8 * r if r else 1
        points = _on_ring(np.full(count, r), np.arange(count))
        assert (np.abs(points).max(axis=1) == r).all()
        assert len(np.unique(points, axis=0)) == count


def test_a_coin_in_doubt_is_decided_by_whole_numbers():
    chance = _exact_chance(Fraction(1, 7), 3, 5)
    low, high = chance.bounds(80)
    exact = math.exp(-(math.sqrt(34) - 5) / 7)
    assert low <= exact * 2**80 * (1 + 1e-14)
    assert high >= exact * 2**80 * (1 - 1e-14)
    assert high - low <= 4
    assert _exact_chance(Fraction(1, 7), 3, 4).bounds(40)[0] <= math.exp(-1 / 7) * 2**40
    z = np.array([[3, 5]] * 3)
    word = chance.word
    coins = np.array([word - 5, word, word + 5], dtype=np.uint64)  # all within the doubt
    kept = _flip(Fraction(1, 7), z, np.full(3, 5), coins, stream())
    assert kept[0]
    assert not kept[2]


class Coded:
    """The mechanism as `check_mechanism` wants it: one number per report."""

    def __init__(self, epsilon, **_):
        self.inner = sf.places.PlanarLaplace(epsilon=epsilon, step=1)
        self.epsilon = epsilon
        # neighbours of the check are two cells apart
        self.guarantee = sf.PureDP(Fraction(str(epsilon)) * 2)

    def simulate(self, value, count):
        cells = self.inner.cells(np.repeat([[value + 0.5, 0.5]], count, axis=0))
        z = cells + planar_noise(self.inner.gamma, count)
        return z[:, 0] * 10_000 + z[:, 1]

    def release(self, value):
        return int(self.simulate(value, 1)[0])


def test_a_black_box_audit_finds_no_more_than_is_promised():
    mechanism = Coded(0.5)
    table = probabilities(Fraction(1, 2))
    axis = range(-REACH, REACH + 1)
    pmf = {a * 10_000 + b: float(table[a + REACH, b + REACH]) for a in axis for b in axis}
    found = check_mechanism(mechanism, pair=(0, 2), pmf=pmf, samples=100_000)
    assert 0.5 < found.epsilon_lower_bound <= 1.0


def test_the_audit_refutes_noise_that_is_too_small():
    mechanism = Coded(1.5)
    mechanism.guarantee = sf.PureDP(1)
    with pytest.raises(AssertionError):
        check_mechanism(mechanism, pair=(0, 2), samples=100_000)


def test_reports_are_middles_of_cells_inside_the_bounds():
    mechanism = sf.places.PlanarLaplace(epsilon="0.01", step=50, bounds=(0, 1000, 0, 1000))
    reports = mechanism.release(np.full((5000, 2), 990.0))
    assert ((reports > 0) & (reports < 1000)).all()
    np.testing.assert_allclose((reports / 50) % 1, 0.5)


def test_errors_are_as_stated():
    mechanism = sf.places.PlanarLaplace.within(200, level="1.386")
    assert mechanism.guarantee.level(200) >= 1.386
    reports = mechanism.release(np.zeros((100_000, 2)))
    error = np.hypot(*reports.T)
    assert error.mean() == pytest.approx(mechanism.mean_error, rel=0.02)
    for beta in (0.5, 0.1, 0.01):
        assert (error > mechanism.error_above(beta)).mean() <= beta + 0.01


def test_two_places_of_one_cell_have_one_distribution():
    mechanism = sf.places.PlanarLaplace(epsilon=1, step=10)
    assert (mechanism.cells([[0.1, 9.9], [9.9, 0.1]]) == 0).all()
    assert "per metre" in str(mechanism.guarantee)
    assert mechanism.guarantee.times(3).level(0) == pytest.approx(3 * mechanism.guarantee.level(0))


def test_degrees_are_reported_as_degrees():
    lon, lat = sf.places.PlanarLaplace(epsilon="0.1").release_degrees(
        [-122.41] * 500, [37.78] * 500, origin=(-122.4, 37.8)
    )
    assert np.abs(lon + 122.41).mean() * 88_000 == pytest.approx(12.7, rel=0.5)
    assert np.abs(lat - 37.78).max() < 0.01


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": "abc"}, {"epsilon": float("nan")},
     {"epsilon": 1, "step": 0}, {"epsilon": 1, "bounds": (1, 0, 0, 1)}],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ValueError):
        sf.places.PlanarLaplace(**wrong)


def test_bad_points_are_refused():
    mechanism = sf.places.PlanarLaplace(epsilon=1)
    for points in ([[np.nan, 0]], [1, 2], [[1e30, 0]]):
        with pytest.raises(sf.errors.DataError):
            mechanism.release(points)
    with pytest.raises(sf.errors.ParameterError, match="too fine"):
        planar_noise(Fraction(1, 1 << 40), 5)


def test_a_best_guess_is_nearer_than_the_report():
    rng = np.random.default_rng(0)
    places = rng.uniform(0, 3000, (60, 2))
    prior = rng.dirichlet(np.full(60, 0.3))
    mechanism = sf.places.PlanarLaplace(epsilon="0.004")
    truth = places[rng.choice(60, 20_000, p=prior)]
    reports = mechanism.release(truth)
    guess = sf.places.remap(mechanism, places, prior)
    before, after = (
        np.hypot(*(reports - truth).T).mean(),
        np.hypot(*(guess(reports) - truth).T).mean(),
    )
    assert after < 0.85 * before
    # against brute force for a few reports
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    for report, chosen in zip(reports[:20], guess.best(reports[:20]), strict=True):
        weight = prior * np.exp(-0.004 * np.hypot(*(report - places).T))
        assert chosen == np.argmin([weight @ apart[:, c] for c in range(60)])
    with pytest.raises(sf.errors.DataError):
        sf.places.remap(mechanism, places, prior[:5])
