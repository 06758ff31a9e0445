"""Advanced composition, subsampling, disjoint parts and the accountants, against exact pairs."""

from __future__ import annotations

import math
import random
import sys
from decimal import Decimal
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.dp import (
    Customer,
    Group,
    Neighbours,
    Node,
    Pair,
    Part,
    Row,
    Step,
    Unit,
    account,
    amplify,
    calibrate,
    compose_advanced,
    compose_parts,
    geometric_pair,
)
from sfumato.dp.accounting.advanced import optimal_epsilon
from sfumato.dp.accounting.composition import parallel
from sfumato.errors import MissingExtra, ParameterError


@pytest.mark.parametrize("epsilon", [0.1, 0.7])
@pytest.mark.parametrize("count", [1, 2, 5, 30])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_optimal_composition_is_that_of_repeated_randomised_response(epsilon, count, delta):
    exact = geometric_pair(epsilon).repeat(count).epsilon(delta)
    found = compose_advanced([sf.PureDP(epsilon)] * count, delta=delta)
    assert found.epsilon == pytest.approx(exact, rel=1e-9, abs=1e-12)
    assert found.delta == delta


def test_optimal_composition_by_summing_over_the_number_of_lies():
    """δ̃(ε) of the theorem of Kairouz, Oh and Viswanath at the ε that was found."""
    base, count, slack = 0.3, 40, 1e-6
    epsilon = float(optimal_epsilon(F(3, 10), count, F(1, 10**6)))
    whole = (1 + math.exp(base)) ** count
    total = sum(
        math.comb(count, lies)
        * max(0.0, math.exp((count - lies) * base) - math.exp(epsilon + lies * base))
        for lies in range(count + 1)
    )
    assert total / whole == pytest.approx(slack, rel=1e-6)


def test_heterogeneous_composition_bounds_the_exact_pair():
    epsilons = [0.1, 0.2, 0.3] * 3
    pair = geometric_pair(0.1)
    for epsilon in epsilons[1:]:
        pair = pair.compose(geometric_pair(epsilon))
    for delta in (1e-6, 1e-2):
        found = compose_advanced([sf.PureDP(e) for e in epsilons], delta=delta)
        assert pair.epsilon(delta) <= found.epsilon <= sum(epsilons) + 1e-12
    many = compose_advanced([sf.PureDP(0.01), *[sf.PureDP(0.011)] * 999], delta=1e-6)
    drift = 0.01 * math.expm1(0.01) / (math.exp(0.01) + 1)
    drift += 999 * 0.011 * math.expm1(0.011) / (math.exp(0.011) + 1)
    spread = math.sqrt(2 * math.log(1e6) * (0.01**2 + 999 * 0.011**2))
    assert many.epsilon == pytest.approx(drift + spread, rel=1e-9)
    assert many.epsilon < 3


def test_advanced_composition_pays_for_the_deltas_of_its_parts():
    parts = [sf.ApproxDP(0.1, 1e-8)] * 50
    found = compose_advanced(parts, delta=1e-6)
    slack = 1 - (1 - 1e-6) / (1 - 1e-8) ** 50
    exact = geometric_pair(0.1).repeat(50).epsilon(slack)
    assert found.epsilon == pytest.approx(exact, rel=1e-6)
    with pytest.raises(ParameterError, match="already spend"):
        compose_advanced(parts, delta=1e-7)
    with pytest.raises(ParameterError):
        compose_advanced([sf.ZCDP(0.1)], delta=1e-6)
    with pytest.raises(ParameterError):
        compose_advanced([sf.PureDP(0.1)], delta=1)
    assert compose_advanced([sf.PureDP(0.1)] * 3, delta=0).epsilon == 0.3


@pytest.mark.parametrize("rate", [0.01, 0.3, 1])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_poisson_sampling_of_one_more_row(rate, epsilon):
    """With the row the mechanism sees it with probability q; without it, never."""
    base = geometric_pair(epsilon)
    share = F(str(rate))
    mixed = Pair.of_masses((share * p + (1 - share) * q, q) for p, q in base.masses)
    found = amplify(sf.PureDP(epsilon), rate=rate)
    assert found.epsilon == pytest.approx(mixed.epsilon(), rel=1e-9)
    assert found.epsilon == pytest.approx(math.log1p(rate * math.expm1(epsilon)), rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 1), (5, 3)])
