"""`sfumato local`: from a question to a plot, and mistakes that are told in a sentence."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from sfumato.cli import run
from sfumato.local.collect.collector import Collector
from sfumato.local.collect.survey_files import read_survey

NEW = [
    "local", "new-survey", "cups", "-q", "How many cups?", "-a", "none", "-a", "1", "-a", "no 2",
    "-e", "2",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(NEW) == 0
    people = ["none"] * 1_000 + ["1"] * 600 + ["no 2"] * 400
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "answer"], *enumerate(people)])
    return tmp_path


def perturb(*more, output="reports.bin"):
    return run(["local", "perturb", "people.csv", "-s", "cups/survey.yaml", "-o", output, *more])


def collect(*files):
    return run(["local", "collect", *files, "-s", "cups/survey.yaml", "--store", "s.db"])


def estimate(*more):
    return run(["local", "estimate", "-s", "cups/survey.yaml", "--store", "s.db", *more])


@pytest.mark.parametrize("protocol", ["GRR", "SUE", "OUE", "OLH", "Hadamard", "SubsetSelection"])
def test_from_a_question_to_a_plot(folder, capsys, protocol):
    assert run([*NEW, "--force", "--protocol", protocol]) == 0
    assert perturb("-c", "answer") == 0
    assert perturb("-c", "answer", "--json", output="reports.json") == 0
    assert collect("reports.bin", "reports.json") == 0
    assert collect("reports.bin") == 0
    output = capsys.readouterr().out
    assert "s.db holds 4,000 reports" in output
    assert "2,000 sent twice" in output
    assert estimate("--plot", "plot.html", "--csv", "found.csv", "--level", "0.9") == 0
    output = capsys.readouterr().out
    assert "4,000 reports, ε = 2 each" in output
    assert "90 % interval" in output
    agreed = read_survey("cups/survey.yaml")
    assert agreed.protocol_name == protocol
    with Collector(agreed, "s.db") as collector:
        found = collector.estimate()
    assert np.abs((found.frequencies - [0.5, 0.3, 0.2]) / found.standard_error).max() < 5
    with (folder / "found.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == ["none", "1", "no 2"]
    assert [float(row["share"]) for row in rows] == found.frequencies.tolist()
    assert [float(row["low"]) for row in rows] == found.interval(0.9)[:, 0].tolist()
    page = (folder / "plot.html").read_text(encoding="utf-8")
    assert page.count('class="dot"') == 3
    assert "2,000 sent twice" in page
    assert "<script" not in page


def test_the_reports_file_holds_no_answer_and_no_person(folder):
    assert perturb("-c", "answer", "--json", output="reports.json") == 0
    (line,) = (folder / "reports.json").read_text().splitlines()
    message = json.loads(line)
    assert sorted(message) == ["nonce", "reports", "sfumato", "survey", "terms", "version"]
    assert {tuple(report) for report in message["reports"]} == {("value",)}


def test_repairs_are_labelled(folder, capsys):
    assert perturb("-c", "answer") == collect("reports.bin") == 0
    assert estimate("--consistency", "norm-sub", "--plot", "plot.html") == 0
    assert "biased: rare values" in capsys.readouterr().out
    assert "biased: rare values" in (folder / "plot.html").read_text(encoding="utf-8")


def test_answers_may_come_from_a_file_and_many_are_cut_in_the_output(folder, capsys):
    (folder / "towns.txt").write_text("\n".join(f" town {i} " for i in range(90)), encoding="utf-8")
    command = ["local", "new-survey", "town", "-q", "Where?", "--answers", "towns.txt", "-e", "1"]
    assert run(command) == 0
    agreed = read_survey("town/survey.yaml")
    assert agreed.answers[89] == "town 89"
    (folder / "people.csv").write_text("answer\n" + "town 5\n" * 300, encoding="utf-8")
    reports = ["-s", "town/survey.yaml", "-o", "r.bin"]
    assert run(["local", "perturb", "people.csv", *reports]) == 0
    assert run(["local", "collect", "r.bin", "-s", "town/survey.yaml", "--store", "t.db"]) == 0
    shown = ["-s", "town/survey.yaml", "--store", "t.db", "--plot", "p.html"]
    assert run(["local", "estimate", *shown]) == 0
    assert "and 40 answers with smaller shares" in capsys.readouterr().out
    assert (folder / "p.html").read_text(encoding="utf-8").count('class="dot"') == 60


def test_the_page_can_be_written_anew(folder):
    before = (folder / "cups/survey.html").read_text(encoding="utf-8")
    file = folder / "cups/survey.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "asked_by: The canteen\n", encoding="utf-8")
    assert run(["local", "page", "-s", "cups/survey.yaml", "-o", "cups/survey.html"]) == 0
    after = (folder / "cups/survey.html").read_text(encoding="utf-8")
    assert "The canteen asks" in after
    assert "The canteen asks" not in before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (NEW, "exists already"),
        (["local", "new-survey", "x", "-q", "?", "-a", "y", "-e", "1"], "at least two answers"),
        (["local", "new-survey", "x", "-q", "?", "-a", "y", "-a", "n", "-e", "0"], "above 0"),
        (["local", "perturb", "people.csv", "-s", "cups/survey.yaml", "-o", "r"],
         "several columns"),
        (["local", "perturb", "people.csv", "-s", "cups/survey.yaml", "-o", "r", "-c", "anser"],
         "Did you mean 'answer'"),
        (["local", "perturb", "people.csv", "-s", "cups/survey.yaml", "-o", "r", "-c", "id"],
         "1999 of 2000 values are not in the declared domain"),
        (["local", "perturb", "people.csv", "-s", "none.yaml", "-o", "r"], "cannot be read"),
        (["local", "collect", "none.bin", "-s", "cups/survey.yaml", "--store", "s.db"],
         "cannot be read"),
        (["local", "estimate", "-s", "cups/survey.yaml", "--store", "none.db"], "is not a file"),
        (["local", "estimate", "-s", "cups/survey.yaml", "--store", "people.csv"],
         "cannot be used"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(folder, capsys, command, message):
    assert run(command) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith("error: ")
    assert message in told
    assert "Traceback" not in told
    assert not (folder / "r").exists()


def test_every_option_is_in_the_reference_and_help_teaches_by_example():
    from pathlib import Path

    import typer

    from sfumato.cli.local import app

    pages = Path(__file__).resolve().parents[3] / "docs/reference/command-line.md"
    section = pages.read_text(encoding="utf-8").split("## `sfumato local`")[1]
    for name, command in typer.main.get_command(app).commands.items():
        text = section.split(f"Usage: sfumato local {name} ")[1].split("```")[0]
        assert f"Example: sfumato local {name} " in text
        for parameter in command.params:
            for option in parameter.opts:
                assert option in text, f"{option} of {name}"


def test_reports_never_replace_what_is_there(folder, capsys):
    before = (folder / "people.csv").read_bytes()
    for more in ([], ["--force"]):
        assert perturb("-c", "answer", *more, output="people.csv") == 2
        assert "another file" in " ".join(capsys.readouterr().err.split())
    assert perturb("-c", "answer", "--force", output="cups/survey.yaml") == 2
    assert (folder / "people.csv").read_bytes() == before
    assert perturb("-c", "answer") == 0
    first = (folder / "reports.bin").read_bytes()
    assert perturb("-c", "answer") == 2
    assert "exists already" in " ".join(capsys.readouterr().err.split())
    assert (folder / "reports.bin").read_bytes() == first
    assert perturb("-c", "answer", "--force") == 0
    assert (folder / "reports.bin").read_bytes() != first


def test_a_missing_file_leaves_no_empty_store(folder):
    assert perturb("-c", "answer") == 0
    assert collect("reports.bin", "nope.bin") == 2
    assert not (folder / "s.db").exists()
