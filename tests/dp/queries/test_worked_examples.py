"""The sensitivities of the worked examples, and what is said where there is none."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from sfumato.dp import (
    BOUNDED,
    UNBOUNDED,
    Count,
    Counts,
    Customer,
    DegreeCount,
    Edge,
    EdgeCount,
    Group,
    GroupedSum,
    Histogram,
    Item,
    ItemCount,
    ItemsetSupport,
    LabelCount,
    Max,
    Mean,
    Median,
    Min,
    Neighbours,
    Node,
    Quantile,
    Query,
    Row,
    Sensitivity,
    Several,
    Sum,
    Transaction,
    TreeCount,
    TriangleCount,
    Unit,
    Variance,
    VectorMean,
    VectorSum,
    sensitivity,
)
from sfumato.errors import ParameterError

AGES = (0, 100)


@pytest.mark.parametrize(
    ("query", "neighbours", "l1"),
    [
        (Count(), UNBOUNDED, 1),
        (Count(), BOUNDED, 1),
        (Histogram(10), UNBOUNDED, 1),
        (Histogram(10), BOUNDED, 2),
        (Counts(7), UNBOUNDED, 7),
        (Sum((0, 250)), UNBOUNDED, 250),
        (Mean((0, 1), n=40), BOUNDED, 1 / 40),
        (Min(AGES), BOUNDED, 100),
        (Max(AGES), BOUNDED, 100),
        (Median(AGES), BOUNDED, 100),
        (Mean(AGES), BOUNDED, 100),
        (GroupedSum(12, (0, 100)), UNBOUNDED, 100),
        (EdgeCount(), Edge(), 1),
        (EdgeCount(), Node(vertices=30), 30),
        (DegreeCount(5), Edge(), 2),
        (DegreeCount(5), Node(vertices=30), 31),
        (ItemCount("aspirin"), Item(), 1),
        (ItemCount("aspirin", most=4), Transaction(), 4),
        (ItemCount("aspirin", most=4), Customer(transactions=3), 12),
        (TreeCount("born in 1996"), "tree", 1),
        (TreeCount("born in 1996"), "vertex", 1),
        (LabelCount("databases", most=3), "tree", 3),
        (LabelCount("databases", most=3), "vertex", 1),
    ],
    ids=str,
)
def test_lecture_values(query, neighbours, l1):
    found = sensitivity(query, neighbours)
    assert found.l1 == l1
    assert found.neighbours == Neighbours.of(neighbours)


def test_l2_of_vectors():
    assert sensitivity(VectorMean(norm=3, dimension=5, n=60), BOUNDED).l2 == pytest.approx(0.1)
    assert sensitivity(Counts(9), UNBOUNDED).l2 == 3
    assert sensitivity(Histogram(4), BOUNDED).l2 == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("query", [Min(AGES), Max(AGES), Median(AGES), Quantile(0.25, AGES)])
def test_order_statistics_are_routed_to_the_exponential_mechanism(query):
    found = sensitivity(query)
    assert found.mechanism == "quantile"
    assert "exponential mechanism" in found.advice


@pytest.mark.parametrize(
    ("query", "neighbours", "words"),
    [
        (Sum(), UNBOUNDED, "bounds=(low, high)"),
        (Mean(), BOUNDED, "bounds=(low, high)"),
        (Variance(), BOUNDED, "bounds=(low, high)"),
        (Median(), BOUNDED, "bounds=(low, high)"),
        (GroupedSum(3), UNBOUNDED, "bounds=(low, high)"),
        (Count(), Unit("user_id"), "Unit('user_id', rows=5)"),
        (Histogram(3), Unit("user_id", groups=4), "Unit('user_id', rows=5)"),
        (Sum((0, 1)), Unit("user_id"), "rows=5"),
        (ItemsetSupport({"bread"}), Customer(), "Customer(transactions=5)"),
        (ItemCount("bread"), Transaction(), "most=10"),
        (ItemCount("bread", most=2), Customer(), "Customer(transactions=5)"),
        (EdgeCount(), Node(), "Node(vertices=1000)"),
        (DegreeCount(2), Node(), "Node(vertices=1000)"),
        (TriangleCount(), Edge(), "Node(vertices=1000)"),
        (LabelCount("x"), "tree", "most=3"),
    ],
    ids=str,
)
def test_unlimited_sensitivities_say_what_would_bound_them(query, neighbours, words):
    found = sensitivity(query, neighbours)
    assert not found.finite
    assert found.l1 == found.l2 == math.inf
    assert words in found.advice
    assert found.why
    assert "unbounded" in str(found)


def test_limits_make_it_finite():
    assert sensitivity(Count(), Unit("user_id", rows=5)).l1 == 5
    grouped = Unit("user_id", groups=20, rows_per_group=5)
    assert sensitivity(Histogram(1000), grouped).l1 == 100
    assert sensitivity(Histogram(1000), grouped).l2 == pytest.approx(math.sqrt(20) * 5)
    assert sensitivity(TriangleCount(), Edge(degree=8)).l1 == 7
    assert sensitivity(TriangleCount(), Node(degree=8)).l1 == 28


def test_a_family_costs_as_much_as_its_members():
    one = sensitivity(Histogram(10), BOUNDED)
    ten = sensitivity(Histogram(10), Neighbours("bounded", Group(Row(), 10)))
    assert ten.l1 == 10 * one.l1
    assert ten.l2 == pytest.approx(10 * one.l2)


def test_several_queries_add_up():
    both = sensitivity(Several((Count(), Sum((0, 3)))))
    assert both.l1 == 4
    assert both.l2 == pytest.approx(math.sqrt(10))
    assert not sensitivity(Several((Count(), Sum()))).finite


def test_a_users_own_query_works():
    class Parity(Query):
        def derive(self, neighbours):
            return Sensitivity(1.0, 1.0, "it is 0 or 1")

    assert sensitivity(Parity(), BOUNDED).l1 == 1
    assert sensitivity(Parity(), BOUNDED).neighbours == BOUNDED
    with pytest.raises(ParameterError, match=r"Define it beside derive\(\)"):
        Parity().evaluate([1])


@pytest.mark.parametrize(
    ("query", "neighbours"),
    [(Count(), Edge()), (EdgeCount(), "row"), (ItemCount("x"), "row"), (TreeCount(), "node")],
)
def test_a_query_about_another_shape_is_refused(query, neighbours):
    with pytest.raises(ParameterError, match="cannot be"):
        sensitivity(query, neighbours)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Sum((5, 1)),
        lambda: Sum((0, math.inf)),
        lambda: Sum((0, math.nan)),
        lambda: Histogram(0),
        lambda: Counts(True),
        lambda: Mean((0, 1), n=0),
        lambda: Quantile(1.5, AGES),
        lambda: Variance((0, 1), ddof=2),
        lambda: DegreeCount(-1),
        lambda: ItemsetSupport(frozenset()),
        lambda: VectorMean(norm=0, dimension=2),
        lambda: Sum((0, 1), missing="drop"),
        lambda: Unit("u", rows=0),
        lambda: Unit(""),
        lambda: Neighbours("both"),
        lambda: Neighbours.of("house"),
        lambda: Group(Row(), 0),
    ],
)
def test_wrong_parameters_are_refused(build):
    with pytest.raises(ParameterError):
        build()


def test_sensitivities_of_binary_bounds_are_not_below_the_binary_value():
    """0.1 as data is the float above one tenth; the sensitivity covers it in either reading."""
    from fractions import Fraction

    found = sensitivity(Sum((0, 0.1)), Unit("u", rows=3)).l1
    assert Fraction(found) >= 3 * Fraction(0.1)
    assert Fraction(repr(found)) >= 3 * Fraction(0.1)


@pytest.mark.parametrize("query", [Sum, Mean, Median, Variance])
@pytest.mark.parametrize(
    "bounds",
    [5, "01", ("0", "1"), (0,), (0, 1, 2), (0, None), (0, 10**400), (0, float("nan")), (1, 0)],
)
def test_bounds_are_two_finite_numbers(query, bounds):
    with pytest.raises(ParameterError, match=r"[Bb]ound"):
        query(bounds)


def test_bounds_of_every_kind_of_number():
    for bounds in ((0, 2), (0.0, 2.0), (F(0), F(2)), [0, 2], (np.int8(0), np.float32(2))):
        assert sensitivity(Sum(bounds)).l1 == 2
    wide = sensitivity(Sum((-1.7e308, 1.7e308)), "bounded")
    assert not wide.finite
    for norm in ("1", None, 10**400, 0, float("inf")):
        with pytest.raises(ParameterError, match="norm"):
            VectorSum(norm, 3)