def test_samples_of_fixed_size_for_a_replaced_row(n, m):
    """All samples of m of n rows; randomised response on their sum, the worst ε-private way."""
    epsilon = 1.0
    p = F(math.exp(epsilon) / (1 + math.exp(epsilon)))
    rate = F(m, n)
    here = [rate * p + (1 - rate) * (1 - p), rate * (1 - p) + (1 - rate) * p]
    there = [1 - p, p]
    exact = Pair.of(here, there).epsilon()
    base = sf.PureDP(epsilon, neighbours="bounded")
    assert exact <= amplify(base, rate=rate, sampling="without replacement").epsilon + 1e-12


def test_sampling_is_refused_where_no_theorem_holds():
    assert amplify(sf.ApproxDP(1, 1e-5), rate=0.1).delta == 1e-6
    for call in (
        lambda: amplify(sf.PureDP(1), rate=0),
        lambda: amplify(sf.PureDP(1), rate=1.5),
        lambda: amplify(sf.PureDP(1), rate=0.1, sampling="without replacement"),
        lambda: amplify(sf.PureDP(1, neighbours="bounded"), rate=0.1),
        lambda: amplify(sf.ZCDP(1), rate=0.1),
        lambda: amplify(sf.PureDP(1), rate=0.1, sampling="bernoulli"),
    ):
        with pytest.raises(ParameterError):
            call()


def test_the_anchor_ten_thousand_sampled_gaussians():
    found = account(Step.gaussian(1, rate=0.001, times=10_000), delta=1e-6)
    assert found.epsilons["pld"] == pytest.approx(0.555, abs=0.002)
    assert found.epsilons["rdp"] == pytest.approx(0.980, abs=0.002)
    assert found.best == "pld"
    assert found.guarantee == sf.ApproxDP(found.epsilon, 1e-6)
    assert found.proved.epsilon == min(found.epsilons["basic"], found.epsilons["advanced"])
    assert set(found.unavailable) == {"gdp", "zcdp"}
    assert "numerical" in str(found)


def test_unsampled_gaussians_compose_exactly():
    found = account(Step.gaussian(5, times=10), delta=1e-6)
    exact = sf.GDP(F(1, 5)).to(sf.ApproxDP, delta=1e-6)
    assert found.epsilons["gdp"] == pytest.approx(
        sf.GDP(math.sqrt(10) / 5).to(sf.ApproxDP, delta=1e-6).epsilon, rel=1e-12
    )
    assert found.epsilons["gdp"] > exact.epsilon
    assert found.epsilons["pld"] == pytest.approx(found.epsilons["gdp"], rel=1e-3)
    assert found.epsilons["zcdp"] == pytest.approx(
        sf.ZCDP(0.2).to(sf.ApproxDP, delta=1e-6).epsilon, rel=1e-12
    )
    assert found.epsilons["gdp"] < found.epsilons["zcdp"] < found.epsilons["basic"]


def test_geometric_noise_is_not_accounted_as_continuous_laplace():
    """On the integers the loss is ±ε and nothing between: the exact pair says so."""
    exact = geometric_pair(0.5).repeat(8).epsilon(1e-3)
    found = account(Step.geometric(2, times=8), delta=1e-3)
    assert found.epsilons["advanced"] == pytest.approx(exact, rel=1e-9)
    assert found.epsilons["pld"] == pytest.approx(exact, rel=1e-3)
    assert found.epsilons["pld"] >= exact * (1 - 1e-9)
    wide = account(Step.geometric(8, sensitivity=4, times=4), delta=1e-3, accountants=["pld"])
    assert wide.epsilon == pytest.approx(geometric_pair(0.5, 4).repeat(4).epsilon(1e-3), rel=1e-3)


def test_mixed_and_discrete_steps():
    found = account(
        [Step.discrete_gaussian(10, sensitivity=2, times=4), Step.laplace(20), Step.laplace(10)],
        delta=1e-6,
    )
    rho = 4 / (2 * 25) + 0.05**2 / 2 + 0.1**2 / 2
    assert found.epsilons["zcdp"] == pytest.approx(
        sf.ZCDP(rho).to(sf.ApproxDP, delta=1e-6).epsilon, rel=1e-9
    )
    assert found.epsilons["pld"] < found.epsilons["zcdp"] < found.epsilons["basic"]
    assert "gdp" in found.unavailable
    approximate = account(
        [Step.private(sf.ApproxDP(0.1, 1e-8), times=3), Step.private(sf.PureDP(0.2))], delta=1e-6
    )
    assert approximate.epsilons["basic"] == 0.5
    assert set(approximate.unavailable) == {"gdp", "zcdp", "rdp"}
    sampled = account(Step.discrete_gaussian(1, rate=0.01, times=100), delta=1e-6)
    assert sampled.epsilons["pld"] < sampled.epsilons["rdp"] < 2


