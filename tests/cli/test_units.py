"""The command line keeps the person whom a schema names, whatever her column is called."""

from __future__ import annotations

import json

import pytest

from sfumato.cli import run

ROWS = [(f"p{p}", 20 + 3 * p, f"1{p % 3}", ("flu", "hiv", "cold")[(p + v) % 3])
        for p in range(12) for v in range(5)]  # fmt: skip
SCHEMA = """unit: {name}
attributes:
  {name}: identifier
  age: {{role: quasi, type: integer, domain: {{low: 20, high: 60}},
        hierarchy: {{intervals: {{width: 10, low: 20, high: 60}}}}}}
  zip: {{role: quasi, hierarchy: {{mask: {{length: 2}}}}}}
  disease: {{role: sensitive, domain: [flu, hiv, cold]}}
"""


@pytest.fixture(params=["person", "id", "user"])
def place(request, tmp_path, monkeypatch):
    """Twelve patients with five rows each, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(SCHEMA.format(name=request.param))
    for name, first in (("t", 0), ("raw", 1)):
        head = [request.param, "age", "zip", "disease"][first:]
        lines = [head, *(row[first:] for row in ROWS)]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def said(capsys, *arguments):
    code = run([*arguments, "-s", "t.yaml"])
    printed = capsys.readouterr()
    return code, " ".join((printed.out + printed.err).split())


def test_classes_hold_people(place, capsys):
    made = said(capsys, "anonymize", "t.csv", "-k", "13", "-o", "never")
    assert made[0] == 2
    assert "the table has 12" in made[1]
    assert "not possible" in said(capsys, "compare", "t.csv", "-k", "5", "--ks", "13")[1]
    assert said(capsys, "anonymize", "t.csv", "-k", "5", "-o", "out")[0] == 0
    assert json.loads((place / "out/release.json").read_text())["people"]["column"]
    assert "people)" in said(capsys, "verify", "out/release.csv")[1]
    for command in (["verify", "raw.csv", "-k", "5"], ["attack", "raw.csv"]):
        code, words = said(capsys, *command)
        assert code != 0
        assert "tells people apart" in words


@pytest.mark.parametrize(
    "command",
    [
        ["ask", "t.csv", "SELECT COUNT(*) FROM t"],
        ["histogram", "t.csv", "disease"],
        ["topk", "t.csv", "disease", "-k", "2"],
        ["kmeans", "t.csv", "age", "-k", "2"],
    ],
)
def test_no_answer_hides_rows_where_a_person_is_named(place, command, capsys):
    bought = [*command, "-e", "1", "--budget", "9", "--ledger", "ledger.db"]
    code, words = said(capsys, *bought, "--unit", "row")
    assert code != 0
    assert "does not hide all rows of one" in words
    code, words = said(capsys, *bought)
    assert (code == 0) is (command[0] == "topk"), words  # in which a person counts once per value
    assert "one row added" not in words


def test_tables_of_postgres(place, fresh_postgres_url, capsys):
    psycopg = pytest.importorskip("psycopg")
    name = (place / "t.csv").read_text().partition(",")[0]
    with psycopg.connect(fresh_postgres_url) as connection:
        connection.execute(f'CREATE TABLE t ("{name}" text, age int, zip text, disease text)')
        for row in ROWS:
            connection.execute("INSERT INTO t VALUES (%s, %s, %s, %s)", row)
        connection.execute("CREATE TABLE raw AS SELECT age, zip, disease FROM t")
    table = f"{fresh_postgres_url}?table="
    assert said(capsys, "anonymize", f"{table}t", "-k", "13", "-o", "never")[0] == 2
    assert said(capsys, "anonymize", f"{table}t", "-k", "5", "-o", f"{table}made")[0] == 0
    code, words = said(capsys, "verify", f"{table}made", "-k", "5")
    assert code == 0, words
    assert "people)" in words
    assert said(capsys, "verify", f"{table}made", "-k", "7")[0] == 1
    code, words = said(capsys, "verify", f"{table}raw", "-k", "5")
    assert code == 1
    assert "tells people apart" in words
