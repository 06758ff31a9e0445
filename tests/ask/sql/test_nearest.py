"""The question that is offered for a refused one can be asked of the same session."""

from __future__ import annotations

import pytest
from small_tables import Failing, session, visits

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.refusals import REASONS
from sfumato.errors import Refused

UNITS = {
    "row": "row",
    "people": sf.Unit("person"),
    "rows": sf.Unit("person", rows=3),
    "groups": sf.Unit("person", groups=2, rows_per_group=2),
}
BUDGETS = {
    "pure": sf.PureDP(10**4),
    "approximate": sf.ApproxDP(10**4, 1e-5),
    "concentrated": sf.ZCDP(10**6),
}
QUESTIONS = [
    "SELECT * FROM visits",
    "SELECT age FROM visits",
    "SELECT ward, age FROM visits WHERE age > 3",
    "SELECT DISTINCT age FROM visits",
    "SELECT age, SUM(cost) FROM visits WHERE ward = 'north' GROUP BY age HAVING SUM(cost) > 3",
    "SELECT age, MAX(cost) m FROM visits GROUP BY 1 ORDER BY m LIMIT 3",
    "SELECT MODE(age) FROM visits",
    "SELECT COUNT_IF(age > 30) FROM visits",
    "SELECT SUM(CLAMP(age, 0, 0)) FROM visits",
    "SELECT COUNT(DISTINCT age) FROM visits",
    "SELECT COUNT(DISTINCT person) FILTER (WHERE age < 30) FROM visits",
    "SELECT ward, COUNT(*), COUNT(DISTINCT person) FILTER (WHERE age < 30) FROM visits GROUP BY 1",
    "SELECT COUNT(*) OVER () FROM visits",
    "SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 3) AS few",
]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("unit", UNITS)
def test_what_is_offered_is_answered(unit, budget):
    refusals = []
    with session(unit=UNITS[unit], budget=BUDGETS[budget]) as one:
        for question in QUESTIONS:
            try:
                one.sql(question, epsilon=1)
            except Refused as refused:
                refusals.append((question, refused))
        assert len(refusals) > 8
        for question, refused in refusals:
            assert refused.code in REASONS
            assert refused.nearest is not None, question
            assert one.sql(refused.nearest, epsilon=1).rows is not None


@pytest.mark.parametrize(
    ("unit", "budget", "question", "code", "nearest"),
    [
        ("rows", "pure", "SELECT COUNT_IF(age > 3) AS c FROM visits", "not_aggregate",
         "SELECT COUNT(*) FILTER(WHERE age > 3) AS c FROM visits"),
        ("row", "pure", "SELECT age, SUM(cost) FROM visits GROUP BY age", "unknown_keys",
         "SELECT SUM(cost) FROM visits"),
        ("row", "pure", "SELECT ward FROM visits", "raw_column",
         "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
        ("row", "approximate", "SELECT age FROM visits", "raw_column",
         "SELECT age, COUNT(*) FROM visits GROUP BY age"),
        ("row", "pure", "SELECT age FROM visits", "raw_column", "SELECT COUNT(*) FROM visits"),
        ("people", "pure", "SELECT COUNT(*) FROM visits WHERE age > 3", "unit_bounds",
         'SELECT COUNT(DISTINCT "person") FROM visits WHERE age > 3'),
        ("rows", "pure", "SELECT SUM(CLAMP(age, 0, 0)) FROM visits", "nothing_asked",
         "SELECT COUNT(*) FROM visits"),
        ("rows", "pure",
         "SELECT COUNT(DISTINCT person) FILTER (WHERE age < 30) FROM visits WHERE cost > 1",
         "people_filter", "SELECT COUNT(DISTINCT person) FROM visits WHERE cost > 1 AND age < 30"),
    ],
)  # fmt: skip
def test_refusals_name_a_reason_and_the_nearest_question(unit, budget, question, code, nearest):
    with session(unit=UNITS[unit], budget=BUDGETS[budget]) as one:
        for ask in (one.sql, one.estimate):
            with pytest.raises(Refused) as found:
                ask(question, epsilon=1)
            assert (found.value.code, found.value.nearest) == (code, nearest)
        with pytest.raises(Refused) as found:
            one.together(["SELECT COUNT(DISTINCT person) FROM visits" if unit != "row" else
                          "SELECT COUNT(*) FROM visits", question], epsilon=1)  # fmt: skip
        assert found.value.nearest == nearest


def test_keys_that_came_with_a_question_serve_its_nearest():
    with session(unit="row", bare=True) as one, pytest.raises(Refused) as found:
        one.sql("SELECT age FROM visits", epsilon=1, keys={"age": [20, 30]})
    assert found.value.nearest == "SELECT age, COUNT(*) FROM visits GROUP BY age"


def test_finding_the_nearest_question_asks_no_engine_and_charges_nothing():
    engine = Failing(DuckDBEngine.open(visits(), name="visits"))
    with session(engine, bare=True) as one:
        for question in ("SELECT age FROM visits", "SELECT age, COUNT(*) FROM visits GROUP BY 1"):
            with pytest.raises(Refused) as found:
                one.sql(question, epsilon=1)
            assert found.value.nearest == "SELECT COUNT(*) FROM visits"
        assert engine.asked == 0
        assert [entry.kind for entry in one.ledger.entries()] == ["registered"]
