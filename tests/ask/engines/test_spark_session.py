"""A session on a Spark frame."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from small_tables import COUNT, session, visits

import sfumato as sf


def test_a_session_on_spark_answers_keeps_and_charges(spark):
    facts = {"unit": sf.Unit("person", groups=2, rows_per_group=2), "budget": sf.PureDP(10**4)}
    facts["ledger"] = sf.Ledger(None)
    grouped = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with session(spark.createDataFrame(visits()), **facts) as one:
        answer = one.sql(grouped, epsilon=5000)
        assert list(answer.table["n"]) == [80, 40]
        assert one.sql(grouped, epsilon=5000).stored
        assert one.spent.epsilon == 5000
        with pytest.raises(sf.SfumatoError):
            one.sql("SELECT person FROM visits", epsilon=1)
        assert one.sql(COUNT, epsilon=1).epsilon == 1
        assert one.ledger.verify().ok
