"""Odd tables, and answers in every form they can have."""

from __future__ import annotations

import datetime as dt
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small_tables import COUNT, session, visits

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.ask.answers.answer_records import dump_answer, load_fields
from sfumato.errors import DataError, ParameterError, SfumatoError

ALL = (
    "SELECT COUNT(*) AS c, COUNT(x) AS p, SUM(x) AS s, AVG(x) AS a, VARIANCE(x) AS v, "
    "STDDEV(x) AS d, MEDIAN(x) AS m, MIN(x) AS l, MAX(x) AS h, SUM(y) AS f FROM visits"
)
TABLES = {
    "nobody": [],
    "one row": [1.0],
    "only nulls": [None] * 4,
    "only nan": [math.nan] * 4,
    "infinities": [math.inf, -math.inf, math.nan, None, 0.0],
    "huge": [1e308, -1e308, 5e-324, 2.0**53],
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("unit", ["row", sf.Unit("id", rows=100)], ids=["rows", "people"])
def test_every_aggregate_of_every_table_has_an_answer_within_its_bounds(name, unit):
    values = TABLES[name]
    ids = pl.Series(range(len(values)), dtype=pl.Int64)
    column = pl.Series(values, dtype=pl.Float64)
    table = pl.DataFrame({"id": ids, "x": column, "y": column})
    with session(table, bare=True, unit=unit, bounds={"x": (0, 8)}) as one:
        answer = one.sql(ALL, epsilon=5)
        cells = dict(zip(answer.columns, answer.rows[0], strict=True))
        for cell in cells.values():
            assert cell is None or math.isfinite(cell)
        for mean in "amlh":
            assert cells[mean] is None or 0 <= cells[mean] <= 8
        assert one.sql(ALL, epsilon=5).rows == answer.rows  # stored and read back
        assert one.ledger.verify().ok


def test_clamped_sums_of_odd_values_are_those_of_plain_python():
    column = [math.inf, -math.inf, math.nan, None, 3.0, 1e308]
    table = pl.DataFrame({"x": pl.Series(column, dtype=pl.Float64)})
    with session(table, bare=True, bounds={"x": (0, 8)}, budget=sf.PureDP(10**6)) as one:
        answer = one.sql("SELECT SUM(x), COUNT(x), COUNT(*) FROM visits", epsilon=10**5)
        assert answer.rows[0][0] == pytest.approx(8 + 0 + 3 + 8, abs=0.01)
        assert answer.rows[0][1:] == (4, 6)


def test_names_and_texts_of_every_script():
    table = pd.DataFrame({"großer Name": ["日本", "Ünï", "🦊", "a'b"] * 50, 'q"x': [1.0] * 200})
    with session(table, bare=True, budget=sf.ApproxDP(100, 1e-3)) as one:
        answer = one.sql(
            'SELECT "großer Name", COUNT("q""x") AS n FROM visits GROUP BY 1', epsilon=9
        )
        assert sorted(answer.column("großer Name")) == sorted(["日本", "Ünï", "🦊", "a'b"])
        again = one.sql(
            'SELECT "großer Name", COUNT("q""x") AS n FROM visits GROUP BY 1', epsilon=9
        )
        assert again.stored
        assert again.rows == answer.rows


def test_columns_with_the_same_name_are_refused():
    for names in (["a", "a"], ["a", "A"]):
        with pytest.raises(DataError):
            session(pd.DataFrame([[1, 2]], columns=names), bare=True)


def test_the_same_aggregate_twice_is_paid_once_and_has_two_intervals():
    with session() as one:
        answer = one.sql("SELECT COUNT(*) AS a, COUNT(*) AS b, ward, ward AS w FROM visits "
                         "GROUP BY ward", epsilon=1)  # fmt: skip
        assert answer.column("a") == answer.column("b")
        assert answer.intervals()["a"] == answer.intervals()["b"]
        assert len(answer.keys) == 2
        assert one.spent.epsilon == 1


def test_bounds_larger_than_the_table_keep_everything():
    unit = sf.Unit("person", rows=10**6)
    with session(unit=unit, budget=sf.PureDP(10**7)) as one:
        assert abs(one.sql(COUNT, epsilon=10**6).value - 120) < 30
        with pytest.raises(ParameterError):
            session(unit=sf.Unit("person", rows=10**30)).sql(COUNT, epsilon=1)


def test_people_without_a_name_are_left_out():
    table = visits()
    table.loc[:59, "person"] = None
    with session(table, unit=sf.Unit("person", rows=3), budget=sf.PureDP(10**4)) as one:
        answer = one.sql("SELECT COUNT(*), COUNT(DISTINCT person) FROM visits", epsilon=5000)
        assert answer.rows == ((60, 20),)


# -- answers in kind ---------------------------------------------------------------------------

KINDS = {
    "pandas": (lambda t: t, pd.DataFrame),
    "polars": (pl.from_pandas, pl.DataFrame),
    "arrow": (lambda t: pa.Table.from_pandas(t, preserve_index=False), pa.Table),
    "mapping": (lambda t: t.to_dict("list"), dict),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_in_kind(kind):
    make, wanted = KINDS[kind]
    with session(make(visits()), budget=sf.PureDP(10**4)) as one:
        answer = one.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=5000)
    for table in (answer.table, answer.interval()):
        assert isinstance(table, wanted)
    columns = answer.table if kind == "mapping" else answer.table.to_dict(
        **({"as_series": False} if kind == "polars" else {"orient": "list"} if kind == "pandas"
           else {})) if kind != "arrow" else answer.table.to_pydict()  # fmt: skip
    assert columns == {"ward": ["north", "south"], "n": [80, 40]}


def test_files_come_back_as_frames(tmp_path):
    for name, write in (("v.csv", "to_csv"), ("v.parquet", "to_parquet")):
        getattr(visits(), write)(tmp_path / name, index=False)
        with session(tmp_path / name, name="visits") as one:
            assert list(one.sql(COUNT, epsilon=1).table.columns) == ["count"]


def test_a_stored_answer_reads_back_as_it_was():
    table = pd.DataFrame({
        "day": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * 30,
        "ok": [True, False] * 30, "x": np.arange(60) % 7,
    })  # fmt: skip
    with session(table, bare=True, bounds={"x": (0, 7)}, keys={"day": ["2020-01-01"]}) as one:
        answer = one.sql(
            "SELECT day, ok, COUNT(*) AS c, AVG(x) AS a, STDDEV(x) AS d, MEDIAN(x) AS m, "
            "COUNT(*) * 2 AS twice FROM visits GROUP BY day, ok ORDER BY c DESC", epsilon=5,
        )  # fmt: skip
        text = dump_answer(answer)
        read = Answer.again(load_fields(text), standing=answer.standing, kind=answer.kind)
    assert read.rows == answer.rows
    assert [type(cell) for cell in read.rows[0]] == [type(cell) for cell in answer.rows[0]]
    assert read.intervals(0.9) == answer.intervals(0.9)
    assert (read.columns, read.keys, read.notes) == (answer.columns, answer.keys, answer.notes)
    assert read.guarantee == answer.guarantee
    assert read.cost == answer.cost
    assert json.loads(text)["question"] == answer.question
    pairs = zip(*(read.intervals()[name] for name in ("twice", "c")), strict=True)
    assert all(two == (2 * one[0], 2 * one[1]) for two, one in pairs)


def test_wrong_uses_of_an_answer_are_refused():
    with session() as one:
        answer = one.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=1)
    for wrong in (lambda: answer.value, lambda: answer.column("x"), lambda: answer.interval(1.5),
                  lambda: answer.interval(math.nan), lambda: answer.interval("much")):  # fmt: skip
        with pytest.raises(SfumatoError):
            wrong()


