"""Every value of an expression lies in its derived range, and nothing raises."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from strategies_of_questions import conditions, numbers, rows

from sfumato.ask.language.analysis import interval_of, kind_of, range_of
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Apply, Arithmetic, Case, Column, Compare, Constant
from sfumato.errors import Refused


def number(value):
    return Constant(value, "integer" if isinstance(value, int) else "real")


@settings(max_examples=600, deadline=None)
@given(numbers(3), rows)
def test_every_value_lies_in_the_derived_range(expression, row):
    try:
        found = range_of(expression)
    except Refused:
        assume(False)
    value = evaluate(expression, row)
    if found is None:
        assert value is None
    elif value is not None:
        exact = Fraction(value)
        assert found.low <= exact <= found.high
        assert abs(exact) <= found.most
        assert exact == 0 or abs(exact) >= found.least
        assert (exact / found.grain).denominator == 1
        assert kind_of(expression) == "real" or isinstance(value, int)


@settings(max_examples=300, deadline=None)
@given(conditions(2), rows)
def test_conditions_never_raise_and_are_three_valued(condition, row):
    assert evaluate(condition, row) in {True, False, None}
    assert kind_of(condition) == "boolean"


def clamped(term, low, high):
    return Apply("least", (Apply("greatest", (term, number(low))), number(high)))


X = Column("x", "real")
N = Column("n", "integer", (Fraction(0), Fraction(30)))


@pytest.mark.parametrize(
    ("expression", "bounds"),
    [
        (X, None),
        (clamped(X, 0, 100), (0, 100)),
        (Apply("abs", (clamped(X, -7, 3),)), (0, 7)),
        (Apply("coalesce", (clamped(X, 2, 3), number(9))), (2, 9)),
        (Case(((Compare(">", X, number(1)), number(5)),), Constant(None, "real")), (5, 5)),
        (Arithmetic("*", N, number(-2)), (-60, 0)),
        (Arithmetic("-", N, N), (-30, 30)),
        (Arithmetic("/", number(10), N), (Fraction(10 / 30), 10)),
        (Arithmetic("/", N, X), None),
        (Arithmetic("/", N, clamped(X, 2, 4)), (0, 15)),
        (Arithmetic("/", N, number(0)), (0, 0)),  # always NULL
        (Apply("floor", (Arithmetic("/", N, number(4)),)), (0, 7)),
        (Apply("round", (Arithmetic("/", N, number(4)),)), (0, 8)),
    ],
)
def test_bounds_follow_from_the_form(expression, bounds):
    assert interval_of(expression) == bounds


def test_a_product_that_may_overflow_is_refused():
    whole = Column("i", "integer")
    product = whole
    for _ in range(14):
        product = Arithmetic("*", product, whole)
    assert range_of(product).most == 2 ** (63 * 15)  # about 10^284
    with pytest.raises(Refused) as caught:
        range_of(Arithmetic("*", product, whole))
    assert caught.value.code == "too_large"


def test_a_product_that_may_underflow_is_refused():
    product = X
    for _ in range(8):
        product = Arithmetic("*", product, X)
    assert range_of(product) is not None  # 10^-270
    tiny = number(Fraction(1, 10**30))
    with pytest.raises(Refused) as caught:
        range_of(Arithmetic("*", product, tiny))
    assert caught.value.code == "too_small"


def test_long_sums_of_reals_are_not_refused():
    total = X
    for _ in range(90):
        total = Arithmetic("+", total, X)
    assert float(range_of(total).most) == pytest.approx(91e30)


def test_an_overflow_inside_a_condition_is_found():
    huge = Arithmetic("*", number(10**200), number(10**200))
    with pytest.raises(Refused):
        range_of(Case(((Compare(">", huge, X), number(1)),), number(0)))


def test_the_reference_knows_the_language():
    row = {"x": float("nan"), "t": "Ab%c", "n": 99}
    text = Column("t", "text")
    assert evaluate(X, row) is None
    assert evaluate(N, row) == 99  # bounds clamp what is summed, not what is compared
    assert evaluate(Arithmetic("/", N, number(0)), row) is None
    assert evaluate(Apply("upper", (text,)), row) == "AB%C"
    assert evaluate(Apply("substring", (text, number(2), number(2))), row) == "b%"
    assert evaluate(Apply("round", (number(Fraction(5, 2)),)), row) == 3
    assert evaluate(Apply("round", (number(Fraction(-5, 2)),)), row) == -2
    assert evaluate(Apply("least", (N, X)), row) is None


def test_noisy_numbers_are_not_clamped():
    total = Column("total", "real")
    assert evaluate(total, {"total": 1e30}, noisy=True) == 1e30
    assert evaluate(total, {"total": 1e40}) == 1e30
    overflow = Arithmetic("*", total, total)
    assert evaluate(overflow, {"total": 1e300}, noisy=True) is None
