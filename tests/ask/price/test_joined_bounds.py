"""Bounds for a column of a joined table whose name another table has, too."""

from __future__ import annotations

import polars as pl
import pytest
from small_tables import session

import sfumato as sf
from sfumato.errors import GovernanceError, ParameterError

VISITS = pl.DataFrame({"id": range(100), "ward": [i % 2 for i in range(100)], "pay": [9.0] * 100})
WARDS = pl.DataFrame({"ward": [0, 1], "pay": [100.0, 300.0]})
JOIN = "FROM visits JOIN wards AS w ON visits.ward = w.ward"


def opened(**given):
    facts = {"bare": True, "unit": "row", "budget": sf.PureDP(10**6), "public": {"wards": WARDS}}
    return session(VISITS, **{**facts, **given})


@pytest.mark.parametrize("name", ["w.pay", "W.Pay", "pay"])
def test_bounds_are_given_under_the_name_the_question_uses(name):
    with opened() as one:
        answer = one.sql(f"SELECT SUM(w.pay) AS s {JOIN}", epsilon=10**4, bounds={name: (0, 200)})
    assert answer.value == pytest.approx(50 * 100 + 50 * 200, abs=5)
    low, high = answer.interval(confidence=1 - 1e-9)  # 95 % would fail one run in twenty
    assert low <= 15_000 <= high


def test_bounds_with_a_table_are_for_its_column_alone():
    asked = {"visits.pay": (0, 5), "w.pay": (0, 200)}
    with opened() as one:
        question = f"SELECT SUM(visits.pay) AS own, SUM(w.pay) AS other {JOIN}"
        answer = one.sql(question, epsilon=10**4, bounds=asked)
        with pytest.raises(ParameterError, match="neither a key"):
            one.sql(f"SELECT SUM(visits.pay) {JOIN}", epsilon=1, bounds=asked)
    assert answer.rows[0] == pytest.approx((500, 15_000), abs=5)


def test_bounds_reach_columns_of_sub_queries():
    unit = sf.Unit("id", rows=1)
    with opened(unit=unit) as one:
        answer = one.sql(
            f"SELECT SUM(most) AS s FROM (SELECT id, MAX(w.pay) AS most {JOIN} GROUP BY id) AS p",
            epsilon=10**4, bounds={"w.pay": (0, 200)},
        )  # fmt: skip
    assert answer.value == pytest.approx(15_000, abs=5)


def test_the_owners_bounds_stay_whatever_the_table_is_called_with_them():
    with opened(bounds={"pay": (0, 10)}) as one:
        for name in ("pay", "visits.pay", "VISITS.PAY"):
            with pytest.raises(GovernanceError, match="The owner has fixed"):
                one.sql("SELECT SUM(pay) FROM visits", epsilon=1, bounds={name: (0, 5)})
        answer = one.sql(f"SELECT SUM(w.pay) {JOIN}", epsilon=10**4, bounds={"w.pay": (0, 200)})
    assert answer.value == pytest.approx(15_000, abs=5)
