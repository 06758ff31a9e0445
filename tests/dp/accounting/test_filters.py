"""Filters against exact values, against strategies that adapt, and against other libraries.

The adaptive strategies are evaluated exactly: the loss of Gaussian answers is integrated over a
fine grid, that of pure ones is randomised response, which dominates them.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtri
from scipy.stats import norm

from sfumato import GDP, ZCDP, ApproxDP, PureDP, dp
from sfumato.dp.accounting.filters import Cost, SpentTotals, fits, gaussian_cost, left, total
from sfumato.dp.accounting.ways import HALF_PI
from sfumato.errors import ParameterError


def spend(*costs):
    spent = SpentTotals()
    for cost in costs:
        spent = spent.plus(cost)
    return spent


def most(budget, cost, start=None):
    """Count how many equal charges fit, and check that fitting never comes back."""
    spent, count = start or SpentTotals(), 0
    while fits(budget, spent.plus(cost)):
        spent, count = spent.plus(cost), count + 1
        assert count < 20_000
    assert not fits(budget, spent.plus(cost).plus(cost))
    return count


def gaussian_delta(mu, epsilon):
    """The exact curve of Balle and Wang, in logarithms so that nothing overflows."""
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


# --- costs -----------------------------------------------------------------------------------


def test_costs_are_the_decimals_they_were_stated_as():
    cost = Cost(0.1, "1/3", 1e-9)
    assert (cost.epsilon, cost.mu_squared, cost.delta) == (
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(1, 10**9),
    )
    assert Cost.from_json(json.loads(json.dumps(cost.to_json()))) == cost
    both = Cost("1/5", "2/3", "2e-9", epsilon_squared="2/100")  # two answers, not one of 2/10
    assert cost + cost == both == Cost.from_json(both.to_json())
    assert both.rho == (Fraction(2, 3) + Fraction(2, 100)) / 2
    assert Cost.of_equal(Fraction(1, 10), 2) == Cost("1/5", epsilon_squared="2/100")


@pytest.mark.parametrize("squares", ["1/20", 0, -1])
def test_squares_that_no_parts_have_are_refused(squares):
    with pytest.raises(ParameterError, match="squares"):
        Cost("1/5", epsilon_squared=squares)


def test_a_cost_states_its_guarantee():
    assert Cost(0.5).guarantee() == PureDP(0.5)
    assert Cost(0, 0.25).guarantee() == GDP(0.5)
    assert Cost(0.5, 0, 1e-6).guarantee() == ApproxDP(0.5, 1e-6)
    assert Cost(0.5, 0.25).guarantee() == ZCDP(0.25)
    both = Cost(0.5, 0.25, 1e-7).guarantee(delta=1e-6)
    exact = 0.5 + brentq(lambda e: gaussian_delta(0.5, e) - 9e-7, 0, 10, xtol=1e-13)
    assert both.epsilon == pytest.approx(exact, rel=1e-9)
    assert both.delta == 1e-6
    with pytest.raises(ParameterError, match="delta="):
        Cost(0.5, 0.25, 1e-7).guarantee()
    with pytest.raises(ParameterError, match="larger"):
        Cost(0.5, 0.25, 1e-7).guarantee(delta=1e-7)
    assert Cost(0.5).guarantee(dp.Unit("person", rows=3)).unit == dp.Unit("person", rows=3)


@pytest.mark.parametrize("bad", [{"epsilon": -1}, {"delta": 2}, {"mu_squared": "x"}])
def test_costs_outside_what_is_allowed_are_refused(bad):
    with pytest.raises(ParameterError):
        Cost(**bad)


costs = st.builds(
    Cost,
    st.fractions(0, 2, max_denominator=1000),
    st.fractions(0, 2, max_denominator=1000),
    st.fractions(0, "1/100", max_denominator=10**6),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(costs, min_size=1, max_size=8))
def test_totals_are_sums_and_read_back(many):
    spent = spend(*many)
    assert spent.epsilon == sum(one.epsilon for one in many)
    assert spent.epsilon_squared == sum(one.epsilon**2 for one in many)
    assert spent.mu_squared == sum(one.mu_squared for one in many)
    assert spent.delta == sum(one.delta for one in many)
    assert SpentTotals.from_json(json.loads(json.dumps(spent.to_json()))) == spent
    first = next((k for k, one in enumerate(many) if one.mu_squared), None)
    if first is None:
        assert spent.opening is None
    else:
        assert spent.opening.epsilon == sum(one.epsilon for one in many[: first + 1])


def test_totals_never_grow_beyond_sixty_digits_and_never_round_down():
    spent, exact = SpentTotals(), Fraction(0)
    for k in range(2, 300):
        step = Fraction(1, 10**9 + 7 * k)
        spent, exact = spent.plus(Cost(step)), exact + step
    assert spent.epsilon.denominator <= 10**60
    assert exact <= spent.epsilon <= exact + Fraction(300, 10**60)


# --- pure and concentrated budgets -----------------------------------------------------------


def test_ten_tenths_fit_into_one_and_an_eleventh_does_not():
    assert most(PureDP(1.0), Cost(0.1)) == 10
    assert most(PureDP(0.3), Cost(0.1)) == 3
    assert most(PureDP(1), Cost(Fraction(1, 3))) == 3


def test_a_pure_budget_takes_nothing_else():
    assert not fits(PureDP(100), spend(Cost(0, 0.0001)))
    assert not fits(PureDP(100), spend(Cost(0.1, 0, 1e-12)))


def test_a_concentrated_budget_adds_up_rho():
    assert most(ZCDP(0.5), Cost(0, 0.01)) == 100
    assert most(ZCDP(0.5), Cost(0.1)) == 100
    assert total(ZCDP(0.5), spend(Cost(0.3), Cost(0, 0.16))) == ZCDP(0.125)
    assert left(ZCDP(0.5), spend(Cost(0.3), Cost(0, 0.16))) == ZCDP(0.375)
    assert not fits(ZCDP(100), spend(Cost(0, 0, 1e-12)))


def test_what_is_left_of_a_pure_budget_is_exact_and_never_negative():
    assert left(PureDP(1), spend(*[Cost(0.1)] * 3)) == PureDP(0.7)
    assert left(PureDP(1), spend(Cost(2))) == PureDP(0)
    assert total(PureDP(1), spend(*[Cost(0.1)] * 3)) == PureDP(0.3)
    third = left(PureDP(1), spend(Cost(Fraction(1, 3))))
    assert third.exact_epsilon <= Fraction(2, 3) < third.exact_epsilon + Fraction(1, 10**15)


def test_a_budget_of_another_kind_is_refused():
    for judge in (fits, total, left):
        with pytest.raises(ParameterError, match="ApproxDP"):
            judge(GDP(1), SpentTotals())


# --- approximate budgets: what must fit, what must not -----------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-9), (8, 1e-5), (20, 1e-3)])
def test_one_gaussian_answer_may_take_all_and_not_more(epsilon, delta):
    budget = ApproxDP(epsilon, delta)
    noise = dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    cost = Cost(mu_squared=1 / noise.variance)
    assert fits(budget, spend(cost))
    assert total(budget, spend(cost)).epsilon <= epsilon
    assert not fits(budget, spend(Cost(mu_squared=cost.mu_squared * Fraction("1.000001"))))
    assert gaussian_cost(epsilon=epsilon, delta=delta).mu_squared == pytest.approx(
        float(cost.mu_squared), rel=1e-9
    )


def test_an_answer_with_all_three_costs_may_take_all():
    budget = ApproxDP(1, 1e-6)
    part = gaussian_cost(epsilon=0.75, delta=Fraction(75, 10**8)).mu_squared
    cost = Cost(0.25, part, Fraction(25, 10**8))
    assert fits(budget, spend(cost))
    assert not fits(budget, spend(Cost("0.2501", part, Fraction(25, 10**8))))
    assert not fits(budget, spend(Cost(0.25, part, Fraction(26, 10**8))))
    assert not fits(budget, spend(cost, Cost("1e-9")))


def test_pure_answers_add_up_or_concentrate_whichever_is_better():
    few, many = Cost(0.25), Cost(0.01)
    assert most(ApproxDP(1, 1e-6), few) == 4
    count = most(ApproxDP(1, 1e-6), many)
    assert count > 300  # 100 by addition
    rho = Fraction(count) * many.epsilon**2 / 2
    assert ZCDP(rho).to(ApproxDP, delta=Fraction(1, 16 * 10**6)).epsilon <= 1
    above = ZCDP(rho * Fraction("1.01")).to(ApproxDP, delta=Fraction(1, 16 * 10**6))
    assert above.epsilon > 1


def test_delta_adds_up_truly():
    budget = ApproxDP(1, 0.5)
    assert not fits(budget, spend(*[Cost(0, 0, 0.001)] * 10_000))
    assert most(budget, Cost(0, 0, 0.001)) == 500
    assert total(budget, spend(*[Cost(0, 0, 0.001)] * 10)).delta == 0.01
    assert most(ApproxDP(1, 1e-6), Cost(0.01, 0, 1e-7)) == 10


def test_gaussian_answers_fold_into_one():
    budget, whole = ApproxDP(1, 1e-6), gaussian_cost(epsilon=1, delta=1e-6).mu_squared
    count = most(budget, Cost(0, whole / 1000))
    share = brentq(lambda mu: gaussian_delta(mu, 1) - 3e-6 / 8, 1e-3, 1) ** 2
    assert count == math.floor(1000 * share / float(whole))
    assert count > 900


@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_equal_shares_of_gaussian_answers_with_failures_all_fit(n):
    """n questions that are each (E/n, D/n)-private, half of the δ for a threshold."""
    half = Fraction(1, 2 * n * 10**6)
    cost = Cost(0, gaussian_cost(epsilon=Fraction(1, n), delta=half).mu_squared, half)
    assert fits(ApproxDP(1, 1e-6), spend(*[cost] * n))


def test_pure_answers_still_fit_after_gaussian_ones():
    budget = ApproxDP(1, 1e-6)
    small = Cost(0, gaussian_cost(epsilon=0.2, delta=1e-8).mu_squared)
    for epsilon in (0.05, 0.25, 0.5):
        assert fits(budget, spend(small, Cost(epsilon)))
    assert not fits(budget, spend(small, Cost(0.9)))


@settings(max_examples=30, deadline=None)
@given(st.lists(costs, min_size=1, max_size=6), costs)
def test_more_never_fits_where_less_did_not(many, more):
    for budget in (PureDP(2), ZCDP(1), ApproxDP(2, 0.01)):
        if not fits(budget, spend(*many)):
            assert not fits(budget, spend(*many, more))


@settings(max_examples=30, deadline=None)
@given(st.lists(costs, min_size=1, max_size=6))
def test_totals_and_rests_agree_with_the_decision(many):
    for budget in (ApproxDP(2, 0.01), ApproxDP(0.5, 1e-6)):
        spent = spend(*many)
        so_far, rest = total(budget, spent), left(budget, spent)
        holds = fits(budget, spent)
        assert holds == (so_far.epsilon <= budget.epsilon and so_far.delta <= budget.delta)
        if holds:
            assert rest.exact_epsilon + so_far.exact_epsilon <= budget.exact_epsilon


# --- the constants of the proof ----------------------------------------------------------------


def test_a_pure_answer_is_a_gaussian_one_with_half_pi_epsilon_squared():
    assert Fraction(np.pi) / 2 < HALF_PI
    epsilon = np.concatenate([np.logspace(-4, 0, 2000), np.linspace(1, 30, 2000)])
    mu_squared = (2 * ndtri(expit(epsilon))) ** 2
    assert (mu_squared <= float(HALF_PI) * epsilon**2 * (1 + 1e-9)).all()
    assert mu_squared[0] == pytest.approx(np.pi / 2 * epsilon[0] ** 2, rel=1e-4)  # and no less


# --- strategies that adapt -----------------------------------------------------------------------


def adaptive_delta(target, first, choices):
    """The exact δ at ε = target of: a Gaussian answer, then by its loss the worst of the choices.

    A choice is a cost; its pure part is randomised response, its failure gives everything away.
    """
    mean, deviation = first / 2, math.sqrt(first)
    loss = np.linspace(mean - 14 * deviation, mean + 14 * deviation, 100_001)
    density = norm.pdf(loss, mean, deviation)
    worst = np.zeros_like(loss)
    for cost in choices:
        epsilon, square, delta = map(float, (cost.epsilon, cost.mu_squared, cost.delta))
        outcome = np.zeros_like(loss)
        for sign, chance in ((1, expit(epsilon)), (-1, expit(-epsilon))):
            gap = target - loss - sign * epsilon
            ends = np.clip(-np.expm1(np.minimum(gap, 0)), 0, None)
            if square:
                ends = gaussian_delta(math.sqrt(square), gap)
            outcome += chance * ends
        worst = np.maximum(worst, delta + (1 - delta) * outcome)
    return float(np.trapezoid(worst * density, loss))


def naive_fits(budget, spent):
    """The rule for parameters fixed beforehand, which is not a filter."""
    noise = float(budget.exact_delta - spent.delta)
    if noise <= 0 or spent.epsilon > budget.exact_epsilon:
        return False
    slack = float(budget.exact_epsilon - spent.epsilon)
    return gaussian_delta(math.sqrt(spent.mu_squared), slack) <= noise


def largest(judge, budget, start, make):
    """The largest cost of a family that a rule lets pass after a start."""
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        accepted = judge(budget, start.plus(make(middle)))
        low, high = (middle, high) if accepted else (low, middle)
    return make(low)


FAMILIES = (
    Cost,
    lambda x: Cost(0, x),
    lambda x: Cost(0, 0, min(x, 1)),
    lambda x: Cost(x / 2, x * x / 64),
    lambda x: Cost(x / 4, 0, min(x * 1e-7, 1)),
    lambda x: Cost(0, x * x / 64, min(x * 1e-7, 1)),
)


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("target", [1, 4, 10])
def test_no_two_step_strategy_beats_the_filter_and_one_beats_the_naive_rule(target, part):
    budget = ApproxDP(target, 1e-6)
    whole = float(gaussian_cost(epsilon=target, delta=1e-6).mu_squared)
    first = Cost(0, part**2 * whole)
    start = spend(first)
    assert fits(budget, start)
    ours = [largest(fits, budget, start, make) for make in FAMILIES]
    assert adaptive_delta(target, float(first.mu_squared), ours) <= 1e-6
    naive = [largest(naive_fits, budget, start, make) for make in FAMILIES]
    assert adaptive_delta(target, float(first.mu_squared), naive) > 1.2e-6


def test_the_filter_is_not_needlessly_strict():
    """The best two-step strategy uses a good part of δ, and Gaussians alone their whole share."""
    budget = ApproxDP(1, 1e-6)
    whole = gaussian_cost(epsilon=1, delta=1e-6).mu_squared
    start = spend(Cost(0, whole / 4))
    ours = [largest(fits, budget, start, make) for make in FAMILIES]
    assert adaptive_delta(1, float(whole) / 4, ours) > 0.4e-6


def test_a_strategy_that_stops_by_what_it_saw_keeps_the_budget():
    """Many small Gaussian answers: stop as soon as the loss is large; δ stays below the share."""
    generator = np.random.default_rng(20)
    budget, target = ApproxDP(1, 0.05), 1.0
    step = gaussian_cost(epsilon=1, delta=0.05).mu_squared / 40
    rounds = most(budget, Cost(0, step))
    drift, deviation = float(step) / 2, math.sqrt(step)
    runs = generator.normal(drift, deviation, (50_000, rounds)).cumsum(axis=1)
    for height in (0.2, 0.6, 0.9, 1.1, 1.4):
        stopped = np.where((runs > height).any(axis=1), (runs > height).argmax(axis=1), rounds - 1)
        ends = runs[np.arange(len(runs)), stopped]
        delta = np.clip(-np.expm1(target - ends), 0, None).mean()
        assert delta <= 0.05 * 3 / 8 * 1.05


# --- other libraries as oracles -------------------------------------------------------------------


def test_pld_of_dp_accounting_never_finds_more_than_the_filter():
    budget = ApproxDP(1, 1e-6)
    for cost in (Cost(0.02), Cost(0, 0.0005), Cost(0.02, 0.0005)):
        count = most(budget, cost)
        steps = [cost] * count
        numerical = total(budget, spend(*steps), accountant="pld", steps=steps)
        assert numerical.epsilon <= total(budget, spend(*steps)).epsilon * (1 + 1e-6)
        assert numerical.epsilon > 0.75
    with pytest.raises(ParameterError, match="steps="):
        total(budget, SpentTotals(), accountant="pld")


def test_opendp_agrees_on_gaussian_and_concentrated_totals():
    import opendp.prelude as odp

    odp.enable_features("contrib", "honest-but-curious")
    space = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    scale = 10.0
    one = odp.m.make_gaussian(*space, scale=scale)
    several = odp.c.make_composition([one] * 25)
    rho = several.map(d_in=1.0)
    spent = spend(*[Cost(0, Fraction(1, 100))] * 25)
    assert float(total(ZCDP(1), spent).rho) == pytest.approx(rho, rel=1e-9)
    profile = odp.c.make_zCDP_to_approxDP(several).map(d_in=1.0)
    theirs = profile.epsilon(1e-6)
    exact = float(Cost(0, Fraction(25, 100)).guarantee(delta=1e-6).epsilon)
    assert exact <= theirs * (1 + 1e-9)
    concentrated = ZCDP(spent.mu_squared / 2).to(ApproxDP, delta=1e-6).epsilon
    assert concentrated == pytest.approx(theirs, rel=1e-3)
