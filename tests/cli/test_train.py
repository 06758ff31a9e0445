"""`sfumato train`: models learnt from a file, charged, saved with a card, foretold, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.cli import run

UNIT = ("-s", "visits.yaml", "--groups", "3", "--rows-per-group", "2")
PRICE = ("-e", "2", "--delta", "1e-6")


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    examples.visits(600, 1).write(tmp_path)

    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(word) for word in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        return " ".join(printed.out.split()), " ".join(printed.err.split())

    return said


def test_a_model_is_learnt_saved_and_drawn(say):
    asked = (
        "train", "visits.csv", "department", *UNIT, *PRICE, "--budget", "6", "--bounds",
        "cost=0,500",
    )  # fmt: skip
    out, err = say(*asked, "-o", "model", "--picture", "model.svg")
    assert "AdditiveClassifier that predicts department from minutes, cost" in out
    assert "ε = 2" in out
    assert "left out, because nothing is declared of them" in err
    model = sf.dp.read_model("model")
    assert len(model.classes_) == 8
    assert model.predict({"minutes": [10], "cost": [20]}).shape == (1,)
    assert sf.verify("model").holds
    with sf.Ledger("visits.csv.ledger.sqlite", create=False) as ledger:
        number = next(e.number for e in ledger.entries() if e.kind == "released")
    say("certificate", number, "-L", "visits.csv.ledger.sqlite")
    certified, _ = say("verify", "model/model.json", "--certificate", "certificate.json")
    assert "holds" in certified
    assert Path("model.svg").read_text(encoding="utf-8").startswith("<svg")
    assert say(*asked)[0] == out  # the same again, for nothing
    say("train", "visits.csv", "department", "-e", "5", "--delta", "1e-6", code=3)


def test_errors_are_told_before_and_scores_are_bought(say):
    asked = ("train", "visits.csv", "minutes", "-m", "linear", *UNIT, "--bounds", "cost=0,500")
    rich = ("--budget", "20", "--budget-delta", "1e-4")
    out, _ = say(*asked, *PRICE, *rich, "--predict", "100")
    assert "second moment (rows) ±" in out
    assert "rows, a larger epsilon or fewer columns would do" in out
    out, _ = say(*asked, *PRICE, *rich, "--cross-validate", "2")
    assert "mean absolute error" in out
    asked = ("train", "visits.csv", "cost", "-m", "linear", *UNIT, "--bounds", "cost=0,500")
    out, _ = say(*asked, *PRICE, *rich, "--cross-validate", "2")
    assert "mean absolute error" in out  # of a target whose bounds the command line states


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("department", "-m", "forest", *PRICE), "--model is one of"),
        (("department",), "what the model may cost"),
        (("nothing", *PRICE), "no column 'nothing'"),
        (("day", *PRICE), "classes of 'day' are not declared"),
        (("department", "-e", "1"), "delta"),
    ],
)
def test_what_is_wrong_is_said(say, given, words):
    _, err = say("train", "visits.csv", *given, *UNIT, "--budget", "6", code=2)
    assert words in err
