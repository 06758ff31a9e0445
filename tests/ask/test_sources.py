"""What a session takes as its rows, and where it keeps its ledger when nobody says where."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import DataError

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
