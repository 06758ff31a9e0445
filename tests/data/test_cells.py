"""A cell is read by itself: as a number, as a label, as one of declared values."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.data.cells import (
    Listed,
    as_label,
    as_labels,
    as_number,
    as_numbers,
    as_text,
    cells_of,
    items_of,
)
from sfumato.data.engines.duckdb import DuckDB, plain_text
from sfumato.errors import DataError, ParameterError


class Wild:
    """A cell that fails whatever is asked of it."""

    def __float__(self):
        raise RuntimeError

    def __str__(self):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError

    def __iter__(self):
        raise RuntimeError

    def __eq__(self, other):
        raise RuntimeError


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (2, 2.0), ("2.5", 2.5), (True, 1.0), ("True", 1.0), (Decimal("1.50"), 1.5), (1 + 0j, 1.0),
        (Fraction(1, 2), 0.5), (np.float32(0.5), 0.5), (10**400, math.inf), ("1e999", math.inf),
        (Fraction(-(10**400)), -math.inf), pytest.param(-(10**5000), -math.inf, id="-10**5000"),
    ],
)  # fmt: skip
def test_a_number_is_what_float_makes_of_a_cell(cell, number):
    assert as_number(cell) == number
    assert as_numbers([cell, "x"]).tolist()[0] == number


@pytest.mark.parametrize(
    "cell",
    [
        None, pd.NA, pd.NaT, math.nan, Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT"), "",
        "x", date(2020, 1, 1), np.datetime64(5, "ns"), [1], (1,), {"a": 1}, np.array([1]), 1 + 2j,
        Wild(),
    ],
)  # fmt: skip
def test_what_is_no_number_is_missing(cell):
    assert math.isnan(as_number(cell))
    column = [1.5, cell]
    assert as_numbers(column)[0] == 1.5
    assert math.isnan(as_numbers(column)[1])


@pytest.mark.parametrize(
    ("spellings", "label"),
    [
        ([1, 1.0, True, np.int8(1), np.float32(1), Decimal("1.00"), Fraction(1), 1 + 0j], 1),
        ([0, 0.0, -0.0, False, Decimal("-0")], 0),
        ([1.5, Decimal("1.50"), Fraction(3, 2), np.float16(1.5)], 1.5),
        ([10**22, 1e22, Decimal("1E+22")], 10**22),
        (["a", np.str_("a"), b"a"], "a"),
        (
            [date(2020, 1, 2), datetime(2020, 1, 2), pd.Timestamp("2020-01-02"),  # noqa: DTZ001
             np.datetime64("2020-01-02"), np.datetime64("2020-01-02", "ns")],
            "2020-01-02",
        ),
        (
            [datetime(2020, 1, 2, 3, tzinfo=UTC),
             datetime(2020, 1, 2, 4, tzinfo=timezone(timedelta(hours=1)))],
            "2020-01-02 03:00:00+00:00",
        ),
        ([(1, "a"), (1.0, np.str_("a")), (True, b"a")], (1, "a")),
    ],
)  # fmt: skip
def test_a_value_has_one_label(spellings, label):
    for many in (spellings, spellings[::-1]):
        assert [repr(found) for found in as_labels(many)] == [repr(label)] * len(many)


@pytest.mark.parametrize(
    "cell",
    [None, pd.NA, pd.NaT, math.nan, math.inf, Decimal("sNaN"), Decimal("1E+999999999"),
     pytest.param(10**5000, id="10**5000"), [1], {"a": 1}, (1, [2]), Wild(), np.array([1])],
)  # fmt: skip
def test_what_is_missing_or_cannot_be_hashed_has_no_label(cell):
    assert as_label(cell) is None
    assert Listed([1, "a"]).place(cell) == -1
    assert isinstance(as_text(cell), str)


def test_one_value_is_found_however_containers_write_it():
    one = [1, 1.0, True, "1", "1.0", "True", "true", Decimal("1.00"), np.int8(1)]
    for values in ([0, 1], ["0", "1"], [0.0, 1.0], [False, True], [Decimal(0), Fraction(1)]):
        listed = Listed(values)
        assert listed.places(one).tolist() == [1] * len(one)
        assert listed.places(np.array([1, 0, 7])).tolist() == [1, 0, -1]
        assert listed.places(np.array([1.0, math.nan])).tolist() == [1, -1]
        assert listed.places(["01", "x", 1.5, None]).tolist() == [-1] * 4


def test_own_spellings_come_before_others():
    assert Listed(["true", "1"]).places([True, 1, "1", "1.0", "True"]).tolist() == [0, 1, 1, 1, 0]
    assert Listed(["1.0", "1"]).places([1, 1.0, "1.0", "1"]).tolist() == [1, 1, 0, 1]
    assert Listed(["1", 1]).places(["1", 1, 1.0]).tolist() == [0, 1, 1]
    assert Listed([2**60 + 1, 2**60]).places([2**60, 2**60 + 1]).tolist() == [1, 0]


@pytest.mark.parametrize("values", [[1, 1.0], [True, 1], ["a", "a"], [None], [math.nan], [[1]]])
def test_a_list_names_each_value_once(values):
    with pytest.raises(ParameterError, match=r"twice|no cell can be told"):
        Listed(values)


def test_columns_of_all_libraries_read_alike():
    cells = [1, None, 3]
    for column in (
        cells, tuple(cells), np.array(cells, dtype=object), np.array([1, math.nan, 3]),
        pd.Series(cells), pd.Series(cells, dtype="Int64"), pd.Series(cells, dtype="category"),
        pl.Series(cells), pa.array(cells), pa.chunked_array([cells]),
        np.ma.array([1, 2, 3], mask=[0, 1, 0]), iter(cells),
    ):  # fmt: skip
        column = list(column) if hasattr(column, "__next__") else column  # noqa: PLW2901
        assert as_labels(cells_of(column)) == cells
        assert np.array_equal(as_numbers(column), [1, math.nan, 3], equal_nan=True)
        assert Listed([3, 1]).places(column).tolist() == [1, -1, 0]


def test_what_numpy_has_made_a_text_of_is_taken_for_what_it_was():
    column = np.array([1, 2.5, "x"])
    assert cells_of(column) == [1, 2.5, "x"]
    assert cells_of(np.array([True, "01", "1.50"])) == [True, "01", "1.50"]
    assert cells_of(["1", "True"]) == ["1", "True"]


@pytest.mark.parametrize("column", [5, None, "text", b"bytes", {"a": 1}, pd.DataFrame({"a": [1]})])
def test_what_is_no_column_is_refused(column):
    with pytest.raises(DataError, match="column"):
        cells_of(column)


def test_a_record_holds_items_or_is_one():
    assert [list(items_of(x)) for x in ([1, 2], (1,), {1}, None, math.nan, "ab", 3, Wild())] == [
        [1, 2], [1], [1], [], [], ["ab"], [3], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("DOUBLE", [1.0, 2.5, -0.0, 1e300, 1e-5, 123456789.0]),
        ("INTEGER", [1, 0, -7]),
        ("DECIMAL(6, 2)", [Decimal("1.50"), Decimal("2.00")]),
        ("DECIMAL(4, 4)", [Decimal(0), Decimal("0.5"), Decimal("-0.5")]),
        ("DECIMAL(38, 0)", [Decimal(12345678901234567890), Decimal(12345678901234567891)]),
        ("BOOLEAN", [True, False]),
        ("TIMESTAMP", [datetime(2020, 1, 2), datetime(2020, 1, 2, 3, 4)]),  # noqa: DTZ001
        ("DATE", [date(2020, 1, 2)]),
        ("VARCHAR", ["a", "1.0", "01"]),
    ],
)
def test_the_engine_writes_a_cell_as_python_does(kind, cells):
    engine = DuckDB()
    literals = ", ".join(f"(CAST('{cell}' AS {kind}))" for cell in cells)
    types = engine.types(f"(VALUES {literals}) AS given(x)")
    found = engine.run(f"SELECT {plain_text('x', types['x'])} FROM (VALUES {literals}) AS given(x)")
    listed = Listed(cells)
    for (text,), cell in zip(found, cells, strict=True):
        assert listed.spellings[text] == listed.place(cell)
        if abs(cell) < 2**53 if isinstance(cell, float) else True:
            assert text == as_text(cell)
    engine.close()


def test_a_polars_frame_of_whole_numbers_of_128_bits_is_read():
    """One number beyond 64 bits makes them of a column; whether it is there must not fail."""
    frame = pl.DataFrame({"g": [1, 2**70]}, schema={"g": pl.Int128})
    assert sf.read(frame).columns == ("g",)


def test_a_parquet_file_with_nan_among_repeated_numbers_has_texts(tmp_path):
    """The engine casts all cells of a dictionary, also those that a condition leaves out."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"g": [1.0, 2.0, math.nan] * 10}), path)
    with duckdb.connect() as connection:
        texts = connection.sql(f"SELECT DISTINCT {plain_text('g', 'DOUBLE')} FROM '{path}'")
        assert sorted(texts.fetchall()) == [("",), ("1",), ("2",)]
