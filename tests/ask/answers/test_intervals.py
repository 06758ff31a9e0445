"""Intervals hold what the kept and clamped rows give: rounding and computed columns counted."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction as F

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import session

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.answer_records import dump_answer, load_fields
from sfumato.ask.answers.intervals import enclosed, formula_of
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Apply, Arithmetic, Case, Column, Compare, Constant
from sfumato.ask.plan.plan import MOST_NUMBER, MOST_SQUARED
from sfumato.ask.price import grids
from sfumato.ask.price.grids import grid_for
from sfumato.ask.price.measures import Recipe
from sfumato.errors import ParameterError

# -- rounding -------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1), st.integers(2, 10**6),
    st.sampled_from(["sum", "avg", "variance", "stddev"]),
)  # fmt: skip
def test_rows_that_all_round_the_same_way_stay_in_the_interval(low, width, place, count, form):
    squared = form in {"variance", "stddev"}
    grid = grid_for((F(low), F(low + width)), "real", centred=form != "sum", squared=squared)
    value = min(max(low + place * width, low), low + width)
    z = grid.number(value)
    exact = [z * count, z * z * count, count] if squared else [z * count, count]
    exact = exact[:1] if form == "sum" else exact
    found = Recipe("x", form, "", (), grid).interval(exact, [0] * len(exact))
    true = {"sum": F(value) * count, "avg": F(value)}.get(form, F(0))
    assert F(found[0]) <= true <= F(found[1])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.booleans())
def test_the_spread_of_the_values_and_not_of_their_points_is_in_the_interval(values, population):
    grid = grid_for((F(0), F(1)), "real", centred=True, squared=True)
    coarse = type(grid)(grid.bounds, F(1, 8), grid.centre)  # so that rounding is seen
    zs = [coarse.number(value) for value in values]
    exact = [sum(zs), sum(z * z for z in zs), len(zs)]
    spelling = "STDDEV_POP" if population else "STDDEV"
    low, high = Recipe("x", "stddev", spelling, (), coarse).interval(exact, [0, 0, 0])
    true = (statistics.pstdev if population else statistics.stdev)([F(v) for v in values])
    assert low - 1e-9 <= true <= high + 1e-9


def test_a_million_equal_values_add_up_within_the_interval():
    table = pl.DataFrame({"x": np.full(10**6, 0.1)})
    with session(table, bare=True, budget=sf.PureDP(10**5), bounds={"x": (0, 1)}) as one:
        answer = one.sql("SELECT SUM(x) AS s, AVG(x) AS a FROM visits", epsilon=50_000)
    intervals = answer.intervals(1 - 1e-9)
    low, high = intervals["s"][0]
    assert low <= 100_000 <= high
    assert high - low < 0.01
    low, high = intervals["a"][0]
    assert low <= 0.1 <= high


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("reach", [1.0, 1.999999, 3e-20, 2.0**45, 2.0**30, 2.0**53, 12345.678])
@pytest.mark.parametrize("kind", ["integer", "real"])
def test_totals_fit_the_numbers_of_every_engine(kind, reach, squared):
    grid = grid_for((F(-reach), F(reach)), kind, centred=False, squared=squared)
    assert grid.most <= (MOST_SQUARED if squared else MOST_NUMBER)
    assert grid.most < 2**51  # whole doubles, ½ added to them
    total = (grid.most**2 if squared else grid.most) * grids.MOST_ROWS
    assert total < min(2**127, 10**38)
    if kind == "real":
        assert grids.rounding(grid) > 0  # a step of 1 would say that values are whole
    elif reach <= 2**31 and F(reach).denominator == 1:
        assert grids.rounding(grid) == 0


def test_whole_numbers_clamped_between_them_are_not_taken_for_whole():
    grid = grid_for((F(1, 3), F(5)), "integer", centred=False)
    assert abs(grid.number(float(F(1, 3))) * grid.step - F(1, 3)) <= F(grids.rounding(grid))


# -- computed columns -----------------------------------------------------------------------------

A, B = Column("a", "real"), Column("b", "integer")


def _terms():
    numbers = st.integers(-4, 4).map(lambda n: Constant(F(n), "real"))
    leaves = st.one_of(st.sampled_from([A, B]), numbers)

    def grow(inner):
        return st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
            st.builds(
                lambda f, a: Apply(f, (a,)), st.sampled_from(["abs", "floor", "ceil", "round"]),
                inner,
            ),
            st.builds(
                lambda f, a, b: Apply(f, (a, b)),
                st.sampled_from(["least", "greatest", "coalesce"]), inner, inner,
            ),
            st.builds(
                lambda sign, a, b, c: Case(((Compare(sign, a, b), b),), c),
                st.sampled_from(["<", "="]), inner, inner, inner,
            ),
        )  # fmt: skip

    return st.recursive(leaves, grow, max_leaves=6)


@settings(max_examples=1500, deadline=None)
@given(_terms(), st.data())
def test_a_formula_encloses_every_value_its_names_can_give(term, data):
    ends = [data.draw(st.floats(-100, 100)) + 0.0 for _ in range(4)]  # no minus zero
    leaves = {"a": tuple(sorted(ends[:2])), "b": tuple(sorted(ends[2:]))}
    formula = formula_of(term)
    assert formula is not None
    found = enclosed(formula, leaves)
    row = {name: data.draw(st.floats(*pair)) for name, pair in leaves.items()}
    value = evaluate(term, row, noisy=True)
    if found is not None and value is not None:
        assert found[0] <= value <= found[1]


def test_what_is_no_number_has_no_formula():
    assert formula_of(Constant("x", "text")) is None
    assert formula_of(Compare("<", A, B)) is None
    assert formula_of(Case(((Compare("<", A, B), Constant("x", "text")),), A)) is None


def _people(rows=20_000):
    values = np.random.default_rng(7).uniform(0, 10, rows)
    return pl.DataFrame({"g": np.arange(rows) % 2, "x": values})


def test_computed_columns_have_the_interval_of_all_their_numbers_at_once():
    table = _people()
    with session(
        table, bare=True, bounds={"x": (0, 10)}, keys={"g": [0, 1]}, budget=sf.PureDP(10**6)
    ) as one:
        answer = one.sql(
            "SELECT g, SUM(x) / COUNT(*) AS mean, 2 * COUNT(*) AS twice, COUNT(*) AS c, "
            "SUM(x) AS s, g * 3 AS key, MAX(x) - MIN(x) AS width FROM visits GROUP BY g",
            epsilon=30,
        )
        again = Answer.again(
            load_fields(dump_answer(answer)), standing=answer.standing, kind=answer.kind
        )
    found = answer.intervals(1 - 1e-9)
    for i, g in enumerate([0, 1]):
        true = table.filter(pl.col("g") == g)["x"]
        low, high = found["mean"][i]
        assert low <= true.mean() <= high
        assert high - low < 0.1
        assert found["twice"][i][0] <= 2 * len(true) <= found["twice"][i][1]
        assert found["width"][i] == (-10, 10)
    assert found["key"] == [None, None]  # which is exact
    assert again.intervals(0.9) == answer.intervals(0.9)
    named = again.renamed(("g", "m", "t", "c", "s", "k", "w")).intervals(0.9)
    assert named["m"] == answer.intervals(0.9)["mean"]


def test_joint_confidence_is_that_of_the_separate_numbers_divided():
    with session(_people(), bare=True, bounds={"x": (0, 10)}, budget=sf.PureDP(100)) as one:
        answer = one.sql("SELECT SUM(x) / COUNT(*) AS m, SUM(x) AS s, COUNT(*) AS c FROM visits",
                         epsilon=1)  # fmt: skip
    each = answer.intervals(0.95)  # of two numbers, at 0.9 together
    (s_low, s_high), (c_low, c_high) = each["s"][0], each["c"][0]
    ends = [s / c for s in (s_low, s_high) for c in (c_low, c_high)]
    assert answer.intervals(0.9)["m"][0] == pytest.approx((min(ends), max(ends)))


def test_a_divisor_that_may_be_nothing_leaves_no_interval():
    table = pl.DataFrame({"x": [1.0, 2.0]})
    with session(table, bare=True, bounds={"x": (0, 10)}) as one:
        answer = one.sql("SELECT SUM(x) / COUNT(*) AS m FROM visits", epsilon=0.1)
    sure = 1 - 1e-9  # at which the noisy count is 0 for all that is known, whatever was drawn
    assert answer.intervals(sure)["m"] == [None]
    assert answer.interval(sure) is None


def test_the_notes_of_a_quantile_say_why_its_interval_is_its_range():
    with session(_people(), bare=True, bounds={"x": (0, 10)}) as one:
        answer = one.sql("SELECT MEDIAN(x) AS m FROM visits", epsilon=1)
    assert answer.interval() == (0, 10)
    assert any("depends on the data" in note for note in answer.notes)
    with pytest.raises(ParameterError):
        answer.intervals(math.nan)