@pytest.mark.parametrize("budget", [sf.PureDP(10**7), sf.ZCDP(10**7)], ids=["pure", "rho"])
def test_intervals_hold_as_often_as_they_say(budget):
    """Every column of 2,000 answers, each with noise of its own, at three confidences."""
    from sfumato.ask.answers.composition import noisy_columns
    from sfumato.ask.answers.measurement import measure

    table = pd.DataFrame({"x": np.arange(500) % 10})
    x = table.x.to_numpy(dtype=float)
    truth = {"c": 500, "s": x.sum(), "a": x.mean(), "v": x.var(ddof=1), "d": x.std(ddof=1)}
    question = "SELECT COUNT(*) c, SUM(x) s, AVG(x) a, VARIANCE(x) v, STDDEV(x) d FROM visits"
    price = {"epsilon": 2, "rho": None} if budget.kind.startswith("pure") else {
        "rho": "0.5", "epsilon": None}  # fmt: skip
    with session(table, bare=True, bounds={"x": (0, 10)}, budget=budget) as one:
        ready = one.desk.prepare(one._submit(question), one.desk.now(), **price)
        engine = one.desk.opened.engine_of(("main",))
        cached = {}

        class Once:
            dialect = "duckdb"

            def aggregate(self, request):
                if request not in cached:
                    cached[request] = engine.aggregate(request)
                return cached[request]

        runs = [noisy_columns(measure(ready, Once(), one.desk.opened.salt)) for _ in range(2000)]
    for confidence in (0.5, 0.9, 0.99):
        for name, value in truth.items():
            inside = 0
            for columns in runs:
                low, high = columns[name].interval(0, confidence)
                inside += low - 1e-9 <= value <= high + 1e-9
            slack = 4.5 * math.sqrt(confidence * (1 - confidence) / len(runs))
            assert inside / len(runs) >= confidence - slack, (name, confidence)
            if name in "cs" and confidence > 0.5:  # of single numbers, not wastefully wide
                assert inside / len(runs) <= confidence + 0.085, (name, confidence)
