"""Every guarantee is a cost, every cost reads back, and the filter adds what it says."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from sfumato import GDP, RDP, ZCDP, ApproxDP, LocalDP, PureDP, dp
from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.dp.accounting.filters import fits, left, total
from sfumato.dp.guarantee_json import (
    guarantee_from_json,
    guarantee_to_json,
    unit_from_json,
    unit_to_json,
)
from sfumato.dp.neighbours import (
    ALL,
    Customer,
    Edge,
    Group,
    Item,
    Neighbours,
    Node,
    Person,
    PrivacyUnit,
    Row,
    Subtree,
    Transaction,
    Tree,
    Trip,
    Unit,
    Vertex,
)
from sfumato.errors import ParameterError

UNITS = [
    Row(), Unit("user_id"), Unit("who", 5, 3, 2), Item(), Transaction(), Transaction(10),
    Customer(), Customer(4, 10), Vertex(), Subtree(), Subtree(7), Tree(), Tree(30), Edge(),
    Edge(100, 9), Node(), Node(100, 9), Trip(), Trip(60), Person(), Group(Row(), 10),
    Group(Group(Unit("who", 2), 3), 2),
]  # fmt: skip
GUARANTEES = [
    PureDP(0.1), PureDP("1/3"), ApproxDP(0.7, 1e-9), ZCDP(0.02), GDP(0.123456789),
    RDP({1.5: 0.1, 2: 0.2, 64: 3}), LocalDP(2),
]  # fmt: skip


def test_units_are_listed_whole():
    named = {unit for unit in PrivacyUnit.__subclasses__() if unit.__module__.startswith("sfumato")}
    assert named == {*ALL, Group}
    assert {type(unit) for unit in UNITS} == named


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("relation", ["unbounded", "bounded"])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: type(one).__name__)
def test_guarantees_read_back_exactly(guarantee, relation, unit):
    stated = type(guarantee)(**_parameters(guarantee), neighbours=Neighbours(relation, unit))
    text = json.dumps(guarantee_to_json(stated))
    assert guarantee_from_json(json.loads(text)) == stated
    assert unit_from_json(unit_to_json(unit)) == unit


def _parameters(guarantee):
    return {name: value for name, value in vars(guarantee).items() if name != "neighbours"}


def test_what_was_written_before_relations_were_reads_as_unbounded():
    old = {"kind": "PureDP", "unit": {"unit": "Unit", "name": "user", "rows": 4, "groups": None,
           "rows_per_group": None}, "epsilon": "1.0"}  # fmt: skip
    assert guarantee_from_json(old) == PureDP(1, neighbours=Unit("user", rows=4))


COSTS = [
    Cost("0.1"), Cost(mu_squared="1/7"), Cost(delta="1e-9"), Cost(concentrated="0.02"),
    Cost("0.3", "0.2", "1e-7", epsilon_squared="0.03", concentrated="1/3"),
]  # fmt: skip


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_costs_and_totals_read_back(cost):
    assert Cost.from_json(json.loads(json.dumps(cost.to_json()))) == cost
    spent = SpentTotals().plus(cost).plus(COSTS[0]).plus(COSTS[1])
    assert SpentTotals.from_json(json.loads(json.dumps(spent.to_json()))) == spent


def test_totals_without_rho_are_written_as_they_always_were():
    spent = SpentTotals().plus(Cost("0.1")).plus(Cost(mu_squared=1))
    assert "concentrated" not in json.dumps([spent.to_json(), Cost("0.1").to_json()])
    for broken in ({"epsilon": "1"}, {**Cost(1).to_json(), "more": "1"}):
        with pytest.raises(ValueError, match="no cost"):
            Cost.from_json(broken)


def test_every_guarantee_has_a_cost():
    assert Cost.of(PureDP(0.5)) == Cost("0.5")
    assert Cost.of(ApproxDP(0.5, 1e-9)) == Cost("0.5", delta="1e-9")
    assert Cost.of(GDP(0.5)) == Cost(mu_squared="0.25")
    assert Cost.of(ZCDP(0.02)) == Cost(concentrated="0.02")
    curve = RDP({a: 0.001 * a for a in (2, 8, 32)})
    found = Cost.of(curve, delta="1e-6")
    assert found == Cost(curve.to(ApproxDP, delta=1e-6).exact_epsilon, delta="1e-6")
    with pytest.raises(ParameterError, match="delta="):
        Cost.of(curve)
    with pytest.raises(ParameterError, match="no budget"):
        Cost.of(LocalDP(1))


def test_an_epsilon_delta_pair_is_a_failure_and_randomised_response():
    """Find, by linear programming, the post-processing that the proof of `Cost.of` rests on."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        size = int(rng.integers(2, 6))
        first, second = rng.dirichlet(np.ones(size) * 0.5, size=2)
        epsilon = float(rng.uniform(0.05, 1.5))
        delta = max(_hockey_stick(first, second, epsilon), _hockey_stick(second, first, epsilon))
        share = 1 / (1 + math.exp(epsilon))
        source = [
            np.array([delta, 0, (1 - delta) * (1 - share), (1 - delta) * share]),
            np.array([0, delta, (1 - delta) * share, (1 - delta) * (1 - share)]),
        ]
        assert _maps_to(source, [first, second]) < 1e-9
        if delta > 1e-3:  # with a smaller failure there is none
            less = delta * 0.9
            source = [
                np.array([less, 0, (1 - less) * (1 - share), (1 - less) * share]),
                np.array([0, less, (1 - less) * share, (1 - less) * (1 - share)]),
            ]
            assert _maps_to(source, [first, second]) > 1e-6


