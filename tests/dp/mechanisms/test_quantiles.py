"""The base measure of a quantile, and what its error means for the values themselves.

Bands are at six standard deviations of what is counted, or the seed is fixed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.mechanisms.quantiles import power_above
from sfumato.errors import ParameterError
from sfumato.testing import check_mechanism


def ranks_away(values, answer, q, within=0.0):
    """Count by sorting how many ranks the nearest number within a distance is from a quantile."""
    ordered, target = np.sort(values), q * len(values)
    less = np.searchsorted(ordered, np.asarray(answer) - within, "left")
    upto = np.searchsorted(ordered, np.asarray(answer) + within, "right")
    return np.maximum(0, np.maximum(less - target, target - upto))


def among_gaps(values, q, epsilon, domain, count, rng):
    """Pick among the gaps between sorted values, each by its length: the textbook's quantile."""
    edges = np.concatenate([[domain[0]], np.clip(np.sort(values), *domain), [domain[1]]])
    lengths = np.diff(edges)
    with np.errstate(divide="ignore"):
        logs = np.log(lengths) - epsilon / 2 * np.abs(np.arange(lengths.size) - q * len(values))
    chances = np.exp(logs - logs.max())
    picked = rng.choice(lengths.size, size=count, p=chances / chances.sum())
    return edges[picked] + rng.random(count) * lengths[picked]


@pytest.mark.parametrize(("q", "levels"), [(0.5, 3), (0.25, 2)])
def test_points_weigh_by_the_grids_they_are_on(q, levels):
    first, second = np.array([2, 2, 5, 9]), np.array([2, 2, 5, 9, 9])
    mechanism = sf.dp.ExponentialQuantile(lower=-3, upper=8, step=1, levels=levels, q=q, epsilon=1)
    points = np.arange(12)
    base = np.array([sum(2**k for k in range(levels + 1) if v % 2**k == 0) for v in points])
    moved = np.clip(first, -3, 8) + 3
    less = np.array([(moved < v).sum() for v in points])
    upto = np.array([(moved <= v).sum() for v in points])
    distance = np.maximum(0, np.maximum(less - q * 4, q * 4 - upto))
    weights = base * np.exp(-distance / (2 * max(q, 1 - q)))
    assert mechanism.weight == base.sum()
    report = check_mechanism(
        mechanism,
        pair=(first, second),
        pmf=dict(zip((points - 3.0).tolist(), (weights / weights.sum()).tolist(), strict=True)),
        loss=lambda outputs, _: distance[outputs.astype(int) + 3],
        samples=60_000,
    )
    assert report.epsilon_lower_bound > 0.05


def test_each_grid_has_its_share_of_an_empty_domain():
    mechanism = sf.dp.ExponentialQuantile(lower=0, upper=1000, epsilon=1)
    with sf.dp.noise.insecure_seeded(3):
        drawn = mechanism.simulate([], 20_000)
    assert mechanism.points == 1000 * 2**32 + 1  # in steps of 2⁻³²
    whole = (drawn == np.floor(drawn)).mean()
    halves = (2 * drawn == np.floor(2 * drawn)).mean()
    assert abs(whole - (1 + 1 - 2**-32) / 33) < 0.009  # the coarsest grid, and its part of others
    assert abs(halves - (2 + 1) / 33) < 0.011
    assert abs((drawn < 250).mean() - 0.25) < 0.019


AGES = np.clip(np.random.default_rng(5).gamma(6, 6, 20_000).round() + 17, 17, 90)
INCOMES = np.exp(np.random.default_rng(6).normal(10.5, 0.9, 20_000))


@pytest.mark.parametrize(
    ("values", "domain"),
    [(INCOMES, (0, 1e7)), (INCOMES, (0, 1e12)), (AGES, (0, 120)), (AGES[:200], (0, 120))],
    ids=["incomes", "wide bounds", "ages", "few ages"],
)
@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_no_floor_keeps_a_quantile_from_its_rank(values, domain, epsilon):
    rng, ours, textbook = np.random.default_rng(7), [], []
    for q in (0.1, 0.5, 0.9):
        mechanism = sf.dp.ExponentialQuantile(
            lower=domain[0], upper=domain[1], q=q, epsilon=epsilon
        )
        with sf.dp.noise.insecure_seeded(8):
            ours.append(ranks_away(values, mechanism.simulate(values, 2000), q).mean())
        picked = among_gaps(values, q, epsilon, domain, 2000, rng)
        textbook.append(ranks_away(values, picked, q).mean())
    assert np.mean(ours) < np.mean(textbook)


@pytest.mark.parametrize(
    "values",
    [INCOMES, AGES, np.full(1000, 10_733.3), np.repeat([0.1, 0.2], 300), np.array([3.3]), []],
    ids=["heavy tail", "discrete", "constant", "two values", "one", "none"],
)
@pytest.mark.parametrize("step", [None, 1000.0])
def test_the_stated_error_holds_within_a_step(values, step):
    """Each of 400 answers fails with probability ≤ 0.05; 46 failures have probability < 1e-6."""
    values = np.asarray(values, dtype=float)
    for q in (0, 0.1, 0.5, 1):
        mechanism = sf.dp.ExponentialQuantile(lower=0, upper=1e7, q=q, epsilon=0.5, step=step)
        within = step or float(power_above(Fraction(10**7, 1024)) / 2**32)
        with sf.dp.noise.insecure_seeded(9):
            away = ranks_away(values, mechanism.simulate(values, 400), q, within)
        assert (away > mechanism.error.beyond(0.05)).sum() <= 45
        assert away.mean() <= mechanism.error.expected


def test_powers_above_are_the_smallest():
    for number in (Fraction(1), Fraction(1, 3), Fraction(1023, 1024), Fraction(2**70 + 1), 3):
        power = power_above(Fraction(number))
        assert power / 2 < number <= power
        assert power.numerator == 1 or power.denominator == 1


@pytest.mark.parametrize("levels", [-1, 33])
def test_levels_are_few(levels):
    with pytest.raises(ParameterError, match="from 0 to 32"):
        sf.dp.ExponentialQuantile(lower=0, upper=1, epsilon=1, levels=levels)
