"""What the commands that ask say, in the words of their options."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sfumato.ask.language.refusals import refuse
from sfumato.cli import run
from sfumato.cli.display.wording import in_options
from sfumato.errors import ParameterError
from sfumato.govern.ledger.ledger import Ledger
from sfumato.message import Argument, Call, Message, Ways, Word

COUNT = "SELECT COUNT(*) FROM d"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    Path("d.csv").write_text("age,job\n" + "".join(f"{i % 60},nurse\n" for i in range(200)))
    return tmp_path


@pytest.fixture
def say(capsys):
    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(one) for one in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        return " ".join(printed.out.split()), " ".join(printed.err.split())

    return said


UNIT = Call("Unit", "id", {"rows": 5, "rows_per_group": 1})


@pytest.mark.parametrize(
    ("argument", "python", "option"),
    [
        (Argument("epsilon", 0.1), "epsilon=0.1", "--epsilon 0.1"),
        (Argument("accuracy"), "accuracy=", "--accuracy"),
        (Argument("bounds", ...), "bounds=…", "--bounds …"),
        (Argument("bins", [0, 50, 100]), "bins=[0, 50, 100]", "--bins 0,50,100"),
        (Argument("unit", "row"), "unit='row'", "--unit row"),
        (Argument("unit", UNIT), "unit=Unit('id', rows=5, rows_per_group=1)",
         "--unit id --rows 5 --rows-per-group 1"),
        (Argument("budget", Call("sf.PureDP", 1.0)), "budget=sf.PureDP(1.0)", "--budget 1.0"),
        (Argument("bounds", {"age": (0, 100)}), "bounds={'age': (0, 100)}", "--bounds age=0,100"),
        (Argument("bounds", (Word("low"), Word("high"))), "bounds=(low, high)",
         "--bounds low,high"),
        (Argument("where", "sex = 'f'"), "where=\"sex = 'f'\"", "--where \"sex = 'f'\""),
        (Ways("Ledger.amend('d')", "sfumato ledger amend"),
         "Ledger.amend('d') or `sfumato ledger amend`", "`sfumato ledger amend`"),
    ],
)  # fmt: skip
def test_arguments_are_told_as_options(argument, python, option):
    message = Message("Give {}, as {!r} does; {who}.", argument, "epsilon=3", who=Message("so"))
    assert message == f"Give {python}, as 'epsilon=3' does; so."
    assert in_options(message) == f"Give {option}, as 'epsilon=3' does; so."
    error = pickle.loads(pickle.dumps(ParameterError(message)))
    assert (str(error), in_options(error.message)) == (message, in_options(message))


def test_other_texts_stay_as_they_are():
    for text in ("the column epsilon=3", "postgresql://host/database?table=visits"):
        assert in_options(text) == text


def test_refusals_keep_their_arguments_when_sent_elsewhere():
    refused = pickle.loads(pickle.dumps(refuse("condition", place="at its end")))
    assert str(refused).startswith("where= is not a condition")
    assert in_options(refused.message).startswith("--where is not a condition")
    assert refused.slots == {"place": "at its end"}


ROW = ("--unit", "row", "--public-types", "all")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ask", "d.csv", COUNT), "--epsilon 0.1"),
        (("ask", "d.csv", COUNT, "-e", "1", "--rho", "1"), "--epsilon and --rho were given"),
        (("ask", "d.csv", COUNT, "-e", "1", "--accuracy", "9"), "--epsilon and --accuracy were"),
        (("ask", "d.csv", COUNT, "--accuracy", "-3"), "--accuracy is a number above 0"),
        (("ask", "d.csv", "SELECT COUNT(*) FROM sales-2025", "-e", "1"), 'as in "sales-2025"'),
        (("ask", "d.csv", "SELECT SUM(zzz) FROM d", "-e", "1"), "There are age, job."),
        (("ask", "d.csv", "SELECT SUM(agee) FROM d", "-e", "1"), "Did you mean age?"),
        (("histogram", "d.csv", "age", "-b", "0,9", "--where", "age >", "-e", "1"), "at its end"),
        (("histogram", "d.csv", "age", "-b", "0,9", "--where", "age > 3 4 5", "-e", "1"),
         "--where is not a condition in SQL that can be read: it stops making sense at column 9"),
        (("histogram", "d.csv", "age", "-e", "1"), "--bins"),
        (("ask", "d.csv", COUNT, "-e", "1", "--picture", "x.png"), ".svg or .html"),
    ],
)  # fmt: skip
def test_faults_are_told_in_options(say, words, told):
    _, err = say(*words, *ROW, code=2)
    assert told in err
    for word in ("epsilon=", "accuracy=", "bins=", "where=", "rho="):
        assert word not in err
    assert not Path("d.csv.ledger.sqlite").exists()


def test_accuracy_and_estimate_tell_the_price(say):
    out, _ = say("ask", "d.csv", COUNT, *ROW, "--accuracy", "30", "--estimate")
    assert "ε = 0.0981" in out
    assert "count: ± 30 with" in out


def test_a_file_of_another_encoding_and_delimiter_can_be_asked(say):
    Path("l.csv").write_bytes(b"name;age\n" + "Zoë;7\n".encode("latin-1") * 50)
    _, err = say("ask", "l.csv", "SELECT COUNT(*) FROM l", *ROW, "-e", "9", code=2)
    assert "--encoding latin-1" in err
    written = ("--encoding", "latin-1", "--delimiter", ";")
    ask = "SELECT COUNT(*) AS n FROM l WHERE name = 'Zoë'"
    out, _ = say("ask", "l.csv", ask, *ROW, "-e", "90", "--budget", "99", "-f", "csv", *written)
    assert out.startswith("n,n_low,n_high 50,")
    assert Path("l.csv.ledger.sqlite").is_file()


def test_files_that_cannot_be_written_are_found_before_the_charge(say, monkeypatch):
    def full(*_, **__):
        raise PermissionError(13, "Permission denied")

    asked = ("ask", "d.csv", COUNT, *ROW, "-e", "0.1", "-f", "csv", "-o", "out.csv")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", full)
        _, err = say(*asked, code=74)
        assert "Nothing was asked" in err
        assert not Path("d.csv.ledger.sqlite").exists()
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.data.atomic._write_and_rename", full)
        _, err = say(*asked, code=74)
        assert "asking the same again costs nothing" in err
    _, err = say(*asked)
    assert "cost: nothing" in err


def test_exports_are_json_or_csv_and_replace_nothing(say):
    say("ask", "d.csv", COUNT, *ROW, "-e", "0.1")
    _, err = say("ledger", "export", "e.xml", "--data", "d.csv", code=2)
    assert ".json or .csv" in err
    say("ledger", "export", "e.csv", "--data", "d.csv")
    _, err = say("ledger", "export", "e.csv", "--data", "d.csv", code=2)
    assert "--force" in err
    say("ledger", "export", "e.csv", "--data", "d.csv", "--force")


def test_a_table_of_a_database_file_is_named_as_for_asking(say):
    import duckdb

    with duckdb.connect("c.duckdb") as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS x FROM range(20)")
    _, err = say("ask", "c.duckdb", COUNT, *ROW, "-e", "1", code=2)
    assert "c.duckdb::visits" in err
    say("ask", "c.duckdb::t", "SELECT COUNT(*) FROM t", *ROW, "-e", "1")
    out, _ = say("ledger", "show", "--data", "c.duckdb::t")
    assert "registered" in out


def test_an_answer_without_groups_says_why(say):
    out, err = say("ask", "d.csv", "SELECT age, COUNT(*) FROM d GROUP BY age", *ROW, "-e", "0.1")
    assert "no group reached the number of people" in err
    assert "cost: ε = 0.1" in out
    with Ledger("d.csv.ledger.sqlite") as ledger:
        assert ledger.count("d") == 3


def test_a_column_that_cannot_be_asked_about_is_not_denied(say):
    import duckdb

    with duckdb.connect("c.duckdb") as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS x, [1, 2] AS many FROM range(20)")
    _, err = say("ask", "c.duckdb::t", "SELECT COUNT(many) FROM t", *ROW, "-e", "1", code=2)
    assert "The column many is of a type that cannot be asked about" in err
