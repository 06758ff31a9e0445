"""Rounding to the grid costs what it is said to cost, and nothing wraps around."""

import math
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.mechanisms.grid import Grid, add, numeric
from sfumato.errors import DataError, ParameterError


def steps(grid, values):
    return [int(n) for n in grid.multiples(np.asarray(values)).ravel()]


@pytest.mark.parametrize("power", [-30, -3, 0, 2])
def test_a_single_value_moves_by_at_most_the_rounded_up_sensitivity(power):
    random, grid = Random(power), Grid(power)
    for _ in range(2000):
        delta = Fraction(random.randint(1, 10**6), random.randint(1, 10**6))
        x = random.uniform(-1e6, 1e6)
        y = x + random.choice([-1, 1]) * float(delta) * random.choice([1, 1, 0.5, 0.999])
        real = abs(Fraction(x) - Fraction(y))
        moved = abs(steps(grid, x)[0] - steps(grid, y)[0])
        assert moved <= grid.l1(real, 1) if real else moved == 0


def test_halves_round_up_everywhere_so_that_whole_steps_carry_over():
    grid = Grid(0)
    assert steps(grid, [-1.5, -0.5, 0.5, 1.5, 2.5]) == [-1, 0, 1, 2, 3]
    # Adding one half to the float below ½ would round to 1; exact arithmetic gives 0.
    assert steps(grid, [math.nextafter(0.5, 0), -math.nextafter(0.5, 1)]) == [0, -1]


def test_vectors_move_by_at_most_the_stated_l1_and_l2():
    random = np.random.default_rng(1)
    for size in (2, 5, 40):
        grid = Grid(-2)
        for _ in range(300):
            x = random.normal(size=size) * 100
            y = x + random.normal(size=size) * random.choice([0.01, 0.3, 5])
            l1 = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True))
            l2 = math.sqrt(
                float(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True)))
            )
            moved = [a - b for a, b in zip(steps(grid, x), steps(grid, y), strict=True)]
            assert sum(map(abs, moved)) <= grid.l1(l1, size)
            assert math.hypot(*moved) <= float(grid.l2(Fraction(l2 * (1 + 1e-12)), size))


def test_the_vector_bounds_are_needed():
    """Two values that each cross a half move by d steps together, with a tiny real change."""
    grid = Grid(0)
    below, above = [0.4999] * 4, [0.5] * 4
    moved = [b - a for a, b in zip(steps(grid, below), steps(grid, above), strict=True)]
    assert sum(moved) == 4
    assert grid.l1(Fraction(4, 10**4), 4) == 4
    assert float(grid.l2(Fraction(2, 10**4), 4)) >= 2


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1, 50, 1e6])
@pytest.mark.parametrize("sensitivity", [1e-9, 1, 3.7, 1e15])
def test_the_grid_is_finer_than_scale_and_sensitivity(epsilon, sensitivity):
    for size in (1, 10, 10**6):
        mechanism = sf.dp.Laplace(sensitivity=sensitivity, epsilon=epsilon, size=size)
        step = mechanism.grid_for(size).step
        smaller = min(
            Fraction(str(sensitivity)), Fraction(str(sensitivity)) / Fraction(str(epsilon))
        )
        assert step <= smaller / 2**20
        assert step * size * 1000 <= Fraction(str(sensitivity))
        # so rounding widens the noise by less than a thousandth
        scale = Fraction(str(sensitivity)) / Fraction(str(epsilon))
        assert scale <= mechanism.steps(size) * step <= scale * Fraction(1001, 1000)


def test_outputs_are_multiples_of_the_grid():
    mechanism = sf.dp.Laplace(sensitivity=0.1, epsilon=1)
    step = mechanism.grid_for(1).step
    for value in (0, 1 / 3, -1e9, 12345.678):
        for output in mechanism.simulate(value, 200):
            assert (Fraction(float(output)) / step).denominator == 1


