"""Guarantees as values: composing, restating, comparing, and what they say."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dp import (
    BOUNDED,
    UNBOUNDED,
    Customer,
    Edge,
    Group,
    Item,
    Neighbours,
    Node,
    Row,
    Transaction,
    Tree,
    Unit,
    Vertex,
)
from sfumato.dp.accounting import compose, parallel
from sfumato.dp.rounding import stated
from sfumato.errors import BudgetExceeded, ParameterError

Pure, Approx, Z, G = sf.PureDP, sf.ApproxDP, sf.ZCDP, sf.GDP
amounts = st.floats(0, 20)


def test_ten_times_a_tenth_is_one():
    assert sum([Pure(0.1)] * 10) == Pure(1.0)
    assert Pure(0.1) + Pure(0.2) == Pure(0.3)
    assert Approx(0.1, 1e-7).compose(*[Approx(0.1, 1e-7)] * 9) == Approx(1.0, 1e-6)
    assert Z(0.1) + Z(0.2) == Z(0.3)


@given(st.lists(amounts, min_size=1, max_size=8))
def test_composition_never_promises_more_than_the_exact_sum(epsilons):
    total = compose(*(Pure(e) for e in epsilons))
    assert sum(Pure(e) for e in epsilons) <= total
    exact = sum(stated(e) for e in epsilons)
    assert stated(total.epsilon) >= exact
    assert stated(math.nextafter(total.epsilon, -1)) < exact or total.epsilon == 0


@given(st.lists(amounts, min_size=1, max_size=6))
def test_gaussian_composition_adds_squares(mus):
    total = sum(G(mu) for mu in mus)
    exact = sum(stated(mu) ** 2 for mu in mus)
    assert stated(total.mu) ** 2 >= exact
    assert total.mu == pytest.approx(math.sqrt(exact), rel=1e-14)


def test_mixtures_go_to_a_kind_all_parts_imply():
    assert Pure(1) + Approx(0.5, 1e-6) == Approx(1.5, 1e-6)
    assert Pure(1) + Z(0.5) == Z(1.0)
    assert G(1) + Z(0.5) == Z(1.0)
    both = sf.RDP({2: 0.5, 8: 2.0}) + Z(0.25)
    assert both == sf.RDP({2: 1.0, 8: 4.0})
    curves = sf.RDP({2: 0.5, 8: 2.0}) + sf.RDP({4: 1.0, 16: 3.0})
    assert curves == sf.RDP({2: 1.5, 4: 3.0, 8: 5.0})  # order 16 is known of one alone
    assert sf.LocalDP(1) + sf.LocalDP(0.5) == sf.LocalDP(1.5)
    with pytest.raises(ParameterError, match="convert the others"):
        Approx(1, 1e-6) + Z(0.1)


def test_different_neighbours_do_not_compose():
    with pytest.raises(ParameterError, match="different things"):
        Pure(1) + Pure(1, neighbours="bounded")


def test_parallel_composition_over_disjoint_parts():
    assert Pure(1).parallel(Pure(0.5), Pure(0.25)) == Pure(1)
    assert Approx(1, 1e-6).parallel(Approx(0.5, 1e-5)) == Approx(1, 1e-5)
    assert sf.RDP({2: 1.0, 3: 5.0}).parallel(sf.RDP({2: 2.0, 3: 4.0})) == sf.RDP({2: 2.0, 3: 5.0})


def test_a_person_with_several_rows_touches_several_parts():
    def shared(epsilon, rows):
        return Pure(epsilon, neighbours=Unit("user", rows=rows))

    assert parallel(shared(1, 2), shared(0.5, 2), shared(0.25, 2)).epsilon == 1.5
    assert parallel(shared(1, None), shared(0.5, None), shared(0.25, None)).epsilon == 1.75
    family = Neighbours("unbounded", Group(Row(), 2))
    assert parallel(*(Pure(e, neighbours=family) for e in (1, 0.5, 0.25))).epsilon == 1.5


def test_a_replaced_record_may_change_parts():
    bounded = Pure(1, neighbours="bounded")
    with pytest.raises(ParameterError, match="unbounded neighbours"):
        bounded.parallel(bounded)
    assert parallel(bounded, bounded, assignment="public") == bounded
    assert Pure(1).parallel(Pure(1)).under("bounded") == Pure(2, neighbours="bounded")


def test_groups_of_the_worked_examples():
    """Pure kε; approximate δ·(e^(kε) − 1)/(e^ε − 1)."""
    family = Pure(0.5).group(10)
    assert family.epsilon == 5
    assert family.unit == Group(Row(), 10)
    ten = Approx(0.1, 1e-6).group(10)
    with localcontext() as context:
        context.prec = 60
        exact = Decimal("1e-6") * (Decimal(1).exp() - 1) / (Decimal("0.1").exp() - 1)
    assert ten.epsilon == 1
    assert Decimal(repr(ten.delta)) >= exact
    assert Decimal(repr(ten.delta)) <= exact * Decimal("1.000000000000001")
    assert Z(0.5).group(10).rho == 50
    assert G(0.5).group(10).mu == 5
    assert sf.RDP({16: 1.0}).group(3) == sf.RDP({4: 9.0}, neighbours=Group(Row(), 3))
    assert Pure(1).group(2).group(3).unit == Group(Row(), 6)
    assert Approx(0, 1e-6).group(10).delta == 1e-5
    assert Approx(5, 1e-3).group(10).delta == 1  # nothing is promised any more
    assert Approx(5, 0).group(10).delta == 0
    assert Approx(1e-200, 1e-6).group(10).delta >= 1e-5
    with pytest.raises(ParameterError):
        Pure(1).group(0)
    with pytest.raises(ParameterError, match="order"):
        sf.RDP({2: 1.0}).group(10)


STEPS = [
    (UNBOUNDED, BOUNDED, 2),
    ("row", Unit("user", rows=5), 5),
    ("row", Neighbours("bounded", Unit("user", rows=5)), 10),
    ("row", Unit("user", groups=4, rows_per_group=3), 12),
    (Unit("user", rows=5), "row", 2),
    ("item", Transaction(items=10), 10),
    ("item", Customer(transactions=5, items=10), 50),
    ("transaction", Customer(transactions=5), 5),
    (Customer(transactions=5), "transaction", 2),
    ("vertex", Tree(vertices=7), 7),
    ("tree", "vertex", 2),
    ("edge", Neighbours("bounded", Node(degree=6)), 12),
    ("edge", Neighbours("bounded", Node(vertices=5)), 8),
    ("node", "edge", 2),
    ("row", Neighbours("bounded", Group(Row(), 4)), 8),
    (Group(Row(), 10), Group(Row(), 25), 3),
    (Group(Row(), 10), "row", 1),
    (Unit("user", rows=5), Unit("user", rows=3), 1),
]


@pytest.mark.parametrize(("old", "new", "steps"), STEPS, ids=str)
def test_restated_for_other_neighbours(old, new, steps):
    assert Pure(0.5, neighbours=old).under(new) == Pure(0.5 * steps, neighbours=new)
    assert Z(0.5, neighbours=old).under(new).rho == 0.5 * steps**2


REFUSED = [
    (BOUNDED, UNBOUNDED, "published exactly"),
    ("row", Unit("user"), "Declare a limit"),
    (Neighbours("bounded", Row()), Neighbours("bounded", Unit("user", rows=3)), "nothing follows"),
    ("edge", Node(degree=5), "which vertices exist"),
    ("edge", Neighbours("bounded", Node()), "any number of edges"),
    ("row", "edge", "says nothing"),
    (Unit("user", rows=5), Unit("user"), "at most 5 rows"),
    (Unit("user", rows=5), Unit("user", rows=6), "at most 5 rows"),
    (Unit("user", rows=5), Unit("house", rows=5), "says nothing"),
    (Transaction(items=10), Customer(transactions=5), "at most 10 items"),
    (Item(), Customer(transactions=5), "Declare a limit"),
    (Edge(degree=5), Neighbours("bounded", Node(vertices=9)), "at most 5 degree"),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED, ids=str)
def test_what_does_not_carry_over_is_refused(old, new, words):
    with pytest.raises(ParameterError, match=words):
        Pure(1, neighbours=old).under(new)
    assert not Pure(1, neighbours=old).implies(Pure(100, neighbours=new))


def test_bounded_says_nothing_about_unbounded():
    """The exact number of rows is 0-private for bounded neighbours and not at all for unbounded."""
    assert not Pure(0, neighbours="bounded") >= Pure(50)
    assert Pure(0.5) >= Pure(1, neighbours="bounded")
    assert not Pure(0.5) >= Pure(0.99, neighbours="bounded")


STRONGER = [
    (Pure(1), Pure(1)),
    (Pure(1), Approx(1, 0)),
    (Pure(1), Approx(1, 1e-9)),
    (Pure(1), Z(0.5)),
    (Pure(1), sf.RDP({2: 1.0, 100: 1.0})),
    (Pure(1), G(1.2321)),
    (Pure(1), Approx(0.9, 0.07)),  # (e − e^0.9)/(1 + e) = 0.0696
    (Approx(1, 1e-6), Approx(1, 1e-6)),
    (Approx(1, 0), Pure(1)),
    (Z(0.5), Approx(5.23, 1e-6)),
    (Z(0.5), sf.RDP({2: 1.0})),
    (G(1), Z(0.5)),
    (G(1), Approx(4.89, 1e-6)),
    (sf.LocalDP(1), Pure(1, neighbours=Neighbours("bounded", "person"))),
    (sf.RDP({2: 1.0, 4: 2.0}), sf.RDP({3: 2.0})),
]
WEAKER = [
    (Pure(1), Pure(0.999)),
    (Pure(1), Approx(0.9, 0.069)),
    (Pure(1), Z(0.49)),
    (Approx(1, 1e-6), Pure(100)),
    (Approx(1, 1e-6), Approx(1, 1e-7)),
    (Approx(1, 1e-6), Z(100)),
    (Approx(1, 1e-6), G(100)),
    (Z(0.5), Pure(100)),
    (Z(0.5), G(100)),
    (Z(0.5), Approx(5, 1e-6)),
    (G(1), Approx(4.88, 1e-6)),
    (G(1), Pure(100)),
    (sf.RDP({2: 1.0}), sf.RDP({3: 1.0})),
    (sf.RDP({2: 1.0}), Z(100)),
    (Pure(1, neighbours=Neighbours("bounded", "person")), sf.LocalDP(1)),
]


@pytest.mark.parametrize(("strong", "weak"), STRONGER, ids=str)
def test_at_least_as_strong(strong, weak):
    assert strong >= weak
    assert weak <= strong
    assert strong.implies(weak)


@pytest.mark.parametrize(("one", "other"), WEAKER, ids=str)
def test_not_provably_as_strong(one, other):
    assert not one >= other


def test_what_is_left_of_a_budget():
    assert Pure(1).minus(Pure(0.1)) == Pure(0.9)
    assert Approx(1, 1e-6).minus(Pure(0.3)) == Approx(0.7, 1e-6)
    assert Z(1).minus(Pure(1)) == Z(0.5)
    assert G(1).minus(G(0.6)).mu == pytest.approx(0.8)
    assert G(0.6) + G(1).minus(G(0.6)) >= G(1)
    assert Pure(1, neighbours="bounded").minus(Pure(0.25)).epsilon == 0.5
    assert sf.RDP({2: 1.0, 3: 1.0}).minus(Z(0.4)) == sf.RDP({2: 0.2})
    with pytest.raises(BudgetExceeded, match=r"missing 0\.1"):
        Pure(1).minus(Pure(1.1))
    with pytest.raises(BudgetExceeded):
        sf.RDP({2: 1.0}).minus(Z(0.6))
    assert Z(0.5).minus(Z(0.5)) == Z(0)


@given(amounts, amounts)
def test_budgets_are_never_exceeded_by_rounding(a, b):
    budget = Pure(a) + Pure(b)
    assert stated(budget.minus(Pure(a)).epsilon) <= stated(budget.epsilon) - stated(a)


def test_plain_words():
    assert "2.719 times" in str(Pure(1))  # e is 2.71828…: "at most" is rounded up
    assert "one row added or removed" in str(Pure(1))
    assert "replaced" in str(Approx(1, 1e-6, neighbours="bounded"))
    assert "no promise at all" in str(Approx(1, 1))
    assert "group of 10" in str(Pure(1).group(10))
    assert "at most 5 rows" in str(Pure(1, neighbours=Unit("user_id", rows=5)))
    assert "nobody" in str(sf.LocalDP(1))
    for guarantee in (Z(0.5), G(1), sf.RDP(dict.fromkeys(range(2, 12), 1.0))):
        assert guarantee.kind in str(guarantee)
    assert Pure(1).unit == Row()
    assert sf.LocalDP(1).neighbours.bounded


@pytest.mark.parametrize(
    "build",
    [
        lambda: Pure(-1),
        lambda: Pure(math.nan),
        lambda: Pure(math.inf),
        lambda: Pure("many"),
        lambda: Approx(1, 1.1),
        lambda: Approx(1, -1e-9),
        lambda: Z(-0.1),
        lambda: G(math.nan),
        lambda: sf.RDP({}),
        lambda: sf.RDP({1: 0.5}),
        lambda: sf.RDP([(2, 0.5), (2, 0.6)]),
        lambda: sf.RDP({2: 0.5}).at(3),
        lambda: Pure(1, neighbours="both"),
    ],
)
def test_wrong_parameters_are_refused(build):
    with pytest.raises(ParameterError):
        build()


def test_guarantees_are_values():
    assert hash(Pure(1)) == hash(Pure("1"))
    assert Pure(F(1, 2)) == Pure(0.5)
    with pytest.raises(AttributeError):
        Pure(1).epsilon = 2
    assert Pure(F(1, 3)).exact_epsilon >= F(1, 3)
    assert Neighbours("unbounded", "vertex").unit == Vertex()
