"""Bad input gets one clear message and exit code 2, and nothing is half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato import errors
from sfumato.cli import run

SCHEMA = """
attributes:
  age: {role: quasi}
  zip: {role: quasi, hierarchy: {mask: {length: 5}}}
  disease: {role: sensitive}
"""
GOOD = "age,zip,disease\n" + "".join(
    f"{20 + i % 4},1305{i % 3},{'flu' if i % 2 else 'acne'}\n" for i in range(24)
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "data.csv").write_text(GOOD)
    return tmp_path


def complaint(capsys, arguments, code=2):
    """Run, expect the exit code, one message without traceback, and no output folder."""
    before = set(Path.cwd().iterdir())
    assert run(arguments) == code
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.strip()
    assert set(Path.cwd().iterdir()) == before, "something was left behind"
    return " ".join(said.split())


def anonymize(*extra, data="data.csv"):
    return ["anonymize", data, "-s", "schema.yaml", "-o", "out", *extra]


FILES = {
    "empty file": (b"", "empty"),
    "only blank lines": (b"\n\n", "empty"),
    "header only": (b"age,zip,disease\n", "no records"),
    "ragged row": (b"age,zip,disease\n20,13053,flu\n20,13053\n", "line 3"),
    "long row": (b"age,zip,disease\n20,13053,flu,extra,more\n", "columns"),
    "wrong encoding": ("age,zip,disease\n20,13053,grippe é\n".encode("latin-1"), "encoding"),
    "duplicate column": (b"age,zip,disease,age\n20,13053,flu,1\n", "have the same name"),
    "nameless column": (b"age,,disease\n20,13053,flu\n", "has no name"),
    "missing column": (b"age,disease\n20,flu\n", "zip"),
    "open quote": (b'age,zip,disease\n20,"13053,flu\n20,13053,flu\n', "data.csv"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(folder, capsys, name):
    content, expected = FILES[name]
    (folder / "data.csv").write_bytes(content)
    said = complaint(capsys, anonymize("-k", "2"))
    assert expected in said
    assert "grippe" not in said


PARAMETERS = {
    "k zero": (["-k", "0"], "at least 1"),
    "k negative": (["-k", "-3"], "at least 1"),
    "k not a number": (["-k", "many"], "whole number"),
    "k infinite": (["-k", "inf"], "whole number"),
    "k enormous": (["-k", "99999999999999999999"], "at most"),
    "unknown option": (["-k", "2", "--option", "strictly=true"], "no option"),
    "time limit below 0": (["-k", "2", "--time-limit", "-1"], "time limit"),
    "time limit without end": (
        ["-k", "2", "--algorithm", "local", "--time-limit", "inf"],
        "time limit",
    ),
    "microaggregation by nothing": (["-k", "2", "--microaggregate", "age:nan"], "number"),
    "microaggregation by a fraction": (["-k", "2", "--microaggregate", "age:2.5"], "whole"),
    "nothing promised": ([], "promised"),
    "t above 1": (["-k", "2", "-t", "1.5:disease"], "1"),
    "t negative": (["-k", "2", "-t", "-0.1:disease"], "0"),
    "t nan": (["-k", "2", "-t", "nan:disease"], "t"),
    "l zero": (["-l", "0:disease"], "at least 1"),
    "l without attribute": (["-l", "2"], "attribute"),
    "unknown attribute": (["-l", "2:illness"], "illness"),
    "l of a quasi-identifier": (["-l", "2:zip"], "quasi-identifier"),
    "suppression above 1": (["-k", "2", "--suppression", "1.2"], "suppression"),
    "unknown algorithm": (["-k", "2", "--algorithm", "magic"], "no algorithm"),
    "unknown objective": (["-k", "2", "--objective", "beauty"], "objective"),
    "k-map without population": (["--k-map", "3"], "population"),
    "combination of a stranger": (["-k", "age,height:3"], "height"),
    "own definition that is not there": (["--definition", "nowhere:rule"], "nowhere"),
    "unknown format": (["-k", "2", "--format", "xls"], "csv"),
    "bad sweep": (["-k", "2", "--sweep", "t=1"], "--sweep"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_outside_what_is_allowed(folder, capsys, name):
    extra, expected = PARAMETERS[name]
    assert expected in complaint(capsys, anonymize(*extra))


def test_k_larger_than_the_number_of_records(folder, capsys):
    said = complaint(capsys, anonymize("-k", "25"))
    assert "at least 25 records" in said
    assert "has 24" in said


def test_one_row_cannot_be_hidden(folder, capsys):
    (folder / "data.csv").write_text("age,zip,disease\n20,13053,flu\n")
    assert "at least 2 records" in complaint(capsys, anonymize("-k", "2"))


def test_a_promise_that_no_generalisation_keeps(folder, capsys):
    said = complaint(capsys, anonymize("-k", "2", "-l", "3:disease"), code=1)
    assert "not even with every value generalised" in said


def test_value_missing_from_its_hierarchy(folder, capsys):
    (folder / "age.csv").write_text("20;*\n21;*\n22;*\n")
    (folder / "schema.yaml").write_text(
        SCHEMA.replace("{role: quasi}", "{role: quasi, hierarchy: {file: age.csv}}", 1)
    )
    said = complaint(capsys, anonymize("-k", "2"))
    assert "'age'" in said
    assert "does not cover 1 value" in said
    assert "23" not in said


def test_hierarchy_with_two_roots(folder, capsys):
    (folder / "age.csv").write_text("20;young\n21;young\n22;old\n23;old\n")
    (folder / "schema.yaml").write_text(
        SCHEMA.replace("{role: quasi}", "{role: quasi, hierarchy: {file: age.csv}}", 1)
    )
    assert "2 roots" in complaint(capsys, anonymize("-k", "2"))


def test_a_file_that_does_not_exist(folder, capsys):
    assert "nothing.csv" in complaint(capsys, anonymize("-k", "2", data="nothing.csv"))


def test_a_schema_that_does_not_exist(folder, capsys):
    assert "none.yaml" in complaint(
        capsys, ["anonymize", "data.csv", "-s", "none.yaml", "-k", "2", "-o", "out"]
    )


def test_an_output_that_cannot_be_written(folder, capsys):
    (folder / "file").write_text("in the way")
    said = complaint(
        capsys,
        ["anonymize", "data.csv", "-s", "schema.yaml", "-k", "2", "-o", "file/out"],
        code=74,
    )
    assert "cannot be written" in said
    said = complaint(
        capsys, ["anonymize", "data.csv", "-s", "schema.yaml", "-k", "2", "-o", "file"]
    )
    assert "exists" in said
    assert (folder / "file").read_text() == "in the way"


@pytest.mark.skipif(os.name != "posix", reason="folders of the system")
def test_an_output_in_a_folder_of_the_system(folder, capsys):
    said = complaint(
        capsys,
        ["anonymize", "data.csv", "-s", "schema.yaml", "-k", "2", "-o", "/proc/out"],
        code=74,
    )
    assert "/proc/out" in said


def test_a_release_is_not_replaced_unless_asked(folder, capsys):
    assert run(anonymize("-k", "2", "--no-report")) == 0
    first = (folder / "out" / "release.json").read_bytes()
    assert run(anonymize("-k", "3", "--no-report")) == 2
    assert (folder / "out" / "release.json").read_bytes() == first
    assert run(anonymize("-k", "3", "--no-report", "--force")) == 0
    assert (folder / "out" / "release.json").read_bytes() != first


ODD = {
    "all rows equal": "age,zip,disease\n" + "20,13053,flu\n" * 6,
    "nulls and NaN": "age,zip,disease\n" + "20,13053,flu\n,13053,acne\nNaN,,flu\n" * 6,
    "huge integers": "age,zip,disease\n"
    + "123456789012345678901234567890,13053,flu\n9,13053,acne\n" * 6,
    "unicode": "age,zip,disease\n" + "20,１３053,грипп\n21,1305é,流感\n" * 6,
    "quotes and newlines": "age,zip,disease\n"
    + '20,13053,"flu, or ""grippe"""\n20,13053,"two\nlines"\n' * 6,
    "windows line ends": GOOD.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + GOOD,
    "semicolons": GOOD.replace(",", ";"),
    "tabs": GOOD.replace(",", "\t"),
    "two kinds of line ends": GOOD.replace("\n", "\r\n", 5),
}


