"""`sfumato ask` and `sfumato histogram`: answers, costs, refusals and files."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import run

PEOPLE = 600


@pytest.fixture(scope="module")
def data():
    return sf.examples.patients(PEOPLE, seed=2), sf.examples.visits(PEOPLE, seed=2)


@pytest.fixture
def clinic(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("LOGNAME", "ada")
    for one in data:
        one.write(tmp_path)
    return tmp_path


@pytest.fixture
def say(capsys):
    """Run a command line; give what it printed to both streams, each on one long line."""

    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(one) for one in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        assert "Traceback" not in printed.err
        return printed.out, " ".join(printed.err.split())

    return said


PATIENTS = ("ask", "patients.csv", "-s", "patients.yaml")
COUNT = "SELECT COUNT(*) FROM patients"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_count_shows_its_interval_cost_and_what_is_left(clinic, say):
    out, err = say(*PATIENTS, COUNT, "-e", "0.25")
    assert "95 % interval" in out
    assert "cost: ε = 0.25, pure differential privacy for one row added or removed\n" in out
    assert "left: ε = 0.75" in out
    low, high = map(int, re.search(r"(\d+) … (\d+)", out).groups())
    assert (high - low) / 2 == 11 or (high - low) / 2 == 12  # ln(2/(0.05·(1 + e^−¼)))/¼ − 1
    assert err.startswith("note: the budget of patients is kept in /")
    assert err.count("note:") == 1
    assert (clinic / "patients.csv.ledger.sqlite").is_file()


def test_asking_again_is_free_and_says_so_and_another_analyst_pays(clinic, say):
    first, _ = say(*PATIENTS, COUNT, "-e", "0.25", "-f", "csv")
    out, err = say("ask", "patients.csv", "select count(*) from PATIENTS", "-e", "1/4", "-f", "csv")
    assert out == first
    assert "cost: nothing, the same answer was given before" in err
    table, _ = say("ask", "patients.csv", COUNT, "-e", "0.25")
    assert "the same answer as before" in table
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.25", "-f", "csv", "--analyst", "bob")
    assert "left: ε = 0.5" in err
    whose = say("ledger", "export", "entries.csv", "--data", "patients.csv")
    assert whose
    assert {"ada", "bob"} <= {row["analyst"] for row in rows_of(Path("entries.csv").read_text())}


def test_an_exhausted_budget_is_refused_with_exit_code_1(clinic, say):
    say(*PATIENTS, COUNT, "-e", "0.9", "--budget", "1", "--budget-delta", "0")
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.2", code=3)
    assert "requested ε = 0.2, remaining ε = 0.1, difference ε = 0.1" in err
    out, _ = say("ask", "patients.csv", COUNT, "-e", "0.2", "--estimate")
    assert "does not fit" in out
    out, _ = say("ask", "patients.csv", COUNT, "-e", "0.05", "--estimate")
    assert "It fits" in out
    out, _ = say("ask", "patients.csv", COUNT, "-e", "0.1")
    assert "left: ε = 0" in out


def test_groups_with_keys_are_answered_all_and_csv_has_intervals(clinic, say):
    out, _ = say(
        *PATIENTS, "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", "-e", "50",
        "--budget", "1000", "--keys", "sex=female,male,other", "-f", "csv",
    )  # fmt: skip
    found = rows_of(out)
    ages = sf.examples.patients(PEOPLE, seed=2).columns
    assert [row["sex"] for row in found] == ["female", "male", "other"]
    assert [int(row["n"]) for row in found] == [
        int((ages["sex"] == sex).sum()) for sex in ("female", "male", "other")
    ]
    assert list(found[0]) == ["sex", "n", "n_low", "n_high"]


def test_keys_are_read_as_what_the_column_holds(clinic, say):
    asked = "SELECT age, COUNT(*) AS n FROM patients GROUP BY age"
    out, _ = say(
        *PATIENTS, asked, "-e", "50", "--budget", "1000", "--keys", "age=30, 31", "-f", "csv"
    )
    assert [row["age"] for row in rows_of(out)] == ["30", "31"]
    asked = "SELECT FLOOR(age / 50) AS half, COUNT(*) AS n FROM patients GROUP BY half"
    out, _ = say("ask", "patients.csv", asked, "-e", "50", "--keys", "half=0,1", "-f", "csv")
    assert sum(int(row["n"]) for row in rows_of(out)) == PEOPLE


def test_json_tells_everything(clinic, say):
    out, _ = say(
        *PATIENTS, "SELECT AVG(age) AS age, MEDIAN(salary) AS pay FROM patients", "-e", "0.5",
        "--bounds", "age=0,100", "--bounds", "salary=0,200000", "-f", "json",
    )  # fmt: skip
    found = json.loads(out)
    assert found["columns"] == ["age", "pay"]
    assert list(found["intervals"]) == ["age"]  # a quantile's is one of ranks, in the notes
    low, high = found["intervals"]["age"][0]
    assert low <= found["rows"][0][0] <= high
    promised = found["guarantee"]
    assert (promised["kind"], promised["epsilon"], promised["rho"]) == ("PureDP", 0.5, None)
    assert "ε = 0.5" in promised["statement"]
    assert promised["delta"] == 0
    assert found["cost"]["epsilon"] == 0.5
    assert found["cost"]["delta"] == 0
    for part, epsilon in (("spent", 0.5), ("remaining", 0.5)):
        assert found[part]["kind"] == "ApproxDP"
        assert found[part]["epsilon"] == pytest.approx(epsilon)
    assert found["question"].startswith("SELECT AVG(age) AS age")
    assert (found["dataset"], found["analyst"], found["purpose"]) == ("patients", "ada", "research")
    assert found["stored"] is False
    assert any("ranks" in note for note in found["notes"])


def test_accuracy_finds_the_price(clinic, say):
    out, _ = say(*PATIENTS, COUNT, "--accuracy", "20")
    low, high = map(int, re.search(r"(\d+) … (\d+)", out).groups())
    assert (high - low) / 2 == 20
    assert re.search(r"cost: ε = 0\.14\d+, pure", out)  # about ln(1/0.05)/21


def test_a_person_with_many_rows_and_a_public_table(clinic, say):
    Path("floors.csv").write_text("department,floor\nradiology,0\ncardiology,1\n")
    asked = (
        "SELECT f.floor, COUNT(DISTINCT v.patient) AS people FROM visits v "
        "JOIN floors f ON v.department = f.department GROUP BY f.floor"
    )
    out, _ = say(
        "ask", "visits.csv", asked, "-s", "visits.yaml", "--groups", "2", "--rows-per-group", "1",
        "--public", "floors=floors.csv", "--keys", "floor=0,1", "-e", "60", "--budget", "1000",
        "-f", "csv",
    )  # fmt: skip
    c = sf.examples.visits(PEOPLE, seed=2).columns
    wanted = [
        len(set(c["patient"][c["department"] == name])) for name in ("radiology", "cardiology")
    ]
    assert [int(row["people"]) for row in rows_of(out)] == wanted
    again, _ = say("ask", "visits.csv", "SELECT COUNT(*) FROM visits", "-e", "1")
    assert "for one patient (at most 2 groups, at most 1 rows per group)" in " ".join(again.split())


def test_pictures_and_outputs_are_files_that_are_not_replaced_unasked(clinic, say):
    asked = ("SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", "-e", "0.1")
    more = ("--keys", "sex=female,male", "--picture", "n.svg", "-o", "n.csv", "-f", "csv")
    out, err = say(*PATIENTS, *asked, *more)
    assert not out
    assert "n.csv was written" in err
    assert ET.parse("n.svg").getroot().tag.endswith("svg")
    written = Path("n.csv").read_text()
    assert len(rows_of(written)) == 2
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.5", "-o", "n.csv", code=2)
    assert "exists already" in err
    assert Path("n.csv").read_text() == written
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.5", "--picture", "no/n.svg", code=2)
    assert "folder that exists" in err
    out, _ = say("ask", "patients.csv", COUNT, "-e", "0.5", "-o", "n.csv", "--force")
    out, _ = say("ask", "patients.csv", COUNT, "-e", "0.3")
    assert "left: ε = 0.1" in out  # 0.1 + 0.5 + 0.3 of 1.0: the refused ones cost nothing


BAD = [
    (("SELECT name FROM patients", "-e", "0.1"), 2, "this can be answered"),
    (("SELECT COUNT(*) FROM nowhere", "-e", "0.1"), 2, "no table nowhere"),
    (("SELEC", "-e", "0.1"), 2, "one SELECT statement"),
    ((COUNT, "-e", "minus"), 2, "not a number"),
    ((COUNT, "-e", "-1"), 2, "more than 0"),
    ((COUNT, "-e", "0.1", "--accuracy", "5"), 2, "accuracy"),
    ((COUNT, "-e", "0.1", "--bounds", "age"), 2, "COLUMN=LOW,HIGH"),
    ((COUNT, "-e", "0.1", "--bounds", "age=0"), 2, "COLUMN=LOW,HIGH"),
    ((COUNT, "-e", "0.1", "--bounds", "age=a,b"), 2, "wants a number"),
    ((COUNT, "-e", "0.1", "--bounds", "age=0,9"), 2, "age"),
    ((COUNT, "-e", "0.1", "--keys", "sex"), 2, "COLUMN=A,B,C"),
    ((COUNT, "-e", "0.1", "--keys", "sex=a", "--keys", "sex=b"), 2, "twice"),
    ((COUNT, "-e", "0.1", "--public", "x=nowhere.csv"), 2, "not a file"),
    ((COUNT, "-e", "0.1", "--rows", "3"), 2, "--unit COLUMN"),
    ((COUNT, "-e", "0.1", "--unit", "nowhere"), 2, "nowhere"),
    ((COUNT, "-e", "0.1", "--budget", "1", "--budget-rho", "1"), 2, "--budget-rho"),
    ((COUNT, "-e", "0.1", "--budget-delta", "x"), 2, "wants a number"),
    ((COUNT, "-e", "0.1", "--purpose", "marketing"), 3, "research"),
]


@pytest.mark.parametrize(("given", "code", "words"), BAD, ids=lambda one: str(one)[:40])
def test_what_is_at_fault_is_said_once_and_costs_nothing(clinic, say, given, code, words):
    _, err = say(*PATIENTS, *given, code=code)
    assert words in err
    out, _ = say(*PATIENTS, COUNT, "-e", "1.0")
    assert "left: ε = 0" in out


def test_without_schema_the_unit_must_be_said(clinic, say):
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.1", code=2)
    assert "--unit row" in err
    say("ask", "patients.csv", COUNT, "-e", "0.1", "--unit", "row")
    say("ask", "patients.csv", COUNT, "-e", "0.2")
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.1", "--budget", "50", code=3)
    assert "registered with other limits" in err
    _, err = say("ask", "nowhere.csv", COUNT, "-e", "0.1", "--unit", "row", code=2)
    assert "nowhere.csv is not a file" in err


def test_a_budget_in_rho(clinic, say):
    out, _ = say(*PATIENTS, COUNT, "--rho", "0.1", "--budget-rho", "0.3")
    assert "left: ρ = 0.2" in out


def test_no_value_of_the_data_is_in_a_message(clinic, say):
    names = set(sf.examples.patients(PEOPLE, seed=2).columns["name"].tolist())
    for given, code, _ in BAD:
        _, err = say(*PATIENTS, *given, code=code)
        assert not any(name in err for name in names)


def test_a_table_in_postgres(fresh_postgres_url, tmp_path, monkeypatch, say):
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.chdir(tmp_path)
    with psycopg.connect(fresh_postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE stays (person text, nights bigint)")
        connection.execute(
            "INSERT INTO stays SELECT 'p' || i % 40, i % 7 FROM generate_series(1, 120) i"
        )
    sign = "&" if "?" in fresh_postgres_url else "?"
    source = f"{fresh_postgres_url}{sign}table=stays"
    asked = "SELECT COUNT(DISTINCT person) AS people, SUM(nights) AS nights FROM stays"
    given = ("--unit", "person", "--rows", "3", "--bounds", "nights=0,6", "-L", "here.sqlite")
    out, err = say("ask", source, asked, *given, "-e", "600", "--budget", "1000", "-f", "csv")
    assert rows_of(out)[0]["people"] == "40"
    assert rows_of(out)[0]["nights"] == str(sum(i % 7 for i in range(1, 121)))
    assert "postgresql:" not in err
    out, _ = say(
        "histogram", source, "nights", "-b", "0,3,6", "-L", "here.sqlite", "-e", "300", "-f", "csv"
    )
    assert [int(row["count"]) for row in rows_of(out)] == [52, 68]
    assert not list(tmp_path.glob("*.ledger.sqlite"))


# -- histograms ------------------------------------------------------------------------------


def test_a_histogram_is_that_of_numpy(clinic, say):
    out, err = say(
        "histogram", "patients.csv", "age", "-b", "0,18,40,65,100", "--unit", "row", "-e", "50",
        "--budget", "1000", "-f", "csv", "--picture", "age.svg", "--public-types", "age",
    )  # fmt: skip
    ages = sf.examples.patients(PEOPLE, seed=2).columns["age"]
    found = rows_of(out)
    assert [row["age"] for row in found] == ["0–17", "18–39", "40–64", "65–100"]
    assert [int(row["count"]) for row in found] == np.histogram(ages, [0, 18, 40, 65, 100])[
        0
    ].tolist()
    assert "are in no bin" in err
    assert "count by age" in Path("age.svg").read_text()


def test_two_columns_sums_and_a_condition(clinic, say):
    out, _ = say(
        "histogram", "visits.csv", "department", "cost", "-s", "visits.yaml", "--rows", "60",
        "--bins", "cost=0,100,5000", "--sums", "minutes", "--where", "cost >= 50", "-e", "1e6",
        "--budget", "1e6", "-f", "csv",
    )  # fmt: skip
    c = sf.examples.visits(PEOPLE, seed=2).columns
    found = rows_of(out)
    assert len(found) == 16
    for row in found:
        rows = (c["department"] == row["department"]) & (c["cost"] >= 50)
        rows &= c["cost"] < 100 if row["cost"] == "0–99" else c["cost"] >= 100
        assert int(row["count"]) == rows.sum()
        assert int(row["minutes"]) == c["minutes"][rows].sum()


def test_a_map_from_the_command_line(clinic, say):
    out, _ = say(
        "histogram", "visits.csv", "-s", "visits.yaml", "--groups", "1", "--rows-per-group", "1",
        "--map", "latitude,longitude", "--box", "46.3,10.6,46.9,12.1", "--grid", "3x5", "-e", "60",
        "--budget", "100", "-f", "csv", "--picture", "map.svg",
    )  # fmt: skip
    found = rows_of(out)
    assert len(found) == 15
    c = sf.examples.visits(PEOPLE, seed=2).columns
    _, first = np.unique(c["patient"], return_index=True)  # all visits are from home
    wanted, *_ = np.histogram2d(
        c["latitude"][first], c["longitude"][first],
        bins=[np.linspace(46.3, 46.9, 4), np.linspace(10.6, 12.1, 6)],
    )  # fmt: skip
    assert [int(row["count"]) for row in found] == wanted.ravel().astype(int).tolist()
    assert "° N" in Path("map.svg").read_text()


def test_the_estimate_of_a_histogram_spends_nothing(clinic, say):
    asked = ("histogram", "patients.csv", "sex", "-b", "female,male", "-s", "patients.yaml")
    out, _ = say(*asked, "-e", "0.1", "--estimate")
    assert "± 30" in out
    out, _ = say(*asked, "-e", "1")
    assert "left: ε = 0" in out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "Name a column"),
        (("age",), "no declared bounds"),
        (("age", "-b", "x,y"), "wants a number"),
        (("age", "-b", "zip=3"), "--bins wants"),
        (("age", "salary", "-b", "1,2"), "--bins wants"),
        (("age", "--box", "1,2,3,4"), "--box belongs to a map"),
        (("age", "--map", "age,salary"), "own bins"),
        (("--map", "age"), "two columns"),
        (("--map", "age,salary"), "needs --box"),
        (("--map", "age,salary", "--box", "1,2,3"), "needs --box"),
        (("--map", "age,salary", "--box", "1,2,3,x"), "wants a number"),
        (("--map", "age,salary", "--box", "1,2,3,4", "--grid", "9"), "ROWSxCOLUMNS"),
        (("--map", "sex,salary", "--box", "1,2,3,4"), "not a column of numbers"),
        (("age", "-b", "0,9", "--no-counts"), "counts, sums or both"),
        (("age", "-b", "0,9", "--where", "1"), "condition"),
    ],
)
def test_bad_histograms_are_explained(clinic, say, given, words):
    _, err = say("histogram", "patients.csv", *given, "-s", "patients.yaml", "-e", "0.1", code=2)
    assert words in err


def test_a_spinner_appears_only_on_terminals_and_after_a_while(monkeypatch):
    from sfumato.cli.display import spinner

    shown = []

    class Console:
        is_terminal = True

        def status(self, words):
            shown.append(words)
            return self

        def start(self):
            shown.append("start")

        def stop(self):
            shown.append("stop")

    monkeypatch.setattr(spinner, "err", Console())
    with spinner.Waiting("quick"):
        pass
    assert shown == []
    monkeypatch.setattr(spinner, "QUIET", 0.01)
    with spinner.Waiting("slow") as one:
        one._timer.join()
    assert shown == ["slow", "start", "stop"]
    Console.is_terminal = False
    with spinner.Waiting("nobody watches") as one:
        assert one._timer is None
