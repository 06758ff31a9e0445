"""What the owner fixed holds: tables, kinds, blocks, policies, purposes; and no way around it."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3

import pytest

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.language import (
    Column,
    Compare,
    Constant,
    Filter,
    Key,
    Measure,
    Question,
    Scan,
)
from sfumato.ask.session.keys import private_part
from sfumato.ask.session.submission import Submission
from sfumato.errors import DataError, GovernanceError, ParameterError, Refused
from sfumato.govern import Fixed, Limits, Registration

ROWS = {"k": ["a", "b"] * 50, "x": [1.0, 2.0] * 50}
PEOPLE = {"user": [1, 2] * 50, "visit": list(range(100)), "x": [1.0] * 100}


def table(columns=None, name="t"):
    return sf.read(columns or ROWS, name=name)


def session(source=None, **more):
    given = {"unit": "row", "budget": sf.PureDP(10), "public_types": True} | more
    return sf.Session(source or table(), **given)


def test_several_blocks_have_no_further_private_tables():
    blocks = [table(), table({"k": ["a"], "x": [5.0]})]
    with pytest.raises(ParameterError, match="once per block"):
        session(blocks, private={"other": table(name="other")})


def test_a_block_that_is_given_alone_keeps_its_own_account(tmp_path):
    ledger = tmp_path / "l.sqlite"
    first, second = table(), table({"k": ["a"] * 7, "x": [5.0] * 7})
    with session([first, second], ledger=ledger) as both:
        both.sql("SELECT COUNT(*) FROM t", epsilon=9, blocks=["block 2"])
    with pytest.raises(GovernanceError, match="known as 'block 2'"):
        session(second, ledger=ledger)
    with session(first, ledger=ledger) as alone:
        assert alone.remaining == sf.PureDP(10)


def test_rows_that_were_charged_with_others_get_no_second_budget(tmp_path):
    ledger = tmp_path / "l.sqlite"
    first, second, third = (table({"k": ["a"] * n, "x": [1.0] * n}) for n in (100, 7, 5))
    with session([first, second], ledger=ledger) as both:
        both.sql("SELECT COUNT(*) FROM t", epsilon=10)
    with pytest.raises(GovernanceError, match="'block 3' is known as 'main'"):
        session([third, second, first], ledger=ledger)


def test_rows_that_changed_and_were_charged_with_others_are_known(tmp_path):
    ledger = tmp_path / "l.sqlite"
    many = [table({"k": ["a"] * n, "x": [1.0] * n}) for n in range(1, 12)]
    with session(many, ledger=ledger):
        pass
    grown = [table({"k": ["a"] * (n + 50), "x": [1.0] * (n + 50)}) for n in range(1, 12)]
    with session(grown, ledger=ledger) as later:
        later.sql("SELECT COUNT(*) FROM t", epsilon=10)
    swapped = [grown[0], grown[9], *grown[2:9], grown[1], grown[10]]  # names sort as 10 before 2
    with pytest.raises(GovernanceError, match="'block 2' is known as 'block 10'"):
        session(swapped, ledger=ledger)


def test_a_registered_main_block_is_known_before_any_charge(tmp_path):
    ledger = tmp_path / "l.sqlite"
    first, second = table(), table({"k": ["a"] * 7, "x": [5.0] * 7})
    with session(first, ledger=ledger):
        pass
    with pytest.raises(GovernanceError, match="'block 2' is known as 'main'"):
        session([second, first], ledger=ledger)


def test_a_private_table_with_a_budget_of_its_own_is_refused_elsewhere(tmp_path):
    ledger = tmp_path / "l.sqlite"
    with session(table(name="patients"), ledger=ledger):
        pass
    with pytest.raises(GovernanceError, match="a dataset of its own"):
        session(table(name="visits"), ledger=ledger, private={"patients": table()})


def test_a_private_table_of_a_dataset_gets_no_second_budget(tmp_path):
    ledger = tmp_path / "l.sqlite"
    unit = sf.Unit("user", rows=2)
    with session(
        table(PEOPLE, "visits"), unit=unit, ledger=ledger, private={"patients": table(PEOPLE)}
    ):
        pass
    with pytest.raises(GovernanceError, match="private table of the dataset 'visits'"):
        session(table(PEOPLE, "patients"), unit=unit, ledger=ledger)


def test_private_tables_and_kinds_do_not_change(tmp_path):
    ledger = tmp_path / "l.sqlite"
    with session(ledger=ledger):
        pass
    other = table({"k": ["a", "b"], "x": ["one", "two"]})
    with session(other, ledger=ledger) as again:  # texts are read as the numbers they are not
        kinds = {column.name: column.kind for column in again.desk.opened.facts["t"].columns}
        assert kinds == again.ledger.registration("t").rules["tables"]["t"]["kinds"]
    more = table({"k": ["a", "b"], "x": [1, 2], "new": [1, 2]})
    with pytest.raises(GovernanceError, match="new is integer instead of not there"):
        session(more, ledger=ledger)
    with pytest.raises(GovernanceError, match="'more' is not registered"):
        session(ledger=ledger, private={"more": table()})


def test_a_cell_that_is_no_number_does_not_change_what_is_refused(tmp_path):
    file = tmp_path / "ages.csv"
    file.write_text("age\n" + "\n".join(str(20 + i % 50) for i in range(60)) + "\n")
    asked = "SELECT SUM(age) FROM ages"
    with session(str(file), bounds={"age": (0, 120)}) as before:
        before.estimate(asked, epsilon=1)
    with file.open("a") as more:
        more.write("n/a\n")
    with session(str(file)) as after:
        after.estimate(asked, epsilon=1)
        assert after.sql(asked, epsilon=5).value == pytest.approx(2660, abs=500)


def test_an_engine_for_another_unit_is_refused():
    engine = DuckDBEngine.open(table(PEOPLE), person="visit")
    with pytest.raises(ParameterError, match="'visit' as the unit"):
        session(engine, unit=sf.Unit("user", rows=1))


def test_an_amended_policy_holds_in_open_sessions():
    with session() as one:
        one.ledger.amend("t", policy=Fixed(0.1))
        with pytest.raises(GovernanceError, match="exactly"):
            one.sql("SELECT COUNT(*) FROM t", epsilon=5)
        assert one.sql("SELECT COUNT(*) FROM t").epsilon == 0.1


def test_an_answer_for_one_purpose_is_not_given_for_another(tmp_path):
    ledger = sf.Ledger(tmp_path / "l.sqlite")
    schema = sf.Schema(insensitive=["k", "x"], purposes=["care", "research"])
    source = sf.read(ROWS, schema=schema, name="t")
    for purpose in ("care", "research"):
        with session(source, ledger=ledger, purpose=purpose) as one:
            assert not one.sql("SELECT COUNT(*) FROM t", epsilon=1).stored
            assert one.sql("SELECT COUNT(*) FROM t", epsilon=1).stored
    assert ledger.spent("t").epsilon == 2


X, K = Column("x", "real"), Column("k", "text")
COUNT = Measure("n", "count", spelling="COUNT")


@pytest.mark.parametrize(
    "question",
    [
        Question(Scan("t", (K, X)), (COUNT,), (Key("k", K, ("a",) * 2000),)),
        Question(Filter(Scan("t", (K, X)), Compare(">", K, Constant(3, "integer"))), (COUNT,)),
        Question(Filter(Scan("t", (K, X)), Constant("yes", "boolean")), (COUNT,)),
        Question(Filter(Scan("t", (K, X)), X), (COUNT,)),
    ],
    ids=["key repeated", "text against number", "literal of another kind", "no condition"],
)
def test_questions_made_by_hand_are_typed_again(question):
    with session() as one:
        with pytest.raises((ParameterError, Refused)):
            one.ask(question, epsilon=0.1)
        assert one.remaining == sf.PureDP(10)


def test_questions_posed_by_hand_are_checked_like_others():
    ill_typed = Question(Scan("t", (K, X)), (COUNT,), (Key("k", K, ("a", "a")),))
    with session() as one:
        with pytest.raises(ParameterError, match="listed once each"):
            one.ask(Submission(ill_typed, ("main",)), epsilon=0.1)
        with pytest.raises(ParameterError, match="'block 2' was named"):
            one.ask(Submission(Question(Scan("t", (K, X)), (COUNT,)), ("block 2",)), epsilon=0.1)
        assert one.remaining == sf.PureDP(10)


def test_a_group_listed_twice_is_never_answered_twice(monkeypatch):
    """Even where nothing has checked the question."""
    monkeypatch.setattr("sfumato.ask.session.submission.check_well_formed", lambda _: None)
    question = Question(Scan("t", (K, X)), (COUNT,), (Key("k", K, ("a", "a")),))
    with session() as one, pytest.raises(DataError, match="stays charged"):
        one.ask(Submission(question, ("main",)), epsilon=0.1)


def test_errors_after_the_charge_carry_nothing_of_the_engine(monkeypatch):
    def fails(*_):
        raise ValueError("the cell is 'secret'")

    monkeypatch.setattr(DuckDBEngine, "aggregate", fails)
    with session() as one:
        with pytest.raises(DataError) as caught:
            one.sql("SELECT COUNT(*) FROM t", epsilon=1)
        error = caught.value
        while error is not None:
            assert "secret" not in str(error)
            error = error.__cause__ or error.__context__
        assert one.ledger.spent("t").epsilon == 1
        assert one.ledger.entries()[-1].details["reason"] == "engine-failed"


def test_fingerprints_in_the_ledger_are_keyed():
    charged = []
    for _ in range(2):
        with session() as one:
            one.sql("SELECT COUNT(*) FROM t", epsilon=1)
            charged += [e.fingerprint for e in one.ledger.entries() if e.kind == "charged"]
    assert len(set(charged)) == 2


def test_the_salt_is_kept_out_of_entries_and_exports(tmp_path):
    ledger = sf.Ledger(tmp_path / "l.sqlite")
    with session(ledger=ledger, public={"p": {"k": ["a"], "y": [1]}}) as one:
        one.sql("SELECT COUNT(*) FROM t", epsilon=1)
    salt = ledger.salt("t")
    assert len(salt) == 16
    for form in ("json", "csv"):
        ledger.export(tmp_path / form, form)
        assert salt.hex() not in (tmp_path / form).read_text()
    raw = DuckDBEngine.open(table()).fingerprint()
    charged = next(e.fingerprint for e in ledger.entries() if e.kind == "charged")
    assert private_part(charged) == hmac.new(salt, raw.encode(), "sha256").hexdigest()
    assert ledger.entries()[0].fingerprint == private_part(charged)
    told = ledger.entries()[0].details["registration"]["rules"]["salt_sha256"]
    assert told == hashlib.sha256(salt.hex().encode()).hexdigest()
    assert ledger.verify().ok


def test_a_salt_that_was_exchanged_is_found(tmp_path):
    place = tmp_path / "l.sqlite"
    with session(ledger=place):
        pass
    for changed in ("'00'", "'no salt'", "NULL"):
        with sqlite3.connect(place) as connection:
            connection.execute(f"UPDATE sfumato_registrations SET salt = {changed}")
        connection.close()
        with sf.Ledger(place) as ledger:
            assert "kept salts" in ledger.verify().why


def test_a_dataset_that_was_registered_by_hand_is_refused_in_words(tmp_path):
    place = tmp_path / "l.sqlite"
    with sf.Ledger(place) as ledger:
        ledger.register(Registration("t", Limits(dataset=sf.PureDP(10))))
    with pytest.raises(GovernanceError, match="registered by hand"):
        session(ledger=place)


def test_a_number_that_is_always_zero_is_refused_before_the_charge():
    with session() as one:
        with pytest.raises(Refused, match="0 whatever"):
            one.sql("SELECT SUM(CLAMP(x, 0, 0)) FROM t", epsilon=1)
        assert one.remaining == sf.PureDP(10)


def test_limits_and_registrations_are_public_names():
    registration = Registration("d", Limits(dataset=sf.PureDP(1)))
    assert registration.unit == "row"
