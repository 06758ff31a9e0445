"""Sums on the integer grid: no wrap-around, no dependence on order, no NaN."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction as F
from functools import reduce
from itertools import permutations
from operator import add

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.dp import GridSum, Neighbours, Unit
from sfumato.errors import ParameterError

values = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(2**70), 2**70),
)


def one_by_one(grid, column):
    """Compute the sum with rationals only, record by record."""
    low, high = F(grid.bounds[0]), F(grid.bounds[1])
    total = 0
    for value in column:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            exact = min(max(F(0), low), high)
            if grid.missing == "skip":
                continue
        elif isinstance(value, float) and math.isinf(value):
            exact = high if value > 0 else low
        else:
            exact = min(max(F(value), low), high)
        total += round(exact / grid.step)
    return total


@settings(max_examples=150, deadline=None)
@given(
    st.lists(values, max_size=30),
    st.integers(-40, 40),
    st.sampled_from([(0, 1), (-3.5, 100), (7, 9), (-8, -2), (0.1, 0.3), (-(2**40), 2**40)]),
    st.sampled_from(["clamp", "skip"]),
)
def test_agrees_with_rational_arithmetic(column, exponent, bounds, missing):
    grid = GridSum(bounds, exponent, missing)
    ours = grid.steps(column)
    whole = [v for v in column if isinstance(v, int) and abs(v) > 2**53]
    if whole:  # such integers are rounded to floats first, which may move each by one step
        assert abs(ours - one_by_one(grid, column)) <= len(whole)
    else:
        assert ours == one_by_one(grid, column)


@settings(max_examples=100, deadline=None)
@given(st.lists(values, max_size=6), st.data())
def test_one_record_moves_the_sum_by_at_most_the_sensitivity(column, data):
    bounds = data.draw(st.sampled_from([(0, 10), (-5, 3), (0.1, 0.7), (2, 8)]))
    missing = data.draw(st.sampled_from(["clamp", "skip"]))
    grid = GridSum(bounds, data.draw(st.integers(-30, 2)), missing)
    extra, other = data.draw(values), data.draw(values)
    before, after = grid.steps(column), grid.steps([*column, extra])
    assert abs(after - before) <= grid.sensitivity("unbounded").l1
    replaced = grid.steps([*column, other])
    assert abs(after - replaced) <= grid.sensitivity("bounded").l1


def test_order_does_not_matter_where_it_does_for_floats():
    column = [1e16, 1.0, -1e16, 1.0, 0.1]
    assert len({sum(order) for order in permutations(column)}) > 1
    grid = GridSum((-(2.0**54), 2.0**54), -4)
    assert len({grid.steps(list(order)) for order in permutations(column)}) == 1


def test_reordering_attack_on_float_sums_fails():
    """Two data sets with the same rows in another order differ for floats, not on the grid."""
    column = np.array([2.0**52] + [0.5] * 4096)
    assert reduce(add, column.tolist()) != reduce(add, column[::-1].tolist())
    grid = GridSum((0, 2.0**52), -1)
    assert grid.steps(column) == grid.steps(column[::-1]) == 2**53 + 4096


def test_no_wrap_around_where_int64_wraps():
    count, size = 5000, 2**52
    column = np.full(count, size, dtype=np.int64)
    assert int(column.sum()) != count * size  # int64 has wrapped
    assert GridSum((0, size)).steps(column) == count * size


@pytest.mark.parametrize("exponent", [0, -10, -500])
def test_huge_steps_are_added_without_limit(exponent):
    grid = GridSum((-(2**62), 2**62), exponent)
    column = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min, 2**61], dtype=np.int64)
    assert grid.exact(column) == 2**61
    assert grid.steps([2**62] * 9) == 9 * 2**62 * 2**-exponent


def test_blocks_are_cut_so_that_none_overflows(monkeypatch):
    import sfumato.dp.queries.exact_sum as module

    column = np.arange(1000)
    whole = GridSum((0, 1000)).steps(column)
    monkeypatch.setattr(module, "_INT64", 2500)  # blocks of two rows
    assert GridSum((0, 1000)).steps(column) == whole == 499500


def test_ten_million_rows():
    column = np.full(10_000_000, 0.1)
    grid = GridSum((0, 1), -20)
    assert grid.steps(column) == 10_000_000 * round(F(0.1) * 2**20)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, math.nan, 3.0]),
        pl.Series([1, None, 3]),
        np.ma.masked_array([1, 99, 3], mask=[False, True, False]),
        [Decimal(1), Decimal("NaN"), Decimal(3)],
        [F(1), None, 3],
        (True, None, 3),
    ],
    ids=lambda column: type(column).__name__,
)
def test_missing_values_of_every_kind(column):
    assert GridSum((2, 5)).steps(column) == 2 + 2 + 3
    assert GridSum((2, 5), missing="skip").steps(column) == 2 + 3
    assert GridSum((0, 2**70)).steps(column) == 4


def test_infinities_are_clamped_and_empty_sums_are_zero():
    grid = GridSum((-1, 4))
    assert grid.steps([math.inf, -math.inf, Decimal("Infinity")]) == 7
    assert grid.steps([]) == 0
    assert grid.steps(np.array([])) == 0
    assert GridSum((-1, 2**80)).steps([math.inf, Decimal("-Infinity")]) == 2**80 - 1


def test_a_word_in_a_column_of_numbers_is_a_missing_value():
    for bounds in [(0, 5), (0, 2**80)]:
        assert GridSum(bounds).steps([1, "secret", "2"]) == 3
        assert GridSum(bounds).steps([1, [7], object()]) == 1


def test_sensitivity_is_a_whole_number_of_steps():
    grid = GridSum((0.1, 0.7), -4)  # 1.6 and 11.2 steps
    assert grid.step_bounds == (2, 11)
    assert grid.sensitivity("unbounded").l1 == 11
    assert grid.sensitivity("bounded").l1 == 9
    assert grid.sensitivity(Neighbours("bounded", Unit("u", rows=3))).l1 == 33
    assert GridSum((0.1, 0.7), -4, "skip").sensitivity("bounded").l1 == 11


@pytest.mark.parametrize("arguments", [((0, math.inf),), ((3, 1),), ((0, 1), 5000)])
def test_wrong_grids_are_refused(arguments):
    with pytest.raises(ParameterError):
        GridSum(*arguments)


def test_bounds_between_floats_are_kept():
    """A float next to the bound would be rounded to 4 steps; the bound itself to 3."""
    grid = GridSum((0, F(7, 2) - F(1, 10**30)))
    assert float(grid.bounds[1]) == 3.5
    assert grid.steps([9.0]) == grid.step_bounds[1] == 3
