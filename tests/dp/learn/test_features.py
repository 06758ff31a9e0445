"""Columns are read cell by cell: no cell, and no type of a column, changes how another is read."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sfumato.dp import AdditiveClassifier, NaiveBayes
from sfumato.dp.learn.features import Category, Number, as_cells, declare
from sfumato.dp.learn.shapes import lay_out
from sfumato.errors import ParameterError


def codes(column, cells, bins):
    return column.codes(as_cells(cells), bins).tolist()


@pytest.mark.parametrize("more", [None, np.nan, "?", 2.5, True, {"a": 1}])
def test_one_odd_cell_changes_no_other(more):
    whole, number = Number("age", 0, 9, whole=True), Number("size", -1, 1)
    listed, texts = Category("code", (1, 2, 3)), Category("name", ("1", "2", "3"))
    cells = [1, 2, 3]
    for column, bins in ((whole, 10), (number, 7), (listed, 3), (texts, 3)):
        assert codes(column, [*cells, more], bins)[:3] == codes(column, cells, bins)
        frame = pd.DataFrame({"x": [*cells, more]})["x"]
        assert codes(column, frame, bins)[:3] == codes(column, cells, bins)
    assert number.steps(as_cells([0.5, more]), 8)[0] == number.steps(as_cells([0.5]), 8)[0]


def test_bins_follow_from_declarations_alone():
    columns = declare(["a", "b"], {"a": range(10), "b": (0, 1)})
    assert lay_out(columns, 128).bins == (10, 128)
    assert codes(columns[0], [0, 4, 9, 12, -3, np.nan], 10) == [0, 4, 9, 9, 0, 10]
    assert columns[0].edges(10)[[0, -1]].tolist() == [-0.5, 9.5]
    with pytest.raises(ParameterError, match="two finite numbers"):
        declare(["a"], {"a": range(0, 10, 3)})


def test_a_model_reads_whole_numbers_alike_however_they_come():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 20, 500), rng.integers(0, 2, 500)
    for bounds in ((0, 19), range(20)):
        model = AdditiveClassifier(bounds={"x": bounds}, epsilon=5).fit({"x": x}, y)
        told = model.decision_function({"x": x})
        assert np.array_equal(told, model.decision_function({"x": x.astype(float)}))
        assert np.array_equal(told, model.decision_function(pd.DataFrame({"x": x.astype(object)})))


def test_labels_are_read_cell_by_cell():
    x = np.zeros((4, 1))
    model = NaiveBayes(bounds=(0, 1), classes=["a", "b"])
    for odd in (None, 3, "other"):
        model.fit(x, ["a", "b", "a", odd])
        assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("domain", "cells", "more"),
    [
        (("True", "False"), [True, False], 2),
        ((2**53, 5), [2**53 + 1, 5], 0.5),
        ((2**63, 5), [2**63, 5], -1),
        (("1", "0"), [1, 0], True),
        ((1.0, 0.5), [1, 0], "x"),
    ],
)
def test_a_cell_more_makes_no_list_another_one(domain, cells, more):
    column = Category("c", domain)
    assert codes(column, [*cells, more], 2)[:2] == codes(column, cells, 2)
    rows = as_cells([[cell, 0] for cell in (*cells, more)])[:, 0]
    assert column.codes(rows, 2)[:2].tolist() == codes(column, cells, 2)


@pytest.mark.parametrize(
    ("kind", "low"), [("u1", -1), ("u1", 300), ("i1", -100), ("u8", -3), ("i8", 5)]
)
def test_narrow_integers_are_looked_up_like_wide_ones(kind, low):
    column = Category("c", tuple(range(low, low + 201)))
    cells = np.array([0, 1, 100, 127], dtype=kind)
    wide = codes(column, [float(cell) for cell in cells.tolist()], 201)
    assert column.codes(cells, 201).tolist() == wide
    assert np.array(wide)[wide != np.full(4, 201)].tolist() == [
        cell - low for cell in cells.tolist() if low <= cell <= low + 200
    ]


def test_no_cell_makes_reading_fail():
    odd = np.empty(5, dtype=object)
    odd[:] = [(1, [2]), 10**5000, float("inf"), object(), Decimal("sNaN")]
    for column in (
        Category("c", (1, 2)), Category("c", ("1", "2")), Number("n", 0, 1), Number("n", 0, 9, True)
    ):  # fmt: skip
        found = column.codes(odd, 2)
        assert ((found >= 0) & (found <= 2)).all()
    assert Number("n", 0, 1).steps(odd, 4).tolist() == [0, 16, 16, 0, 0]


@pytest.mark.parametrize(
    "bounds", [(-1e308, 1e308), (0, 5e-324), (0, 1e-310), range(2**60, 2**60 + 5)]
)
def test_bounds_that_doubles_do_not_divide_are_refused(bounds):
    with pytest.raises(ParameterError, match=r"too far apart or too close|between −2⁵¹"):
        declare(["a"], {"a": bounds})


def test_all_bounds_that_are_taken_read_every_number():
    numbers = np.array([0, -1, np.inf, -np.inf, np.nan, 1e308, 5e-324, 1.5e300])
    for bounds in ((-4e307, 4e307), (0, 1e-270), (1e300, 2e300), range(2**51 - 4, 2**51)):
        (column,) = declare(["a"], {"a": bounds})
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            found, steps = column.codes(numbers, column.bins(128)), column.steps(numbers, 12)
        assert ((found >= 0) & (found <= column.bins(128))).all()
        assert (np.abs(steps) <= 1 << 12).all()
        assert column.codes(np.array([column.low, column.high]), 2).tolist() == [0, 1]


def test_whole_numbers_of_128_bits_are_read():
    polars = pytest.importorskip("polars")
    column = polars.Series([1, 2**70, 3], dtype=polars.Int128)
    assert as_cells(column).tolist() == [1, 2**70, 3]
