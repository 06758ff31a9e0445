"""What questions are charged: noise that fits, shares of a policy, and nothing twice."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import sfumato as sf
from sfumato.govern.limits import Limits
from sfumato.govern.policies import EqualShares, Fixed, Geometric
from sfumato.govern.spending import Plan

FRAME = pd.DataFrame({
    "person": [i % 500 for i in range(2000)],
    "ward": [f"w{i % 7}" for i in range(2000)],
    "x": [i % 10 for i in range(2000)],
})  # fmt: skip
WARDS = [f"w{i}" for i in range(7)]


def opened(**facts):
    given = {"name": "t", "unit": "row", "keys": {"ward": WARDS}, "bounds": {"x": (0, 9)}}
    return sf.Session(FRAME, public_types=True, **{**given, **facts})


def people(**facts):
    return opened(unit=sf.Unit("person", groups=7, rows_per_group=1), **facts)


def test_a_quieter_noise_that_does_not_fit_gives_way():
    histogram = "SELECT ward, COUNT(*) FROM t GROUP BY ward"
    with opened(budget=sf.ApproxDP(1, 1e-6)) as one:
        fresh = one.estimate(histogram, epsilon=0.4)
        assert fresh.mechanism == "pure"  # the quietest for one row
        first = people(budget=sf.ApproxDP(1, 1e-6))
    with first as one:
        one.sql("SELECT ward, COUNT(*), SUM(x) FROM t GROUP BY ward", epsilon=0.5)
        assert one.spent.delta == 1e-6  # normal noise
        narrow = "SELECT COUNT(DISTINCT person) FROM t"
        answer = one.sql(narrow, epsilon=0.5)
        assert answer.cost.mu_squared
        assert not answer.cost.epsilon


def test_equal_shares_are_all_given_out():
    questions = [
        "SELECT COUNT(DISTINCT person) FROM t",
        "SELECT COUNT(DISTINCT person) FROM t WHERE x < 5",
        "SELECT COUNT(DISTINCT person) FROM t WHERE x < 4",
        "SELECT ward, COUNT(*), SUM(x) FROM t GROUP BY ward",
    ]
    with people(budget=sf.ApproxDP(1, 1e-6), policy=EqualShares(4)) as one:
        for question in questions:
            one.sql(question)
        with pytest.raises(sf.BudgetExceeded, match="4 questions"):
            one.sql("SELECT COUNT(*) FROM t")


def test_a_policy_goes_on_where_the_limit_it_deals_out_was_left():
    ledger = sf.Ledger()
    with (
        opened(budget=sf.PureDP(1), policy=Geometric(), ledger=ledger, analyst="ann") as ann,
        opened(ledger=ledger, analyst="bob") as bob,
    ):
        asked = [(ann, 1), (bob, 1), (ann, 2), (bob, 2)]
        costs = [one.sql(f"SELECT COUNT(*) FROM t WHERE x < {n}").cost.epsilon for one, n in asked]
    assert costs == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16)]


def test_a_limit_of_each_analyst_is_dealt_out_to_each():
    ledger = sf.Ledger()
    limits = Limits(dataset=sf.PureDP(10), analyst=sf.PureDP(1))
    with (
        opened(limits=limits, policy=Geometric(), ledger=ledger, analyst="ann") as ann,
        opened(ledger=ledger, analyst="bob") as bob,
    ):
        costs = [one.sql("SELECT COUNT(*) FROM t").cost.epsilon for one in (ann, bob)]
    assert costs == [Fraction(1, 2), Fraction(1, 2)]


def test_a_policy_in_rho_takes_no_epsilon():
    with opened(budget=sf.ZCDP(100), policy=Fixed(10)) as one:
        with pytest.raises(sf.errors.GovernanceError, match="deals out ρ"):
            one.sql("SELECT COUNT(*) FROM t", epsilon=10)
        assert one.sql("SELECT COUNT(*) FROM t").cost.rho <= 10


MEN, WOMEN = "SELECT COUNT(*) FROM t WHERE x < 5", "SELECT COUNT(*) n FROM t WHERE NOT x < 5"


def test_what_was_asked_together_is_given_again_alone_and_in_any_order():
    with opened(budget=sf.PureDP(10)) as one:
        first = one.together([MEN, WOMEN], epsilon=1)
        spent = one.spent
        alone = one.sql(WOMEN.replace(" n ", " anything "), epsilon=1)
        turned = one.together([WOMEN, MEN], epsilon=1)
        assert one.spent == spent
        assert alone.value == first[1].value
        assert [answer.value for answer in turned] == [first[1].value, first[0].value]
        assert all(answer.stored for answer in (alone, *turned))
        mixed = one.together([MEN, "SELECT COUNT(*) FROM t"], epsilon=1)
        assert [answer.stored for answer in mixed] == [True, False]
        assert one.spent.epsilon == spent.epsilon + 1
        assert one.ledger.verify().ok


def test_a_question_named_twice_is_charged_once():
    with opened(budget=sf.PureDP(10)) as one:
        twice = one.together([MEN, MEN.replace("COUNT(*)", "COUNT(*) AS again")], epsilon=1)
        assert one.spent.epsilon == 1
        assert twice[0].value == twice[1].value
        assert list(twice[1].columns) == ["again"]


def test_a_price_has_one_text():
    with opened(budget=sf.ApproxDP(100, 1e-6)) as one:
        one.sql(MEN, accuracy=10)
        assert one.sql(MEN, accuracy=10.0).stored
        one.sql(WOMEN, epsilon=1)
        assert one.sql(WOMEN, epsilon="1", delta=1e-9).stored  # all groups are known


def test_pure_answers_together_cost_no_more_rho_than_one_by_one():
    overlapping = [f"SELECT COUNT(*) FROM t WHERE x < {n}" for n in range(2, 6)]
    with opened(budget=sf.ZCDP(10)) as one, opened(budget=sf.ZCDP(10), name="u") as other:
        one.together(overlapping, epsilon=0.1)
        for question in overlapping:
            other.sql(question.replace("FROM t", "FROM u"), epsilon=0.1)
        assert one.spent == other.spent
        assert one.spent.rho == pytest.approx(4 * 0.1**2 / 2)


def test_what_is_left_is_told_of_the_limit_with_least_before_anything_was_asked():
    limits = Limits(dataset=sf.PureDP(3), analyst=sf.PureDP(1), analysts={"ann": sf.PureDP(0.5)})
    with opened(limits=limits, analyst="ann") as one:
        assert one.remaining.epsilon == one.budget.epsilon == 0.5
        one.sql("SELECT COUNT(*) FROM t", epsilon=0.1)
        assert one.remaining.epsilon == 0.4


def test_people_counted_by_a_number_of_their_own_are_in_one_group_each():
    each = "SELECT person, COUNT(*) AS n FROM t GROUP BY person"
    with people(budget=sf.PureDP(10)) as one:
        grouped = one.estimate(
            f"SELECT n, COUNT(*) AS c FROM ({each}) AS p GROUP BY n", epsilon=1, keys={"n": [3, 4]}
        )
        whole = one.estimate(f"SELECT COUNT(*) AS c FROM ({each}) AS p", epsilon=1)
        assert grouped.errors["c"] == whole.errors["c"]
        asked = one.sql(
            f"SELECT n, COUNT(*) AS c FROM ({each}) AS p GROUP BY n", epsilon=5, keys={"n": [3, 4]}
        )
        assert asked.table["c"][1] == pytest.approx(500, abs=10)


@pytest.mark.parametrize("budget", [sf.PureDP(100), sf.ApproxDP(100, 1e-6), sf.ZCDP(100)])
@pytest.mark.parametrize(
    "measures",
    ["AVG(x), STDDEV(x)", "SUM(x), AVG(x), VARIANCE(x)", "AVG(x), VARIANCE(x), MEDIAN(person)"],
)
def test_bounds_that_are_found_do_not_change_what_was_charged(measures, budget):
    bounds = {"person": (0, 500)}
    with opened(budget=budget, bounds=bounds) as one:
        answer = one.sql(f"SELECT {measures} FROM t", **priced_at(budget))
        assert answer.rows[0][0] is not None
        assert [entry.kind for entry in one.ledger.entries()][-1] == "answered"


def priced_at(budget):
    return {"rho": 10} if isinstance(budget, sf.ZCDP) else {"epsilon": 20}


def test_blocks_have_one_order_and_an_accuracy_of_their_own():
    other = FRAME.assign(x=FRAME.x + 1)
    facts = {"name": "t", "unit": "row", "bounds": {"x": (0, 10)}, "budget": sf.PureDP(10)}
    with sf.Session([FRAME, other], public_types=True, **facts) as one:
        both = one.sql(MEN, epsilon=1, blocks=["main", "block 2"])
        assert one.sql(MEN, epsilon=1, blocks=["block 2", "main"]).value == both.value
        one.sql(MEN, epsilon=9, blocks=["main"])
        assert one.sql("SELECT AVG(x) FROM t", accuracy=1, blocks=["block 2"]).value is not None


def test_what_is_refused_together_was_not_given_again():
    with opened(budget=sf.PureDP(1)) as one:
        one.sql(MEN, epsilon=1)
        with pytest.raises(sf.BudgetExceeded):
            one.together([MEN, WOMEN], epsilon=1)
        assert "repeated" not in [entry.kind for entry in one.ledger.entries()]


def test_too_much_delta_together_is_told_as_budget():
    asked = [f"SELECT ward, COUNT(*) FROM t WHERE x < {n} GROUP BY ward" for n in range(1, 25)]
    with opened(budget=sf.ApproxDP(10, 1e-3), keys={}) as one, pytest.raises(sf.BudgetExceeded):
        one.together(asked, epsilon="0.01")


def test_a_policy_that_is_amended_meanwhile_is_obeyed():
    with opened(budget=sf.PureDP(1)) as one:
        now = one.desk.now()
        one.ledger.amend("t", policy=Geometric())

        def plan(now):
            ready = one.desk.prepare(one._submit(MEN), now, epsilon=None if used else 1)
            used.append(ready.allocation.cost.epsilon)
            return Plan(ready.allocation.cost, one.budget)

        used = []
        one.spending.charge(plan, what=["q"], now=now)
        assert used == [1, Fraction(1, 2)]
