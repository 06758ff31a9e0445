"""The parts of the engine against brute force: pieces, simplex, raking, Gibbs sweeps, masks."""

from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from sfumato.dp.noise.stream import _SeededStream
from sfumato.dp.publish.synthesis import kernels
from sfumato.dp.publish.synthesis.coarsening import (
    _spread,
    estimate_total,
    group,
    on_simplex,
    smooth,
    smooth_all,
)
from sfumato.dp.publish.synthesis.curator import CodeArray, Curator, NoisyCounts
from sfumato.dp.publish.synthesis.currencies import ConcentratedCurrency, Contribution
from sfumato.dp.publish.synthesis.domain import CodedColumn, Domain
from sfumato.dp.publish.synthesis.engine import _single, fit
from sfumato.dp.publish.synthesis.particles import Cloud, Measurement, systematic
from sfumato.dp.publish.synthesis.rules import Mask, keep
from sfumato.errors import ParameterError, Unsatisfiable


def brute_pieces(y, price):
    best, found = np.inf, None
    for count in range(len(y)):
        for cuts in combinations(range(1, len(y)), count):
            ends = [0, *cuts, len(y)]
            parts = [y[a:b] for a, b in pairwise(ends)]
            cost = sum(((p - p.mean()) ** 2).sum() for p in parts) + price * len(parts)
            if cost < best - 1e-12:
                best, found = cost, np.concatenate([np.full(p.size, p.mean()) for p in parts])
    return found


def test_pieces_are_the_exact_minimum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = np.round(rng.normal(0, 3, 9), 2)
        price = rng.uniform(0.5, 20)
        assert np.allclose(kernels.fit_pieces(y, price), brute_pieces(y, price))


def test_the_simplex_projection_is_the_nearest_point():
    rng = np.random.default_rng(1)
    for _ in range(20):
        y = rng.normal(2, 4, 6)
        near = on_simplex(y, 10.0)
        assert near.min() >= 0
        assert near.sum() == pytest.approx(10)
        for _ in range(200):
            other = rng.dirichlet(np.ones(6)) * 10
            assert ((y - near) ** 2).sum() <= ((y - other) ** 2).sum() + 1e-9


def test_rare_codes_share_what_the_frequent_ones_leave():
    y = np.array([50.0, 3.0, -2.0, 1.0])
    assert _spread(y, 56.0, 10.0).tolist() == [50.0, 2.0, 2.0, 2.0]


def test_the_total_weighs_the_surest_histogram_most():
    noisy = [
        NoisyCounts(np.array([60, 40]), 1.0, Fraction(1)),
        NoisyCounts(np.full(100, 9), 100.0, Fraction(1)),
    ]
    assert 100 < estimate_total(noisy) < 101
    assert estimate_total([NoisyCounts(np.array([-5]), 1.0, Fraction(1))]) == 1.0


def test_atoms_keep_spikes_and_codes_that_stay_alone():
    column = CodedColumn("x", 60, ordered=True, alone=(59,), doubtful=(59,))
    counts = np.full(60, 10)
    counts[20], counts[59] = 5000, 400
    made = smooth(
        column, NoisyCounts(counts, 9.0, Fraction(1)), float(counts.sum()), most=8, depth=3
    )
    assert made.size == 8
    assert (made.atoms == made.atoms[59]).sum() == 1
    assert (made.atoms == made.atoms[20]).sum() == 1
    for level in made.levels:
        assert (level == level[made.atoms[59]]).sum() == 1


def test_a_missing_code_that_does_not_stand_out_is_not_drawn():
    column = CodedColumn("x", 3, alone=(2,), doubtful=(2,))
    made = smooth(
        column, NoisyCounts(np.array([50, 50, 5]), 100.0, Fraction(1)), 100.0, most=16, depth=1
    )
    assert made.masses[2] == 0


def test_systematic_draws_differ_from_the_share_by_less_than_one():
    weights = np.random.default_rng(2).random(50)
    counts = np.bincount(systematic(weights, 1000, _SeededStream(1)), minlength=50)
    assert np.abs(counts - 1000 * weights / weights.sum()).max() < 1


# -- raking and Gibbs sweeps ---------------------------------------------------------------


def cloud_of(p, count, sigma, masks=()):
    """A cloud that has measured all pairs of a joint distribution of three columns, exactly."""
    domain = Domain(
        tuple(CodedColumn(name, size) for name, size in zip("abc", p.shape, strict=True))
    )
    n = 10_000.0
    ones = [p.sum(axis=tuple({0, 1, 2} - {i})) for i in range(3)]
    noisy = [NoisyCounts(np.rint(one * n).astype(int), sigma**2, Fraction(1)) for one in ones]
    columns = smooth_all(domain, noisy, n, most=16, depth=1)
    cloud = Cloud.start(columns, group(columns), n, count, _SeededStream(5), masks)
    for i, (column, y) in enumerate(zip(columns, noisy, strict=True)):
        cloud.add(_single(i, column, y, n))
    for i, j in domain.pairs():
        table = p.sum(axis=({0, 1, 2} - {i, j}).pop())
        rows, cols = (np.arange(p.shape[c], dtype=np.uint8) for c in (i, j))
        cloud.add(Measurement(i, j, rows, cols, table.shape, table, np.full(table.shape, sigma)))
    return cloud


def joint(seed, shape=(3, 4, 3)):
    return np.random.default_rng(seed).dirichlet(np.full(np.prod(shape), 0.7)).reshape(shape)