@pytest.mark.parametrize(
    "algorithm", ["optimal", "local", "mondrian", "cluster", "topdown", "cells"]
)
@pytest.mark.parametrize("name", ODD)
def test_odd_but_honest_data_is_released_and_verified(folder, capsys, name, algorithm):
    (folder / "data.csv").write_text(ODD[name], encoding="utf-8")
    assert run(anonymize("-k", "3", "--algorithm", algorithm, "--no-report")) == 0
    assert "holds" in capsys.readouterr().out


def test_other_encodings_can_be_named(folder):
    (folder / "data.csv").write_bytes(("age,zip,disease\n" + "20,13053,é\n" * 5).encode("latin-1"))
    assert run(anonymize("-k", "3", "--encoding", "latin-1", "--no-report")) == 0
    assert "é" in (folder / "out" / "release.csv").read_text(encoding="utf-8")
    (folder / "data.csv").write_bytes(("age,zip,disease\n" + "20,13053,é\n" * 5).encode("utf-16"))
    assert run(anonymize("-k", "3", "--no-report", "--force")) == 0


def test_other_delimiters_can_be_named(folder):
    (folder / "data.csv").write_text(GOOD.replace(",", ":"))
    assert run(anonymize("-k", "3", "--delimiter", ":", "--no-report")) == 0
    assert run(["verify", "out/release.csv", "-s", "schema.yaml", "--delimiter", ":", "-q"]) == 0


