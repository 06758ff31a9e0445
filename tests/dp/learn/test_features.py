"""Columns are read cell by cell: no cell, and no type of a column, changes how another is read."""

from __future__ import annotations

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