def test_without_the_library_the_theorems_still_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    found = account(Step.gaussian(5, times=10), delta=1e-6)
    assert set(found.epsilons) == {"basic", "advanced", "gdp", "zcdp"}
    assert "pip install 'sfumato[accounting]'" in found.unavailable["pld"]
    with pytest.raises(MissingExtra, match="accounting"):
        account(Step.gaussian(5), delta=1e-6, accountants=["pld"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: account([], delta=1e-6),
        lambda: account(Step.gaussian(1), delta=0),
        lambda: account(Step.gaussian(1), delta=1e-6, accountants=["magic"]),
        lambda: account(Step.gaussian(1, rate=0.1), delta=1e-6, neighbours="bounded"),
        lambda: account(Step.gaussian(1), delta=1e-15, accountants=["pld"]),
        lambda: account(Step.private(sf.ApproxDP(1, 0.1)), delta=0.01, accountants=["basic"]),
        lambda: Step.gaussian(0),
        lambda: Step.gaussian(1, rate=0),
        lambda: Step.gaussian(1, times=0),
        lambda: Step.geometric(1, sensitivity=0),
        lambda: Step.private(sf.ZCDP(1)),
        lambda: Step.private(sf.PureDP(0)),
    ],
)
def test_wrong_steps_are_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_parts_of_the_worked_examples():
    """HIV+ ∧ blonde with HIV+, and HIV+ with age [10, 20], add up; HIV+ with HIV− do not."""
    one = sf.PureDP(1)
    positive, negative = Part(hiv=True), Part(hiv=False)
    assert compose_parts([(positive, one), (negative, one)]).epsilon == 1
    assert compose_parts([(Part(hiv=True, hair="blonde"), one), (positive, one)]).epsilon == 2
    assert compose_parts([(positive, one), (Part(age=(10, 20)), one)]).epsilon == 2
    assert compose_parts([(Part(), one), (positive, one), (negative, one)]).epsilon == 2


def test_disjointness_is_proved_or_not_assumed():
    assert Part(age=(10, 20)).disjoint(Part(age=(20, 30)))
    assert not Part(age=(10, 20)).disjoint(Part(age=(19.5, 30)))
    assert Part(age=20).disjoint(Part(age=(10, 20)))
    assert not Part(age=10).disjoint(Part(age=(10, 20)))
    assert Part(city={"Rome", "Bern"}).disjoint(Part(city=["Oslo"]))
    assert not Part(city="unknown").disjoint(Part(city=(0, 5)))  # how they compare is unknown
    assert not Part(a=1).disjoint(Part(b=2))
    assert not Part(age="10").disjoint(Part(age=20))  # an engine may read "20" as 20
    assert repr(Part(age=(10, 20))) == "Part(age=[10, 20))"
    assert len(Part(a=1, b=2)) == 2
    with pytest.raises(ParameterError):
        Part(age=(20, 10))
    with pytest.raises(ParameterError):
        Part(age=(1, 2, 3))


def test_the_worst_record_is_charged():
    """Random boxes over a small domain: every record's own charge is covered."""
    random.seed(7)
    for _ in range(60):
        releases = []
        for _ in range(random.randint(1, 6)):
            conditions = {}
            for name in "xy":
                if random.random() < 0.7:
                    low = random.randint(0, 4)
                    conditions[name] = (low, low + random.randint(1, 3))
            releases.append((Part(**conditions), sf.PureDP(F(random.randint(1, 5), 4))))
        worst = F(0)
        for record in product(range(8), repeat=2):
            inside = dict(zip("xy", record, strict=True))
            charged = sum(
                guarantee.exact_epsilon
                for part, guarantee in releases
                if all(part[name][0] <= inside[name] < part[name][1] for name in part)
            )
            worst = max(worst, charged)
        found = compose_parts(releases).exact_epsilon
        assert found == worst  # boxes that pairwise overlap share a record (Helly)


def test_units_of_many_rows_and_replaced_records_pay_for_all_parts():
    for neighbours in (Unit("user", rows=3), Unit("user"), "bounded"):
        one = sf.PureDP(1, neighbours=neighbours)
        assert compose_parts([(Part(hiv=True), one), (Part(hiv=False), one)]).epsilon == 2
    mixed = [(Part(a=1), sf.ApproxDP(1, 1e-6)), (Part(a=2), sf.ApproxDP(2, 1e-7))]
    assert compose_parts(mixed) == sf.ApproxDP(3, 1.1e-6)  # neither is the worse one
    with pytest.raises(ParameterError):
        compose_parts([])