def test_verify_does_not_pass_what_promises_nothing(folder, capsys):
    assert run(["verify", "data.csv", "-s", "schema.yaml", "-q"]) == 2
    assert "Nothing is promised" in capsys.readouterr().err
    assert run(["verify", "data.csv", "-s", "schema.yaml", "--measure"]) == 0
    (folder / "release.json").write_text('{"promise": []}')
    assert run(["verify", "data.csv", "-s", "schema.yaml", "-q"]) == 2


def test_a_manifest_cannot_talk_names_into_pseudonyms(folder, capsys):
    (folder / "schema.yaml").write_text(SCHEMA + "  name: {role: identifier}\n")
    lines = GOOD.splitlines()
    named = [lines[0] + ",name", *(f"{line},Anna{i}" for i, line in enumerate(lines[1:]))]
    (folder / "data.csv").write_text("\n".join(named) + "\n")
    facts = '{"promise": [{"definition": "KAnonymity", "k": 1}], "pseudonyms": ["name"]}'
    (folder / "release.json").write_text(facts)
    assert run(["verify", "data.csv", "-s", "schema.yaml"]) == 1
    assert "'name' is an identifier" in " ".join(capsys.readouterr().out.split())


def test_no_copy_of_the_data_stays_behind(folder):
    scratch = folder / "scratch"
    scratch.mkdir()
    (folder / "data.csv").write_bytes(("age,zip,disease\n" + "20,13053,é\n" * 5).encode("latin-1"))
    code = "import sys; from sfumato.cli import run; sys.exit(run(sys.argv[1:]))"
    line = anonymize("-k", "3", "--encoding", "latin-1", "--no-report", "-q")
    private = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run([sys.executable, "-c", code, *line], check=False, env=private)
    assert done.returncode == 0
    assert list(scratch.iterdir()) == []


def test_replacing_takes_the_old_release_away_and_nothing_else(folder, capsys):
    assert run(anonymize("-k", "2", "--format", "parquet")) == 0
    again = ["--algorithm", "local", "--no-report", "--force"]
    assert run(anonymize("-k", "3", *again)) == 0
    assert {p.name for p in (folder / "out").iterdir()} == {"release.csv", "release.json"}
    (folder / "out" / "diary.txt").write_text("mine")
    assert run(anonymize("-k", "2", "--force")) == 2
    assert "not of a release" in capsys.readouterr().err
    assert (folder / "out" / "diary.txt").read_text() == "mine"


def test_an_error_nobody_foresaw_shows_no_text_of_its_own(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of the module that is imported here
    (folder / "rules.py").write_text(
        "import sfumato as sf\n"
        "class Bad(sf.Definition):\n"
        "    def judge(self, classes):\n"
        "        raise KeyError('a cell')\n"
        "promise = Bad()\n"
    )
    said = complaint(capsys, anonymize("--definition", "rules:promise"), code=70)
    assert "a cell" not in said
    assert "KeyError" in said


def test_a_file_without_a_header_keeps_its_first_record(tmp_path, capsys):
    file = tmp_path / "people.csv"
    file.write_text("Anna Hansen,43,13311\nOle Olsen,41,13312\n", encoding="utf-8")
    schema = tmp_path / "people.yaml"
    schema.write_text("attributes:\n  zip: quasi\n", encoding="utf-8")
    assert (
        run(["anonymize", str(file), "-s", str(schema), "-k", "2", "-o", str(tmp_path / "o")]) == 2
    )
    said = capsys.readouterr().err
    assert "looks like a record" in " ".join(said.split())
    assert "Anna" not in said
    assert "13311" not in said


def test_a_first_line_that_does_not_end_is_not_cut(tmp_path, capsys):
    file = tmp_path / "wide.csv"
    file.write_text(",".join(f"column{i}" for i in range(130_000)) + "\n", encoding="utf-8")
    assert run(["inspect", str(file)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "the first line does not end within 1 MiB" in said
    assert "column1" not in said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BudgetExceeded("too much"), 3),
        (errors.PurposeRefused("no such purpose"), 3),
        (errors.AlreadyUnderWay("under way"), 75),
        (errors.Unavailable("the database is down"), 75),
        (errors.OutputError("the disk is full"), 74),
        (errors.WorkFailed("it failed", charge=1, code="internal"), 70),
        (errors.DataError("a bad cell"), 2),
        (errors.Unsatisfiable("no release"), 1),
    ],
)
def test_exit_codes_say_what_to_do(error, code):
    assert error.exit_code == code


def test_an_output_that_cannot_be_written_is_74(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    assert run(["example", str(blocked / "in"), "--rows", "5"]) == 74
    assert "Output could not be written" in " ".join(capsys.readouterr().err.split())
