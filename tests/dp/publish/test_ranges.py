"""Ordered and spatial histograms: least squares, projections, sensitivities, accounting, goals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from chance import audited
from scipy.optimize import minimize

import sfumato as sf
from sfumato.dp.noise import insecure_seeded
from sfumato.dp.publish import purse
from sfumato.dp.publish.purse import Purse, price_of
from sfumato.dp.publish.ranges import hierarchy, ordered, spatial
from sfumato.errors import DataError, ParameterError

RNG = np.random.default_rng(2)


def tree_matrix(branching, height):
    """Each noisy count as a sum of cells: one row per node, from the children of the root down."""
    cells = branching**height
    rows = []
    for level in range(1, height + 1):
        size = cells // branching**level
        rows += [np.repeat(np.eye(branching**level)[i], size) for i in range(branching**level)]
    return np.array(rows)


# -- post-processing against independent solvers -------------------------------------------------


@pytest.mark.parametrize(("branching", "height"), [(2, 3), (4, 2), (3, 2), (16, 1)])
def test_consistent_counts_are_those_of_least_squares(branching, height):
    matrix = tree_matrix(branching, height)
    noisy = RNG.normal(10, 5, matrix.shape[0])
    best = np.linalg.lstsq(matrix, noisy, rcond=None)[0]
    ends = np.cumsum([branching**level for level in range(1, height + 1)])[:-1]
    found = hierarchy.consistent(np.split(noisy, ends), branching)
    assert found[-1] == pytest.approx(best)
    assert np.concatenate(found[1:]) == pytest.approx(matrix @ best)
    assert found[0] == pytest.approx([best.sum()])


def test_projection_is_the_nearest_point_of_the_simplex():
    for total in (0.5, 3.0, 20.0):
        row = RNG.normal(1, 3, 6)
        found = hierarchy.project(row[None], np.array([total]))[0]
        solved = minimize(
            lambda x, row=row: ((x - row) ** 2).sum(), np.full(6, total / 6),
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda x, total=total: x.sum() - total},
        )  # fmt: skip
        assert found == pytest.approx(solved.x, abs=1e-3)
    assert hierarchy.project(np.ones((1, 3)), np.zeros(1)).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("branching", range(4, 17))
def test_flat_places_seem_to_stand_out_once_in_twenty_times(branching):
    """The share of 20,000 groups is within six deviations of .05, at variance 1/.9."""
    noisy = np.random.default_rng(branching).normal(0, 0.9**0.5, 20_000 * branching)
    levels = [np.zeros(20_000), noisy]
    share = hierarchy._significant(levels, branching, 1.0)[0].mean()
    assert abs(share - 0.05) < 0.01


@pytest.mark.parametrize("epsilon", [0.1, 1])
@pytest.mark.parametrize("cells", [12, 40, 41, 85, 100, 256])
def test_ranges_are_not_behind_plain_noise(cells, epsilon):
    """Mean error of random ranges over data that are dense, skewed, spiky, even and few."""
    draw = np.random.default_rng(cells)
    spikes = np.zeros(cells, dtype=np.int64)
    np.add.at(spikes, draw.choice(cells, 5)[draw.integers(0, 5, 20_000)], 1)
    shapes = [
        np.histogram(draw.gamma(6, 6, 50_000), cells, (0, 85))[0],
        np.bincount((draw.zipf(1.6, 20_000) - 1) % cells, minlength=cells),
        spikes,
        np.full(cells, 300),
        np.histogram(draw.normal(0.5, 0.1, 1_000), cells, (0, 1))[0],
    ]
    ends = np.sort(draw.integers(0, cells + 1, (500, 2)), axis=1)
    ours, plain = [], []

    def error(counts, exact):
        rising = np.concatenate([[0], np.cumsum(counts - exact)])
        return np.abs(rising[ends[:, 1]] - rising[ends[:, 0]]).mean()

    with insecure_seeded(cells):
        for exact in shapes * 40:
            found = ordered.release_ordered(
                exact, np.arange(cells + 1.0), price_of(epsilon=epsilon)
            )
            ours.append([error(found.settled, exact), error(found.counts, exact)])
            plain.append(error(exact + draw.laplace(0, 1 / epsilon, cells), exact))
    assert (np.mean(ours, axis=0) < 1.04 * np.mean(plain)).all()  # 1: the same noise, other draws
    by_shape = np.reshape(ours, (40, 5, 2)).mean(axis=0).min(axis=1)
    assert (by_shape < 1.15 * np.reshape(plain, (40, 5)).mean(axis=0)).all()


def test_settled_cells_are_non_negative_and_flat_where_nothing_is():
    found = sf.dp.ordered_histogram(np.full(3_000, 0.1), bounds=(0, 1), cells=256, epsilon=1)
    assert (found.settled >= 0).all()
    assert found.settled[26 // 2 : 40].max() > 2_000
    assert len(np.unique(found.settled[128:])) < 20
    assert found.counts.min() < 0


# -- sensitivities by enumeration ----------------------------------------------------------------


@pytest.mark.parametrize("cells", [5, 16, 40, 41, 256, 300])
def test_a_row_moves_one_count_of_each_level(cells):
    branching, height = ordered.tree_of(cells)
    zero = np.concatenate(ordered._levels(np.zeros(cells, dtype=np.int64), branching, height))
    for cell in range(0, cells, 7):
        exact = np.zeros(cells, dtype=np.int64)
        exact[cell] = 1
        moved = np.concatenate(ordered._levels(exact, branching, height)) - zero
        assert np.abs(moved).sum() == height
        assert (moved**2).sum() == height


def test_a_row_moves_one_count_of_each_grid(recorded):
    exact = RNG.integers(0, 50, (32, 32))
    parts = RNG.choice([1, 2, 4], (8, 8))
    sure = Purse(price_of(epsilon=10**9))  # noise of scale far below 1: exact counts
    whole = spatial._measure_parts(exact, parts, sure, Fraction(1, 2)).values
    for _ in range(20):
        less = exact.copy()
        less[tuple(RNG.integers(0, 32, 2))] -= 1
        again = Purse(price_of(epsilon=10**9))
        moved = whole - spatial._measure_parts(less, parts, again, Fraction(1, 2)).values
        assert np.abs(moved).sum() == 1
    assert whole.size == (parts**2).sum()
    assert whole.sum() == exact.sum()


def test_a_row_moves_one_count_of_the_blocks():
    exact = RNG.integers(0, 50, (64, 64))
    for _ in range(20):
        less = exact.copy()
        less[tuple(RNG.integers(0, 64, 2))] -= 1
        assert np.abs(spatial.blocks(exact, 16) - spatial.blocks(less, 16)).sum() == 1


def test_joined_cells_and_blocks_are_those_of_least_squares():
    """Noisy parts, cells and blocks, each with its own precision, against the normal equations."""
    parts = RNG.choice([1, 2], (16, 16))
    owner = np.repeat(np.arange(256), (parts**2).ravel())  # the cell of each part
    block = (owner // 16 // 8) * 2 + owner % 16 // 8
    levels = [np.arange(owner.size), owner, block]
    truth = RNG.integers(0, 90, owner.size)
    noisy = []
    for level, spread in zip(levels, (3.0, 5.0, 11.0), strict=True):
        sums = np.bincount(level, weights=truth)
        noisy.append(purse.NoisyNumbers(sums + RNG.normal(0, spread, sums.size), spread))
    cells = purse.NoisyNumbers(noisy[1].values.reshape(16, 16), noisy[1].deviation)
    blocks = purse.NoisyNumbers(noisy[2].values.reshape(2, 2), noisy[2].deviation)
    found = spatial.fit_blocks(blocks, *spatial.joined_totals(cells, noisy[0], parts))
    rows = np.concatenate(
        [(level == np.arange(level.max() + 1)[:, None]) / kept.deviation
         for level, kept in zip(levels, noisy, strict=True)]
    )  # fmt: skip
    heard = np.concatenate([kept.values / kept.deviation for kept in noisy])
    best = np.linalg.lstsq(rows, heard, rcond=None)[0]
    assert found.ravel() == pytest.approx(np.bincount(owner, weights=best), abs=1e-6)


# -- accounting, and what decides ----------------------------------------------------------------

ASKS = {
    "ordered": lambda rows, **price: sf.dp.ordered_histogram(
        rows[:, 0], bounds=(0, 1), cells=300, **price
    ),
    "flat": lambda rows, **price: sf.dp.ordered_histogram(
        rows[:, 0], bounds=(0, 1), cells=9, **price
    ),
    "spatial": lambda rows, **price: sf.dp.spatial_histogram(
        rows, bounds=[(0, 1), (0, 1)], side=64, **price
    ),
}


@pytest.mark.parametrize("noise", ["none", "huge", "negative", "alternating"])
@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("price", [{"epsilon": 0.3}, {"rho": 0.2}], ids=str)
def test_the_entries_add_up_to_the_budget_whatever_the_noise(adversarial, noise, name, price):
    adversarial(noise)
    found = ASKS[name](RNG.random((50, 2)), **price)
    assert sum(entry.cost for entry in found.entries) == Fraction(str(next(iter(price.values()))))
    assert np.isfinite(found.settled).all()
    assert (found.settled >= 0).all()


@pytest.mark.parametrize("name", ASKS)
def test_nothing_but_noisy_numbers_decides(recorded, replayed, name):
    first, second = RNG.random((900, 2)) ** 3, np.full((4, 2), 0.9)
    with recorded() as kept:
        once = ASKS[name](first, epsilon=1)
    with replayed(kept):
        again = ASKS[name](second, epsilon=1)
    assert np.array_equal(once.counts, again.counts)
    assert np.array_equal(once.settled, again.settled)


@pytest.mark.parametrize("name", ["flat", "spatial"])
@audited
def test_the_claim_is_not_refuted(name, refuted):
    def ask(records):
        found = ASKS[name](np.array(records).reshape(-1, 2), epsilon=1)
        return float(np.round(found.counts.sum())), float(np.round(found.counts.ravel()[0], 3))

    assert not refuted(ask, sf.PureDP(1.0), [([], [(0.01, 0.01)])])


@audited
def test_levels_that_do_not_share_the_budget_are_refuted(monkeypatch, refuted):
    """The common mistake: the noise of one level for each of h + 1 levels."""
    measure = Purse.measure

    def one_level(self, what, share, exact, *, l1=1, l2_squared=1):
        return measure(self, what, share, exact)

    monkeypatch.setattr(Purse, "measure", one_level)

    def levels(records):  # eight counts of the same row, each with the noise of one
        exact = np.full(8, len(records), dtype=np.int64)
        return int(Purse(price_of(epsilon=1)).measure("x", Fraction(1), exact, l1=8).values.sum())

    assert refuted(levels, sf.PureDP(1.0), [([], [0.1])], samples=3_000)


# -- reading -------------------------------------------------------------------------------------


def test_ranges_cdf_and_quantiles_agree_with_the_data_where_noise_is_small():
    values = RNG.normal(50, 12, 40_000)
    with insecure_seeded(2):
        found = sf.dp.ordered_histogram(values, bounds=(0, 100), epsilon=2)
    assert found.between(40, 60) == pytest.approx(((values >= 40) & (values < 60)).sum(), abs=120)
    assert found.cdf([50.0])[0] == pytest.approx((values < 50).mean(), abs=0.005)
    shares = np.linspace(0.05, 0.95, 19)
    assert found.quantile(shares) == pytest.approx(np.quantile(values, shares), abs=0.3)
    assert (np.diff(found.quantile(np.linspace(0, 1, 500))) >= 0).all()
    inside = found.between(found.edges[0], found.edges[-1])
    assert inside == pytest.approx(found.total)


def test_errors_of_ranges_are_bounded_as_told():
    exact = np.zeros(256, dtype=np.int64)
    edges = np.arange(257.0)
    with insecure_seeded(3):
        found = [ordered.release_ordered(exact, edges, price_of(epsilon=1)) for _ in range(150)]
    sums = np.array([one.counts[20:171].sum() for one in found])
    assert sums.std() <= 1.15 * found[0].range_error()
    told = sf.dp.forecast_ordered(rows=10_000, cells=256, epsilon=1)
    assert told.errors["a range, in rows"] == pytest.approx(found[0].range_error())
    assert told.useful
    assert not sf.dp.forecast_ordered(rows=100, cells=256, epsilon=0.1).useful


def test_rectangles_are_those_of_the_points_where_noise_is_small():
    points = np.clip(RNG.normal(0.4, 0.1, (30_000, 2)), 0, 1)
    with insecure_seeded(4):
        found = sf.dp.spatial_histogram(points, bounds=[(0, 1), (0, 1)], epsilon=3)
    for low, high in [((0, 0), (0.5, 0.5)), ((0.25, 0.125), (0.75, 0.5)), ((0, 0), (1, 1))]:
        true = ((points >= low) & (points < high)).all(axis=1).sum()
        assert found.rectangle(low, high) == pytest.approx(true, abs=250)
    many = found.rectangle(np.zeros((3, 2)), np.array([[0.5, 0.5], [1, 1], [0, 0]]))
    assert many[1] == pytest.approx(found.counts.sum())
    assert many[2] == 0
    assert found.total == pytest.approx(30_000, rel=0.02)
    assert sf.dp.forecast_spatial(rows=30_000, epsilon=1).useful
    assert "Noise will be" in str(sf.dp.forecast_spatial(rows=50, epsilon=0.1))


def test_points_outside_and_odd_ones_are_left_out():
    points = np.array([[0.5, 0.5], [math.nan, 0.5], [2.0, 0.5], [0.5, -1], [1.0, 1.0]])
    found = sf.dp.spatial_histogram(points, bounds=[(0, 1), (0, 1)], epsilon=1_000)
    assert found.counts.sum() == pytest.approx(2, abs=1e-3)
    odd = sf.dp.ordered_histogram(
        [5, None, "x", math.inf, 7], bounds=(0, 9), cells=9, epsilon=1_000
    )
    assert odd.counts.tolist() == [0, 0, 0, 0, 0, 1, 0, 1, 0]
    frame = {"lon": [11.0, 11.5], "lat": [46.0, 46.5]}
    named = sf.dp.spatial_histogram(
        frame, bounds={"lon": (11, 12), "lat": (46, 47)}, side=16, epsilon=1_000
    )
    assert named.counts[0, 0] == pytest.approx(1, abs=0.01)
    assert "lon" in named.picture()


def test_pictures_and_words():
    found = sf.dp.ordered_histogram(RNG.random(500), bounds=(0, 1), cells=64, epsilon=1)
    assert "<polyline" in found.picture()
    assert "64 ordered cells" in str(found)
    place = sf.dp.spatial_histogram(RNG.random((900, 2)), bounds=(0, 1), epsilon=1)
    assert 'class="hot"' in place.picture()
    assert "parts" in str(place)
    empty = sf.dp.ordered_histogram([], bounds=(0, 1), cells=64, epsilon=1_000)
    assert empty.quantile(0.5) == 0.5
    assert empty.picture()


def test_pruning_pays_and_never_costs():
    """On smooth, spiky and empty data the settled counts are no worse than the consistent ones."""
    rng = np.random.default_rng(0)
    spikes = np.zeros(4096, dtype=np.int64)
    spikes[rng.choice(4096, 30)] = 500
    shapes = {
        "two bumps": np.histogram(rng.normal(0.4, 0.1, 20_000), 4096, (0, 1))[0],
        "spikes": spikes,
        "flat": np.full(4096, 12),
    }
    ends = np.sort(rng.integers(0, 4097, (500, 2)), axis=1)
    for exact in shapes.values():
        error = {"counts": 0.0, "settled": 0.0}
        with insecure_seeded(6):
            for _ in range(4):
                found = ordered.release_ordered(exact, np.arange(4097.0), price_of(epsilon=0.1))
                for name in error:
                    rising = np.concatenate([[0], np.cumsum(getattr(found, name) - exact)])
                    error[name] += np.abs(rising[ends[:, 1]] - rising[ends[:, 0]]).mean()
        assert error["settled"] < 0.9 * error["counts"]


BAD = [
    (sf.dp.ordered_histogram, {"cells": 10}), (sf.dp.ordered_histogram, {"cells": ["a", "b"]}),
    (sf.dp.ordered_histogram, {"cells": 1 << 21, "bounds": (0, 1)}),
    (sf.dp.ordered_histogram, {"cells": 4, "bounds": (0, 1), "epsilon": None}),
    (sf.dp.spatial_histogram, {"bounds": (0, 1)}), (sf.dp.spatial_histogram, {"bounds": [(0, 1)]}),
    (sf.dp.spatial_histogram, {"bounds": [(0, 1)] * 2, "side": 100}),
    (sf.dp.spatial_histogram, {"bounds": [(0, 1)] * 2, "use": "art"}),
    (sf.dp.spatial_histogram, {"bounds": [(0, 1)] * 3}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "given"), BAD, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_bad_parameters_are_refused_in_a_sentence(ask, given):
    with pytest.raises((ParameterError, DataError)) as caught:
        ask([1.0, 2.0], **{"epsilon": 1, **given})
    assert str(caught.value).endswith(".")


def test_a_quantile_has_a_share():
    found = sf.dp.ordered_histogram([1.0], bounds=(0, 2), cells=2, epsilon=1)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        found.quantile(1.5)
