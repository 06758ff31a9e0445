"""The tutorial's release on every engine, by one changed line; the examples of the how-to page."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from table_places import in_postgres, in_spark

import sfumato as sf
from sfumato import cli, examples
from sfumato.data.tables.memory_rows import brought

DOCS = Path(__file__).resolve().parents[3] / "docs"
TUTORIAL = (DOCS / "tutorial/first-release.md").read_text("utf-8")
PAGE = (DOCS / "how-to/where-rows-live.md").read_text("utf-8")
LINE = 'people = sf.read("clinic/patients.csv", schema="clinic/patients.yaml")'


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples.patients(2_000, 1).write(tmp_path / "clinic")
    rows = duckdb.sql("SELECT * FROM read_csv('clinic/patients.csv', all_varchar = true)")
    return dict.fromkeys(rows.columns, "VARCHAR"), [*zip(*rows.fetchall(), strict=True)]


def tutorial(line, names):
    """Run the tutorial's Python with its first line changed; give the releases."""
    code = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)[0]
    assert code.count(LINE) == 1
    exec(compile(code.replace(LINE, line), "first-release.md", "exec", dont_inherit=True), names)
    return names["optimal"], names["local"]


def test_the_tutorial_on_postgres(clinic, postgres_url):
    there = {
        "csv": LINE,
        "postgres": f'people = sf.read("{in_postgres(postgres_url, *clinic)}", '
        'schema="clinic/patients.yaml")',
    }
    found = {name: tutorial(line, {}) for name, line in there.items()}
    for one, other in zip(found["csv"], found["postgres"], strict=True):
        assert one.levels == other.levels
        assert one.loss == other.loss
        assert len(one.artefact) == len(other.artefact)


def test_the_tutorial_on_spark(clinic, spark):
    line = 'people = sf.read(frame, schema="clinic/patients.yaml")'
    optimal, local = tutorial(line, {"frame": in_spark(spark, *clinic)})
    wanted, locally = tutorial(LINE, {})
    assert optimal.loss == wanted.loss
    assert local.loss == locally.loss


def test_rows_that_come_here_are_announced(clinic, postgres_url, capsys):
    """Work on rows brings them into this process, and whoever asked for it is told."""
    people = sf.read(in_postgres(postgres_url, *clinic), schema="clinic/patients.yaml")
    with pytest.warns(UserWarning, match="brought from the database into this process") as told:
        assert brought(people).rows == people.rows
    here = sf.read("clinic/patients.csv", schema="clinic/patients.yaml")
    assert brought(here) is here
    cli._show_warning(told[0].message, told[0].category)
    cli._show_warning(RuntimeWarning("of a library"), RuntimeWarning)
    shown = " ".join(capsys.readouterr().err.split())
    assert shown.startswith("note: ")
    assert shown.endswith("which must be trusted with them.")


def section(name):
    text = re.search(rf"^## {name}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"```python no-run\n(.*?)```", text, re.DOTALL)[0]


def test_postgres_on_the_page(clinic, postgres_url, tmp_path):
    address = in_postgres(postgres_url, *clinic)
    table = address.partition("?table=")[2]
    code = section("Postgres").replace("postgresql://ann@host:5432/clinic", postgres_url)
    code = code.replace("table=patients", f"table={table}").replace(
        '"patients.', '"clinic/patients.'
    )
    names = {"sf": sf}
    exec(compile(code, "where-rows-live.md", "exec", dont_inherit=True), names)
    released = re.search(r"table=(\w+_released)", code)[1]
    there = f"{postgres_url}?table={released}"
    assert sf.verify(there, "clinic/patients.yaml").holds
    assert sf.read(there).rows == len(names["release"].artefact)


def test_spark_on_the_page(clinic, spark):
    in_spark(spark, *clinic).createOrReplaceTempView("patients")
    names = {"sf": sf, "spark": spark}
    code = section("Spark").replace('"patients.', '"clinic/patients.')
    try:
        exec(compile(code, "where-rows-live.md", "exec", dont_inherit=True), names)
        assert sf.verify("out", "clinic/patients.yaml").holds
        assert names["release"].data.count() == len(names["release"].artefact)
    finally:
        spark.sql("DROP TABLE IF EXISTS patients_released")
        spark.catalog.dropTempView("patients")


def test_tables_of_spark_are_named_on_the_command_line(spark, tmp_path, capsys):
    rows = [(20 + i % 4, "ab"[i % 2]) for i in range(40)]
    spark.createDataFrame(rows, "age INT, ward STRING").createOrReplaceTempView("spark_people")
    schema = tmp_path / "people.yaml"
    schema.write_text("attributes:\n  age: quasi\n  ward: sensitive\n", encoding="utf-8")
    made = str(tmp_path / "out")
    asked = ["anonymize", "spark:spark_people", "-s", str(schema), "-k", "5", "-o", made]
    assert cli.run([*asked, "--no-report"]) == 0, capsys.readouterr().err
    assert cli.run(["verify", made, "-k", "5"]) == 0
