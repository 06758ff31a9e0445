"""Every command answers a program in one shape, keeps silent when told, and errs in one style."""

from __future__ import annotations

import json

import pytest

from sfumato import examples
from sfumato.cli import run
from sfumato.cli.commands import COMMANDS

KEYS = ["command", "exit_code", "ok", "result", "tables", "lines", "notes", "error"]


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples.patients(200, 1).write(tmp_path)
    return tmp_path


def told(capsys, *words):
    capsys.readouterr()
    code = run(list(words))
    found = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    assert found["exit_code"] == code
    assert found["ok"] is (code == 0)
    return found


def test_a_release_and_its_check_are_told_in_numbers(clinic, capsys):
    made = told(
        capsys, "anonymize", "patients.csv", "-s", "patients.yaml", "-k", "3", "-o", "out", "--json"
    )
    assert made["result"]["released"] == 200
    assert 0 < made["result"]["loss"]["LM"] < 1
    checked = told(capsys, "--json", "verify", "out/release.csv")
    assert checked["result"]["holds"] is True
    broken = told(capsys, "verify", "out/release.csv", "-k", "200", "--json")
    assert (broken["exit_code"], broken["result"]["holds"]) == (1, False)


def test_an_answer_is_the_result(clinic, capsys):
    words = [
        "ask",
        "patients.csv",
        "SELECT COUNT(*) FROM patients",
        "--unit",
        "row",
        "-s",
        "patients.yaml",
    ]
    found = told(capsys, *words, "--epsilon", "1", "--budget", "2", "--json")
    assert found["error"] is None, found
    assert found["result"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_that_cannot_be_read_is_one_error_in_that_shape(command, capsys):
    found = told(capsys, command, "--no-such-option", "--json")
    assert found["exit_code"] == 2
    assert "--no-such-option" in found["error"] or "No such command" in found["error"]


def test_errors_have_one_style(clinic, capsys):
    for words in (["inspec"], ["verify", "--no-such"], ["inspect", "nowhere.csv"], ["anonymize"]):
        assert run(words) == 2
        seen = capsys.readouterr()
        assert seen.err.startswith("error: ")
        assert not seen.out


def test_any_command_can_be_quiet(clinic, capsys):
    assert run(["example", "more", "--rows", "20", "-q"]) == 0
    assert run(["-q", "inspect", "patients.csv", "-o", "s.yaml"]) == 0
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "")


def test_a_comparison_is_told_and_drawn(clinic, capsys):
    line = "compare patients.csv -s patients.yaml --ks 2,201 --algorithms optimal -o c.svg"
    found = told(capsys, *line.split(), "--json")
    assert [line["loss"] is None for line in found["result"]["lines"]] == [False, True]
    assert (clinic / "c.svg").read_text("utf-8").startswith("<svg")
