"""`sf.perturb`: tables in, tables of the same kind out, marked for what was done."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError

EXAMPLE = sf.examples.patients(300, 5)
NOISE = sf.AddNoise("salary", scale=500)


def rows(table):
    names = ", ".join(f'"{name}"' for name in table.columns)
    found = table.run(f"SELECT {names} FROM {table.scan}")
    return [dict(zip(table.columns, row, strict=True)) for row in found]


@pytest.fixture
def folder(tmp_path):
    EXAMPLE.write(tmp_path)
    return tmp_path


def test_a_file_stays_a_file(folder):
    text = (folder / "patients.csv").read_text(encoding="utf-8")
    (folder / "semicolons.csv").write_text(text.replace(",", ";"), encoding="utf-8")
    table = sf.perturb(folder / "semicolons.csv", NOISE, schema=folder / "patients.yaml")
    assert (table.kind, table.delimiter, table.name) == ("csv", ";", "semicolons")
    assert set(table.types.values()) == {"VARCHAR"}
    assert table.schema.quasi_names == EXAMPLE.schema.quasi_names
    release = sf.anonymize(table, sf.KAnonymity(3), suppression=0.2)
    saved = release.save(folder / "out", report=False)
    assert saved.read_text(encoding="utf-8").startswith("age;zip;sex;")


def test_only_the_named_column_changes(folder):
    before = sf.read(folder / "patients.csv")
    after = sf.perturb(before, NOISE, seed=1)
    old, new = rows(before.materialize()), rows(after)
    assert len(old) == len(new) == 300
    assert [{**row, "salary": 0} for row in old] == [{**row, "salary": 0} for row in new]
    assert sum(a["salary"] != b["salary"] for a, b in zip(old, new, strict=True)) > 290
    assert rows(before.materialize()) == old


def test_frames_come_back_in_kind():
    pandas, polars, arrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    frame = pandas.DataFrame(EXAMPLE.columns)
    frames = {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "arrow": arrow.Table.from_pandas(frame),
    }
    for kind, data in frames.items():
        table = sf.perturb(data, NOISE, sf.Swap("diagnosis", share=0.5), schema=EXAMPLE.schema)
        assert table.kind == kind
        release = sf.anonymize(table, sf.KAnonymity(3), suppression=0.2)
        assert type(release.table) is type(data)
        assert table.types == sf.read(data).types


def test_parquet_keeps_its_types(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "day": pandas.date_range("2024-01-01", periods=40),
            "yes": [True, False] * 20,
            "x": [1.5, None] * 20,
            "n": np.arange(40, dtype=np.int16),
            "t": ["a", None] * 20,
        }
    )
    frame.to_parquet(tmp_path / "d.parquet")
    before = sf.read(tmp_path / "d.parquet")
    after = sf.perturb(before, sf.AddNoise("x", scale=1), sf.Swap("day", share=0.5), seed=3)
    assert after.kind == "parquet"
    assert after.types == before.types
    old, new = rows(before.materialize()), rows(after)
    for name in ("yes", "n", "t"):
        assert [row[name] for row in old] == [row[name] for row in new]
    assert [row["x"] is None for row in old] == [row["x"] is None for row in new]
    assert Counter(row["day"] for row in old) == Counter(row["day"] for row in new)


def test_the_release_says_so(tmp_path):
    table = sf.perturb(EXAMPLE.columns, NOISE, schema=EXAMPLE.schema)
    table = sf.perturb(table, sf.Swap("diagnosis", share=0.1), sf.AddSynthetic(share=0.05))
    words = (
        "noise added to salary (normal, standard deviation 500)",
        "10 % of the values of diagnosis swapped between records",
        "5 % synthetic records added",
    )
    assert table.untruthful == words
    release = sf.anonymize(table, sf.KAnonymity(3), suppression=0.2)
    assert release.untruthful == words
    assert not release.is_truthful
    assert release.records == 315
    release.save(tmp_path / "out", report=False)
    manifest = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert manifest["untruthful_operations"] == list(words)
    assert manifest["truthful"] is False
    plain = sf.anonymize(EXAMPLE.columns, sf.KAnonymity(3), schema=EXAMPLE.schema, suppression=0.2)
    assert plain.is_truthful


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (sf.AddNoise("x", relative=0.1), "noise added to x (normal, 0.1 × the standard deviation"),
        (sf.AddNoise(["x", "y"], relative=2, correlated=True), "(correlated normal, 2 × "),
        (sf.AddNoise("x", scale=3, distribution="laplace"), "(laplace, standard deviation 3)"),
        (
            sf.Swap("x", share=1, window=0.05),
            "100 % of the values of x swapped between records, at",
        ),
    ],
)
def test_operations_say_what_they_did(operation, words):
    assert words in str(operation)


def test_operations_are_done_in_order():
    data = {"x": list(range(100))}
    first = sf.perturb(data, sf.Microaggregate("x", size=10), sf.AddNoise("x", scale=3), seed=1)
    second = sf.perturb(data, sf.AddNoise("x", scale=3), sf.Microaggregate("x", size=10), seed=1)
    assert len({row["x"] for row in rows(first)}) > 20
    assert len({row["x"] for row in rows(second)}) <= 10


def test_a_seed_repeats_and_no_seed_does_not():
    operations = (NOISE, sf.Swap("diagnosis", share=0.3), sf.AddSynthetic(share=0.1))
    one, two = (rows(sf.perturb(EXAMPLE.columns, *operations, seed=9)) for _ in range(2))
    assert one == two
    free = [rows(sf.perturb(EXAMPLE.columns, *operations)) for _ in range(2)]
    assert free[0] != free[1]
    assert free[0] != one


@dataclass(frozen=True)
class Blank:
    """An operation of one's own: every cell of a column becomes the same."""

    column: str

    def __str__(self):
        return f"{self.column} blanked"

    def apply(self, records, words):
        old = records.column(self.column, self)
        new = replace(old, codes=np.zeros_like(old.codes), values=("none",))
        return records.with_columns({self.column: new})


def test_an_operation_of_ones_own():
    table = sf.perturb(EXAMPLE.columns, Blank("diagnosis"))
    assert {row["diagnosis"] for row in rows(table)} == {"none"}
    assert table.untruthful == ("diagnosis blanked",)
    with pytest.raises(ParameterError, match="Blank names the column 'disease'"):
        sf.perturb(EXAMPLE.columns, Blank("disease"))


def test_what_is_no_operation():
    for wrong in ("salary", sf.AddNoise):
        with pytest.raises(ParameterError, match="perturb takes operations such as"):
            sf.perturb(EXAMPLE.columns, wrong)
    with pytest.raises(ParameterError, match="at least one operation"):
        sf.perturb(EXAMPLE.columns)


def test_no_records(tmp_path):
    (tmp_path / "empty.csv").write_text("age,wage\n", encoding="utf-8")
    with pytest.raises(DataError, match="has a header but no records"):
        sf.perturb(tmp_path / "empty.csv", sf.AddNoise("wage", scale=1))


def test_a_perturbed_table_can_keep_its_order(folder):
    table = sf.perturb(folder / "patients.csv", NOISE, schema=folder / "patients.yaml")
    release = sf.anonymize(table, sf.KAnonymity(3), suppression=0.5, order="keep")
    assert release.verify().holds
    assert len(release.rows) == release.records - release.suppressed
