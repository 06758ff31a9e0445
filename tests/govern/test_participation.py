"""A person asks: what is found, corrected, forgotten; what the ledger keeps; what stays."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato.cli import run

ROWS = 'patient;reason;note\n7;flu;\n8;cough;a\n7;check;"x;y"\n'


@pytest.fixture
def visits(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text(ROWS, encoding="utf-8")
    return file


def test_what_is_held_is_told_with_where_it_went(visits, tmp_path):
    schema = sf.Schema(identifiers=["patient"], quasi=["reason"], insensitive=["note"])
    release = sf.anonymize(visits, sf.KAnonymity(1), schema=schema)
    release.save(tmp_path / "out", ledger=f"{visits}.ledger.sqlite", report=False)
    with sf.Session(visits, unit="patient", budget=sf.PureDP(1)) as session:
        session.sql("SELECT COUNT(DISTINCT patient) AS n FROM visits", epsilon=0.25)
    answer = sf.govern.find_subject(visits, "7", column="patient")
    assert [row["reason"] for row in answer.rows] == ["flu", "check"]
    assert answer.answers == 1
    assert "0.25" in answer.answers_in_all
    assert [release["promise"] for release in answer.releases] == ["1-anonymity"]
    assert "cannot be recalled" in answer.cannot_be_undone


def test_the_ledger_keeps_no_name(visits):
    with sf.Session(visits, unit="patient", budget=sf.PureDP(1)):
        pass
    sf.govern.forget_subject(visits, "7", column="patient")
    with sf.Ledger(f"{visits}.ledger.sqlite") as ledger:
        entry = ledger.entries("visits")[-1]
        assert ledger.verify().ok
    assert entry.kind == "subject-forget"
    assert entry.details["rows"] == 2
    assert len(entry.details["person"]) == 64  # a keyed hash, no name


def test_no_cell_is_shown_where_it_may_be_logged(visits):
    answer = sf.govern.find_subject(visits, "7", column="patient")
    for shown in (str(answer), repr(answer), answer._repr_html_()):
        assert "flu" not in shown
        assert "2 of her rows" in shown


def test_a_correction_keeps_the_form_of_the_file(visits):
    sf.govern.correct_subject(visits, "7", column="patient", right={"reason": "ill; twice"})
    lines = visits.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "patient;reason;note"
    assert lines[1:] == ['7;"ill; twice";', "8;cough;a", '7;"ill; twice";"x;y"']


def test_who_is_forgotten_is_in_the_file_no_more(visits):
    assert sf.govern.forget_subject(visits, "7", column="patient").rows_found == 2
    assert visits.read_text(encoding="utf-8").splitlines() == ["patient;reason;note", "8;cough;a"]
    again = sf.govern.forget_subject(visits, "7", column="patient")
    assert again.rows_found == 0
    assert again.rows == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"column": "who"}, "no column 'who'"),
        ({"column": "patient", "right": {}}, "Say what is right"),
        ({"column": "patient", "right": {"patient": "9"}}, "somebody else's"),
        ({"column": "patient", "right": {"resaon": "x"}}, "no column 'resaon'"),
    ],
)
def test_slips_change_nothing(visits, options, words):
    change = sf.govern.correct_subject if "right" in options else sf.govern.find_subject
    with pytest.raises(sf.SfumatoError, match=words):
        change(visits, "7", **options)
    assert visits.read_text(encoding="utf-8") == ROWS


def test_files_that_cannot_be_changed_are_refused(tmp_path):
    packed = tmp_path / "visits.csv.gz"
    packed.write_bytes(b"")
    with pytest.raises(sf.errors.DataError, match="cannot be changed here"):
        sf.govern.forget_subject(packed, "7", column="patient")
    with pytest.raises(sf.errors.DataError, match="not a file"):
        sf.govern.find_subject(tmp_path / "none.csv", "7", column="patient")


def test_the_command_line_answers_and_writes_for_the_owner_alone(visits, tmp_path, capsys):
    target = tmp_path / "answer.json"
    line = ["subject", "show", str(visits), "7", "--column", "patient", "-o", str(target)]
    assert run(line) == 0
    assert "2 rows found" in capsys.readouterr().out
    assert json.loads(target.read_text(encoding="utf-8"))["rows_found"] == 2
    assert target.stat().st_mode & 0o077 == 0
    assert run(["subject", "forget", str(visits), "7"]) == 2
    assert "--column" in capsys.readouterr().err
    schema = tmp_path / "visits.yaml"
    schema.write_text("unit: patient\nattributes:\n  patient: identifier\n", encoding="utf-8")
    assert run(["subject", "forget", str(visits), "7", "-s", str(schema)]) == 0
    assert "2 rows left out" in capsys.readouterr().out
