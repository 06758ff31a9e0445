"""What happens to a question, in this order: read, priced, charged, answered, kept."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from small_tables import BOUNDS, COUNT, KEYS, Failing, charges, session, visits

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.request import RowBound
from sfumato.errors import DataError, GovernanceError, ParameterError, Refused, SfumatoError
from sfumato.govern.policies import EqualShares, Fixed, Geometric


@pytest.fixture
def one():
    with session() as opened:
        yield opened


# -- the order of things ----------------------------------------------------------------------


def test_an_answer_is_near_the_truth_and_says_what_it_cost(one):
    answer = one.sql(COUNT, epsilon=2)
    assert abs(answer.value - 120) <= 20  # fails with probability 2e-17
    assert answer.epsilon == 2
    assert answer.guarantee == sf.PureDP(2, neighbours=answer.guarantee.neighbours)
    assert answer.remaining.epsilon == 8
    assert answer.spent.epsilon == 2
    low, high = answer.interval(0.95)
    assert low <= answer.value <= high
    assert one.remaining.epsilon == 8


def test_the_charge_is_on_disk_before_the_engine_is_asked(tmp_path):
    seen = []

    class Watching(Failing):
        def aggregate(self, request):
            with sf.Ledger(ledger) as other:  # as another process would see it
                seen.append(other.spent("visits").epsilon)
            return self.engine.aggregate(request)

    ledger = str(tmp_path / "visits.sqlite")
    inner = DuckDBEngine.open(visits(), name="visits")
    with session(Watching(inner), bare=True, ledger=ledger) as one:
        one.sql(COUNT, epsilon="0.5")
    assert seen == [Fraction(1, 2)]


@pytest.mark.parametrize("error", [RuntimeError, ZeroDivisionError, MemoryError, ValueError])
def test_an_engine_that_fails_keeps_the_charge_and_quotes_nothing(error):
    engine = Failing(DuckDBEngine.open(visits(), name="visits"), error)
    with session(engine, bare=True) as one:
        for tries in (1, 2, 3):
            with pytest.raises(DataError) as caught:
                one.sql(COUNT, epsilon=1)
            assert engine.asked == tries
            assert one.spent.epsilon == tries  # nothing about an error is free
            assert "measles" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
        kinds = [entry.kind for entry in one.ledger.entries()]
        assert kinds == ["registered", *["charged", "failed"] * 3]
        assert "measles" not in str(one.ledger.entries())
        assert one.ledger.verify().ok


def test_interrupting_a_question_keeps_its_charge():
    engine = Failing(DuckDBEngine.open(visits(), name="visits"), KeyboardInterrupt)
    with session(engine, bare=True) as one:
        with pytest.raises(KeyboardInterrupt):
            one.sql(COUNT, epsilon=1)
        assert one.spent.epsilon == 1


REFUSED = [
    ("SELECT * FROM visits", {}),
    ("SELECT person FROM visits", {}),
    ("SELECT COUNT(*) FROM elsewhere", {}),
    ("SELECT COUNT(*) FROM visits; DROP TABLE visits", {}),
    ("SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5", {}),
    ("not sql at all", {}),
    ("", {}),
    (COUNT, {"epsilon": 0}),
    (COUNT, {"epsilon": -1}),
    (COUNT, {"epsilon": math.inf}),
    (COUNT, {"epsilon": math.nan}),
    (COUNT, {"epsilon": "much"}),
    (COUNT, {"epsilon": 1e-300}),
    (COUNT, {"epsilon": 10**400}),
    (COUNT, {"epsilon": None}),
    (COUNT, {"rho": 1, "epsilon": None}),
    (COUNT, {"rho": 1}),
    (COUNT, {"delta": 0}),
    (COUNT, {"accuracy": 5}),
    (COUNT, {"accuracy": 0, "epsilon": None}),
    (COUNT, {"accuracy": math.nan, "epsilon": None}),
    (COUNT, {"blocks": ["another"]}),
    (COUNT, {"blocks": []}),
    (COUNT, {"epsilon": 11}),
    ("SELECT SUM(age) FROM visits", {"bounds": {"age": (5,)}}),
    ("SELECT SUM(age) FROM visits", {"bounds": {"age": 5}}),
    ("SELECT SUM(age) FROM visits", {"bounds": {"age": (0, math.inf)}}),
    ("SELECT SUM(age) FROM visits", {"bounds": {"age": (9, 0)}}),
    ("SELECT SUM(age) FROM visits", {"bounds": {"weight": (0, 9)}}),
    ("SELECT SUM(CLAMP(age, 0, 0)) FROM visits", {}),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age", {}),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age", {"keys": {"age": 5}}),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age", {"keys": {"age": "567"}}),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age", {"keys": {"age": [[5]]}}),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age", {"keys": {"age": []}}),
]


@pytest.mark.parametrize(("question", "price"), REFUSED)
def test_a_refusal_charges_nothing_and_touches_no_data(question, price):
    engine = Failing(DuckDBEngine.open(visits(), name="visits", bounds=BOUNDS, domains=KEYS))
    with session(engine) as one:
        with pytest.raises(SfumatoError):
            one.sql(question, **{"epsilon": 1, **price})
        assert engine.asked == 0
        assert [entry.kind for entry in one.ledger.entries()] == ["registered"]


def test_estimating_spends_nothing_and_reads_nothing():
    engine = Failing(DuckDBEngine.open(visits(), name="visits", bounds=BOUNDS))
    with session(engine, bare=True, bounds=BOUNDS) as one:
        guess = one.estimate("SELECT COUNT(*), SUM(cost), AVG(cost) FROM visits", epsilon=1)
        assert engine.asked == 0
        assert charges(one) == 0
        assert one.remaining.epsilon == 10
        assert guess.cost.epsilon == 1
        assert guess.fits
        assert not one.estimate(COUNT, epsilon=11).fits
        # ε/3 each for count, sum, and the sum about the centre: two totals share the count
        assert guess.errors["count"] >= math.log(20) * 1
        assert guess.errors["sum_cost"] == pytest.approx(10 * guess.errors["count"], rel=0.1)


def test_an_estimate_tells_the_error_that_the_answer_has(one):
    guess = one.estimate("SELECT SUM(cost) AS s FROM visits", epsilon=1)
    low, high = one.sql("SELECT SUM(cost) AS s FROM visits", epsilon=1).interval()
    assert guess.errors["s"] == pytest.approx((high - low) / 2)


@pytest.mark.parametrize(
    ("budget", "name"),
    [(sf.PureDP(10), "epsilon"), (sf.ApproxDP(10, 1e-6), "epsilon"), (sf.ZCDP(5), "rho")],
)
def test_an_estimate_tells_the_price_of_an_accuracy_for_nothing(budget, name):
    question = "SELECT ward, COUNT(*) AS c, SUM(cost) AS s FROM visits GROUP BY ward"
    engine = Failing(DuckDBEngine.open(visits(), name="visits", bounds=BOUNDS, domains=KEYS))
    with session(engine, budget=budget) as one:
        guess = one.estimate(question, accuracy=40)
        assert engine.asked == 0
        assert [entry.kind for entry in one.ledger.entries()] == ["registered"]
        assert max(guess.errors.values()) <= 40
        with pytest.raises(ParameterError, match="a question of its own"):
            one.estimate("SELECT AVG(cost) FROM visits", accuracy=1)
        with pytest.raises(ParameterError, match="not both"):
            one.estimate(question, accuracy=40, epsilon=1)
        less = one.estimate(question, **{name: getattr(guess.guarantee, name) * 0.99})
        assert max(less.errors.values()) > 40
    with session(budget=budget) as one:
        assert one.sql(question, accuracy=40).guarantee == guess.guarantee


# -- the same question again -------------------------------------------------------------------

SAME = [
    "SELECT COUNT(*) FROM visits WHERE cost > 2 AND ward = 'north'",
    "select count(*) from visits where ward = 'north' and cost > 2",
    "SELECT COUNT(*)   FROM visits AS v WHERE 2 < v.cost AND ((v.ward = 'north'))",
    "WITH w AS (SELECT * FROM visits WHERE ward = 'north') SELECT COUNT(*) FROM w WHERE cost > 2",
]


def test_the_same_question_is_answered_again_for_nothing(one):
    first = one.sql(SAME[0], epsilon=1)
    assert not first.stored
    for text in (SAME[0], *SAME[1:]):
        again = one.sql(text, epsilon="1.0")
        assert again.stored
        assert again.rows == first.rows
        assert again.interval() == first.interval()
        assert "nothing" in str(again)
    assert charges(one) == 1
    assert one.spent.epsilon == 1


def test_the_notes_of_an_answer_given_again_speak_of_the_names_at_hand(one):
    question = "SELECT ward, SUM(cost) AS {}, MEDIAN(cost) AS {} FROM visits GROUP BY ward"
    first = one.sql(question.format("a", "a_b"), epsilon=1)
    assert {note.split()[0] for note in first.notes} == {"a:", "a_b", "a_b:"}
    again = one.sql(question.format("a_b", "c"), epsilon=1)
    assert again.stored
    fresh = session().sql(question.format("a_b", "c"), epsilon=1)
    assert again.notes == fresh.notes


def test_another_price_another_question_and_another_accuracy_pay(one):
    one.sql(COUNT, epsilon=1)
    assert not one.sql(COUNT, epsilon=2).stored
    assert not one.sql(COUNT, accuracy=30).stored
    assert one.sql(COUNT, accuracy=30).stored
    assert not one.sql("SELECT COUNT(*) FROM visits WHERE cost > 2", epsilon=1).stored
    assert not one.sql("SELECT COUNT(*) FROM visits WHERE cost >= 2", epsilon=1).stored
    assert not one.sql("SELECT COUNT(cost) FROM visits", epsilon=1).stored
    assert charges(one) == 6


def test_another_analyst_pays_and_gets_noise_of_her_own():
    with sf.Ledger() as ledger:
        ann, bob = (session(ledger=ledger, analyst=name) for name in ("ann", "bob"))
        mine = [ann.sql(f"{COUNT} WHERE cost > {i}", epsilon="0.1") for i in range(8)]
        his = [bob.sql(f"{COUNT} WHERE cost > {i}", epsilon="0.1") for i in range(8)]
        assert not any(answer.stored for answer in his)
        assert [a.value for a in mine] != [a.value for a in his]
        assert bob.spent.epsilon == pytest.approx(1.6)  # of the dataset, by both


def test_changed_rows_pay_again(tmp_path):
    file, ledger = tmp_path / "visits.csv", tmp_path / "visits.sqlite"
    table = visits()
    table.to_csv(file, index=False)
    with session(file, ledger=str(ledger)) as one:
        one.sql(COUNT, epsilon=1)
    shuffled = table.sample(frac=1, random_state=1)
    shuffled.to_csv(file, index=False)  # the same rows in another order
    with session(file, ledger=str(ledger)) as one:
        assert one.sql(COUNT, epsilon=1).stored
    table.loc[0, "cost"] += 1
    table.to_csv(file, index=False)
    with session(file, ledger=str(ledger)) as one:
        assert not one.sql(COUNT, epsilon=1).stored
        assert one.spent.epsilon == 2


OTHER_PROCESS = """
import sys, sfumato as sf
with sf.Session(sys.argv[1], ledger=sys.argv[2]) as one:
    answer = one.sql("SELECT COUNT(*) FROM visits", epsilon="1/2")
    print(answer.stored, answer.value, float(one.spent.epsilon))