def _hockey_stick(first, second, epsilon):
    return float(np.maximum(0, first - math.exp(epsilon) * second).sum())


def _maps_to(source, target):
    """Give the least total distance of the targets from what one channel makes of the sources."""
    rows, columns = len(source[0]), len(target[0])
    cells, slack = rows * columns, 2 * 2 * columns
    equal, right = [], []
    for s in range(rows):
        line = np.zeros(cells + slack)
        line[s * columns : (s + 1) * columns] = 1
        equal.append(line)
        right.append(1.0)
    for which, column in itertools.product(range(2), range(columns)):
        line = np.zeros(cells + slack)
        line[column:cells:columns] = source[which]
        place = cells + 2 * (which * columns + column)
        line[place], line[place + 1] = 1, -1
        equal.append(line)
        right.append(target[which][column])
    cost = np.concatenate([np.zeros(cells), np.ones(slack)])
    return linprog(cost, A_eq=np.array(equal), b_eq=np.array(right)).fun


def test_rho_is_added_up_by_a_concentrated_budget():
    budget, spent = ZCDP(0.1), SpentTotals()
    for cost in (Cost(concentrated="0.04"), Cost("0.2"), Cost(mu_squared="0.02")):
        spent = spent.plus(cost)
    assert total(budget, spent) == ZCDP("0.07")
    assert left(budget, spent) == ZCDP("0.03")
    assert fits(budget, spent.plus(Cost(concentrated="0.03")))
    assert not fits(budget, spent.plus(Cost(concentrated="0.0300001")))


def test_a_pure_budget_has_no_place_for_rho():
    assert not fits(PureDP(5), SpentTotals().plus(Cost(concentrated="0.0001")))
    with pytest.raises(ParameterError):
        total(PureDP(5), SpentTotals().plus(Cost(concentrated="0.0001")))


@pytest.mark.parametrize("count", [1, 5, 40])
def test_rho_in_an_approximate_budget_is_safe(count):
    """Normal noise that is told as ρ only: the exact δ of all of it is within the budget."""
    budget = ApproxDP(1, 1e-6)
    each = Fraction(0)
    for k in range(1, 400):
        each = Fraction(k, 20_000) / count
        spent = SpentTotals()
        for _ in range(count):
            spent = spent.plus(Cost(concentrated=each))
        if not fits(budget, spent):
            break
    assert each * count > Fraction(1, 100)  # something is granted
    granted = float((each - Fraction(1, 20_000) / count) * count)
    mu = math.sqrt(2 * granted)
    exact = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
    assert exact <= 1e-6


def test_rho_after_normal_noise_needs_its_epsilon_and_delta():
    budget = ApproxDP(1, 1e-6)
    spent = SpentTotals().plus(Cost(mu_squared="0.001"))
    assert not fits(budget, spent.plus(Cost(concentrated="1e-9")))
    assert fits(budget, spent.plus(Cost.of(ZCDP("0.0001"), delta="1e-8")))
    assert not fits(
        budget, SpentTotals().plus(Cost(concentrated="0.001")).plus(Cost(delta="1e-12"))
    )


def test_sampled_mechanisms_are_added_as_an_upper_bound():
    """Ten trainings charged one by one promise no less than all of them composed numerically."""
    step = dp.Step.gaussian(4, rate=0.01, times=200)
    single = dp.account(step, delta=1e-7, accountants=["pld"]).guarantee
    spent = SpentTotals()
    for _ in range(10):
        spent = spent.plus(Cost.of(single))
    promised = total(ApproxDP(20, 1e-5), spent)
    whole = dp.Step.gaussian(4, rate=0.01, times=2000)
    exact = dp.account(whole, delta=promised.delta, accountants=["pld"])
    assert promised.epsilon >= exact.epsilon
    assert promised.exact_delta == Fraction(1, 10**6)


def test_a_cost_with_rho_states_its_guarantee():
    cost = Cost("0.1", concentrated="0.02")
    assert cost.guarantee() == ZCDP("0.025")
    assert cost.guarantee(delta=1e-6) == ZCDP("0.025").to(ApproxDP, delta=1e-6)
    with pytest.raises(ParameterError):
        Cost(delta="1e-9", concentrated="0.02").guarantee()
    assert Cost(delta="1e-9", concentrated="0.02").guarantee(delta="1e-6").delta == 1e-6


def test_subtrees_and_trips_restate():
    assert PureDP(0.1, neighbours="vertex").under(Subtree(5)) == PureDP(0.5, neighbours=Subtree(5))
    assert PureDP(1, neighbours=Subtree(9)).under(Tree(9)) == PureDP(1, neighbours=Tree(9))
    assert PureDP(1, neighbours="subtree").under("vertex") == PureDP(2, neighbours="vertex")
    for stated, wanted in ((Subtree(9), Tree()), (Subtree(9), "vertex"), (Trip(5), Trip())):
        with pytest.raises(ParameterError):
            PureDP(1, neighbours=stated).under(wanted)
