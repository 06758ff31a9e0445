"""How a price becomes noise: shares, sensitivities, thresholds and what they cost."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.ask.language.language import Column, Key, Measure, Question, Scan
from sfumato.ask.language.request import Grid, GroupsBound, RowBound, RowsBound, Total
from sfumato.ask.price.allocation import Demand, allocate
from sfumato.ask.price.contributions import Reach, bound_for, sensitivity_of, touched
from sfumato.ask.price.grids import grid_for, point_grid
from sfumato.ask.price.key_discovery import people_needed
from sfumato.ask.price.measures import PEOPLE, Recipe, breakdown
from sfumato.ask.price.noise import Noise, gaussian, geometric
from sfumato.ask.price.preparation import prepare
from sfumato.ask.price.pricing import Price, offers
from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.neighbours import Row, Unit
from sfumato.dp.normal import gaussian_delta_up
from sfumato.errors import ParameterError, Refused

COST = Column("cost", "real", (F(0), F(100)))
AGE = Column("age", "integer", (F(0), F(120)))
WARD = Column("ward", "text")
VISITS = Scan("visits", (COST, AGE, WARD))
COUNT = Measure("n", "count", spelling="COUNT")
TOTAL = Measure("total", "sum", COST, spelling="SUM")
MEAN = Measure("mean", "avg", AGE, spelling="AVG")


def question(*measures, keys=()):
    return Question(VISITS, measures, keys)


def ward(values=("a", "b")):
    return Key("ward", WARD, values)


# -- bounds and sensitivities -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "grouped", "bound"),
    [
        (Row(), True, RowBound()),
        (Unit("p", rows=5), True, RowsBound(5)),
        (Unit("p", rows=5), False, GroupsBound(1, 5)),
        (Unit("p", groups=3, rows_per_group=2), True, GroupsBound(3, 2)),
        (Unit("p", groups=3, rows_per_group=2), False, GroupsBound(1, 2)),
        (Unit("p", rows=2, groups=3, rows_per_group=5), True, GroupsBound(2, 2)),
    ],
)
def test_the_owners_unit_becomes_the_bound_an_engine_enforces(unit, grouped, bound):
    assert bound_for(unit, question(COUNT, keys=(ward(),) if grouped else ())) == bound


def test_distinct_people_need_no_limit_on_rows():
    people = Measure("n", "people", spelling="COUNT")
    assert bound_for(Unit("p"), question(people)) == GroupsBound(1, 1)
    assert bound_for(Unit("p", groups=4), question(people, keys=(ward(),))) == GroupsBound(4, 1)


@pytest.mark.parametrize(
    ("unit", "grouped"),
    [(Unit("p"), False), (Unit("p"), True), (Unit("p", groups=3), True)],
)
def test_a_unit_without_limits_is_refused_with_what_to_declare(unit, grouped):
    with pytest.raises(Refused, match=r"declares it .*=Unit\('p'"):
        bound_for(unit, question(COUNT, keys=(ward(),) if grouped else ()))


def contributions(bound, values, groups):
    """All that one unit can add to the groups of a total, within a bound."""
    if isinstance(bound, RowBound):
        shapes = [(g,) for g in range(groups)]
    elif isinstance(bound, RowsBound):
        shapes = [
            s
            for n in range(1, bound.rows + 1)
            for s in itertools.combinations_with_replacement(range(groups), n)
        ]
    else:
        each = itertools.chain.from_iterable(
            itertools.combinations(range(groups), c) for c in range(1, bound.groups + 1)
        )
        shapes = [
            tuple(
                itertools.chain.from_iterable([g] * n for g, n in zip(chosen, counts, strict=True))
            )
            for chosen in each
            for counts in itertools.product(range(1, bound.rows + 1), repeat=len(chosen))
        ]
    for shape in shapes:
        for cells in itertools.product(values, repeat=len(shape)):
            vector = [0] * groups
            for g, z in zip(shape, cells, strict=True):
                vector[g] += z
            yield shape, vector


@pytest.mark.parametrize(
    "bound", [RowBound(), RowsBound(3), GroupsBound(2, 2), GroupsBound(1, 3), GroupsBound(3, 1)]
)
@pytest.mark.parametrize("form", ["rows", "sum", "squares", "people"])
def test_sensitivities_are_the_largest_a_unit_can_reach(bound, form):
    grid = Grid((F(-2), F(3)), F(1), F(0))
    values = {
        "rows": [1],
        "people": [1],
        "sum": range(-2, 4),
        "squares": [z * z for z in range(-2, 4)],
    }
    total = None if form == "people" else Total(form, COST, None if form == "rows" else grid)
    l1 = l2 = 0.0
    for shape, added in contributions(bound, [max(values[form]), min(values[form])], 3):
        vector = [int(g in shape) for g in range(3)] if form == "people" else added
        l1, l2 = max(l1, sum(map(abs, vector))), max(l2, math.hypot(*vector))
    found = sensitivity_of(total, Reach(bound))
    assert found.l1 == pytest.approx(l1, rel=1e-12)
    assert found.l2 == pytest.approx(l2, rel=1e-12)
    assert found.l1 >= l1
    assert found.l2 >= l2 * (1 - 1e-15)


# -- grids ----------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1), st.booleans(), st.booleans(),
)  # fmt: skip
def test_no_value_gets_a_number_beyond_the_grids_most(low, width, place, centred, squared):
    grid = grid_for((F(low), F(low + width)), "real", centred=centred, squared=squared)
    value = min(max(low + place * width, low), low + width)
    assert abs(grid.number(value)) <= grid.most
    middle = float(grid.centre) + grid.number(value) * float(grid.step)
    assert middle == pytest.approx(value, abs=float(grid.step) * 0.51 + 1e-9)


def test_whole_numbers_keep_their_unit():
    assert grid_for((F(0), F(120)), "integer", centred=False) == Grid((F(0), F(120)), F(1), F(0))
    assert grid_for((F(0), F(1)), "integer", centred=False).most == 1
    centred = grid_for((F(18), F(90)), "integer", centred=True)
    assert (centred.centre, centred.most) == (54, 36)


def test_quantile_points_begin_at_the_lower_bound():
    grid = point_grid((F(-5), F(5)), "real")
    assert grid.ends[0] == 0
    assert 1 << 23 <= grid.ends[1] <= 1 << 24
    assert point_grid((F(0), F(120)), "integer").ends == (0, 120)


@pytest.mark.parametrize("bounds", [(F(2), F(1)), (F(0), F(2) ** 60)])
def test_bounds_that_cannot_be_used_are_refused(bounds):
    with pytest.raises(ParameterError, match="Bounds"):
        grid_for(bounds, "real", centred=False)


# -- noise ----------------------------------------------------------------------------------------


@lru_cache
def pmf(noise, reach=4000):
    xs = np.arange(-reach, reach + 1)
    if noise.kind == "geometric":
        q = math.exp(-1 / float(noise.size))
        law = (1 - q) / (1 + q) * q ** np.abs(xs)
    else:
        sigma = math.sqrt(noise.size)
        far = np.abs(xs)
        law = stats.norm.sf((far - 0.5) / sigma) - stats.norm.sf((far + 0.5) / sigma)
    return dict(zip(xs.tolist(), law.tolist(), strict=True))


NOISES = [
    *(Noise("geometric", F(size)) for size in ("3", "1/2", "40")),
    *(Noise("gaussian", F(size)) for size in ("9", "1/4", "2500")),
]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_half_widths_hold_the_noise_as_often_as_they_say(noise, confidence):
    half = noise.half_width(confidence)
    inside = sum(p for x, p in pmf(noise).items() if abs(x) <= half)
    assert inside >= confidence - 1e-12
    narrower = sum(p for x, p in pmf(noise).items() if abs(x) <= half - 1.5)
    assert narrower < confidence


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("chance", [F(1, 10), F(1, 1000), F(1, 10**7)])
def test_thresholds_hide_a_lone_person_and_are_no_larger_than_needed(noise, chance):
    threshold = noise.threshold(chance)
    law = pmf(noise)
    passes = math.fsum(p for x, p in law.items() if 1 + x >= threshold)
    easier = math.fsum(p for x, p in law.items() if 1 + x >= threshold - 1)
    assert passes <= float(chance) * (1 + 1e-9)
    assert easier > float(chance) * (1 - 1e-9) or threshold == 2


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_deviations_are_those_of_the_law(noise):
    law = pmf(noise)
    variance = math.fsum(x * x * p for x, p in law.items())
    extra = 1 / 12 if noise.kind == "gaussian" and noise.size > 1 else 0
    if noise.size >= 1:
        assert noise.deviation**2 == pytest.approx(variance - extra, rel=0.02)


@given(st.fractions(F(1, 1000), 1000), st.floats(0.01, 1e6))
def test_coarse_scales_never_add_less_noise_than_asked(epsilon, sensitivity):
    assert geometric(sensitivity, epsilon).size >= F(sensitivity) / epsilon
    assert gaussian(sensitivity, epsilon).size >= F(sensitivity) ** 2 / epsilon
    assert geometric(sensitivity, epsilon).size <= F(sensitivity) / epsilon * (1 + F(1, 2**22))


# -- strategies -----------------------------------------------------------------------------------


def test_count_and_sum_together_are_one_gaussian():
    """At (1, 1e-6), 20 groups of 5 rows: σ = 134 for the count, not 187 or more."""
    unit = Unit("p", groups=20, rows_per_group=5)
    ready = prepare(question(COUNT, TOTAL, keys=(ward(),)), unit, ApproxDP(1, 1e-6), epsilon=1)
    assert ready.allocation.price.kind == "gaussian"
    assert ready.allocation.noises[0].deviation == pytest.approx(133.6, abs=0.5)
    mu = math.sqrt(ready.allocation.cost.mu_squared)
    assert gaussian_delta_up(F(mu), F(1)) <= 1e-6 * (1 + 1e-9)


def test_found_keys_cost_little_of_the_noise_and_some_delta():
    unit = Unit("p", groups=20, rows_per_group=5)
    ready = prepare(question(COUNT, TOTAL, keys=(ward(None),)), unit, ApproxDP(1, 1e-6), epsilon=1)
    assert ready.allocation.noises[0].deviation == pytest.approx(137.5, abs=1)
    assert ready.allocation.cost.delta == F(1, 20) * F(1, 10**6)
    law = ready.allocation.people
    assert ready.threshold == people_needed(law, delta=ready.allocation.cost.delta, groups=20)
    assert 400 < ready.threshold < 600


def test_rows_that_are_people_find_their_own_groups():
    ready = prepare(question(COUNT, keys=(ward(None),)), Row(), ApproxDP(1, 1e-6), epsilon=1)
    assert ready.wanted.parts.totals == ()
    assert ready.wanted.parts.recipes[0].places == (PEOPLE,)


@pytest.mark.parametrize("measures", [(COUNT,), (COUNT, TOTAL), (COUNT, TOTAL, MEAN)])
@pytest.mark.parametrize("unit", [Row(), Unit("p", rows=3), Unit("p", groups=2, rows_per_group=4)])
def test_a_pure_price_is_spent_to_the_last(measures, unit):
    ready = prepare(question(*measures, keys=(ward(),)), unit, PureDP(1), epsilon=F(3, 10))
    assert ready.allocation.cost.epsilon == F(3, 10)
    paid = F(0)
    for place, total in enumerate(ready.wanted.parts.totals):
        size = sensitivity_of(total, ready.wanted.reach)
        paid += F(size.l1) / ready.allocation.noises[place].size
    if ready.allocation.people is not None:
        paid += F(sensitivity_of(None, ready.wanted.reach).l1) / ready.allocation.people.size
    assert paid <= F(3, 10)
    assert paid >= F(3, 10) * (1 - F(1, 2**20))


def test_concentrated_prices_are_spent_to_the_last():
    median = Measure("m", "quantile", AGE, order=F(1, 2), spelling="MEDIAN")
    unit = Unit("p", groups=4, rows_per_group=2)
    ready = prepare(question(COUNT, median, keys=(ward(),)), unit, ZCDP(1), rho=F(1, 10))
    cost = ready.allocation.cost
    picked = ready.allocation.quantile_epsilon
    spent = (cost.mu_squared + touched(ready.bound) * picked**2) / 2
    assert spent == cost.rho
    assert spent <= F(1, 10)
    assert spent >= F(1, 10) * (1 - F(1, 2**20))
    assert ready.allocation.quantile_epsilon * touched(ready.bound) == cost.epsilon


def test_searching_bounds_takes_a_share_and_never_raises_the_cost():
    free = Measure("total", "sum", Column("x", "real"), spelling="SUM")
    ready = prepare(question(free, COUNT), Row(), PureDP(1), epsilon=1)
    assert len(ready.searched) == 1
    assert ready.allocation.cost.epsilon == 1
    scaled = ready.bounded({ready.searched[0]: (F(0), F(1024))})
    assert scaled.allocation.cost.epsilon == 1
    assert scaled.allocation.search.size == pytest.approx(5, rel=1e-6)
    assert ready.allocation.people.size == pytest.approx(F(10, 4), rel=1e-6)
    grid = scaled.wanted.parts.totals[0].grid
    assert scaled.allocation.noises[0].size == pytest.approx(grid.most * F(10, 4), rel=1e-6)


def test_a_total_that_never_moves_costs_nothing_and_others_pay():
    nothing = Measure("z", "sum", Column("x", "real", (F(0), F(0))), spelling="SUM")
    ready = prepare(question(nothing, COUNT), Row(), PureDP(1), epsilon=1)
    assert ready.allocation.noises == (None,)
    assert 0 < ready.allocation.cost.epsilon <= 1


@pytest.mark.parametrize(
    ("budget", "price", "message"),
    [
        (PureDP(1), {"epsilon": 0}, "above 0"),
        (PureDP(1), {"epsilon": -1}, "above 0"),
        (PureDP(1), {"epsilon": math.inf}, "finite"),
        (PureDP(1), {"epsilon": math.nan}, "finite"),
        (PureDP(1), {"epsilon": None}, "may cost"),
        (PureDP(1), {"rho": 1}, "ZCDP"),
        (ZCDP(1), {"rho": 0}, "above 0"),
        (ApproxDP(1, 1e-6), {"epsilon": 1, "delta": 2, "finds_keys": True}, "below 1"),
        (PureDP(1), {"epsilon": 1, "finds_keys": True}, "finding them privately"),
        (ZCDP(1), {"rho": 1, "finds_keys": True}, "finding them privately"),
        (ApproxDP(1, 1e-6), {"epsilon": 1, "delta": 1e-6, "finds_keys": True}, "smaller"),
    ],
)
def test_prices_that_cannot_be_paid_are_refused_with_a_sentence(budget, price, message):
    given = {"epsilon": None, "rho": None, "delta": None, "finds_keys": False} | price
    with pytest.raises((ParameterError, Refused), match=message):
        offers(budget, **given)


def test_the_quieter_noise_is_taken():
    one = prepare(question(COUNT), Row(), ApproxDP(1, 1e-6), epsilon=1)
    many = prepare(
        question(COUNT, keys=(ward(),)),
        Unit("p", groups=50, rows_per_group=1),
        ApproxDP(1, 1e-6),
        epsilon=1,
    )
    assert one.allocation.price.kind == "pure"
    assert many.allocation.price.kind == "gaussian"


# -- recipes ---------------------------------------------------------------------------


@settings(max_examples=300)
@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=40),
    st.sampled_from(["sum", "avg", "variance", "stddev"]),
    st.sampled_from(["", "VAR_POP"]),
    st.data(),
)
def test_intervals_hold_the_truth_when_every_number_is_within_its_half_width(
    values, aggregate, spelling, data
):
    grid = grid_for((F(0), F(100)), "real", centred=aggregate != "sum", squared=True)
    zs = [grid.number(v) for v in values]
    exact = {
        "sum": [sum(zs)],
        "avg": [sum(zs), len(zs)],
    }.get(aggregate, [sum(zs), sum(z * z for z in zs), len(zs)])
    half = [data.draw(st.integers(0, 50)) for _ in exact]
    noisy = [e + data.draw(st.integers(-h, h)) for e, h in zip(exact, half, strict=True)]
    recipe = Recipe("x", aggregate, spelling, tuple(range(len(exact))), grid)
    low, high = recipe.interval(noisy, half)
    true = recipe.value(exact)
    slack = 1e-6 * max(1.0, abs(true))
    if aggregate in {"variance", "stddev"} and not spelling and len(zs) < 2:
        return
    assert low - slack <= true <= high + slack


def test_measures_share_the_totals_they_have_in_common():
    mean = Measure("m", "avg", AGE, bounds=(F(0), F(120)), spelling="AVG")
    both = breakdown(question(mean, Measure("n", "count", AGE, spelling="COUNT")))
    assert len(both.totals) == 2
    summed = Measure("s", "sum", AGE, bounds=(F(0), F(120)), spelling="SUM")
    assert len(breakdown(question(summed, mean)).totals) == 2


def test_a_mean_of_hardly_any_rows_has_no_value():
    grid = grid_for((F(0), F(10)), "real", centred=True)
    recipe = Recipe("m", "avg", "AVG", (0, 1), grid)
    assert recipe.value([5, 0]) is None
    assert recipe.interval([5, 0], [1, 1]) == (0.0, 10.0)


def test_strategies_need_no_data():
    wanted = Demand(breakdown(question(COUNT)), Reach(RowBound()), finds_keys=False, searches=0)
    plan = allocate(wanted, Price("pure", epsilon=F(1)))
    assert plan.noises[0].size == 1