"""


def test_the_same_question_is_free_in_another_process(tmp_path):
    file, ledger = tmp_path / "visits.csv", tmp_path / "visits.sqlite"
    visits().to_csv(file, index=False)
    with session(file, ledger=str(ledger)) as one:
        value = one.sql(COUNT, epsilon=0.5).value
    told = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, str(file), str(ledger)],
        check=True, capture_output=True, text=True, env={**os.environ},
    ).stdout.split()  # fmt: skip
    assert told == ["True", str(value), "0.5"]


def test_the_ledger_of_a_file_lies_beside_it_unless_another_is_named(tmp_path):
    file = tmp_path / "visits.csv"
    visits().to_csv(file, index=False)
    with session(file) as one:
        one.sql(COUNT, epsilon=1)
        assert Path(one.ledger.place).parent == tmp_path
    with sf.Session(file) as one:  # the ledger knows unit, budget, bounds and keys
        assert one.spent.epsilon == 1
        assert str(one.unit) == "one row"
        assert [row[0] for row in one.sql(
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=1
        ).rows] == ["north", "south"]  # fmt: skip


# -- what the owner fixed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"unit": sf.Unit("person", rows=3)},
        {"bounds": {"cost": (0, 1000)}},
        {"keys": {"ward": ["north"]}},
        {"budget": sf.PureDP(1000)},
        {"budget": sf.ApproxDP(10, 1e-6)},
        {"policy": Fixed(5)},
        {"bounds": {**BOUNDS, "age": (0, 1)}},
    ],
    ids=str,
)
def test_what_the_owner_fixed_cannot_be_opened_otherwise(other):
    with sf.Ledger() as ledger, session(ledger=ledger):
        with pytest.raises(GovernanceError):
            session(ledger=ledger, **other)
        assert [entry.kind for entry in ledger.entries()] == ["registered"]
        assert session(ledger=ledger).budget.epsilon == 10


@pytest.mark.parametrize("name", ["cost", "COST", "Cost"])
def test_a_question_cannot_change_the_owners_bounds(one, name):
    with pytest.raises(GovernanceError):
        one.sql("SELECT SUM(cost) FROM visits", epsilon=1, bounds={name: (0, 10**9)})
    assert charges(one) == 0


@pytest.mark.parametrize("name", ["ward", "WARD"])
def test_a_question_cannot_change_the_owners_keys(one, name):
    with pytest.raises(GovernanceError):
        one.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=1, keys={name: ["p001"]})
    assert charges(one) == 0


def test_what_cannot_be_registered_leaves_no_trace(tmp_path):
    file = str(tmp_path / "ledger.sqlite")
    for wrong in ({"unit": sf.Unit("nobody", rows=1)}, {"bounds": {"weight": (0, 1)}},
                  {"keys": {"sex": ["f"]}}, {"bounds": {"cost": 5}}):  # fmt: skip
        with pytest.raises(SfumatoError):
            session(ledger=file, **wrong)
    with session(ledger=file) as one:  # nothing of it holds the owner back
        assert one.sql(COUNT, epsilon=1).epsilon == 1


def test_the_parameters_of_a_session_are_checked():
    for wrong in (
        {"unit": None}, {"unit": 5}, {"budget": None}, {"budget": 1}, {"budget": sf.GDP(1)},
        {"analyst": ""}, {"analyst": 7}, {"analyst": "a\0"},
    ):  # fmt: skip
        with pytest.raises(SfumatoError):
            session(**wrong).sql(COUNT, epsilon=1)
    with pytest.raises(ParameterError):
        session(limits=sf.Limits(dataset=sf.PureDP(1)), budget=sf.PureDP(1))


# -- policies -----------------------------------------------------------------------------------


def test_a_fixed_price_is_taken_and_no_other():
    with session(policy=Fixed("1/4")) as one:
        assert one.sql(COUNT).epsilon == 0.25
        assert one.sql(SAME[0], epsilon=0.25).epsilon == 0.25
        with pytest.raises(GovernanceError):
            one.sql(SAME[0], epsilon=1)
        assert one.spent.epsilon == 0.5


def test_equal_shares_end_after_their_number():
    with session(policy=EqualShares(4)) as one:
        for i in range(4):
            assert one.sql(f"{COUNT} WHERE cost > {i}").epsilon == 2.5
        assert one.sql(f"{COUNT} WHERE cost > 0").stored  # again is still free
        with pytest.raises(sf.BudgetExceeded):
            one.sql(f"{COUNT} WHERE cost > 5")
        assert one.remaining.epsilon == 0


def test_halves_never_end():
    with session(policy=Geometric()) as one:
        spent = [one.sql(f"{COUNT} WHERE cost > {i}").epsilon for i in range(6)]
        assert spent == [5, 2.5, 1.25, 0.625, 0.3125, 0.15625]
        assert one.remaining.epsilon == 10 - sum(spent)


# -- what does not fit --------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_with_requested_remaining_and_difference(one):
    one.sql(COUNT, epsilon=7)
    with pytest.raises(sf.BudgetExceeded) as caught:
        one.sql(SAME[0], epsilon=4)
    refusal = caught.value
    assert (refusal.requested.epsilon, refusal.remaining.epsilon) == (4, 3)
    assert refusal.difference.epsilon == 1
    assert refusal.limit == "dataset"
    assert one.remaining.epsilon == 3
    assert one.sql(SAME[0], epsilon=3).epsilon == 3  # to the last
    assert one.remaining.epsilon == 0
    with pytest.raises(sf.BudgetExceeded):
        one.sql("SELECT COUNT(*) FROM visits WHERE cost > 3", epsilon="0.000001")
    assert one.sql(COUNT, epsilon=7).stored  # what was bought stays


def test_groups_of_people_are_bounded_whatever_the_question():
    """The people of a question without a bound are refused, not answered with too little noise."""
    with session(unit=sf.Unit("person")) as one:
        assert one.sql("SELECT COUNT(DISTINCT person) FROM visits", epsilon=1).epsilon == 1
        for question in (COUNT, "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward"):
            with pytest.raises(Refused, match="limits"):
                one.sql(question, epsilon=1)
        with pytest.raises(Refused):
            one.sql("SELECT person, COUNT(*) FROM visits GROUP BY person", epsilon=1)


def test_the_filter_of_a_count_of_people_is_refused_rather_than_forgotten():
    with session(unit=sf.Unit("person", rows=3)) as one:
        with pytest.raises(SfumatoError):
            one.sql("SELECT COUNT(DISTINCT person) FILTER (WHERE age < 30) FROM visits", epsilon=5)
        narrowed = one.sql("SELECT COUNT(DISTINCT person) FROM visits WHERE age < 30", epsilon=5)
        assert abs(narrowed.value - 10) < 8


def test_ids_too_wide_for_doubles_stay_different_people():
    from decimal import Decimal

    import polars as pl

    ids = [Decimal(10**20 + i) for i in range(40)] * 2
    for column in (pl.Series(ids), pl.Series([2**63 + i for i in range(40)] * 2, dtype=pl.UInt64)):
        table = pl.DataFrame({"person": column, "cost": [1] * 80})
        with session(table, bare=True, unit=sf.Unit("person", rows=1)) as one:
            people = one.sql("SELECT COUNT(DISTINCT person) FROM visits", epsilon=5).value
        assert abs(people - 40) < 8


def test_a_schema_that_calls_wide_ids_integers_merges_nobody():
    engine = DuckDBEngine.open(
        pd.DataFrame({"person": pd.array([2**63 + i for i in range(5)], dtype="UInt64"), "x": 1}),
        person="person",
        types={"person": "integer"},
        name="t",
    )
    assert {c.name: c.kind for c in engine.tables()[0].columns}["person"] == "text"


def test_the_unit_of_rows_keeps_every_row():
    recorded = []

    class Recording(Failing):
        def aggregate(self, request):
            recorded.append(request)
            return self.engine.aggregate(request)

    with session(Recording(DuckDBEngine.open(visits(), name="visits")), bare=True) as one:
        one.sql(COUNT, epsilon=1)
    assert [type(request.bound) for request in recorded] == [RowBound]
