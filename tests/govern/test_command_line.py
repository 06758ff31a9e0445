"""`sfumato ledger` shows, verifies and exports, and never prints an answer."""

from __future__ import annotations

import json
import sqlite3

import pytest

from sfumato.cli import run
from sfumato.govern import Ledger


@pytest.fixture
def data(tmp_path, registration, charge, monkeypatch):
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("COLUMNS", "160")
    file = tmp_path / "people.csv"
    file.write_text("a\n1\n")
    with Ledger(f"{file}.ledger.sqlite") as ledger:
        ledger.register(registration)
        for number in range(3):
            receipt = ledger.charge(charge(question=f"question {number} \x1b[31mred\n"))
            ledger.settle(receipt, json.dumps({"count": f"quite secret {number}"}))
    return file


def test_show_tells_entries_accounts_and_head(data, capsys):
    assert run(["ledger", "show", "--data", str(data)]) == 0
    shown = capsys.readouterr().out
    for part in ("7 entries", "registered", "question 2", "ε = 0.1", "ann for care", "ε = 0.3"):
        assert part in shown
    assert "ε = 0.2" in shown  # left to ann of 0.5
    assert "\x1b[31mred" not in shown
    assert "quite secret" not in shown
    with Ledger(f"{data}.ledger.sqlite") as ledger:
        assert f"head: {ledger.head().hash}" in shown


def test_show_is_short_unless_asked(data, capsys):
    assert run(["ledger", "show", "--data", str(data), "--last", "2"]) == 0
    shown = capsys.readouterr().out
    assert "7 entries, the last 2" in " ".join(shown.split())
    assert "question 1" not in shown
    assert run(["ledger", "show", "--data", str(data), "-n", "0", "--dataset", "others"]) == 0
    assert "0 entries" in capsys.readouterr().out


def test_verify_says_so_and_exits_with_1_when_broken(data, capsys):
    place = f"{data}.ledger.sqlite"
    assert run(["ledger", "verify", "--data", str(data)]) == 0
    shown = capsys.readouterr().out
    assert "7 entries, all sound" in shown
    head = shown.split("head: ")[1].strip()
    assert run(["ledger", "verify", "-L", place, "--head", head]) == 0
    assert run(["ledger", "verify", "-L", place, "--head", "f" * 64, "--quiet"]) == 1
    capsys.readouterr()
    with sqlite3.connect(place) as connection:
        connection.execute("DROP TRIGGER sfumato_entries_no_update")
        connection.execute("UPDATE sfumato_entries SET analyst = 'eve' WHERE number = 4")
    assert run(["ledger", "verify", "-L", place]) == 1
    assert "BROKEN at entry 4" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["entries.json", "entries.csv"])
def test_export_writes_the_format_of_the_ending(data, tmp_path, name, capsys):
    target = tmp_path / name
    assert run(["ledger", "export", str(target), "--data", str(data)]) == 0
    written = target.read_text("utf-8")
    assert "question 2" in written
    assert "quite secret" not in written
    assert len(json.loads(written) if name.endswith("json") else written.splitlines()) >= 7
    assert "7 entries" in capsys.readouterr().err


def test_the_place_is_found_by_the_rules(data, tmp_path, monkeypatch, capsys):
    assert run(["ledger", "verify"]) == 2  # nothing in the user's data directory
    assert "no ledger" in capsys.readouterr().err
    monkeypatch.setenv("SFUMATO_LEDGER", f"{data}.ledger.sqlite")
    assert run(["ledger", "verify"]) == 0
    assert not (tmp_path / "own").exists()


def test_a_ledger_in_postgres(fresh_postgres_url, registration, charge, capsys):
    with Ledger(fresh_postgres_url) as ledger:
        ledger.register(registration)
        ledger.charge(charge())
    assert run(["ledger", "verify", "--ledger", fresh_postgres_url]) == 0
    assert run(["ledger", "show", "--ledger", fresh_postgres_url]) == 0
    assert "2 entries" in capsys.readouterr().out