def test_sums_do_not_wrap_around():
    top = np.array([2**62 + 5, -(2**62) - 5])
    total = add(top, np.array([2**62, -(2**62)]))
    assert total.tolist() == [2**63 + 5, -(2**63) - 5]
    big = sf.dp.Geometric(sensitivity=1, epsilon=1).release(np.array([2**63 - 1, -(2**63)]))
    assert abs(int(big[0]) - (2**63 - 1)) < 1000
    assert abs(int(big[1]) + 2**63) < 1000
    assert abs(sf.dp.Geometric(sensitivity=1, epsilon=1).release(10**40) - 10**40) < 1000
    unsigned = np.array([2**64 - 1], dtype=np.uint64)
    assert abs(int(sf.dp.Geometric(sensitivity=1, epsilon=1).release(unsigned)[0]) - 2**64) < 1000


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.dp.Geometric(sensitivity=1, epsilon=0.5),
        sf.dp.DiscreteGaussian(sensitivity=1, rho=0.5),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("top", [2**62, 2**61, -(2**62), 2**62 + 2**61])
def test_the_type_of_a_release_does_not_tell_neighbours_apart(mechanism, top):
    for pair in ((top - 1, top), (top, top + 1)):
        for kind in (np.int64, object, *([np.uint64] if top > 0 else [])):
            released = [mechanism.release(np.array([value], dtype=kind)) for value in pair]
            assert {array.dtype for array in released} == {np.dtype(np.int64)}
            assert {mechanism.simulate(value, 5).dtype for value in pair} == {np.dtype(np.int64)}
            assert {type(mechanism.release(value)) for value in pair} == {int}


def test_the_type_of_a_sum_is_a_function_of_the_sum():
    """The same totals come out alike, however value and noise make them up."""
    for total in (2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**70):
        ways = []
        for noise in (0, 1, -1, 12345, -(2**40)):
            value = np.array([total - noise], dtype=object)
            ways.append(add(value, np.array([noise], dtype=np.int64)))
            ways.append(add(value, np.array([noise], dtype=object)))
        assert {int(way[0]) for way in ways} == {total}
        fits = -(2**63) <= total < 2**63
        assert {way.dtype for way in ways} == {np.dtype(np.int64 if fits else object)}


def test_huge_and_tiny_values_stay_finite_and_exact():
    mechanism = sf.dp.Laplace(sensitivity=1, epsilon=1)
    assert mechanism.release(1e308) == pytest.approx(1e308)
    assert math.isfinite(sf.dp.Laplace(sensitivity=1e308, epsilon=1e-3).release(1e308))
    assert mechanism.release(5e-324) == pytest.approx(0, abs=60)
    assert mechanism.release(2**70) == pytest.approx(2**70)
    assert sf.dp.Laplace(sensitivity=1e-300, epsilon=1).release(0.0) == pytest.approx(0, abs=1e-297)


def test_integers_are_not_read_through_floats():
    values = [2**60 + 1, 2**60 + 3]
    assert numeric(np.array(values)).tolist() == values
    unsigned = np.uint64(2**63 + 1)
    for mixed in ([[2**63 + 1, -1]], [[unsigned, np.int64(-1)]], (unsigned, -1)):
        assert numeric(mixed).ravel().tolist() == [2**63 + 1, -1]
    assert numeric(np.array([np.int64(5), 2**70], dtype=object)).tolist() == [5, 2**70]
    assert numeric([[2**53, 0.5], [True, np.int8(3)]]).tolist() == [[2.0**53, 0.5], [1.0, 3.0]]


@pytest.mark.parametrize(
    "mixed",
    [
        [2**60 + 1, 0.5],
        ([2**53 + 1, 0.5],),
        [[[0.5, 1.0], [2.0, -(2**53) - 1]]],
        [np.int64(2**60 + 128), 0.5],
        [np.array(2**60 + 128), 0.5],
        [np.array([2**60 + 128]), np.array([0.5])],
        pd.DataFrame({"a": [2**60 + 1], "b": [0.5]}),
        pl.DataFrame({"a": [2**53 + 1], "b": [0.5]}),
    ],
    ids=lambda x: type(x).__name__,
)
def test_long_integers_beside_floats_are_refused(mixed):
    """A float could not hold them, and rounding would double the sensitivity or worse."""
    with pytest.raises(DataError, match="beyond 2\\^53"):
        sf.dp.laplace(mixed, sensitivity=1, epsilon=1)