def test_too_many_overlaps_are_all_charged(monkeypatch):
    import sfumato.dp.accounting.disjoint as module

    monkeypatch.setattr(module, "_SEARCH_LIMIT", 3)
    parts = [(Part(a=k), sf.PureDP(1)) for k in range(10)]
    assert compose_parts(parts).epsilon == 10


def test_sampling_does_not_amplify_the_guarantee_of_a_group():
    """Randomised response on "some record of this kind is there": ten records, q = 0.1.

    The group is seen with probability 1 − 0.9¹⁰, so its true ε is ln(1 + 0.651·(e¹⁰ − 1)) = 9.57,
    and the formula for one record, 7.70, would be false. Amplified first it is right.
    """
    true = math.log1p((1 - 0.9**10) * math.expm1(10))
    assert amplify(sf.PureDP(10), rate=0.1).epsilon < true
    assert amplify(sf.PureDP(10), rate=0.1).group(10).epsilon >= true
    many = [
        Group(Row(), 10),
        Unit("user", rows=10),
        Unit("user"),
        Customer(transactions=3),
        Node(degree=3),
    ]
    for unit in many:
        with pytest.raises(ParameterError, match="first"):
            amplify(sf.PureDP(10, neighbours=unit), rate=0.1)
        with pytest.raises(ParameterError, match="first"):
            account(Step.laplace(0.1, rate=0.1), delta=1e-6, neighbours=unit)
        with pytest.raises(ParameterError, match="first"):
            calibrate(Step.laplace(1, rate=0.1), guarantee=sf.ApproxDP(1, 1e-6, neighbours=unit))
        assert account(Step.laplace(0.1), delta=1e-6, neighbours=unit).neighbours.unit == unit
    single = sf.PureDP(1, neighbours=Unit("user", rows=1))
    assert amplify(single, rate=0.1).epsilon == amplify(sf.PureDP(1), rate=0.1).epsilon
    families = sf.PureDP(1, neighbours=Neighbours("bounded", Group(Row(), 2)))
    with pytest.raises(ParameterError, match="first"):
        amplify(families, rate=0.1, sampling="without replacement")


@pytest.mark.parametrize("size", [2, 3])
def test_members_of_a_group_may_be_in_different_public_parts(size):
    """Enumerate which of three parts the members are in: each part touched costs its ε."""
    epsilons = (1, 0.5, 0.25)
    group = Neighbours("bounded", Group(Row(), size))
    parts = [sf.PureDP(epsilon, neighbours=group) for epsilon in epsilons]
    worst = max(sum(epsilons[k] for k in set(places)) for places in product(range(3), repeat=size))
    assert parallel(*parts, assignment="public").epsilon == worst
    nested = Neighbours("bounded", Group(Group(Row(), size), 1))
    again = [sf.PureDP(epsilon, neighbours=nested) for epsilon in epsilons]
    assert parallel(*again, assignment="public").epsilon == worst
    people = Neighbours("bounded", Unit("user", rows=5))
    one = [sf.PureDP(epsilon, neighbours=people) for epsilon in epsilons]
    assert parallel(*one, assignment="public").epsilon == 1


def test_parts_that_are_not_a_number_are_refused():
    """Two conditions "is NaN" select the same records, although NaN is unequal to NaN."""
    for value in (
        float("nan"),
        Decimal("nan"),
        {1.0, float("nan")},
        [float("nan")],
        {(1, float("nan"))},
        np.datetime64("NaT"),
        pd.NA,
        (0.0, float("nan")),
    ):
        with pytest.raises(ParameterError):
            Part(x=value)
    with pytest.raises(ParameterError, match="numbers, texts"):
        Part(x={"a": 1})
    both = [(Part(x=None), sf.PureDP(1)), (Part(x=None), sf.PureDP(1))]
    assert compose_parts(both).epsilon == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: account(Step.gaussian(1), delta=1e-6, accountants=["pld"]).proved, "zcdp"),
        (lambda: account("gaussian", delta=1e-6), "Step"),
        (lambda: account([1.0], delta=1e-6), "Step"),
        (lambda: account(Step.gaussian(1), delta=None), "number"),
        (lambda: account(Step.private(sf.ApproxDP(1, 0.5)), delta=1e-14), "No accountant"),
    ],
)
def test_accounts_refused_with_advice(call, words):
    with pytest.raises(ParameterError, match=words):
        call()
