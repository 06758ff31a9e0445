"""A file of traces is verified by itself: tampered with, it fails, whatever its manifest says."""

from __future__ import annotations

import duckdb
import pytest

import sfumato as sf
from sfumato.cli import run

BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture
def saved(tmp_path):
    columns = sf.examples.cabs(30, hours=1)
    data = sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS)
    sf.anonymize(data, sf.KAnonymity(3)).save(
        tmp_path / "out", ledger=tmp_path / "l.sqlite", by="me"
    )
    return tmp_path / "out"


def rewrite(folder, change):
    file = folder / "release.csv"
    duckdb.sql(f"COPY (SELECT {change} FROM read_csv('{file}')) TO '{file}.new' (HEADER)")
    (folder / "release.csv.new").replace(file)


def test_a_saved_release_holds_and_reports(saved):
    found = sf.verify(saved)
    assert found.holds
    assert found.unit == "trace"
    page = (saved / "report.html").read_text()
    assert "Where and when" in page
    assert page.count("<svg") >= 3
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    "change",
    [
        "* REPLACE (CASE WHEN trace = 1 THEN lon_low - 0.001 ELSE lon_low END AS lon_low)",
        "* REPLACE (1 AS person)",
        "*, trace * 7 AS licence",
        "* REPLACE (lon_high AS lon_low, lon_low AS lon_high)",
    ],
    ids=["one trace changed", "all of one person", "a column more", "boxes reversed"],
)
def test_a_file_that_was_changed_fails(saved, change):
    rewrite(saved, change)
    found = sf.verify(saved)
    assert not found.holds


def test_without_people_traces_are_counted_and_that_is_said(saved):
    rewrite(saved, "* EXCLUDE (person)")
    found = sf.verify(saved)
    assert found.holds
    assert any("counted as people" in str(finding) for finding in found.findings)


def test_what_is_no_release_of_traces_is_refused(saved):
    rewrite(saved, "trace, person, lon_low")
    with pytest.raises(sf.errors.DataError, match="x_low"):
        sf.verify(saved)
    rewrite(saved, "trace, person")
    with pytest.raises(sf.errors.ParameterError, match="holds the x"):
        sf.verify(saved)


def test_observations_are_counted_from_the_file(tmp_path):
    columns = sf.examples.cabs(25, hours=0.5)
    data = sf.read(columns, shape="trajectories", person="cab", bounds=BOUNDS, unit="person")
    release = sf.anonymize(data, sf.KmAnonymity(3, m=2), levels=4, time_bin=900)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    assert not sf.verify(tmp_path / "out", definition=sf.KmAnonymity(26, m=2)).holds
    # nobody else shows a box that only one trace has
    rewrite(
        tmp_path / "out",
        "* REPLACE (CASE WHEN trace = 1 THEN lon_low - 0.001 ELSE lon_low END AS lon_low)",
    )
    assert not sf.verify(tmp_path / "out").holds


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = sf.examples.cabs(30, hours=1)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "cabs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "cabs.yaml").write_text(f"person: cab\nbounds: {list(BOUNDS)}\n")
    shape = ["--shape", "trajectories"]
    line = ["anonymize", "cabs.csv", "-s", "cabs.yaml", "-k", "3", "-o", "out", *shape]
    assert run([*line, "--places", "4"]) == 0
    assert run(["verify", "out", *shape]) == 0
    assert run(["verify", "out", "-k", "40", *shape]) == 1
    assert run(["attack", "out", *shape]) == 0
    assert "not tried" in capsys.readouterr().out
    known = ["--original", "cabs.csv", "--person", "cab"]
    assert run(["attack", "out", *shape, *known, "--strict"]) == 0
    assert "stopped" in capsys.readouterr().out
    wider = ["--person", "cab", "--unit", "person", "--bounds", "-122.52,-122.36,37.7,37.82"]
    assert run(["anonymize", "cabs.csv", "-k", "3", "-o", "two", *shape, *wider, "-q"]) == 0
    assert run(["anonymize", *shape, "--help"]) == 0
    assert "--time-bin" in capsys.readouterr().out
