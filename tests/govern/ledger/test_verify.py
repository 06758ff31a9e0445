"""Whatever is changed behind the ledger's back is found, and where."""

from __future__ import annotations

import json
import sqlite3

import pytest
from sqlalchemy import create_engine, text

from sfumato import PureDP
from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.govern import Ledger, Limits, Registration
from sfumato.govern.ledger import chain
from sfumato.govern.ledger.charges import spent_text

COUNT = 9


@pytest.fixture
def file(tmp_path, registration, charge):
    """A ledger with a registration, six charges by three people, an answer and a failure."""
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as ledger:
        ledger.register(registration)
        for analyst in ("bob", "cid"):
            for k in range(3):
                last = ledger.charge(charge(analyst=analyst, question=f"question {k}"))
            if analyst == "bob":
                ledger.settle(last, '{"count": 5}')
        ledger.fail(last, "engine-failed")
        assert len(ledger.entries()) == COUNT
        assert ledger.verify().ok
    return place


@pytest.fixture
def tamper(file):
    """Change the file as somebody with full access could, the triggers put aside."""

    def run(*statements):
        with sqlite3.connect(file) as connection:
            for verb in ("update", "delete"):
                connection.execute(f"DROP TRIGGER IF EXISTS sfumato_entries_no_{verb}")
            for statement in statements:
                connection.execute(*(statement if isinstance(statement, tuple) else (statement,)))
        connection.close()
        with Ledger(file) as ledger:
            return ledger.verify()

    return run


def test_an_untouched_ledger_is_sound(tamper):
    found = tamper()
    assert found.ok
    assert found
    assert (found.count, found.broken, found.why) == (COUNT, None, None)


@pytest.mark.parametrize(
    "change",
    [
        "time = '2020-01-01T00:00:00.000000+00:00'",
        "kind = 'released'",
        "dataset = 'others'",
        "blocks = '[]'",
        "analyst = 'ann'",
        "purpose = 'research'",
        "fingerprint = 'x'",
        "question = 'another'",
        "guarantee = 'none'",
        """cost = '{"delta":"0","epsilon":"1/100","mu_squared":"0"}'""",
        "cost = NULL",
        "refers = 2",
        """details = '{"x":1}'""",
        "details = 'no json'",
        "previous = hash",
        "hash = previous",
    ],
)
def test_every_field_of_an_entry_is_protected(tamper, change):
    found = tamper(f"UPDATE sfumato_entries SET {change} WHERE number = 4")
    assert not found.ok
    assert not found
    assert found.broken == 4


def test_a_removed_entry_is_missed(tamper):
    assert tamper("DELETE FROM sfumato_entries WHERE number = 4").broken == 4


def test_a_removed_first_entry_is_missed(tamper):
    assert tamper("DELETE FROM sfumato_entries WHERE number = 1").broken == 1


def test_a_removed_last_entry_is_missed_by_the_head(tamper):
    found = tamper(f"DELETE FROM sfumato_entries WHERE number = {COUNT}")
    assert not found.ok
    assert found.why == f"the head tells of {COUNT} entries and {COUNT - 1} are linked"


def test_entries_in_another_order_are_found(tamper):
    swap = "UPDATE sfumato_entries SET number = {} WHERE number = {}"
    assert tamper(swap.format(-1, 3), swap.format(3, 4), swap.format(4, -1)).broken == 3


def test_an_inserted_entry_is_found(tamper):
    fields = "time, kind, blocks, details, previous, hash"
    found = tamper(
        f"INSERT INTO sfumato_entries (number, {fields}) "
        f"SELECT {COUNT + 1}, {fields} FROM sfumato_entries WHERE number = 1"
    )
    assert found.broken == COUNT + 1


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DELETE FROM sfumato_accounts", "totals"),
        ("UPDATE sfumato_accounts SET name = 'eve' WHERE name = 'bob'", "totals"),
        (
            "UPDATE sfumato_accounts SET spent = replace(spent, 'charges\":', 'charges\":1')",
            "totals",
        ),
        ("UPDATE sfumato_registrations SET body = replace(body, '3.0', '9.0')", "registrations"),
        ("INSERT INTO sfumato_blocks VALUES ('patients', 'secret')", "blocks"),
        ("UPDATE sfumato_answers SET answer = '{\"count\": 6}'", "answers"),
        ("DELETE FROM sfumato_answers", "answers"),
    ],
)
def test_kept_totals_that_do_not_follow_from_the_entries_are_found(tamper, statement, what):
    found = tamper(statement)
    assert not found.ok
    assert f"kept {what}" in found.why


def test_a_lowered_total_is_found(tamper):
    lower = spent_text(SpentTotals().plus(Cost(0.1)))
    found = tamper(("UPDATE sfumato_accounts SET spent = ? WHERE scope = 'dataset'", (lower,)))
    assert "kept totals" in found.why


def test_an_answer_moved_to_another_question_is_found(tamper):
    found = tamper("UPDATE sfumato_answers SET analyst = 'eve'")
    assert "another question" in found.why


def rewritten(entries):
    """Chain entries anew, as a forger would."""
    last = chain.GENESIS
    for number, entry in enumerate(entries, 1):
        fields = {**vars(entry), "number": number, "previous": last, "hash": ""}
        placed = chain.Entry(**fields)
        last = placed.digest()
        yield chain.Entry(**{**fields, "hash": last})