def test_masked_and_ragged_values_are_refused():
    masked = np.ma.array([1, 2], mask=[False, True])
    for values in (masked, [masked], [1, np.ma.masked], ([1, [masked]],)):
        with pytest.raises(DataError, match="masked"):
            sf.dp.laplace(values, sensitivity=1, epsilon=1)
    with pytest.raises(DataError, match="masked"):
        sf.dp.randomized_response(np.ma.array([True], mask=[True]), epsilon=1)
    with pytest.raises(DataError, match="different lengths"):
        sf.dp.laplace([[1, 2], [3]], sensitivity=1, epsilon=1)


def test_refusals_say_what_to_do_and_nothing_about_the_values():
    for bad in (Decimal("1.5"), Fraction(1, 3), None, "5", np.array([1, 2.5], dtype=object)):
        with pytest.raises(DataError, match=r"float\(value\)"):
            sf.dp.laplace(bad, sensitivity=1, epsilon=1)
    with pytest.raises(DataError) as short:
        sf.dp.laplace(["a"], sensitivity=1, epsilon=1)
    with pytest.raises(DataError) as long:
        sf.dp.laplace(["a very long secret"], sensitivity=1, epsilon=1)
    assert str(long.value) == str(short.value)


@pytest.mark.parametrize(
    "bad", [["a", "b"], [None, 1], np.array([1 + 2j]), np.array([1], dtype=np.longdouble), "text"]
)
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(DataError, match="needed here"):
        sf.dp.laplace(bad, sensitivity=1, epsilon=1)


def test_shapes_are_kept_and_declared_sizes_enforced():
    for shape in ((), (0,), (5,), (2, 3), (2, 0, 4), (1, 1, 1)):
        value = np.zeros(shape)
        released = sf.dp.laplace(value, sensitivity=1, epsilon=1)
        assert np.shape(released) == shape
        gauss = sf.dp.gaussian(value, sensitivity=1, epsilon=1, delta=1e-5)
        assert np.shape(gauss) == shape
    assert sf.dp.laplace([1, 2.5], sensitivity=1, epsilon=1).shape == (2,)
    assert sf.dp.geometric([True, False], sensitivity=1, epsilon=1).dtype == np.int64
    assert sf.dp.geometric([], sensitivity=1, epsilon=1).dtype == np.int64
    with pytest.raises(ParameterError, match="declared for size=3"):
        sf.dp.Laplace(sensitivity=1, epsilon=1, size=3).release([1, 2])
    with pytest.raises(DataError, match="Whole numbers"):
        sf.dp.geometric([1.0, 2.0], sensitivity=1, epsilon=1)


AWKWARD = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    math.nextafter(0.5, 0),
    -math.nextafter(0.5, 1),
    5e-324,
    1e300,
]


@pytest.mark.parametrize("power", [-60, -30, -1, 0, 3, 899])
def test_many_values_take_the_compiled_way_to_the_same_result(power):
    random, grid = np.random.default_rng(power + 100), Grid(power)
    spread = random.normal(size=200) * 2.0 ** random.integers(-40, 40, size=200)
    for values in (spread, spread * 2.0**power, np.array(AWKWARD * 5)):
        found = grid.multiples(values)
        exact = [math.floor(Fraction(x) / grid.step + Fraction(1, 2)) for x in values.tolist()]
        assert found.tolist() == exact
        noise = random.integers(-(10**9), 10**9, size=values.size)
        assert grid.noised(found, noise).tolist() == grid.values(add(found, noise)).tolist()


def test_sums_that_do_not_fit_go_the_long_way():
    grid, large = Grid(-1), np.full(40, 2**62 - 1)
    assert grid.noised(large, large).tolist() == [float(2**62 - 1)] * 40
    assert grid.noised(large, large + 5).tolist() == [float(2**62 + 1)] * 40


def test_what_is_given_is_not_changed_by_a_release():
    values = np.linspace(0, 1, 100)
    sf.dp.laplace(values, sensitivity=1, epsilon=1)
    assert values.tolist() == np.linspace(0, 1, 100).tolist()
