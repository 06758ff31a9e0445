"""What a ledger promises, on every database."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import stat
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato import ZCDP, ApproxDP, PureDP, dp
from sfumato.dp.accounting.costs import Cost, SpentTotals
from sfumato.dp.accounting.filters import gaussian_cost
from sfumato.errors import (
    BudgetExceeded,
    GovernanceError,
    OutputError,
    ParameterError,
    PositionMoved,
    PurposeRefused,
)
from sfumato.govern import EqualShares, Ledger, Limits, Registration


def test_a_registration_holds_from_the_first_on(ledger, registration):
    assert ledger.registration("patients") is None
    ledger.register(registration)
    ledger.register(registration)
    assert ledger.registration("patients") == registration
    assert [entry.kind for entry in ledger.entries()] == ["registered"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"unit": "person"}, "unit"),
        ({"rules": {"age": [0, 200]}}, "rules"),
        ({"purposes": ("care", "research", "marketing")}, "purposes"),
        ({"limits": Limits(dataset=PureDP(300))}, "limits"),
        ({"policy": EqualShares(3)}, "policy"),
    ],
)
def test_another_registration_is_refused_and_told_what_differs(registration, changes, named):
    ledger = Ledger(None)
    ledger.register(registration)
    fields = {**vars(registration), **changes}
    with pytest.raises(GovernanceError, match=rf"other {named} \("):
        ledger.register(Registration(**fields))
    assert ledger.registration("patients") == registration


def test_registrations_of_every_kind_read_back(ledger):
    unit = dp.Unit("person", groups=20, rows_per_group=5)
    limits = Limits(
        dataset=ApproxDP(3, 1e-6, neighbours=unit),
        analyst=ZCDP(0.1, neighbours=unit),
        analysts={"ann": PureDP(0.1, neighbours=unit)},
    )
    wanted = Registration("visits", limits, unit=unit.noun, policy=EqualShares(7))
    ledger.register(wanted)
    assert ledger.registration("visits") == wanted
    assert ledger.registration("visits").limits.dataset.unit == unit


def test_a_charge_moves_every_account(ledger, registration, charge):
    ledger.register(registration)
    receipt = ledger.charge(charge())
    ledger.charge(charge(analyst="bob", purpose="research", cost=Cost(0.7)))
    assert ledger.spent("patients") == SpentTotals().plus(Cost(0.1)).plus(Cost(0.7))
    assert ledger.spent("patients", analyst="ann") == SpentTotals().plus(Cost(0.1))
    assert ledger.spent("patients", purpose="research") == SpentTotals().plus(Cost(0.7))
    assert ledger.spent("patients", analyst="nobody") == SpentTotals()
    assert ledger.position("patients", "ann") == ledger.position("patients", "bob") == 1
    assert ledger.position("patients", "nobody") == 0
    entry = ledger.entries()[1]
    assert (entry.number, entry.hash, entry.kind) == (receipt.number, receipt.hash, "charged")
    pure = {"epsilon": "1/10", "epsilon_squared": "1/100"}
    assert entry.cost == {**pure, "mu_squared": "0", "delta": "0"}
    assert (entry.analyst, entry.purpose, entry.question) == ("ann", "care", "SELECT COUNT(*)")
    assert entry.time.endswith("+00:00")
    assert ledger.verify().ok


def test_exhausted_means_refused_with_all_three_numbers(ledger, registration, charge):
    ledger.register(registration)
    for _ in range(4):
        ledger.charge(charge())
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(charge(cost=Cost(0.3)))
    assert refusal.value.requested == PureDP(0.3)
    assert refusal.value.remaining == PureDP(0.1)
    assert refusal.value.difference == PureDP(0.2)
    assert refusal.value.limit == "analyst"
    assert "requested ε = 0.3, remaining ε = 0.1, difference ε = 0.2" in str(refusal.value)
    ledger.charge(charge())  # the fifth tenth still fits into a half
    assert ledger.position("patients", "ann") == 5


def test_a_refusal_leaves_no_trace(ledger, registration, charge):
    ledger.register(registration)
    ledger.charge(charge())
    before = ledger.entries(), ledger.spent("patients"), ledger.head()
    for bad in (
        charge(cost=Cost(0.5)),
        charge(purpose="marketing"),
        charge(purpose=None),
        charge(dataset="others"),
        charge(blocks=("main", "new")),
        charge(position=0),
        charge(cost=Cost(0, 0.01)),
        charge(cost=Cost(0.1, 0, 1e-9)),
    ):
        with pytest.raises((BudgetExceeded, GovernanceError)):
            ledger.charge(bad)
    assert (ledger.entries(), ledger.spent("patients"), ledger.head()) == before
    assert ledger.verify().ok


def test_the_tightest_limit_decides(charge):
    limits = Limits(dataset=PureDP(1), analyst=PureDP(0.6), purposes={"care": PureDP(0.7)})
    ledger = Ledger(None)
    ledger.register(Registration("patients", limits, purposes=("care", "research")))
    ledger.charge(charge(cost=Cost(0.4)))
    rest = ledger.remaining("patients", "bob", "care")
    assert rest == {"dataset": PureDP(0.6), "analyst": PureDP(0.6), "purpose": PureDP(0.3)}
    assert rest.tightest == "purpose"
    assert rest.guarantee == PureDP(0.3)
    assert ledger.remaining("patients", "ann", "care").tightest == "analyst"
    with pytest.raises(BudgetExceeded, match="limit of purpose 'care'"):
        ledger.charge(charge(analyst="bob", cost=Cost(0.4)))
    ledger.charge(charge(analyst="bob", purpose="research", cost=Cost(0.6)))
    with pytest.raises(BudgetExceeded, match=r"limit of the dataset \(all analysts together\)"):
        ledger.charge(charge(analyst="cid", cost=Cost(0.1)))
    assert ledger.remaining("patients", "cid", "research").tightest == "dataset"


def test_limits_of_different_kinds_hold_side_by_side(charge):
    limits = Limits(dataset=ApproxDP(1, 1e-6), analyst=ZCDP(0.01))
    ledger = Ledger(None)
    ledger.register(Registration("patients", limits, purposes=("care",)))
    ledger.charge(charge(cost=Cost(0, 0.015)))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(charge(cost=Cost(0, 0.01)))
    assert refusal.value.remaining == ZCDP(0.0025)
    assert refusal.value.difference == ZCDP(0.0025)
    with pytest.raises(BudgetExceeded, match="no place"):
        ledger.charge(charge(cost=Cost(0, 0.001, 1e-9)))
    rest = ledger.remaining("patients", "ann", "care")
    assert rest["analyst"] == ZCDP(0.0025)
    assert rest.tightest == "analyst"


def test_an_approximate_limit_tells_what_is_missing(charge):
    ledger = Ledger(None)
    ledger.register(Registration("patients", Limits(ApproxDP(1, 1e-6)), purposes=("care",)))
    whole = gaussian_cost(epsilon=1, delta=1e-6)
    ledger.charge(charge(cost=Cost(0, whole.mu_squared / 2)))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(charge(cost=Cost(0, whole.mu_squared / 2)))
    told = refusal.value
    assert told.requested.epsilon > told.remaining.epsilon > 0
    assert told.difference.epsilon > 0
    assert told.requested.epsilon - told.remaining.epsilon == pytest.approx(
        told.difference.epsilon, rel=1e-9
    )
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(charge(cost=Cost(0, 0, 1e-6)))
    assert refusal.value.requested.delta == 1e-6
    assert refusal.value.difference.delta > 0


def test_a_thousandth_ten_thousand_times_is_refused(charge):
    ledger = Ledger(None)
    ledger.register(Registration("patients", Limits(ApproxDP(1, 0.005)), purposes=("care",)))
    for _ in range(5):
        ledger.charge(charge(cost=Cost(0, 0, 0.001)))
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ledger.charge(charge(cost=Cost(0, 0, 0.001)))
    assert ledger.spent("patients").delta == Fraction(5, 1000)


def test_a_charge_of_nothing_is_no_charge(charge):
    with pytest.raises(ParameterError, match="has a cost"):
        charge(cost=Cost())


def test_an_answer_is_kept_for_the_same_analyst_question_and_data(ledger, registration, charge):
    ledger.register(registration)
    ledger.settle(ledger.charge(charge()), '{"count": 41.5}')
    same = ("patients", "ann", "f" * 64, "SELECT COUNT(*)", "care")
    assert ledger.stored(*same) == '{"count": 41.5}'
    for place, other in enumerate(
        ("visits", "bob", "e" * 64, "SELECT COUNT(*) WHERE a", "research")
    ):
        changed = [*same[:place], other, *same[place + 1 :]]
        assert ledger.stored(*changed) is None
    ledger.settle(ledger.charge(charge()), '{"count": 40.0}')
    assert ledger.stored(*same) == '{"count": 40.0}'
    answered = ledger.entries()[2]
    assert answered.kind == "answered"
    assert answered.details["answer_sha256"] == hashlib.sha256(b'{"count": 41.5}').hexdigest()
    assert "count" not in json.dumps([vars(entry) for entry in ledger.entries()])
    assert ledger.verify().ok


def test_a_charge_is_settled_once_and_a_failure_is_not_refunded(ledger, registration, charge):
    ledger.register(registration)
    first, second = ledger.charge(charge()), ledger.charge(charge())
    ledger.settle(first, "1")
    ledger.fail(second, "engine-failed")
    for again in (lambda: ledger.settle(first, "2"), lambda: ledger.settle(second, "2")):
        with pytest.raises(GovernanceError, match="already"):
            again()
    with pytest.raises(GovernanceError, match="already"):
        ledger.fail(first, "engine-failed")
    assert ledger.spent("patients").epsilon == Fraction(1, 5)
    assert ledger.entries()[-1].details == {"reason": "engine-failed"}
    with pytest.raises(ParameterError, match="code"):
        ledger.fail(first, "could not cast 'Alice' to INTEGER")


def test_a_receipt_of_another_ledger_is_refused(registration, charge):
    one, other = Ledger(None), Ledger(None)
    for ledger in (one, other):
        ledger.register(registration)
        ledger.charge(charge())
    with pytest.raises(GovernanceError, match="receipt"):
        other.settle(one.charge(charge()), "1")


def test_a_moved_position_is_told(ledger, registration, charge):
    ledger.register(registration)
    ledger.charge(charge(position=0))
    with pytest.raises(PositionMoved, match="1 were charged"):
        ledger.charge(charge(position=0))
    ledger.charge(charge(analyst="bob", position=0))
    ledger.charge(charge(position=1))


def test_a_policy_that_counts_needs_the_position(charge):
    ledger = Ledger(None)
    limits = Limits(dataset=PureDP(1))
    ledger.register(Registration("patients", limits, purposes=("care",), policy=EqualShares(2)))
    with pytest.raises(GovernanceError, match="position"):
        ledger.charge(charge())
    ledger.charge(charge(position=0))


def test_purposes(charge):
    ledger = Ledger(None)
    ledger.register(Registration("patients", Limits(PureDP(1)), purposes=("care",)))
    with pytest.raises(PurposeRefused, match=r"'care'.*'marketing' was given"):
        ledger.charge(charge(purpose="marketing"))
    with pytest.raises(PurposeRefused, match="none was given"):
        ledger.charge(charge(purpose=None))
    ledger.register(Registration("plain", Limits(PureDP(1))))
    ledger.charge(charge(dataset="plain", purpose=None))
    with pytest.raises(PurposeRefused, match="names none"):
        ledger.charge(charge(dataset="plain", purpose="care"))


def test_blocks_have_totals_of_their_own_under_the_same_limits(ledger, registration, charge):
    ledger.register(registration)
    with pytest.raises(GovernanceError, match="no block 'new'"):
        ledger.charge(charge(blocks=("new",)))
    ledger.add_block("patients", "new", fingerprint="e" * 64)
    ledger.add_block("patients", "new", fingerprint="e" * 64)
    ledger.charge(charge(cost=Cost(0.4)))
    ledger.charge(charge(cost=Cost(0.5), blocks=("new",)))
    with pytest.raises(BudgetExceeded):  # the old block has room, the new one has not
        ledger.charge(charge(blocks=("main", "new")))
    ledger.charge(charge())
    assert ledger.spent("patients", block="new").epsilon == Fraction(1, 2)
    assert ledger.spent("patients", analyst="ann").epsilon == Fraction(1, 2)
    rest = ledger.remaining("patients", "bob", "care", ("main", "new"))
    assert rest["dataset"] == PureDP(2.5)
    assert ledger.position("patients", "ann") == 2  # on the old block; the new one starts anew
    assert ledger.snapshot("patients", "ann", blocks=("new",)).position("dataset") == 1
    assert ledger.verify().ok


def test_people_may_be_in_two_blocks_so_blocks_need_rows_as_units():
    ledger = Ledger(None)
    ledger.register(Registration("visits", Limits(PureDP(1)), unit="person"))
    with pytest.raises(GovernanceError, match="unit 'row'"):
        ledger.add_block("visits", "new")


def test_an_owner_amends_limits_and_it_is_recorded(ledger, registration, charge):
    ledger.register(registration)
    ledger.charge(charge(cost=Cost(0.5)))
    lower = Limits(dataset=PureDP(0.6))
    new = ledger.amend("patients", limits=lower, reason="the study ends")
    assert ledger.registration("patients") == new
    assert new.limits == lower
    with pytest.raises(BudgetExceeded):
        ledger.charge(charge(analyst="bob", cost=Cost(0.2)))
    ledger.amend("patients", limits=Limits(dataset=PureDP(9)), purposes=("care", "more"))
    ledger.charge(charge(analyst="bob", purpose="more", cost=Cost(2)))
    assert [entry.kind for entry in ledger.entries()].count("amended") == 2
    assert ledger.verify().ok
    with pytest.raises(ParameterError, match="changes"):
        ledger.amend("patients")
    with pytest.raises(GovernanceError, match="not registered"):
        ledger.amend("others", limits=lower)


def test_an_amendment_undoes_no_other_that_came_meanwhile(ledger):
    """Two owners look at the same rules; who comes second has to look again."""
    ledger.register(Registration("patients", Limits(PureDP(3)), purposes=("care",)))
    seen = ledger.registration("patients")
    ledger.amend("patients", limits=Limits(PureDP(1)), known=seen)
    with pytest.raises(GovernanceError, match=r"limits of 'patients' were changed .* meanwhile"):
        ledger.amend("patients", limits=Limits(PureDP(3), analyst=PureDP(2)), known=seen)
    assert ledger.registration("patients").limits == Limits(PureDP(1))
    ledger.amend("patients", purposes=("care", "research"), known=seen)  # nobody changed those
    seen = ledger.registration("patients")
    assert seen.limits == Limits(PureDP(1))
    now = ledger.amend("patients", limits=Limits(PureDP(2)), known=seen)
    assert now.limits.dataset == PureDP(2)


def test_other_events_are_recorded_too(ledger):
    release = {"dataset": "patients", "guarantee": "5-anonymity", "purpose": "care", "rows": 200}
    entry = ledger.record("released", release)
    assert (entry.dataset, entry.guarantee, entry.details) == (
        "patients",
        "5-anonymity",
        {"rows": 200},
    )
    assert ledger.entries("patients") == [entry]
    assert ledger.entries("others") == []
    with pytest.raises(ParameterError, match="by the ledger itself"):
        ledger.record("charged", {})
    assert ledger.verify().ok


def test_the_last_entries_are_read_alone(ledger, registration, charge):
    ledger.register(registration)
    for number in range(4):
        ledger.charge(charge(question=f"question {number}"))
    ledger.record("released", {"dataset": "others"})
    entries = ledger.entries()
    assert ledger.entries(last=2) == entries[-2:]
    assert ledger.entries("patients", last=2) == entries[3:5]
    assert ledger.entries(last=99) == entries
    assert (ledger.count(), ledger.count("patients"), ledger.count("none")) == (6, 5, 0)


def test_a_postgres_database_without_a_ledger(fresh_postgres_url):
    with pytest.raises(ParameterError, match="no ledger"):
        Ledger(fresh_postgres_url, create=False)


def test_texts_of_every_kind_survive(ledger, registration, charge):
    ledger.register(registration)
    odd = "Ψ '; DROP TABLE sfumato_entries; -- \" \\ \n\t😀"
    ledger.settle(ledger.charge(charge(question=odd, guarantee=odd)), json.dumps(odd))
    assert ledger.stored("patients", "ann", "f" * 64, odd, "care") == json.dumps(odd)
    assert ledger.entries()[1].question == odd
    assert ledger.verify().ok


@pytest.mark.parametrize("bad", ["a\0b", "half \ud800"])
def test_texts_that_no_database_keeps_are_refused_with_a_sentence(
    ledger, registration, charge, bad
):
    ledger.register(registration)
    for field in ("question", "analyst", "purpose", "guarantee"):
        with pytest.raises(ParameterError, match="cannot be kept"):
            ledger.charge(charge(**{field: bad}))
    receipt = ledger.charge(charge())
    for attempt in (
        lambda: ledger.settle(receipt, bad),
        lambda: ledger.record("released", {"analyst": bad}),
    ):
        with pytest.raises(ParameterError, match="cannot be kept"):
            attempt()
    assert ledger.stored("patients", "ann", "f" * 64, bad, "care") is None
    ledger.settle(receipt, "1")
    assert ledger.verify().ok


def test_exports_hold_every_entry_and_no_answer(ledger, registration, charge, tmp_path):
    ledger.register(registration)
    ledger.settle(ledger.charge(charge(question="=cmd|' /C calc'!A0")), '{"count": "four hundred"}')
    ledger.export(tmp_path / "ledger.json")
    ledger.export(tmp_path / "ledger.csv", "csv")
    written = json.loads((tmp_path / "ledger.json").read_text("utf-8"))
    assert [one["hash"] for one in written] == [one.hash for one in ledger.entries()]
    previous = "0" * 64
    for one in written:  # the chain can be recomputed from the file alone
        claimed = one.pop("hash")
        assert one["previous"] == previous
        text = json.dumps(one, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert claimed == previous
    with (tmp_path / "ledger.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["number"]) for line in lines] == [1, 2, 3]
    assert lines[1]["question"].startswith("'=")
    for file in ("ledger.json", "ledger.csv"):
        assert "four hundred" not in (tmp_path / file).read_text("utf-8")
    with pytest.raises(ParameterError, match="json or csv"):
        ledger.export(tmp_path / "x", "xml")
    with pytest.raises(OutputError, match="cannot be written"):
        ledger.export(tmp_path / "none" / "x")


def test_a_ledger_is_found_again(place, registration, charge):
    with Ledger(place) as ledger:
        ledger.register(registration)
        ledger.charge(charge())
    with Ledger(place, create=False) as again:
        assert again.spent("patients").epsilon == Fraction(1, 10)
        assert again.verify().ok


def test_the_file_is_the_owners_alone_and_made_only_on_purpose(tmp_path, monkeypatch):
    file = tmp_path / "deep" / "ledger.sqlite"
    with pytest.raises(ParameterError, match="no ledger"):
        Ledger(file, create=False)
    assert not file.exists()
    with Ledger(file):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    monkeypatch.setattr("sfumato.govern.ledger.connection._MAKING", 0.1)
    with pytest.raises(GovernanceError, match=r"empty .*restore the latest copy .*delete the file"):
        Ledger(empty)
    assert not empty.stat().st_size
    with pytest.raises(ParameterError, match="is a folder; name a file"):
        Ledger(tmp_path)
    with pytest.raises(ParameterError, match="no ledger"):
        Ledger(empty, create=False)


def test_bad_places_are_refused_with_a_sentence(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is no database, however long one looks at it" * 99)
    for bad in ("mysql://x/y", "sqlite://", "what://"):
        with pytest.raises(ParameterError, match="ledger"):
            Ledger(bad)
    with pytest.raises(GovernanceError, match=r"cannot be used .* latest sound copy"):
        Ledger(tmp_path / "text.sqlite")
    with pytest.raises(GovernanceError, match="cannot be used") as refusal:
        Ledger("postgresql://someone:secret@127.0.0.1:9/none")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_a_file_in_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_ledger_of_a_later_format_is_refused(tmp_path):
    import sqlite3

    file = tmp_path / "ledger.sqlite"
    Ledger(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE sfumato_head SET version = 99")
    with pytest.raises(GovernanceError, match=r"format 99.*update Sfumato"):
        Ledger(file)


def test_writes_are_synchronous(place):
    from sqlalchemy import text

    ledger = Ledger(place)
    with ledger._store.writing() as connection:
        if place.startswith("postgres"):
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        else:
            assert connection.scalar(text("PRAGMA synchronous")) == 2
            assert connection.scalar(text("PRAGMA journal_mode")) == "wal"


def test_importing_sfumato_does_not_load_the_database_library():
    code = "import sys, sfumato; sfumato.Schema; print('sqlalchemy' in sys.modules)"
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"
    assert os.environ.get("SFUMATO_FAULT") is None


def test_names_of_datasets_are_not_told_apart_by_capitals(ledger, registration):
    ledger.register(registration)
    with pytest.raises(GovernanceError, match="capitals alone"):
        ledger.register(replace(registration, dataset="PATIENTS"))
    ledger.register(registration)  # the same is registered already
    ledger.register(replace(registration, dataset="patients_2"))
    assert sorted(ledger.names()) == ["patients", "patients_2"]


def test_a_refusal_names_the_tightest_limit_that_is_passed(ledger, registration, charge):
    ledger.register(registration)
    with pytest.raises(BudgetExceeded, match="analyst 'ann'") as caught:
        ledger.charge(charge(cost=Cost(4)))  # passes those of the dataset and the purpose, too
    assert caught.value.limit == "analyst"
    for analyst in ("bob", "eve"):
        ledger.charge(charge(cost=Cost(1), analyst=analyst))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge(charge(cost=Cost(4), analyst="dan"))
    assert caught.value.limit == "purpose"  # nothing is left of it, and 1 of each other
