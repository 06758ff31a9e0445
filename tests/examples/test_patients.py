"""The fictional patients: the same for a seed, correlated as in life, usable at once."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def many():
    return sf.examples.patients(20_000, seed=7)


def test_a_seed_decides_everything():
    one, two, other = (sf.examples.patients(500, seed=s) for s in (3, 3, 4))
    assert all((one.columns[c] == two.columns[c]).all() for c in one.columns)
    assert any((one.columns[c] != other.columns[c]).any() for c in one.columns)


def test_columns_and_ranges(many):
    columns = many.columns
    assert list(columns) == [
        "patient", "name", "age", "zip", "sex", "nationality", "job", "diagnosis", "salary",
    ]  # fmt: skip
    assert many.rows == 20_000 == len(set(columns["patient"]))
    assert columns["age"].min() >= 18
    assert columns["age"].max() <= 97
    assert (columns["salary"] % 1000 == 0).all()
    assert set(map(len, columns["zip"])) == {5}
    missing = (columns["job"] == "").mean()
    assert 0.005 < missing < 0.015


def test_values_hang_together(many):
    c = many.columns
    old, young = c["age"] >= 75, c["age"] < 40
    female = c["sex"] == "female"
    assert (c["job"][old] == "retired").mean() > 0.8
    assert (c["job"][young] == "retired").mean() < 0.02
    assert (c["diagnosis"][old] == "dementia").mean() > 5 * (
        c["diagnosis"][young] == "dementia"
    ).mean()
    assert not ((c["diagnosis"] == "prostate cancer") & female).any()
    assert (c["job"][female] == "nurse").mean() > (c["job"][~female] == "nurse").mean()
    pay = {j: np.median(c["salary"][c["job"] == j]) for j in ("physician", "nurse", "student")}
    assert pay["physician"] > pay["nurse"] > pay["student"]
    city = np.char.startswith(c["zip"].astype(str), "130")
    country = np.char.startswith(c["zip"].astype(str), "140")
    assert (c["nationality"][city] == "Italian").mean() + 0.1 < (
        c["nationality"][country] == "Italian"
    ).mean()


def test_patient_numbers_do_not_follow_the_rows(many):
    numbers = np.array([int(p[1:]) for p in many.columns["patient"]])
    assert abs(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]) < 0.05


def test_the_schema_covers_the_data(many):
    schema = many.schema
    assert schema.identifier_names == ("patient", "name")
    assert schema.quasi_names == ("age", "zip", "sex", "nationality", "job")
    assert schema.sensitive_names == ("diagnosis", "salary")
    for name in (*schema.quasi_names, *schema.sensitive_names):
        values = {str(v) for v in many.columns[name]}
        assert set(schema.hierarchy_for(name, values).leaves) >= values


def test_what_is_written_is_what_was_made(tmp_path):
    example = sf.examples.patients(300, seed=1)
    path = example.write(tmp_path / "demo")
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "diagnosis.csv", "job.csv", "nationality.csv", "patients.csv", "patients.yaml",
    ]  # fmt: skip
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, column in example.columns.items():
        assert [row[name] for row in rows] == [str(cell) for cell in column]
    schema = sf.Schema.read(path.with_suffix(".yaml"))
    assert schema.quasi_names == example.schema.quasi_names
    for name in schema.quasi_names:
        values = {row[name] for row in rows}
        bound = schema.hierarchy_for(name, values)
        assert bound.rows() == example.schema.hierarchy_for(name, values).rows()


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_wrong_numbers(n):
    with pytest.raises(ParameterError, match="number of patients"):
        sf.examples.patients(n)


def test_wrong_seed_and_folder(tmp_path):
    with pytest.raises(ParameterError, match="seed"):
        sf.examples.patients(5, seed=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="folder"):
        sf.examples.patients(5).write(tmp_path / "file")


def test_one_patient():
    assert sf.examples.patients(1).rows == 1
