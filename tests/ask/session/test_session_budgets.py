"""Budgets of sessions: who may spend what, in which currency, on which rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from small_tables import COUNT, charges, session, visits

import sfumato as sf
from sfumato.errors import GovernanceError, ParameterError, Refused, SfumatoError
from sfumato.govern.policies import Fixed

# -- limits and purposes --------------------------------------------------------------------------


@pytest.fixture
def ledger():
    with sf.Ledger() as opened:
        yield opened


def numbered(count=1, start=0):
    return [f"{COUNT} WHERE age > {i}" for i in range(start, start + count)]


def test_the_tightest_limit_decides(ledger):
    limits = sf.Limits(
        dataset=sf.PureDP(5), analyst=sf.PureDP(2), analysts={"eve": sf.PureDP("0.5")}
    )
    ann, bob, cem, eve = (
        session(ledger=ledger, limits=limits, analyst=name) for name in ("ann", "bob", "cem", "eve")
    )
    assert (ann.budget.epsilon, eve.budget.epsilon) == (2, 0.5)
    ann.sql(COUNT, epsilon=2)
    with pytest.raises(sf.BudgetExceeded) as caught:
        ann.sql(numbered()[0], epsilon="0.1")
    assert caught.value.limit == "analyst"
    with pytest.raises(sf.BudgetExceeded):
        eve.sql(COUNT, epsilon=1)
    bob.sql(COUNT, epsilon=2)
    with pytest.raises(sf.BudgetExceeded) as caught:
        cem.sql(COUNT, epsilon=2)  # 4 of 5 are spent on the dataset
    assert caught.value.limit == "dataset"
    assert caught.value.remaining.epsilon == 1
    cem.sql(COUNT, epsilon=1)
    assert cem.remaining.epsilon == 0
    assert ledger.verify().ok


def test_a_purpose_the_dataset_does_not_name_is_refused(ledger):
    opened = session(ledger=ledger)
    purposes = ("care", "research")
    ledger.amend("visits", purposes=purposes, limits=sf.Limits(
        dataset=sf.PureDP(10), purposes={"research": sf.PureDP(1)}))  # fmt: skip
    with pytest.raises(GovernanceError):
        opened.sql(COUNT, epsilon=1)  # it states no purpose, and now one is needed
    for wrong in ("advertising", "Care", "", None):
        with pytest.raises(GovernanceError):
            again(ledger, wrong)
    research, care = again(ledger, "research"), again(ledger, "care")
    assert research.budget.epsilon == 1
    research.sql(COUNT, epsilon=1)
    with pytest.raises(sf.BudgetExceeded) as caught:
        research.sql(numbered()[0], epsilon="0.01")
    assert caught.value.limit == "purpose"
    assert care.sql(numbered()[0], epsilon=3).epsilon == 3
    told = [entry.purpose for entry in ledger.entries() if entry.kind == "charged"]
    assert told == ["research", "care"]
    ledger.amend("visits", purposes=("care",), limits=sf.Limits(dataset=sf.PureDP(10)))
    with pytest.raises(GovernanceError):
        research.sql(numbered()[0], epsilon="0.01")  # a purpose that was withdrawn


def again(ledger, purpose):
    return sf.Session(visits(), name="visits", ledger=ledger, purpose=purpose)


@pytest.mark.parametrize(
    "limits",
    [
        sf.Limits(dataset=sf.ApproxDP(5, 1e-6), analyst=sf.PureDP(2)),
        sf.Limits(dataset=sf.ZCDP(3), analyst=sf.PureDP(2)),
        sf.Limits(dataset=sf.ApproxDP(5, 1e-6), analyst=sf.ZCDP(1)),
    ],
    ids=lambda limits: f"{type(limits.dataset).__name__}-{type(limits.analyst).__name__}",
)
def test_limits_of_different_kinds_are_all_kept_with_noise_that_fits_all(limits):
    many = "SELECT " + ", ".join(f"SUM(cost + {i})" for i in range(12)) + " FROM visits"
    with session(limits=limits) as one:
        assert one.sql(many, epsilon="0.1").epsilon != 0
        assert one.ledger.verify().ok


# -- kinds of budgets --------------------------------------------------------------------------


def test_a_pure_session_adds_up():
    with session(budget=sf.PureDP(1)) as one:
        for question in numbered(10):
            assert one.sql(question, epsilon="0.1").guarantee.epsilon == 0.1
        assert one.remaining.epsilon == 0
        with pytest.raises(sf.BudgetExceeded):
            one.sql(COUNT, epsilon="0.001")


def test_a_concentrated_session_is_charged_rho():
    with session(budget=sf.ZCDP(1)) as one:
        answer = one.sql(COUNT, rho="0.5")
        assert isinstance(answer.guarantee, sf.ZCDP)
        assert answer.guarantee.rho == 0.5
        assert {n.kind for c in answer.measures.values() for n in c.noises} == {"gaussian"}
        one.sql(numbered()[0], epsilon="0.5")  # ε²/2 = 1/8
        assert one.remaining.rho == pytest.approx(0.375)
        with pytest.raises(sf.BudgetExceeded):
            one.sql(COUNT, rho="0.376")
        one.sql(COUNT, rho="0.375")
        with pytest.raises(SfumatoError, match="δ"):
            one.sql("SELECT age, COUNT(*) FROM visits GROUP BY age", rho="0.001")


def test_gaussian_answers_compose_better_than_their_epsilons_add_up():
    many = (
        "SELECT " + ", ".join(f"SUM(cost + {i})" for i in range(12)) + " FROM visits WHERE age > "
    )
    with session(budget=sf.ApproxDP(1, 1e-6)) as one:
        for place in range(15):  # and not 10
            one.sql(f"{many}{place}", epsilon="0.1")
        assert one.spent.epsilon <= 1
        assert one.spent.delta <= 1e-6
        assert one.ledger.verify().ok


# -- blocks ------------------------------------------------------------------------------------


def test_new_rows_are_a_block_with_a_budget_of_its_own(ledger):
    old, new = visits(40), visits(70)
    with session(old, ledger=ledger) as one:
        one.sql(COUNT, epsilon=9)
    with session([old, new], ledger=ledger) as one:
        with pytest.raises(sf.BudgetExceeded):
            one.sql(numbered()[0], epsilon=5)  # reads both blocks
        answer = one.sql(COUNT, epsilon=9, blocks=["block 2"])
        assert abs(answer.value - 210) < 10
        both = one.sql(numbered()[0], epsilon=1)
        assert abs(both.value - 330) < 30
        assert ledger.spent("visits").epsilon == 10
        assert ledger.spent("visits", block="block 2").epsilon == 10
        with pytest.raises(sf.BudgetExceeded):
            one.sql(numbered(1, 5)[0], epsilon="0.1", blocks=["block 2"])
    assert ledger.verify().ok


def test_a_block_keeps_its_budget_wherever_it_is_listed(ledger):
    old, new, other = visits(40), visits(70), visits(20)
    session(old, ledger=ledger).sql(COUNT, epsilon=9)
    with pytest.raises(GovernanceError, match="order"):
        session([new, old], ledger=ledger)  # old rows would be a fresh block
    with pytest.raises(ParameterError, match="twice"):
        session([old, new, new], ledger=ledger)
    session([old, new], ledger=ledger).sql(COUNT, epsilon=1)
    with pytest.raises(GovernanceError, match="order"):
        session([other, old, new], ledger=ledger)
    assert ledger.spent("visits").epsilon == 10
    assert ledger.spent("visits", block="block 2").epsilon == 1


def test_people_have_no_blocks(ledger):
    with pytest.raises(ParameterError, match="several blocks"):
        session([visits(4), visits(5)], unit=sf.Unit("person", rows=3), ledger=ledger)
    with pytest.raises(ParameterError):
        session([], ledger=ledger)
    assert not ledger.entries()


def test_groups_means_and_quantiles_of_blocks_are_those_of_all_rows():
    parts, whole = [visits(30), visits(50)], pd.concat([visits(30), visits(50)])
    with session(parts, budget=sf.PureDP(10**4)) as one:
        found = one.sql(
            "SELECT ward, COUNT(*) AS c, SUM(cost) AS s, AVG(cost) AS a, MEDIAN(cost) AS m "
            "FROM visits GROUP BY ward", epsilon=5000,
        )  # fmt: skip
        for row in found.rows[:2]:
            rows = whole[whole.ward == row[0]]
            assert row[1:3] == (len(rows), rows.cost.sum())
            assert row[3] == pytest.approx(rows.cost.mean(), rel=0.01)
            assert abs((rows.cost <= row[4]).mean() - 0.5) < 0.15


# -- together ----------------------------------------------------------------------------------


def test_disjoint_questions_asked_together_cost_what_one_costs():
    parts = [f"{COUNT} WHERE age < 30", f"{COUNT} WHERE age >= 30 AND age < 40",
             f"{COUNT} WHERE age >= 40"]  # fmt: skip
    with session() as one:
        answers = one.together(parts, epsilon=1)
        assert one.spent.epsilon == 1
        truth = [(visits().age < 30).sum(), ((visits().age >= 30) & (visits().age < 40)).sum(),
                 (visits().age >= 40).sum()]  # fmt: skip
        assert all(abs(a.value - t) < 20 for a, t in zip(answers, truth, strict=True))
        again = one.together(parts, epsilon=1)
        assert all(answer.stored for answer in again)
        assert [a.rows for a in again] == [a.rows for a in answers]
        assert one.spent.epsilon == 1


@pytest.mark.parametrize(
    ("questions", "cost"),
    [
        ([COUNT, f"{COUNT} WHERE age < 30"], 2),
        ([f"{COUNT} WHERE age <= 30", f"{COUNT} WHERE age >= 30"], 2),
        ([f"{COUNT} WHERE age < 30", f"{COUNT} WHERE age > 50", COUNT], 2),
        ([f"{COUNT} WHERE ward = 'north'", f"{COUNT} WHERE ward <> 'north'"], 1),
        ([f"{COUNT} WHERE ward = 'north'", f"{COUNT} WHERE ward IS NULL"], 1),
        ([f"{COUNT} WHERE ward = 'north'", f"{COUNT} WHERE age = 30"], 2),
        ([f"{COUNT} WHERE age < 30", f"{COUNT} WHERE cost > 5 AND age > 30",
          f"{COUNT} WHERE cost < 5 AND age > 30"], 1),
        ([COUNT, COUNT], 1),  # the same question, answered once
    ],
)  # fmt: skip
def test_what_is_not_proved_disjoint_adds_up(questions, cost):
    with session() as one:
        one.together(questions, epsilon=1)
        assert one.spent.epsilon == cost


def test_people_are_in_several_parts():
    parts = [f"{COUNT} WHERE age < 30", f"{COUNT} WHERE age >= 30"]
    with session(unit=sf.Unit("person", rows=3)) as one:
        one.together(parts, epsilon=1)
        assert one.spent.epsilon == 2


def test_questions_that_do_not_fit_together_are_not_asked():
    with session() as one:
        with pytest.raises(sf.BudgetExceeded):
            one.together([COUNT, numbered()[0]], epsilon=6)
        assert charges(one) == 0
        for wrong in ([], ["SELECT * FROM visits"], [COUNT, ""], "SELECT 1"):
            with pytest.raises(SfumatoError):
                one.together(wrong, epsilon=1)
        assert charges(one) == 0


# -- accuracy, discovered keys, found bounds ---------------------------------------------------


def test_the_least_epsilon_for_an_accuracy_is_charged_and_reaches_it():
    with session() as one:
        answer = one.sql(COUNT, accuracy=30)
        low, high = answer.interval(0.95)
        assert high - low <= 60
        epsilon = answer.epsilon
        assert one.spent.epsilon == pytest.approx(epsilon)
        less = one.estimate(COUNT, epsilon=str(epsilon * 0.95))
        assert less.errors["count"] > 29  # hardly anything less would do
        total = one.sql("SELECT SUM(cost) FROM visits", accuracy=100)
        assert total.interval()[1] - total.interval()[0] <= 200
        with pytest.raises(SfumatoError):
            one.sql("SELECT MEDIAN(cost) FROM visits", accuracy=1)
        with pytest.raises(sf.BudgetExceeded):
            one.sql("SELECT SUM(cost) FROM visits WHERE age > 1", accuracy=0.01)


@pytest.mark.parametrize(("runs", "most"), [(10, 5), pytest.param(30, 8, marks=pytest.mark.soak)])
def test_the_accuracy_of_a_mean_is_reached_nearly_always(runs, most):
    table = pd.DataFrame({"cost": np.arange(4000) % 10})
    missed = 0
    for _ in range(runs):
        with session(table, bare=True, bounds={"cost": (0, 10)}, budget=sf.PureDP(50)) as one:
            answer = one.sql("SELECT AVG(cost) FROM visits", accuracy=0.05)
            missed += abs(answer.value - 4.5) > 0.05
    # 5 % expected at most; more have probability 3e-6 (of 10) and 1e-5 (of 30)
    assert missed <= most


def test_the_accuracy_of_a_count_is_reached_in_95_of_100():
    with session(visits(400, 1), budget=sf.PureDP(10**4)) as one:
        epsilon = one.sql(COUNT, accuracy=20).guarantee.epsilon
        prepared = one.desk.prepare(one._submit(COUNT), one.desk.now(), epsilon=epsilon)
    noise = prepared.allocation.noise(-1)
    draws = noise.draw(20_000)
    missed = float(np.mean(np.abs(draws.astype(float)) > 20))
    assert 0.03 < missed <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 20_000)


def test_rare_keys_stay_hidden_and_populous_ones_are_shown():
    names = ["common"] * 400 + ["usual"] * 300 + [f"rare {i}" for i in range(300)]
    table = pd.DataFrame({"person": range(1000), "name": names})
    for unit in ("row", sf.Unit("person", groups=2, rows_per_group=1)):
        with session(table, bare=True, unit=unit, budget=sf.ApproxDP(2, 1e-5)) as one:
            answer = one.sql("SELECT name, COUNT(*) FROM visits GROUP BY name", epsilon=1)
            assert answer.column("name") == ["common", "usual"]  # else with probability 1.5e-4
            assert answer.guarantee.delta >= 5e-7
            assert any("found privately" in note for note in answer.notes)
    with session(table, bare=True) as one, pytest.raises(Refused, match="δ"):
        one.sql("SELECT name, COUNT(*) FROM visits GROUP BY name", epsilon=1)


def test_many_rows_of_one_person_do_not_show_a_key():
    table = pd.DataFrame(
        {"person": [0] * 500 + list(range(1, 301)), "name": ["only mine"] * 500 + ["ours"] * 300}
    )
    unit = sf.Unit("person", groups=2, rows_per_group=500)
    with session(table, bare=True, unit=unit, budget=sf.ApproxDP(50, 1e-5)) as one:
        answer = one.sql("SELECT name, COUNT(*) FROM visits GROUP BY name", epsilon=40)
        assert answer.column("name") == ["ours"]


def test_public_keys_are_answered_even_where_nobody_is():
    with session(bare=True, keys={"ward": ["north", "moon"]}, budget=sf.PureDP(1000)) as one:
        answer = one.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=500)
        assert dict(answer.rows) == {"moon": 0, "north": 80}


def test_bounds_nobody_declared_are_found_with_a_share_of_the_price():
    table = pd.DataFrame({"cost": np.arange(3000) % 100})
    with session(table, bare=True, budget=sf.PureDP(10)) as one:
        answer = one.sql("SELECT SUM(cost) AS s, COUNT(*) AS c FROM visits", epsilon=5)
        assert one.spent.epsilon <= 5
        note = next(note for note in answer.notes if "found privately" in note)
        assert "[0, 128]" in note
        truth = table.cost.sum()
        low, high = answer.intervals()["s"][0]
        assert low <= truth <= high or abs(answer.column("s")[0] - truth) < 5000


def test_without_bounds_that_stand_out_there_is_no_number_to_be_misread():
    """Noise alone stands out in one search of 300 here, so in all of four in one of 10¹⁰ runs."""
    table = pd.DataFrame({"cost": np.arange(3000) % 100})
    numbers = "SELECT SUM(cost) AS s, COUNT(*) AS n, SUM(cost) / COUNT(*) AS a FROM visits"
    with session(table, bare=True, budget=sf.PureDP(10)) as one:
        for value in range(77, 81):
            asked = f"{numbers} WHERE cost = {value}"
            answer = one.sql(asked, epsilon="0.01")
            if answer.rows[0][0] is None:
                break
        for told in (answer, one.sql(asked, epsilon="0.01")):
            assert any("s has no value" in note for note in told.notes)
            (row,) = told.rows
            assert (row[0], row[2]) == (None, None)
            assert isinstance(row[1], int)
            intervals = told.intervals()
            assert intervals["s"] == intervals["a"] == [None]
            assert "–" in str(told)


def test_a_policy_holds_for_questions_asked_together():
    with session(policy=Fixed(1)) as one:
        one.together([f"{COUNT} WHERE age < 30", f"{COUNT} WHERE age < 40"])
        assert one.spent.epsilon == 2
        with pytest.raises(GovernanceError):
            one.together([COUNT], epsilon=3)


def test_what_was_bought_for_one_purpose_is_no_answer_for_another():
    ledger = sf.Ledger(None)
    facts = {"age": {"role": "quasi", "type": "integer", "domain": {"low": 0, "high": 9}}}
    schema = sf.Schema.model_validate(
        {"attributes": facts, "unit": "row", "purposes": ["care", "research"]}
    )
    rows = {"age": [i % 10 for i in range(60)]}
    options = {"name": "ages", "schema": schema, "ledger": ledger}
    few = sf.ApproxDP("0.5", 1e-9)
    limits = sf.Limits(sf.ApproxDP(90, "0.01"), purposes={"research": few})
    bought = [
        lambda one: one.top_k("age", 1, values=list(range(10)), epsilon=1),
        lambda one: one.synthesize(epsilon=1, delta=1e-6),
        lambda one: one.kmeans(["age"], 2, epsilon=1),
        lambda one: one.fit(sf.dp.PCA(1, epsilon=1)),
        lambda one: one.sql("SELECT COUNT(*) FROM ages", epsilon=1),
        lambda one: one.together(["SELECT SUM(age) FROM ages", COUNT_AGES], epsilon=1),
        lambda one: one.histogram("age", bins=[0, 5, 9], epsilon=1),
    ]
    with (
        sf.Session(rows, purpose="care", limits=limits, **options) as care,
        sf.Session(rows, purpose="research", **options) as research,
    ):
        for buy in bought:
            buy(care)
            spent = care.spent
            buy(care)
            assert care.spent == spent
            with pytest.raises(sf.BudgetExceeded, match="purpose 'research'"):
                buy(research)
    assert {one.purpose for one in ledger.entries() if one.kind == "charged"} == {"care"}
    assert ledger.verify().ok


COUNT_AGES = "SELECT COUNT(*) FROM ages WHERE age > 3"


def test_the_most_frequent_of_listed_real_numbers_are_plain_numbers():
    rows = pd.DataFrame({"x": [1.5] * 90 + [2.0] * 10})
    one = sf.Session(
        rows, name="t", unit="row", budget=sf.PureDP(9), keys={"x": [1.5, 2.0]}
    )  # fmt: skip
    won = one.top_k("x", 2, epsilon=2)
    assert sorted(won.data.items) == [1.5, 2.0]
    assert {type(item) for item in won.data.items} <= {int, float}
    assert one.top_k("x", 2, epsilon=2).data.items == won.data.items  # given again for nothing