def replaced(entries):
    """Statements that put other entries into the file, with a head that fits."""
    entries = list(entries)
    yield "DELETE FROM sfumato_entries"
    for one in entries:
        row = {
            **vars(one),
            "blocks": chain.canonical(list(one.blocks)),
            "details": chain.canonical(one.details),
            "cost": None if one.cost is None else chain.canonical(one.cost),
        }
        marks = ", ".join(f":{name}" for name in row)
        yield f"INSERT INTO sfumato_entries ({', '.join(row)}) VALUES ({marks})", row
    last = (len(entries), entries[-1].hash)
    yield "UPDATE sfumato_head SET count = ?, hash = ?", last


def test_a_forged_chain_that_passes_a_limit_is_found(tamper, file):
    with Ledger(file) as ledger:
        entries = ledger.entries()
    entries[2] = chain.Entry(**{**vars(entries[2]), "cost": Cost(0.95).to_json()})
    found = tamper(*replaced(rewritten(entries)))
    assert "passes the limit" in found.why
    assert found.broken == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"purpose": "marketing"}, "purposes"),
        ({"blocks": ("secret",)}, "not registered"),
        ({"dataset": "others"}, "not registered"),
    ],
)
def test_a_forged_charge_that_no_rule_allows_is_found(tamper, file, changes, why):
    with Ledger(file) as ledger:
        entries = ledger.entries()
    entries[5] = chain.Entry(**{**vars(entries[5]), **changes})
    found = tamper(*replaced(rewritten(entries)))
    assert why in found.why
    assert found.broken == 6


@pytest.mark.parametrize("changes", [{"analyst": "eve"}, {"purpose": "research"}, {"refers": 3}])
def test_a_forged_outcome_is_found(tamper, file, changes):
    with Ledger(file) as ledger:
        entries = ledger.entries()
    assert entries[4].kind == "answered"
    entries[4] = chain.Entry(**{**vars(entries[4]), **changes})
    assert not tamper(*replaced(rewritten(entries))).ok


def test_a_forged_registration_is_found(tamper, file):
    with Ledger(file) as ledger:
        entries = ledger.entries()
    body = json.loads(json.dumps(entries[0].details["registration"]))
    body["unit"] = "person"
    forged = chain.Entry("amended", dataset="patients", details={"registration": body})
    found = tamper(*replaced(rewritten([*entries, forged])))
    assert "changes the unit" in found.why
    assert found.broken == COUNT + 1


def test_a_tail_cut_off_with_the_head_needs_the_noted_head(file, charge):
    with Ledger(file) as ledger:
        ledger.charge(charge(analyst="dan", question="the last"))
        noted = ledger.head()
        assert noted == (COUNT + 1, ledger.entries()[-1].hash)
        assert ledger.verify(head=noted.hash).ok
        middle = ledger.entries()[4].hash
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TRIGGER sfumato_entries_no_delete")
        connection.execute("DELETE FROM sfumato_entries WHERE number = ?", (COUNT + 1,))
        connection.execute(
            "UPDATE sfumato_head SET count = ?, hash = "
            "(SELECT hash FROM sfumato_entries WHERE number = ?)",
            (COUNT, COUNT),
        )
        connection.execute("DELETE FROM sfumato_accounts WHERE name = 'dan'")
        lower = spent_text(SpentTotals(**_sums(6)))
        connection.execute(
            "UPDATE sfumato_accounts SET spent = ? WHERE scope IN ('dataset', 'purpose')", (lower,)
        )
    connection.close()
    with Ledger(file) as ledger:
        assert ledger.verify().ok  # nothing in the database tells
        assert ledger.verify(head=middle).ok
        found = ledger.verify(head=noted.hash)
    assert not found.ok
    assert "cut off" in found.why


def _sums(count):
    spent = SpentTotals()
    for _ in range(count):
        spent = spent.plus(Cost(0.1))
    return vars(spent)


def test_the_database_refuses_to_change_entries(place, registration, charge):
    with Ledger(place) as ledger:
        ledger.register(registration)
        ledger.charge(charge())
    engine = create_engine(
        place.replace("postgresql:", "postgresql+psycopg:")
        if "://" in place
        else f"sqlite:///{place}"
    )
    statements = ["UPDATE sfumato_entries SET question = 'x'", "DELETE FROM sfumato_entries"]
    if "://" in place:
        statements.append("TRUNCATE sfumato_entries")
    for statement in statements:
        with pytest.raises(Exception, match="never changed or deleted"), engine.begin() as database:
            database.execute(text(statement))
    engine.dispose()
    with Ledger(place) as ledger:
        assert ledger.verify().ok
        assert len(ledger.entries()) == 2


def test_verification_needs_no_more_than_it_reads(ledger, charge):
    """On every database, through amendments and blocks."""
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    ledger.charge(charge())
    ledger.amend("patients", limits=Limits(PureDP(0.05)))
    ledger.add_block("patients", "later")
    ledger.charge(charge(blocks=("later",), cost=Cost(0.05)))
    ledger.record("released", {"rows": 3})
    assert ledger.verify(head=ledger.head().hash).ok
    assert ledger.verify(head=chain.GENESIS).ok
    assert not ledger.verify(head="f" * 64).ok
