"""Privacy loss and trade-off curves against the sum over all events."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sfumato as sf
from sfumato.dp import Pair, geometric_pair, trade_off_of
from sfumato.dp.explanation import laplace_missed
from sfumato.dp.tradeoff import interpolate
from sfumato.errors import ParameterError


@st.composite
def pairs(draw):
    size = draw(st.integers(2, 5))
    weights = [draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)) for _ in range(2)]
    for weight in weights:
        weight[0] += 1
    return tuple([F(w, sum(weight)) for w in weight] for weight in weights)


def events(size):
    return product([False, True], repeat=size)


def mass(distribution, event):
    return sum(p for p, there in zip(distribution, event, strict=True) if there)


@settings(max_examples=150, deadline=None)
@given(pairs(), st.floats(0, 3))
def test_delta_is_the_worst_event_of_both_directions(pair, epsilon):
    p, q = pair
    power = math.exp(epsilon)
    worst = max(
        max(mass(p, e) - power * float(mass(q, e)), mass(q, e) - power * float(mass(p, e)))
        for e in events(len(p))
    )
    found = Pair.of(p, q).delta(epsilon)
    assert found == pytest.approx(float(worst), abs=1e-12)
    assert Pair.of(p, q).satisfies(sf.ApproxDP(epsilon, min(1.0, found * (1 + 1e-9) + 1e-15)))


@settings(max_examples=100, deadline=None)
@given(pairs(), st.sampled_from([0, 0.01, 0.2, 0.5]))
def test_epsilon_is_the_inverse(pair, delta):
    made = Pair.of(*pair)
    epsilon = made.epsilon(delta)
    if math.isinf(epsilon):
        assert made.delta(50) > delta
        return
    assert made.delta(epsilon) <= delta * (1 + 1e-12) + 1e-15
    if epsilon > 1e-6:
        assert made.delta(epsilon - 1e-7) > delta


@settings(max_examples=100, deadline=None)
@given(pairs())
def test_no_test_gets_below_the_curve_and_the_corners_are_tests(pair):
    p, q = pair
    made = Pair.of(p, q)
    points = [(float(mass(p, e)), 1 - float(mass(q, e))) for e in events(len(p))]
    for alarm, missed in points:
        assert missed >= made.missed(alarm) - 1e-12
    for corner in made.trade_off():
        assert any(math.dist(corner, point) < 1e-9 for point in points)


@settings(max_examples=60, deadline=None)
@given(pairs(), pairs())
def test_composition_is_the_product(one, other):
    whole = Pair.of(
        [a * b for a in one[0] for b in other[0]], [a * b for a in one[1] for b in other[1]]
    )
    assert Pair.of(*one).compose(Pair.of(*other)) == whole
    assert Pair.of(*one).repeat(2) == Pair.of(*one).compose(Pair.of(*one))


@settings(max_examples=60, deadline=None)
@given(pairs(), st.floats(0.01, 3))
def test_missed_plus_power_times_alarm(pair, epsilon):
    """P_MD + e^ε·P_FA ≥ 1 − δ on the whole curve, with equality somewhere or in the mirror."""
    made = Pair.of(*pair)
    delta = made.delta(epsilon)
    slack = [missed + math.exp(epsilon) * alarm for alarm, missed in made.trade_off()]
    mirror = [alarm + math.exp(epsilon) * missed for alarm, missed in made.trade_off()]
    assert min(slack) >= 1 - delta - 1e-9
    assert min(mirror) >= 1 - delta - 1e-9
    assert min(*slack, *mirror) == pytest.approx(1 - delta, abs=1e-9)


def test_zero_one_sixth():
    """(0, 1/6)-private, yet the loss is not bounded by 0 with probability 5/6."""
    pair = Pair.of([F(1, 2), F(1, 2)], [F(1, 3), F(2, 3)])
    assert pair.delta(0) == pytest.approx(1 / 6)
    assert pair.satisfies(sf.ApproxDP(0, F(1, 6)))
    assert not pair.satisfies(sf.ApproxDP(0, F(1, 6) - F(1, 10**9)))
    assert pair.loss_at_most(0) == 0.5 < 5 / 6
    assert pair.loss == ((pytest.approx(math.log(3 / 4)), 0.5), (pytest.approx(math.log(1.5)), 0.5))
    assert pair.epsilon() == pytest.approx(math.log(1.5))


@pytest.mark.parametrize("m", [2, 10, 1000])
def test_publishing_everything_with_a_random_number_is_not_private(m):
    """Each output has probability 1/m, and still δ is 1: the event "this data set" tells all."""
    here = {("D", number): F(1, m) for number in range(m)}
    there = {("E", number): F(1, m) for number in range(m)}
    pair = Pair.of(here, there)
    for output, mass_here in here.items():
        assert mass_here <= there.get(output, 0) + F(1, m)  # output by output it looks fine
    assert not pair.satisfies(sf.ApproxDP(0, F(1, m)))
    assert pair.delta(0) == 1
    assert pair.epsilon(F(1, m)) == math.inf
    assert pair.missed(0.0) == 0.0
    assert pair.loss == ((math.inf, 1.0),)


def test_randomised_response_with_half_the_truth_is_log_three():
    pair = Pair.of([F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)])
    assert pair.epsilon() == pytest.approx(math.log(3), abs=1e-15)
    assert pair.epsilon() >= math.log(3)


@pytest.mark.parametrize("sensitivity", [1, 2, 7])
def test_the_geometric_pair(sensitivity):
    pair = geometric_pair(1, sensitivity)
    ratio = math.exp(-1 / sensitivity)
    law = {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-400, 401)}
    shifted = {x + sensitivity: p for x, p in law.items()}
    listed = Pair.of(law, shifted)
    assert pair.epsilon() == pytest.approx(1, abs=1e-12)
    for epsilon in (0, 0.3, 0.99):
        assert pair.delta(epsilon) == pytest.approx(listed.delta(epsilon), rel=1e-9)
    with pytest.raises(ParameterError):
        geometric_pair(0)


def test_promised_curves():
    for guarantee in (sf.PureDP(1), sf.ApproxDP(0.5, 0.1), sf.LocalDP(2)):
        delta = getattr(guarantee, "delta", 0)
        power = math.exp(guarantee.epsilon)
        for k in range(101):
            alarm = k / 100
            wanted = max(0, 1 - delta - power * alarm, (1 - delta - alarm) / power)
            assert interpolate(trade_off_of(guarantee), alarm) == pytest.approx(wanted, abs=1e-12)
    curve = trade_off_of(sf.GDP(1))
    assert interpolate(curve, 0.5) == pytest.approx(norm.cdf(-1), abs=1e-4)
    with pytest.raises(ParameterError):
        trade_off_of(sf.ZCDP(1))
    with pytest.raises(ParameterError):
        interpolate(curve, 2)


def test_the_curve_of_laplace_noise():
    """Reject above t: P_FA = Pr[X > t], P_MD = Pr[X + 1 ≤ t], for Laplace noise of scale 1/ε."""
    epsilon = 1.3

    def tail(t):
        return 0.5 * math.exp(-epsilon * t) if t > 0 else 1 - 0.5 * math.exp(epsilon * t)

    for t in (-2, -0.5, 0, 0.2, 0.5, 0.9, 1, 2, 5):
        assert laplace_missed(tail(t), epsilon) == pytest.approx(1 - tail(t - 1), rel=1e-9)


def test_pairs_are_checked():
    with pytest.raises(ParameterError, match="add up to 1"):
        Pair.of([0.5, 0.4], [0.5, 0.5])
    with pytest.raises(ParameterError, match="negative"):
        Pair.of([1.5, -0.5], [0.5, 0.5])
    wide = geometric_pair(1, 200)
    with pytest.raises(ParameterError, match="too many outcomes"):
        wide.compose(wide)
    with pytest.raises(ParameterError):
        geometric_pair(1).satisfies(sf.ZCDP(1))
    assert geometric_pair(1).satisfies(sf.PureDP(1.0001))
    assert geometric_pair(1).delta(5000) == 0
