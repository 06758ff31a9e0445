"""A first question registers the dataset, and one that cannot be asked registers nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.dp.accounting.costs import Cost
from sfumato.errors import GovernanceError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.govern.ledger.registrations import Registration
from sfumato.govern.ledger.tentative import TentativeLedger
from sfumato.govern.spending import Plan

COUNT = "SELECT COUNT(*) FROM d"
LEDGER = Path("d.csv.ledger.sqlite")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    Path("d.csv").write_text("age,job\n" + "".join(f"{i % 60},nurse\n" for i in range(200)))
    return tmp_path


@pytest.fixture
def say(capsys):
    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(one) for one in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.out, " ".join(printed.err.split())

    return said


FAULTS = [
    ("SELECT COUNT(* FROM d", "-e", "0.1"),
    ("SELECT age FROM d", "-e", "0.1"),
    ("SELECT COUNT(*) FROM d WHERE agee = 1", "-e", "0.1"),
    (COUNT,),
    (COUNT, "-e", "-1"),
    (COUNT, "-e", "5"),
    (COUNT, "--rho", "0.1"),
    ("SELECT job, AVG(age) FROM d GROUP BY job", "--accuracy", "2", "--bounds", "age=0,99"),
]


@pytest.mark.parametrize("words", FAULTS)
def test_a_first_question_that_cannot_be_asked_registers_nothing(say, words):
    code = 3 if words[-1] == "5" else 2
    say("ask", "d.csv", *words, "--unit", "row", code=code)
    assert not LEDGER.exists()
    out, err = say("ask", "d.csv", COUNT, "--unit", "row", "--budget", "20", "-e", "0.1")
    assert "19.9" in out
    assert f"keptin{LEDGER.absolute()}," in err.replace(" ", "")  # long lines are wrapped


def test_estimates_register_nothing(say):
    say("ask", "d.csv", COUNT, "--unit", "row", "-e", "0.1", "--estimate")
    say("histogram", "d.csv", "age", "-b", "0,50,100", "--unit", "row", "-e", "0.1", "--estimate",
        "--public-types", "all")  # fmt: skip
    assert not LEDGER.exists()
    other = Ledger("other.sqlite")
    other.register(Registration("e", sf.Limits(sf.PureDP(1))))
    say("ask", "d.csv", COUNT, "--unit", "row", "-e", "0.1", "--estimate", "-L", "other.sqlite")
    assert other.registration("d") is None
    assert other.count() == 1


def test_a_mean_to_an_accuracy_is_asked_at_once(say):
    words = ("ask", "d.csv", "SELECT AVG(age) FROM d", "--bounds", "age=0,60", "--unit", "row")
    say(*words, "--accuracy", "25", "--budget", "20", "--public-types", "age")
    with Ledger(LEDGER) as ledger:
        assert [one.kind for one in ledger.entries()].count("charged") == 2
        assert ledger.verify().ok


def test_other_limits_are_told_beside_those_that_are_registered(say):
    say("ask", "d.csv", COUNT, "--unit", "row", "-e", "0.1", "--budget", "2")
    _, err = say("ask", "d.csv", COUNT, "-e", "0.1", "--budget", "20", code=3)
    assert "limits: ε = 2 and δ = 1e-06 in all" in err
    assert "`sfumato ledger amend`" in err
    assert "Ledger.amend" not in err


def test_a_folder_that_cannot_be_written_is_no_reason_for_a_budget_per_user(say, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.govern.places.os.access", lambda path, mode: False)
        _, err = say("ask", "d.csv", COUNT, "--unit", "row", "-e", "0.1", code=2)
    assert f"and{folder}cannotbewritten" in err.replace(" ", "")
    assert "--ledger" in err
    assert "$SFUMATO_LEDGER" in err
    assert not (folder / "own").exists()


def test_nothing_is_answered_from_memory():
    ledger = TentativeLedger("new.sqlite")
    with sf.Session("d.csv", unit="row", budget=sf.PureDP(1), ledger=ledger) as session:
        charge = session.spending.charge(
            lambda now: Plan(Cost(1), sf.PureDP(1)), what=["to memory"]
        )
        with pytest.raises(GovernanceError, match="before the dataset is registered"):
            ledger.settle(charge.receipt, "1")
        assert not Path("new.sqlite").exists()
        ledger.keep()
        session.sql(COUNT, epsilon=1)
        assert session.remaining == sf.PureDP(0)
    with Ledger("new.sqlite") as kept:
        assert kept.spent("d").epsilon == 1
        assert kept.verify().ok


def test_who_registers_at_the_same_moment_is_not_overruled():
    ledger = TentativeLedger("new.sqlite")
    with sf.Session("d.csv", unit="row", budget=sf.PureDP(9), ledger=ledger):
        with sf.Session("d.csv", unit="row", budget=sf.PureDP(1), ledger="new.sqlite"):
            pass
        with pytest.raises(GovernanceError, match="at the same moment"):
            ledger.keep()
    with Ledger("new.sqlite") as kept:
        assert kept.registration("d").limits == sf.Limits(sf.PureDP(1))


SCHEMA = """
unit: row
attributes:
  age: {{role: quasi, type: {type}, domain: {{low: 0, high: {high}}}}}
  job: {{role: quasi, domain: [{jobs}]}}
"""


def schema(name, kind="integer", high=99, jobs="nurse, cook"):
    Path(name).write_text(SCHEMA.format(type=kind, high=high, jobs=jobs))
    return name


@pytest.mark.parametrize(
    ("first", "then", "told"),
    [
        ((), ("-s", {}), "other bounds of age and other values of job"),
        (("-s", {}), ("-s", {"high": 60}), "other bounds of age than"),
        (("-s", {}), ("-s", {"jobs": "nurse"}), "other values of job than"),
        (("-s", {}), ("-s", {"kind": "number"}), "other types of age than"),
    ],
)
def test_a_schema_that_differs_from_the_registered_one_is_not_ignored(say, first, then, told):
    def given(words, file):
        return ("-s", schema(file, **words[1])) if words else ()

    say("ask", "d.csv", COUNT, "--unit", "row", "-e", "0.1", *given(first, "one.yaml"))
    _, err = say("ask", "d.csv", COUNT, "-e", "0.2", *given(then, "two.yaml"), code=3)
    assert told in err
    assert "--bounds … and --keys" in err
    with Ledger(LEDGER) as ledger:
        assert ledger.spent("d").epsilon == sf.dp.rounding.stated("0.1")
    say("ask", "d.csv", COUNT, "-e", "0.2")
    if first:
        say("ask", "d.csv", COUNT, "-e", "0.3", "-s", schema("same.yaml", jobs="cook, nurse"))
