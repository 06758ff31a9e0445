"""Directed rounding against exact rationals and long decimals."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.dp import rounding as r
from sfumato.errors import ParameterError

LONG = decimal.Context(prec=120, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
floats = st.floats(allow_nan=False, allow_infinity=False, width=64)
small = st.floats(-700, 700)
positive = st.floats(min_value=1e-300, max_value=1e300)


def is_ceiling(found, exact):
    """The smallest float that is at least the exact rational."""
    above = found == math.inf or F(found) >= exact
    below = math.nextafter(found, -math.inf)
    return above and (below == -math.inf or F(below) < exact)


def is_floor(found, exact):
    return is_ceiling(-found, -exact)


@given(floats, floats)
def test_sums_and_differences(a, b):
    assert is_ceiling(r.add_up(a, b), F(a) + F(b))
    assert is_floor(r.add_down(a, b), F(a) + F(b))
    assert is_ceiling(r.sub_up(a, b), F(a) - F(b))
    assert is_floor(r.sub_down(a, b), F(a) - F(b))


@given(floats, floats)
def test_products_and_quotients(a, b):
    assert is_ceiling(r.mul_up(a, b), F(a) * F(b))
    assert is_floor(r.mul_down(a, b), F(a) * F(b))
    if b:
        assert is_ceiling(r.div_up(a, b), F(a) / F(b))
        assert is_floor(r.div_down(a, b), F(a) / F(b))


@given(st.floats(min_value=0, max_value=1e308))
def test_square_roots(a):
    up, down = r.sqrt_up(a), r.sqrt_down(a)
    assert F(up) ** 2 >= F(a)
    assert up == 0 or F(math.nextafter(up, 0)) ** 2 < F(a)
    assert F(down) ** 2 <= F(a) < F(math.nextafter(down, math.inf)) ** 2


@given(st.fractions(min_value=0, max_value=10**6))
def test_square_roots_of_rationals(a):
    up = r.sqrt_up(a)
    assert F(up) ** 2 >= a
    assert up == 0 or F(math.nextafter(up, 0)) ** 2 < a


@pytest.mark.parametrize("exponent", [-2200, -1000, -648, -330, 330, 900])
def test_square_roots_of_what_no_float_holds(exponent):
    a = F(3) * F(10) ** exponent
    up, down = r.sqrt_up(a), r.sqrt_down(a)
    assert math.isinf(up) or F(up) ** 2 >= a
    assert F(down) ** 2 <= a
    assert up <= math.nextafter(down, math.inf)


def above(x, steps):
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


def as_decimal(x):
    return Decimal(x)  # a float is a finite decimal


@settings(max_examples=300)
@given(small)
def test_exponentials(x):
    exact = LONG.exp(as_decimal(x))
    assert Decimal(r.exp_down(x)) <= exact <= Decimal(r.exp_up(x))
    assert r.exp_up(x) <= above(r.exp_down(x), 1 if abs(x) > 1e-30 else 2)


@settings(max_examples=300)
@given(st.one_of(small, st.floats(-1e-5, 1e-5), st.floats(-1e-200, 1e-200)))
def test_exponentials_minus_one(x):
    context = LONG.copy()
    context.prec = 700
    exact = context.subtract(context.exp(as_decimal(x)), 1)
    assert Decimal(r.expm1_down(x)) <= exact <= Decimal(r.expm1_up(x))
    assert r.expm1_up(x) <= above(r.expm1_down(x), 1 if abs(x) > 1e-30 else 2)


@settings(max_examples=300)
@given(positive)
def test_logarithms(x):
    exact = LONG.ln(as_decimal(x))
    assert Decimal(r.log_down(x)) <= exact <= Decimal(r.log_up(x))
    assert r.log_up(x) <= math.nextafter(r.log_down(x), math.inf)


@pytest.mark.parametrize("tiny", [F(1, 10**20), F(-1, 10**200), F(1, 3 * 10**50)])
def test_logarithms_next_to_one_are_accurate(tiny):
    low, high = r.log_bounds(1 + tiny)
    series = tiny - tiny**2 / 2  # the next term is below 10^-60 of the first
    assert F(low) <= series + abs(tiny) ** 3
    assert F(high) >= series - abs(tiny) ** 3
    assert abs(F(high) - F(low)) < abs(tiny) * F(1, 10**40)


def test_the_ends_of_the_floats():
    top = math.nextafter(math.inf, 0)
    assert r.add_up(top, top) == math.inf
    assert r.add_down(top, top) == top
    assert r.exp_up(-1000) == math.ulp(0.0)
    assert r.exp_down(-1000) == 0
    assert r.exp_up(1000) == math.inf
    assert r.exp_down(1000) == top
    assert r.exp_up(-math.inf) == 0
    assert r.expm1_down(-1000) == -1
    assert r.expm1_up(-1000) == math.nextafter(-1, 0)
    assert r.div_up(1, 0) == math.inf
    assert r.log_up(0) == -math.inf
    assert r.log_down(math.inf) == math.inf
    assert r.exp_up(0) == r.exp_down(0) == 1
    assert r.log_up(1) == r.log_down(1) == 0
    assert r.decimal_up(Decimal("1e-4000000")) == math.ulp(0.0)
    assert r.decimal_down(Decimal("1e-4000000")) == 0
    assert r.decimal_up(Decimal("1e4000000")) == math.inf
    assert r.decimal_down(Decimal("1e4000000")) == top
    assert math.copysign(1, r.float_down(F(0))) == 1
    for call in (
        lambda: r.mul_up(0, math.inf),
        lambda: r.add_up(math.inf, -math.inf),
        lambda: r.div_up(math.inf, math.inf),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(ZeroDivisionError):
        r.div_up(0, 0)


def test_a_stated_parameter_is_the_decimal_it_prints_as():
    assert r.stated(0.1) == F(1, 10)
    assert r.stated("1/3") == F(1, 3)
    assert r.stated(Decimal("0.25")) == F(1, 4)
    assert r.stated(3) == 3
    assert r.stated(np.int64(2**60 + 1)) == 2**60 + 1
    assert r.stated(np.float64(0.1)) == F(1, 10)
    assert r.stated_up(r.stated(0.1) + r.stated(0.2)) == 0.3
    for wrong in (math.nan, math.inf, "abc", "1/0", Decimal("NaN"), Decimal("Infinity")):
        with pytest.raises(ParameterError):
            r.stated(wrong)


@given(st.fractions(min_value=0, max_value=1000))
def test_stated_numbers_round_trip_upwards(value):
    up, down = r.stated_up(value), r.stated_down(value)
    assert r.stated(down) <= value <= r.stated(up)
    assert r.stated(math.nextafter(up, -math.inf)) < value
    both = r.parameter_up(value)
    assert F(both) >= value
    assert r.stated(both) >= value


@given(floats)
def test_floats_state_themselves(x):
    assert r.stated_up(r.stated(x)) == x
    assert r.stated_down(r.stated(x)) == x
