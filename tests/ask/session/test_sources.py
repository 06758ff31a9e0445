"""What a session takes as its rows, and where it keeps its ledger when nobody says where."""

from __future__ import annotations

import sys
import types

import duckdb
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.ask.session.sources import source_of
from sfumato.errors import DataError, GovernanceError, ParameterError

COUNT = "SELECT COUNT(*) FROM data"


def counted(source, **more):
    given = {"unit": "row", "budget": sf.PureDP(1000)} | more
    with sf.Session(source, **given) as one:
        return one.sql(COUNT, epsilon=500).value


FRAME = pd.DataFrame(
    {
        "whole": range(5),
        "real": [0.5, 1.5, None, 3.5, 4.5],
        "text": list("abcde"),
        "day": pd.date_range("2020-01-01", periods=5),
        "maybe": pd.array([1, None, 3, 4, 5], dtype="Int64"),
        "kind": pd.Categorical(list("aabbb")),
        "yes": [True, False, True, False, True],
    }
)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.iloc[::-1],
        FRAME[["maybe"]].iloc[::-1],
        FRAME.iloc[::-2],
        FRAME.set_index("text").iloc[::-1],
        FRAME.set_index(["text", "whole"]).iloc[::-1],
        FRAME.iloc[::-1].set_axis([9, 9, 8, 8, 7]),
    ],
    ids=["all", "nullable", "every other", "an index", "two", "repeated"],
)
def test_frames_that_are_stored_backwards_are_read(frame):
    assert counted(frame, name="t") == len(frame)
    read = sf.read(frame)
    assert read.engine.run(f"SELECT * FROM {read.scan}") == [
        tuple(None if pd.isna(cell) else cell for cell in row)
        for row in frame.itertuples(index=False, name=None)
    ]


def test_columns_that_are_stored_backwards_are_read():
    read = sf.read({"x": np.arange(3)[::-1], "y": np.array(["a", "b", None], dtype=object)[::-1]})
    assert read.engine.run(f"SELECT * FROM {read.scan}") == [(2, None), (1, "b"), (0, "a")]


@pytest.mark.parametrize("records", [[{"x": 1}], [{"x": 1}, {"x": 2}], {"x": "abc"}, {"x": [[1]]}])
def test_records_are_refused_in_words(records):
    with pytest.raises(DataError, match="'x' of the table given is no list of cells"):
        sf.Session(records, unit="row", budget=sf.PureDP(1))


@pytest.mark.parametrize("ending", ["duckdb", "ddb", "db"])
def test_a_table_of_a_database_file_is_named_behind_colons(tmp_path, ending):
    file = tmp_path / f"x.{ending}"
    with duckdb.connect(str(file)) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS x FROM range(10)")
        database.execute("CREATE TABLE u AS SELECT 1 AS x FROM range(20)")
    assert counted(f"{file}::t") == 10
    assert counted(f"{file}::u") == 20
    assert (tmp_path / f"x.{ending}.ledger.sqlite").is_file()


def test_a_table_of_postgres_has_one_budget_for_all_sessions(postgres_url, tmp_path, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT i FROM generate_series(1, 9) AS i")
    source = f"{postgres_url}?table=kept"
    with pytest.raises(ParameterError, match="one that they share"):
        sf.Session(source, unit="row", budget=sf.PureDP(1))
    with sf.Session(source, unit="row", budget=sf.PureDP(1), ledger=postgres_url) as first:
        first.sql("SELECT COUNT(*) FROM kept", epsilon=1)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "of another user"))
    with sf.Session(source) as second:
        assert second.remaining == sf.PureDP(0)
        with pytest.raises(sf.BudgetExceeded):
            second.sql("SELECT SUM(1) FROM kept", epsilon=1)


def test_a_table_of_spark_outlives_the_process_and_a_frame_does_not(monkeypatch):
    class DataFrame:
        """As much of a Spark table as is looked at before it is read."""

    DataFrame.__module__ = "pyspark.sql.dataframe"
    monkeypatch.setitem(sys.modules, "pyspark", types.ModuleType("pyspark"))
    assert source_of(DataFrame(), name="t").outlives
    assert not source_of({"x": [1]}, name="t").outlives
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    with pytest.raises(ParameterError, match="a table of Spark"):
        sf.Session(DataFrame(), name="t", unit="row", budget=sf.PureDP(1))
    with sf.Session({"x": [1]}, name="t", unit="row", budget=sf.PureDP(1)) as one:
        assert one.ledger.place == "memory"


def test_a_link_to_a_spent_file_is_spent(tmp_path, monkeypatch):
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    data, more = tmp_path / "data.csv", {"unit": "row", "budget": sf.PureDP(1)}
    data.write_text("x\n" + "1\n" * 50)
    with sf.Session(data, **more) as one:
        one.sql(COUNT, epsilon=1)
    folder = tmp_path / "links"
    folder.mkdir()
    same, other, hard = folder / "data.csv", folder / "fresh.csv", folder / "hard.csv"
    same.symlink_to(data)
    other.symlink_to(data)
    hard.hardlink_to(data)
    with sf.Session(same, **more) as one:
        assert one.remaining == sf.PureDP(0)
    with pytest.raises(GovernanceError, match="those of the dataset 'data'"):
        sf.Session(other, **more)
    with pytest.raises(ParameterError, match="several names"):
        sf.Session(hard, **more)
    with sf.Session(other, name="data", **more) as one:
        assert one.remaining == sf.PureDP(0)


def test_a_copy_under_another_name_has_no_second_budget_in_one_ledger(tmp_path):
    ledger = sf.Ledger(None)
    rows, more = {"x": [1, 2, 3]}, {"unit": "row", "ledger": ledger}
    sf.Session(rows, name="one", budget=sf.PureDP(1), **more)
    with pytest.raises(GovernanceError, match="those of the dataset 'one'"):
        sf.Session({"x": [3, 1, 2]}, name="two", budget=sf.PureDP(1), **more)
    sf.Session({"x": [1, 2, 4]}, name="three", budget=sf.PureDP(1), **more)
