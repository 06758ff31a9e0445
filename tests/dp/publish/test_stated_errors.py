"""What published counts say of their errors, held against simulations over awkward data.

Every statement says "95 %". Of independent runs at most one in twenty may miss; the bands allow for
chance: seeded in the suite, below 10⁻⁶ for each case in the long versions.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.noise import insecure_seeded
from sfumato.dp.publish.purse import price_of, within_95
from sfumato.dp.publish.ranges import ordered, spatial

DATA = {
    "heavy tail": lambda draw, cells: np.bincount(
        (draw.zipf(1.5, 5_000) - 1) % cells, minlength=cells
    ),
    "one spike": lambda draw, cells: np.bincount(
        [int(draw.integers(cells))] * 3_000, minlength=cells
    ),
    "dense": lambda _, cells: np.full(cells, 200),
    "one row": lambda draw, cells: np.bincount([int(draw.integers(cells))], minlength=cells),
    "none": lambda _, cells: np.zeros(cells, dtype=np.int64),
}
PRICES = [
    {"epsilon": 0.1},
    {"epsilon": 1},
    {"epsilon": 3},
    {"epsilon": 8},
    {"rho": 0.05},
    {"rho": 9},
]


def most(asked, deviations):
    """Give how many of so many runs may miss."""
    return 0.05 * asked + deviations * math.sqrt(0.05 * 0.95 * asked)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 2, 2.7, 3, 3.5, 5, 8, 20])
def test_a_count_is_within_what_is_said_of_it(epsilon):
    """The tails of both laws, by their formulas: Pr[|X| > h] for the whole number h."""
    decay = math.exp(-epsilon)
    h = within_95(math.sqrt(2) / epsilon)  # as a purse states it
    assert 2 * decay ** (h + 1) / (1 + decay) <= 0.05
    sigma = 1 / epsilon
    assert math.erfc((within_95(sigma) + 0.5) / sigma / math.sqrt(2)) <= 0.05


def ranges_missed(shape, cells, price, rounds, draw):
    missed = 0
    for _ in range(rounds):
        exact = DATA[shape](draw, cells)
        found = ordered.release_ordered(exact, np.arange(cells + 1.0), price_of(**price))
        low, high = np.sort(draw.integers(0, cells + 1, 2))
        off = abs(float((found.counts - exact)[low:high].sum()))
        missed += off > within_95(found.range_error()) * (1 + 1e-9)
    return missed


def parts_missed(price, rounds, draw):
    missed = 0
    for _ in range(rounds):
        exact = np.zeros((32, 32), dtype=np.int64)
        np.add.at(exact, tuple(np.minimum(draw.zipf(1.7, (2, 400)) - 1, 31)), 1)
        box = spatial.Box(np.zeros(2), np.ones(2))
        found = spatial.release_spatial(exact, box, price_of(**price))
        i, j = draw.integers(0, found.parts.shape[0], 2)
        cut, side = int(found.parts[i, j]), 32 // found.parts.shape[0]
        wide = side // cut
        rows = slice(i * side, i * side + wide)
        columns = slice(j * side, j * side + wide)
        off = abs(float((found.counts - exact)[rows, columns].sum()))
        missed += off > within_95(found.deviation)
    return missed


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("cells", [1, 40, 85])
@pytest.mark.parametrize("shape", ["heavy tail", "one row"])
def test_ranges_are_within_what_is_said_of_them(shape, cells, price):
    with insecure_seeded(1):
        missed = ranges_missed(shape, cells, price, 100, np.random.default_rng(1))
    assert missed <= most(100, 3)


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_parts_of_a_map_are_within_what_is_said_of_them(price):
    with insecure_seeded(2):
        assert parts_missed(price, 30, np.random.default_rng(2)) <= most(30, 3)


def histograms_missed(price, rounds, draw):
    missed = asked = 0
    for _ in range(rounds):
        values = draw.lognormal(0, 2, draw.choice([0, 1, 300]))
        found = sf.dp.histogram(values, bins=5, bounds=(0, 50), **price)
        exact = np.histogram(values[values < 50], 5, (0, 50))[0]
        low, high = found.interval(0.95)
        missed += int(((exact < low) | (exact > high)).sum())
        asked += exact.size
    return missed, asked


@pytest.mark.parametrize("price", [*PRICES[:4], {"epsilon": 1, "delta": 1e-6}], ids=str)
def test_bins_are_within_their_intervals(price):
    with insecure_seeded(3):
        missed, asked = histograms_missed(price, 40, np.random.default_rng(3))
    assert missed <= most(asked, 3)


def test_the_words_state_the_bound_that_is_tested():
    with insecure_seeded(4):
        line = sf.dp.ordered_histogram([1.0], bounds=(0, 2), cells=85, epsilon=0.3)
        plane = sf.dp.spatial_histogram(np.array([[0.1, 0.2]]), bounds=(0, 1), side=32, epsilon=0.3)
    assert f"± {within_95(line.range_error()):,} of it with 95 %" in str(line)
    assert f"± {within_95(plane.deviation):,} of it with 95 %" in str(plane)


@pytest.mark.soak
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("cells", [1, 2, 16, 40, 41, 85, 100, 300, 1_000])
@pytest.mark.parametrize("shape", DATA)
def test_ranges_hold_as_stated(shape, cells, price):
    missed = ranges_missed(shape, cells, price, 2_000, np.random.default_rng())
    assert missed <= most(2_000, 5.5)


@pytest.mark.soak
@pytest.mark.parametrize("price", PRICES, ids=str)
def test_parts_and_bins_hold_as_stated(price):
    assert parts_missed(price, 2_000, np.random.default_rng()) <= most(2_000, 5.5)
    if "epsilon" in price:
        missed, asked = histograms_missed(price, 1_000, np.random.default_rng())
        assert missed <= most(asked, 5.5)