def test_raking_recovers_exact_tables_on_a_cycle_of_pairs():
    p = joint(4)
    cloud = cloud_of(p, 40_000, sigma=0.5)
    for _ in range(60):
        cloud.rake_all()
        cloud.refresh()
    for _ in range(5):
        cloud.rake_all()
    for r in range(3, 6):
        assert np.abs(cloud.shares(r) - cloud.measured[r].shares.ravel()).max() < 1e-3


def test_raking_does_not_fit_what_is_below_the_noise():
    p = joint(5)
    loose, tight = cloud_of(p, 5000, sigma=2000.0), cloud_of(p, 5000, sigma=1.0)
    for cloud in (loose, tight):
        for _ in range(10):
            cloud.rake_all()
    gaps = [np.abs(c.shares(3) - c.measured[3].shares.ravel()).sum() for c in (loose, tight)]
    assert gaps[0] > 5 * gaps[1]


def test_a_sweep_leaves_the_field_as_it_is():
    p = joint(6)
    cloud = cloud_of(p, 60_000, sigma=1.0)
    for _ in range(40):
        cloud.rake_all()
        cloud.refresh()
    base, starts, others, tables = cloud._factors()
    # the conditional of column 0 given the others, from the tables, against a long run of sweeps
    conditional = np.ones(p.shape)
    for cell in product(*(range(size) for size in p.shape)):
        conditional[cell] = base[0, cell[0]]
        for q in range(starts[0], starts[1]):
            conditional[cell] *= tables[q, cell[others[q]], cell[0]]
    conditional /= conditional.sum(axis=0, keepdims=True)
    for _ in range(3):
        cloud._sweep()
    counts = np.zeros(p.shape)
    np.add.at(counts, tuple(cloud.atoms), 1)
    pairs = counts.sum(axis=0)
    expected = conditional * pairs
    often = expected > 50
    assert np.abs(counts - expected)[often].max() < 6 * np.sqrt(expected[often].max())
    table = counts.sum(axis=2) / counts.sum()
    assert np.abs(table - p.sum(axis=2)).max() < 0.02


# -- masks -----------------------------------------------------------------------------------


def test_particles_never_leave_what_masks_allow():
    p = joint(7)
    allowed = np.ones((3, 4), dtype=bool)
    allowed[0, 1:] = False
    three = np.ones((3, 4, 3), dtype=bool)
    three[2, :, 2] = False
    masks = (Mask((0, 1), allowed), Mask((0, 1, 2), three))
    cloud = cloud_of(p, 5000, sigma=5.0, masks=masks)
    for _ in range(12):
        cloud.rake_all()
        cloud.refresh()
        assert keep(masks, cloud.atoms).all()
    a, b, c = cloud.atoms
    assert not ((a == 0) & (b > 0)).any()
    assert not ((a == 2) & (c == 2)).any()


def test_masks_that_allow_nothing_are_refused():
    with pytest.raises(Unsatisfiable, match="contradict"):
        cloud_of(joint(8), 500, sigma=5.0, masks=(Mask((0, 1), np.zeros((3, 4), dtype=bool)),))


# -- the whole engine --------------------------------------------------------------------------


def distance(x, y, i, j, sizes):
    tables = [
        np.bincount(z[i].astype(int) * sizes[j] + z[j], minlength=sizes[i] * sizes[j]) / z.shape[1]
        for z in (x, y)
    ]
    return np.abs(tables[0] - tables[1]).sum() / 2


def test_the_engine_learns_dependences(chain):
    codes, domain = chain
    made = fit(
        Curator(CodeArray(codes), domain, ConcentratedCurrency(Contribution()), Fraction(1)), domain
    )
    rows = made.sample()
    assert abs(rows.shape[1] - codes.shape[1]) < 60
    rng = np.random.default_rng(0)
    alone = np.stack([rng.permutation(column) for column in codes])
    for i, j in ((0, 1), (1, 2), (0, 3)):
        near = distance(codes, rows, i, j, domain.sizes)
        assert near < 0.35 * distance(codes, alone, i, j, domain.sizes) + 0.02


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_rows_are_no_error(n):
    domain = Domain((CodedColumn("a", 2), CodedColumn("b", 30, ordered=True)))
    codes = np.zeros((2, n), dtype=np.uint32)
    made = fit(
        Curator(CodeArray(codes), domain, ConcentratedCurrency(Contribution()), Fraction(1, 50)),
        domain,
    )
    rows = made.sample(20)
    assert rows.shape == (2, 20)
    assert rows[0].max() < 2
    assert rows[1].max() < 30


def test_one_column_and_a_constant_one_are_fine():
    alone = Domain((CodedColumn("a", 3),))
    codes = np.array([[0, 1, 1, 2] * 50], dtype=np.uint32)
    curator = Curator(CodeArray(codes), alone, ConcentratedCurrency(Contribution()), Fraction(1))
    assert fit(curator, alone).sample(40).shape == (1, 40)
    assert curator.spent == 1
    constant = Domain((CodedColumn("a", 1), CodedColumn("b", 2)))
    both = np.zeros((2, 100), dtype=np.uint32)
    made = fit(
        Curator(CodeArray(both), constant, ConcentratedCurrency(Contribution()), Fraction(1)),
        constant,
    )
    assert (made.sample(50)[0] == 0).all()


def test_a_column_without_values_or_with_too_many_is_refused():
    with pytest.raises(ParameterError, match="no values"):
        CodedColumn("a", 0)
    with pytest.raises(ParameterError, match="at most 1024"):
        CodedColumn("a", 5000, ordered=True)
    with pytest.raises(ParameterError, match="at least one column"):
        Domain(())
