"""Bounded neighbours: one unit replaced by another, against brute force over all small tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.request import Request
from sfumato.ask.price.preparation import prepare
from sfumato.ask.price.quantiles import mechanism
from sfumato.ask.sql.parse import parse
from sfumato.dp.neighbours import Row, Unit
from sfumato.errors import GovernanceError, ParameterError

BOUNDED = sf.PureDP(9, neighbours="bounded")
ROWS = [(g, v) for g in ("a", "b", "c") for v in (-1, 0, 2)]
"""What a row may be; c is no listed group."""

OTHERS = [("a", 2), ("b", -1)]
QUESTIONS = {
    "histogram": "SELECT g, COUNT(*) FROM t GROUP BY g",
    "filtered": "SELECT COUNT(*) FROM t WHERE v > 0",
    "bars": "SELECT g, SUM(v) FROM t GROUP BY g",
    "sum": "SELECT SUM(v) FROM t",
    "filtered sum": "SELECT SUM(v) FROM t WHERE g = 'a'",
    "mean": "SELECT AVG(v) FROM t",
    "several": "SELECT g, COUNT(*), SUM(v), VARIANCE(v) FROM t GROUP BY g",
    "all and some": "SELECT COUNT(*), SUM(v) FROM t",
}
TIGHT = {"histogram", "filtered", "bars", "sum", "filtered sum", "all and some"}


def engine_on(people, unit):
    """Open a table; people is a list of lists of rows."""
    flat = [(str(p), *row) for p, rows in enumerate(people) for row in rows]
    columns = dict(zip("pgv", map(list, zip(*flat, strict=True)), strict=True))
    return DuckDBEngine.open(
        columns, name="t", person=unit.name if isinstance(unit, Unit) else None,
        bounds={"v": (F(-1), F(2))}, domains={"g": ["a", "b"]},
        types={"p": "text", "g": "text", "v": "integer"},
    )  # fmt: skip


def totals_of(ready, people, unit):
    """Give the exact numbers that get noise, in the order of their noises, by group."""
    question, parts = ready.question, ready.wanted.parts
    with_engine = engine_on(people, unit)
    try:
        request = Request(question.relation, question.keys, parts.totals, ready.bound, b"salt" * 4)
        exact = with_engine.aggregate(request)
    finally:
        with_engine.close()
    groups = [("a",), ("b",)] if question.keys else [()]
    place = {key: i for i, key in enumerate(exact.keys)}
    columns = [*exact.totals, *([exact.people] if ready.wanted.people else [])]
    return [[int(c[place[g]]) if g in place else 0 for g in groups] for c in columns]


def losses(text, unit, units):
    """Give the largest exact loss over all pairs in which one unit is replaced by another."""
    facts = {table.name: table for table in engine_on([OTHERS], unit).tables()}
    ready = prepare(parse(text, facts, bounds={}, keys={}), unit, BOUNDED, epsilon=1)
    noises = [*ready.allocation.noises]
    if ready.wanted.people:
        noises.append(ready.allocation.people)
    rest = [[row] for row in OTHERS]
    seen = [totals_of(ready, [one, *rest], unit) for one in units]
    worst = F(0)
    for left, right in itertools.combinations(seen, 2):
        loss = F(0)
        for noise, one, other in zip(noises, left, right, strict=True):
            moved = sum(abs(a - b) for a, b in zip(one, other, strict=True))
            assert noise is not None or not moved  # exact only what never moves
            loss += F(moved) / noise.size if noise is not None else 0
        worst = max(worst, loss)
    assert ready.allocation.cost.epsilon <= 1
    return worst


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_row_replaced_by_any_other_costs_what_is_charged(name):
    worst = losses(QUESTIONS[name], Row(), [[row] for row in ROWS])
    assert worst <= 1
    if name in TIGHT:
        assert worst >= F(999, 1000)  # and no less: nothing is wasted


PEOPLE = (Unit("p", rows=2), Unit("p", groups=2, rows_per_group=2))


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        pytest.param(name, unit, marks=() if (i + j) % 2 == 0 else pytest.mark.soak)
        for i, name in enumerate(QUESTIONS) for j, unit in enumerate(PEOPLE)
    ],
    ids=str,
)  # fmt: skip
def test_a_person_replaced_by_any_other_costs_what_is_charged(name, unit):
    some = [("a", -1), ("a", 2), ("b", 2), ("c", 0)]
    people = [*([row] for row in some), *map(list, itertools.combinations(some, 2)), some]
    people += [[row, row, row] for row in some]
    worst = losses(QUESTIONS[name], unit, people)
    assert worst <= 1


def test_counts_of_groups_move_by_two_and_a_total_by_one():
    facts = {table.name: table for table in engine_on([OTHERS], Row()).tables()}

    def size(text, budget):
        ready = prepare(parse(text, facts, bounds={}, keys={}), Row(), budget, epsilon=1)
        noises = [*ready.allocation.noises, *([ready.allocation.people] * ready.wanted.people)]
        return [None if noise is None else float(noise.size) for noise in noises]

    unbounded = sf.PureDP(9)
    assert size(QUESTIONS["histogram"], unbounded) == [1]
    assert size(QUESTIONS["histogram"], BOUNDED) == [2]
    assert size(QUESTIONS["filtered"], BOUNDED) == [1]
    assert size(QUESTIONS["sum"], unbounded) == [2]
    assert size(QUESTIONS["sum"], BOUNDED) == [3]
    assert size(QUESTIONS["all and some"], BOUNDED) == [3, None]  # n is public, and costs nothing


@pytest.mark.parametrize("grouped", [False, True])
def test_a_quantile_of_every_group_is_paid_for(grouped):
    """The exact law of the exponential mechanism, over all groups that one row may touch."""
    text = "SELECT MEDIAN(v) FROM t" if not grouped else "SELECT g, MEDIAN(v) FROM t GROUP BY g"
    facts = {table.name: table for table in engine_on([OTHERS], Row()).tables()}
    ready = prepare(parse(text, facts, bounds={}, keys={}), Row(), BOUNDED, epsilon=1)
    (measure,), reach = ready.wanted.parts.quantiles, ready.wanted.reach
    chooser = mechanism(measure, reach, ready.allocation.quantile_epsilon)

    def laws(row):
        rows = [row, *OTHERS, ("a", 0), ("b", 2)]
        groups = (
            [[v for g, v in rows if g == k] for k in "ab"] if grouped else [[v for _, v in rows]]
        )
        rate = float(ready.allocation.quantile_epsilon / (2 * chooser.rank_sensitivity))
        found = []
        for values in groups:
            weights = np.exp(-rate * chooser.rank_distances(values))
            found.append(weights / weights.sum())
        return found

    worst = 0.0
    for one, other in itertools.permutations([laws(row) for row in ROWS if row[0] != "c"], 2):
        worst = max(
            worst, sum(np.abs(np.log(p / q)).max() for p, q in zip(one, other, strict=True))
        )
    assert worst <= 1 + 1e-9
    assert ready.allocation.cost.epsilon == 1


@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_groups_of_one_unit_on_either_side_stay_below_delta(delta):
    """x alone is in a, and is replaced by y, who alone is in b: what tells is that one is shown."""
    facts = {table.name: table for table in engine_on([OTHERS], Row()).tables()}
    facts["t"] = facts["t"].__class__(**{**vars(facts["t"]), "domains": ()})
    budget = sf.ApproxDP(9, "0.5", neighbours="bounded")
    text = "SELECT g, COUNT(*) FROM t GROUP BY g"
    ready = prepare(parse(text, facts, bounds={}, keys={}), Row(), budget, epsilon=1, delta=delta)
    noise = ready.allocation.people
    assert noise.size >= (2 if noise.kind == "geometric" else 0)
    half = math.exp(-1 / float(noise.size))
    shown = half ** (ready.threshold - 1) / (1 + half)  # Pr[1 + noise ≥ T] of a geometric noise
    if noise.kind == "geometric":
        # With S all outputs that show a, or no group: P(S) on D against P(S) on D′.
        neither = (1 - shown) * max(0.0, 1 - math.exp(1))
        assert shown + max(0.0, neither) <= delta / 2 * (1 + 1e-9)
    assert ready.threshold > 1


# -- in a session -------------------------------------------------------------------------------

TABLE = {
    "g": ["a", "b", "b", "a"] * 30,
    "v": [0, 1, 2, 2] * 30,
    "p": [f"p{i // 2}" for i in range(120)],
}
FACTS = {"keys": {"g": ["a", "b"]}, "bounds": {"v": (0, 2)}, "name": "t"}


def opened(budget=BOUNDED, unit="row", **options):
    return sf.Session(TABLE, public_types=True, unit=unit, budget=budget, **{**FACTS, **options})


def test_a_session_says_what_is_hidden_and_publishes_how_many_there_are():
    with opened() as session:
        answer = session.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
        assert "replaced by another" in str(answer.guarantee)
        assert session.size == 120
        assert session.neighbours.bounded
        whole = session.sql("SELECT COUNT(*) AS n, SUM(v) AS s FROM t", epsilon=1)
        assert whole.rows[0][0] == 120
        with pytest.raises(ParameterError, match=r"session\.size"):
            session.sql("SELECT COUNT(*) FROM t", epsilon=1)
        assert session.remaining == sf.PureDP(7, neighbours="bounded")
        assert session.ledger.verify().ok
    with opened(unit=Unit("p", rows=2)) as session:
        assert session.size == 60
    with opened(sf.PureDP(1)) as session, pytest.raises(ParameterError, match="is hidden"):
        _ = session.size


def test_a_ledger_holds_one_relation_of_a_dataset():
    ledger = sf.Ledger(None)
    opened(ledger=ledger).close()
    with pytest.raises(GovernanceError):
        opened(sf.PureDP(9), ledger=ledger)
    with opened(None, ledger=ledger) as again:
        assert again.neighbours.bounded
    with pytest.raises(GovernanceError, match="one relation"):
        ledger.amend("t", limits=sf.Limits(sf.PureDP(10)))
    ledger.amend("t", limits=sf.Limits(sf.PureDP(10, neighbours="bounded")))
    assert ledger.verify().ok
    with pytest.raises(ParameterError, match="one relation"):
        sf.Limits(sf.PureDP(3), analyst=BOUNDED)


def test_questions_about_disjoint_rows_add_up():
    parts = [f"SELECT COUNT(*) FROM t WHERE g = '{g}'" for g in "ab"]
    with opened() as session, opened(sf.PureDP(9)) as other:
        session.together(parts, epsilon=1)
        other.together(parts, epsilon=1)
        assert session.spent.epsilon == 2
        assert other.spent.epsilon == 1


def test_what_is_published_hides_a_unit_that_is_replaced():
    budget = sf.ApproxDP(90, "0.01", neighbours="bounded")
    price = {"epsilon": 2, "delta": 1e-6}
    with opened(budget) as session:
        made = [
            session.top_k("g", 1, epsilon=2), session.top_k("v", 1, **price),
            session.set_union("v", **price), session.kmeans(["v"], 2, epsilon=2),
            session.quantiles("v", cells=4, epsilon=2),
            session.synthesize(**price), session.fit(sf.dp.NaiveBayes(epsilon=2), target="g"),
        ]  # fmt: skip
        assert all(release.promise.neighbours.bounded for release in made)
        assert session.spent.epsilon == 2 * len(made)
        with pytest.raises(ParameterError, match="added or removed"):
            session.cross_validate(sf.dp.NaiveBayes(epsilon=1), target="g", folds=2)
        assert session.ledger.verify().ok


def test_two_steps_of_the_price_of_a_step_are_the_price():
    from sfumato.ask.session.publications import price_of_a_step

    for price in ({"epsilon": F(2)}, {"epsilon": F(2), "delta": F(1, 10**6)}, {"rho": F(1, 2)}):
        step = price_of_a_step(BOUNDED.neighbours, price)
        kinds = {1: sf.ZCDP if "rho" in price else sf.PureDP, 2: sf.ApproxDP}
        once = kinds[len(price)](*map(float, step.values()))
        twice = once.under(BOUNDED.neighbours)
        stated = kinds[len(price)](*map(float, price.values()), neighbours="bounded")
        assert twice >= stated or float(twice.epsilon) <= float(stated.epsilon) * (1 + 1e-12)
        assert price_of_a_step(sf.PureDP(1).neighbours, price) == price


def test_what_has_no_public_number_of_units_is_refused():
    with pytest.raises(ParameterError, match="public, of one"):
        sf.Session([TABLE, {name: cells[:9] for name, cells in TABLE.items()}], unit="row",
                   budget=BOUNDED, **FACTS)  # fmt: skip
    with pytest.raises(ParameterError, match="public, of one"):
        opened(unit=Unit("p", rows=2), private={"labs": {"p": ["p1"], "x": [1]}})
    with pytest.raises(ParameterError, match="no table"):
        sf.Session(sf.read([["x"]], shape="sets"), budget=BOUNDED)
