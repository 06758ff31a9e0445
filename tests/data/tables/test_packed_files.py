"""Compressed files, sheets, pipes and several files are the table that a plain file would be."""

import datetime as dt
import gzip
import io
import sys

import duckdb
import openpyxl
import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.errors import DataError, ParameterError

TEXT = 'zip,age\n01234,30\n01235,"31"\n99999,32\n'


def cells(table):
    return sorted(table.run(f"SELECT zip, age FROM {table.scan}"))


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT, "utf-8")
    return path


def test_gzip(plain, tmp_path):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    found = sf.read(packed)
    assert found.name == "people"
    assert cells(found) == cells(sf.read(plain))
    assert found.about(10) >= 3


def test_gzip_in_another_encoding(tmp_path):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress("zip,age\nZürich,30\n".encode("latin-1")))
    assert cells(sf.read(packed, encoding="latin-1")) == [("Zürich", "30")]
    with pytest.raises(DataError, match="UTF-8"):
        sf.read(packed)


def test_a_broken_archive_is_an_error_in_words(tmp_path):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(TEXT.encode() * 500)[:60])
    with pytest.raises(DataError, match="gzip") as error:
        cells(sf.read(packed))
    assert "01234" not in str(error.value)


def test_zstd(plain, tmp_path):
    packed = tmp_path / "people.csv.zst"
    duckdb.sql(
        f"COPY (SELECT * FROM read_csv('{plain}', all_varchar=true)) TO '{packed}' "
        "(COMPRESSION zstd, HEADER)"
    )
    assert cells(sf.read(packed)) == cells(sf.read(plain))


def test_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    for row in (["zip", "age"], ["01234", 30.0], ["01235", None], [dt.date(2020, 1, 2), True]):
        book.active.append(row)
    book.save(tmp_path / "people.xlsx")
    found = cells(sf.read(tmp_path / "people.xlsx"))
    assert found == [("01234", "30"), ("01235", None), ("2020-01-02", "true")]
    (tmp_path / "broken.xlsx").write_bytes(b"PK secret")
    with pytest.raises(DataError, match="workbook") as error:
        sf.read(tmp_path / "broken.xlsx")
    assert "secret" not in str(error.value)


def test_several_files_are_one_table(tmp_path):
    (tmp_path / "a.csv").write_text("zip,age\n1,30\n", "utf-8")
    (tmp_path / "b.csv").write_text("age;zip\n31;2\n", "utf-8")
    expected = [("1", "30"), ("2", "31")]
    assert cells(sf.read(str(tmp_path / "*.csv"))) == expected
    assert cells(sf.read([tmp_path / "a.csv", tmp_path / "b.csv"])) == expected
    (tmp_path / "c.csv").write_text("zip,job\n1,nurse\n", "utf-8")
    with pytest.raises(DataError, match="columns"):
        sf.read(str(tmp_path / "*.csv"))
    with pytest.raises(DataError, match="No file"):
        sf.read(str(tmp_path / "*.parquet"))


def test_several_files_in_another_encoding_do_not_overwrite_each_other(tmp_path):
    for name, town in (("a", "Zürich"), ("b", "Köln")):
        (tmp_path / f"{name}.csv").write_bytes(f"zip,age\n{town},1\n".encode("latin-1"))
    found = sf.read(str(tmp_path / "*.csv"), encoding="latin-1")
    assert cells(found) == [("Köln", "1"), ("Zürich", "1")]


def test_a_pipe_and_a_pattern_are_released_like_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sf.examples.patients(200, 1).write(tmp_path)
    text = (tmp_path / "patients.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run(["anonymize", "-", "-s", "patients.yaml", "-k", "3", "-o", "out"]) == 0
    assert run(["anonymize", "patien*.csv", "-s", "patients.yaml", "-k", "3", "-o", "two"]) == 0
    assert len((tmp_path / "out" / "release.csv").read_text("utf-8").splitlines()) == 201


def test_questions_need_a_file_whose_budget_is_kept(plain):
    for source in ("-", str(plain.parent / "*.csv")):
        with pytest.raises(ParameterError, match="budget"):
            sf.Session(source, unit="row", budget=sf.PureDP(1))


def test_hierarchies_of_arx_beside_the_data_are_found(tmp_path):
    (tmp_path / "people.csv").write_text("age,job\n" + "30,a\n31,b\n" * 20, "utf-8")
    (tmp_path / "hierarchies").mkdir()
    file = tmp_path / "hierarchies" / "people_hierarchy_Age.csv"
    file.write_text("30;young;*\n31;young;*\n", "utf-8")
    found = sf.inspect(tmp_path / "people.csv")
    age = next(column for column in found.columns if column.name == "age")
    assert (age.role, age.rule.source) == ("quasi", str(file))
    found.write(tmp_path / "people.yaml")
    assert "hierarchies/people_hierarchy_Age.csv" in (tmp_path / "people.yaml").read_text("utf-8")
    file.write_text("30;young;*\n", "utf-8")  # does not cover the data
    again = sf.inspect(tmp_path / "people.csv")
    assert not hasattr(next(c for c in again.columns if c.name == "age").rule, "source")
