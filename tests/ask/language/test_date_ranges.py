"""Groups of dates follow from bounds and conditions: exactly the values that days between have."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.ask.language.date_ranges import days_between, telling_days
from sfumato.ask.language.days import PARTS, STARTS, Day
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Apply, Column, Compare, Constant
from sfumato.errors import Refused

DAY = Column("day", "date")
FUNCTIONS = [*PARTS, *STARTS.values()]


def at(sign, text):
    return Compare(sign, DAY, Constant(dt.date.fromisoformat(text), "date"))


@settings(max_examples=60, deadline=None)
@given(st.dates(), st.integers(0, 800), st.sampled_from(FUNCTIONS), st.integers(1, 900))
def test_listed_days_show_all_that_a_function_gives(low, length, function, most):
    high = min(low.toordinal() + length, dt.date.max.toordinal())
    high = dt.date.fromordinal(high)
    term = Apply(function, (DAY,))
    found = telling_days(term, low, high, most)
    every = [dt.date.fromordinal(n) for n in range(low.toordinal(), high.toordinal() + 1)]
    if found is None:
        assert len(every) > most
        return
    assert len(found) <= most
    shown, true = ({evaluate(term, {"day": day}) for day in days} for days in (found, every))
    assert shown == true


def test_months_stand_for_their_days_only_where_no_day_is_told_apart():
    ends = dt.date(1900, 1, 5), dt.date(1990, 1, 1)
    assert len(telling_days(Apply("year", (DAY,)), *ends, 10_000)) == 12 * 90 + 1
    assert telling_days(Apply("week_start", (DAY,)), *ends, 10_000) is None
    mixed = Compare("<", DAY, Apply("year_start", (DAY,)))
    assert telling_days(mixed, *ends, 10_000) is None


def test_ends_come_from_bounds_and_conditions():
    assert days_between(DAY, [at(">", "2024-01-01")]) is None
    assert days_between(DAY, [at(">", "2024-01-01"), at("<", "2024-01-01")]) is None
    found = days_between(
        DAY, [at(">", "2024-01-01"), at("<=", "2024-05-01"), at("<", "2024-09-09")]
    )
    assert found == (dt.date(2024, 1, 2), dt.date(2024, 5, 1))
    known = Column("day", "date", (Day.read("2024-01-01"), Day.read("2024-12-31")))
    late = Compare(">=", known, Constant(dt.date(2024, 7, 1), "date"))
    assert days_between(known, [late]) == (dt.date(2024, 7, 1), dt.date(2024, 12, 31))


@pytest.mark.parametrize(
    ("day", "function", "value"),
    [
        ("2024-02-29", "weekday", 4), ("2024-03-03", "weekday", 0), ("2024-03-03", "quarter", 1),
        ("0001-01-01", "week_start", dt.date(1, 1, 1)), ("2024-12-31", "quarter", 4),
        ("2023-01-01", "week_start", dt.date(2022, 12, 26)),
        ("9999-12-31", "quarter_start", dt.date(9999, 10, 1)),
        ("2024-05-31", "month_start", dt.date(2024, 5, 1)),
        ("2024-05-31", "year_start", dt.date(2024, 1, 1)),
    ],
)  # fmt: skip
def test_parts_and_periods_are_those_of_the_calendar(day, function, value):
    term = Apply(function, (DAY,))
    assert evaluate(term, {"day": dt.date.fromisoformat(day)}) == value
    assert evaluate(term, {"day": None}) is None


TABLE = pl.DataFrame(
    {"day": [dt.date(2023, 12, 1) + dt.timedelta(days=n % 400) for n in range(4000)]}
)


def test_declared_days_are_groups_without_a_delta_and_others_are_told():
    declared = {"day": ("2024-01-01", "2024-12-31")}
    asked = "SELECT DATE_TRUNC('quarter', day) AS q, COUNT(*) AS n FROM visits GROUP BY q"
    with sf.Session(
        TABLE, public_types=True, name="visits", unit="row", budget=sf.PureDP(500), bounds=declared
    ) as session:
        answer = session.sql(asked, epsilon=200)
    assert [row[0] for row in answer.rows] == [
        *(dt.date(2024, month, 1) for month in (1, 4, 7, 10)), None
    ]  # fmt: skip
    assert [round(row[1]) for row in answer.rows] == [910, 910, 920, 920, 0]
    assert any("beyond declared bounds" in note for note in answer.notes)
    with sf.Session(
        TABLE, public_types=True, name="visits", unit="row", budget=sf.PureDP(500)
    ) as session:
        with pytest.raises(Refused) as found:
            session.sql(asked, epsilon=1)
        assert found.value.code == "unknown_keys"
