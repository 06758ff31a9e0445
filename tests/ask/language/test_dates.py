"""Quantiles of dates: picked among days, within bounds that are dates."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import Failing, session

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.answer_records import dump_answer, load_fields
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.days import Day, date_of, days_of
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Column, Measure, Question, Scan
from sfumato.errors import GovernanceError, ParameterError, Refused

FIRST, LAST = dt.date(2024, 1, 1), dt.date(2024, 12, 31)
DAYS = [FIRST + dt.timedelta(days=i % 366) for i in range(3660)]
TABLE = pl.DataFrame({"day": DAYS, "half": [day.month > 6 for day in DAYS], "x": [1.0] * 3660})
BOUNDS = {"day": (FIRST, LAST)}


def opened(source=TABLE, **given):
    return session(source, **{"bare": True, "budget": sf.PureDP(10**5), **given})


@given(st.dates())
def test_the_number_of_a_day_is_that_of_the_calendar(day):
    term = days_of(Column("d", "date"))
    assert evaluate(term, {"d": day}) == (day - dt.date(1970, 1, 1)).days == Day.read(day)
    assert evaluate(term, {"d": None}) is None
    assert date_of(Day.read(day.isoformat())) == day


def test_numbers_beyond_the_calendar_are_its_ends():
    assert date_of(-1e12) == dt.date.min
    assert date_of(1e12) == dt.date.max
    assert Day.read("2024-02-30") is Day.read("20240201") is Day.read(5) is None


@pytest.mark.parametrize("bounds", [BOUNDS, {"day": ("2024-01-01", "2024-12-31")}])
def test_extremes_and_medians_of_dates_are_dates_near_the_truth(bounds):
    with opened() as one:
        question = "SELECT MIN(day) AS l, MEDIAN(day) AS m, MAX(day) AS h FROM visits"
        answer = one.sql(question, epsilon=100, bounds=bounds)
        again = Answer.again(
            load_fields(dump_answer(answer)), standing=answer.standing, kind=answer.kind
        )
    low, middle, high = answer.rows[0]
    assert FIRST <= low <= FIRST + dt.timedelta(days=9)
    assert abs(middle - dt.date(2024, 7, 1)) <= dt.timedelta(days=9)
    assert LAST - dt.timedelta(days=9) <= high <= LAST
    assert again.rows == answer.rows
    assert answer.intervals() == {"l": [None], "m": [None], "h": [None]}
    assert any("clamped to [2024-01-01, 2024-12-31]" in note for note in answer.notes)
    assert str(middle) in str(answer)
    assert str(middle) in answer._repr_html_()


def test_dates_beyond_the_bounds_count_as_the_bounds():
    with opened() as one:
        question = "SELECT half, MAX(day) AS h FROM visits GROUP BY half"
        answer = one.sql(question, epsilon=100, bounds={"day": ("2024-01-01", "2024-03-01")})
    assert answer.rows[1] == (True, dt.date(2024, 3, 1))


def test_noisy_dates_are_compared_and_sorted_as_dates():
    with opened() as one:
        answer = one.sql(
            "SELECT half, YEAR(MEDIAN(day)) AS y FROM visits GROUP BY half "
            "HAVING MEDIAN(day) < DATE '2024-09-01' ORDER BY MEDIAN(day)",
            epsilon=100, bounds=BOUNDS, keys={"half": [False, True]},
        )  # fmt: skip
    assert answer.rows == ((False, 2024),)


def test_the_owner_declares_bounds_of_dates_or_their_values():
    with opened(bounds=BOUNDS) as one:
        assert FIRST <= one.sql("SELECT MEDIAN(day) FROM visits", epsilon=1).value <= LAST
        with pytest.raises(GovernanceError, match="The owner has fixed"):
            one.sql("SELECT MEDIAN(day) FROM visits", epsilon=1, bounds=BOUNDS)
    with opened(keys={"day": [FIRST, dt.date(2024, 1, 9)]}) as one:
        value = one.sql("SELECT MAX(day) FROM visits", epsilon=100).value
        assert FIRST <= value <= dt.date(2024, 1, 9)


def test_days_of_people_are_bounded_by_their_rows():
    table = TABLE.with_columns(id=pl.Series(range(3660)) % 1000)
    with opened(table, unit=sf.Unit("id", rows=1)) as one:
        answer = one.sql("SELECT MEDIAN(day) AS m FROM visits", epsilon=50, bounds=BOUNDS)
    assert abs(answer.value - dt.date(2024, 7, 1)) <= dt.timedelta(days=45)
    assert any("at most 1 row" in note for note in answer.notes)


def test_dates_without_bounds_are_refused_before_anything_is_asked():
    engine = Failing(DuckDBEngine.open(TABLE, name="visits"))
    with opened(engine) as one:
        with pytest.raises(Refused) as found:
            one.sql("SELECT MIN(day) AS l FROM visits", epsilon=1)
        assert found.value.code == "date_bounds"
        assert found.value.nearest == "SELECT MIN(YEAR(day)) AS l FROM visits"
        measure = Measure("m", "quantile", Column("day", "date"), order=Day(0))
        scan = Scan("visits", (Column("day", "date"),))
        with pytest.raises(Refused, match="bounds"):
            one.ask(Question(scan, (measure,)), epsilon=1)
        assert engine.asked == 0
    with opened() as one:
        assert one.sql(found.value.nearest, epsilon=1).rows


@pytest.mark.parametrize(
    ("question", "bounds"),
    [
        ("SELECT MIN(day) FROM visits", {"day": (0, 5)}),
        ("SELECT MIN(day) FROM visits", {"day": (LAST, FIRST)}),
        ("SELECT MIN(day) FROM visits", {"day": (FIRST, 5)}),
        ("SELECT MIN(day) FROM visits", {"day": (FIRST, FIRST)}),
        ("SELECT SUM(x) FROM visits", {"x": (FIRST, LAST)}),
        ("SELECT SUM(x + 1) AS s FROM visits", {"s": (FIRST, LAST)}),
    ],
)
def test_dates_and_numbers_are_not_taken_for_each_other(question, bounds):
    with opened() as one, pytest.raises(ParameterError, match="bounds"):
        one.sql(question, epsilon=1, bounds=bounds)


def test_means_of_dates_are_refused():
    with opened() as one, pytest.raises(Refused) as found:
        one.sql("SELECT AVG(day) FROM visits", epsilon=1, bounds=BOUNDS)
    assert found.value.code == "kind"
