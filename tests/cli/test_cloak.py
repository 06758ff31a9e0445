"""`sfumato cloak` from files: boxes, a check, and sentences where something is wrong."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from sfumato.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["person,lon,lat,time"]
    for i in range(400):
        x, y = rng.uniform(-122.45, -122.40), rng.uniform(37.75, 37.80)
        lines.append(f"u{i},{x:.5f},{y:.5f},{i}")
    (tmp_path / "users.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_snapshot_gets_a_box_per_row(folder, capsys):
    assert run(["cloak", "users.csv", "-k", "5", "-o", "boxes.csv"]) == 0
    assert "reciprocal" in capsys.readouterr().out
    with (folder / "boxes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400
    assert float(rows[0]["lon_low"]) <= float(rows[0]["lon_high"])


def test_a_method_that_tells_who_asked_is_labelled(folder, capsys):
    assert run(["cloak", "users.csv", "-k", "5", "--method", "casper", "-o", "boxes.csv"]) == 0
    told = capsys.readouterr()
    assert "not reciprocal" in told.out + told.err


def test_a_stream_gets_boxes_with_moments(folder, capsys):
    line = ["cloak", "users.csv", "--stream", "-k", "3", "-o", "boxes.csv"]
    assert run(line) == 2
    assert "--bounds" in capsys.readouterr().err
    assert run([*line, "--bounds=-122.5,-122.3,37.7,37.9"]) == 0
    assert "left in a box" in capsys.readouterr().out
    with (folder / "boxes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400
    assert {"lon_low", "time_first", "moment"} <= set(rows[0])


def test_too_few_users_and_no_columns(folder, capsys):
    assert run(["cloak", "users.csv", "-k", "500", "-o", "boxes.csv"]) == 1
    (folder / "bad.csv").write_text("a,b\n1,2\n")
    assert run(["cloak", "bad.csv", "-o", "boxes.csv"]) == 2
    assert "x and y" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["person", "user", "uid", "id"])
def test_rows_of_one_user_are_not_taken_for_users(folder, capsys, column):
    (folder / "few.csv").write_text(f"{column},x,y\na,1,1\na,1,2\na,3,3\n")
    assert run(["cloak", "few.csv", "-k", "2", "-o", "boxes.csv"]) == 2
    assert "two places at one moment" in capsys.readouterr().err
    assert not (folder / "boxes.csv").exists()


def test_places_that_are_no_numbers_get_a_sentence_and_equal_places_a_box(folder, capsys):
    (folder / "bad.csv").write_text("user,x,y,time\na,1,1,5\nb,nan,2,6\nc,,3,9\n")
    for more in ([], ["--stream", "--bounds=0,100,0,100"]):
        assert run(["cloak", "bad.csv", "-k", "2", "-o", "boxes.csv", *more]) == 2
        assert "no finite coordinates" in " ".join(capsys.readouterr().err.split())
    (folder / "same.csv").write_text("user,x,y\na,1,1\nb,1,1\nc,1,1\n")
    assert run(["cloak", "same.csv", "-k", "3", "-o", "boxes.csv"]) == 0
    assert (folder / "boxes.csv").read_text().count("1.0,1.0,1.0,1.0") == 3


def test_requests_outside_the_bounds_are_counted_and_one_user_leaves_in_no_box(folder, capsys):
    (folder / "far.csv").write_text("user,x,y,time\na,1,1,5\nb,999,2,6\nc,3,3,2\n")
    line = ["--stream", "-k", "2", "--bounds=0,100,0,100", "-o", "boxes.csv"]
    assert run(["cloak", "far.csv", *line]) == 0
    [told] = [row for row in capsys.readouterr().out.splitlines() if "outside the bounds" in row]
    assert " 1 " in told
    (folder / "alone.csv").write_text("user,x,y,time\na,1,1,5\na,1,1,6\n")
    assert run(["cloak", "alone.csv", *line]) == 0
    assert (folder / "boxes.csv").read_text().splitlines()[1:] == [",,,,,,"] * 2


@pytest.mark.parametrize("more", [[], ["--stream", "--bounds=0,100,0,100"]])
def test_files_without_points_are_refused_and_nothing_is_written(folder, capsys, more):
    for text in ("", "user,x,y,time\n"):
        (folder / "none.csv").write_text(text)
        assert run(["cloak", "none.csv", "-k", "2", "-o", "boxes.csv", *more]) == 2
        assert "at least one" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "boxes.csv").exists()
