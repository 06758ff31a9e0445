"""An answer that is given again costs nothing, and is an entry of the ledger all the same."""

from __future__ import annotations

import signal
import sqlite3

import pytest

import sfumato as sf
from sfumato.dp.accounting.costs import Cost
from sfumato.errors import GovernanceError, ParameterError
from sfumato.govern import Ledger
from sfumato.govern.ledger import faults

SAME = ("patients", "ann", "f" * 64, "SELECT COUNT(*)", "care")
KINDS = ["registered", "charged", "answered", "repeated"]


@pytest.fixture
def answered(ledger, registration, charge):
    ledger.register(registration)
    receipt = ledger.charge(charge())
    ledger.settle(receipt, '{"count": 41.5}')
    return ledger, receipt


def test_repeating_is_recorded_and_costs_nothing(answered):
    ledger, receipt = answered
    before = ledger.spent("patients"), ledger.position("patients", "ann")
    for _ in range(2):
        assert ledger.repeat(*SAME) == '{"count": 41.5}'
    assert (ledger.spent("patients"), ledger.position("patients", "ann")) == before
    entries = ledger.entries()
    assert [one.kind for one in entries] == [*KINDS, "repeated"]
    told = entries[-1]
    assert (told.dataset, told.analyst, told.purpose) == ("patients", "ann", "care")
    assert (told.refers, told.cost, told.blocks) == (receipt.number, None, ("main",))
    assert ledger.verify().ok


def test_what_nobody_answered_is_not_repeated(answered, charge):
    ledger, _ = answered
    ledger.charge(charge(question="unanswered"))
    for changed in (
        ("patients", "bob", *SAME[2:]),
        (*SAME[:2], "e" * 64, *SAME[3:]),
        (*SAME[:3], "unanswered", "care"),
        (*SAME[:4], "research"),
        SAME[:4],
    ):
        assert ledger.repeat(*changed) is None
    assert ledger.count() == 4
    with pytest.raises(ParameterError, match="written by the ledger itself"):
        ledger.record("repeated", {"dataset": "patients"})


def test_a_charge_is_settled_once_even_when_its_answer_was_repeated(answered):
    ledger, receipt = answered
    ledger.repeat(*SAME)
    with pytest.raises(GovernanceError, match="already answered"):
        ledger.settle(receipt, '{"count": 1}')


@pytest.mark.parametrize("field", ["analyst", "refers", "cost"])
def test_verify_finds_a_repetition_that_does_not_follow(
    tmp_path, registration, charge, field, monkeypatch
):
    """A forger chains correctly; what the entry says must still follow from its charge."""
    place = str(tmp_path / "ledger.sqlite")
    forged = {"analyst": "eve", "refers": 1, "cost": Cost(0.1).to_json()}
    from sfumato.govern.ledger import settlements as storing

    true = storing.Entry

    def entry(kind, **facts):
        return true(kind, **{**facts, field: forged[field]})

    with Ledger(place) as ledger:
        ledger.register(registration)
        ledger.settle(ledger.charge(charge()), "{}")
        assert ledger.verify().ok
        monkeypatch.setattr(storing, "Entry", entry)
        ledger.repeat(*SAME)
        found = ledger.verify()
    assert not found.ok
    assert found.broken == 4


@pytest.mark.parametrize("step", ["begun", "checked", "appended", "committed"])
def test_a_crash_while_repeating_leaves_the_ledger_whole(
    place, registration, charge, in_child, step
):
    assert f"repeat-{step}" in faults.POINTS
    with Ledger(place) as ledger:
        ledger.register(registration)
        ledger.settle(ledger.charge(charge()), "{}")

    def child():
        faults.armed = f"repeat-{step}"
        Ledger(place).repeat(*SAME)

    assert in_child.wait(in_child(child)) == (signal.SIGKILL, -1)
    with Ledger(place) as ledger:
        assert ledger.verify().ok
        assert ledger.count() == (4 if step == "committed" else 3)
        assert ledger.repeat(*SAME) == "{}"


def test_every_answer_of_a_session_is_in_the_ledger(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("x\n" + "1\n" * 50)
    asked = "SELECT COUNT(*) FROM t"
    with sf.Session(file, unit="row", budget=sf.PureDP(3), bounds={"x": (0, 1)}) as one:
        first = one.sql(asked, epsilon=1)
        assert one.sql("select count(*) from T", epsilon=1).rows == first.rows
        both = one.together([f"{asked} WHERE x > 0", "SELECT SUM(x) FROM t"], epsilon=0.5)
        again = one.together([f"{asked} WHERE x > 0", "SELECT SUM(x) FROM t"], epsilon=0.5)
        assert [one.rows for one in again] == [one.rows for one in both]
        kinds = [entry.kind for entry in one.ledger.entries()]
        assert kinds == [*KINDS, "charged", "answered", "repeated", "repeated"]
        told = one.ledger.entries()[-2:]
        assert [(entry.refers, entry.details["part"]) for entry in told] == [(5, 0), (5, 1)]
        assert one.ledger.verify().ok


def test_an_answer_that_cannot_be_recorded_is_not_given(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("x\n" + "1\n" * 50)
    asked = "SELECT COUNT(*) FROM t"
    with sf.Session(file, unit="row", budget=sf.PureDP(3)) as one:
        one.sql(asked, epsilon=1)
        place = one.ledger.place
    with sqlite3.connect(place) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON sfumato_entries "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with sf.Session(file) as one, pytest.raises(GovernanceError, match="without a ledger"):
        one.sql(asked, epsilon=1)
