"""`sfumato cloak` from files: boxes, a check, and sentences where something is wrong."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
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


@pytest.fixture
def kinds(folder):
    """Users with a wish and a kind of place each: the west is all clinics."""
    lines = ["person,x,y,time,wish,kind"]
    for i in range(60):
        west = i < 30
        lines.append(
            f"u{i},{(i % 6) * 10 + (0 if west else 500)},{i // 6},{i},{'' if i % 9 else 12},"
            f"{'clinic' if west else ('bakery', 'school')[i % 2]}"
        )
    (folder / "kinds.csv").write_text("\n".join(lines) + "\n")
    return folder


def boxes_of(folder):
    with (folder / "boxes.csv").open() as file:
        return [tuple(map(float, row.values())) for row in csv.DictReader(file)]


def test_users_ask_for_their_own_k_and_area(kinds):
    assert run(["cloak", "kinds.csv", "-k", "3", "--k-column", "wish", "-o", "boxes.csv"]) == 0
    boxes = boxes_of(kinds)
    assert all(boxes.count(boxes[i]) >= (3 if i % 9 else 12) for i in range(60))
    assert min(map(boxes.count, boxes)) < 12
    (kinds / "wishes.csv").write_text("person,k,min_area\nu1,20,\nu50,,90000\n")
    assert (
        run(["cloak", "kinds.csv", "-k", "3", "--profiles", "wishes.csv", "-o", "boxes.csv"]) == 0
    )
    boxes = boxes_of(kinds)
    assert boxes.count(boxes[1]) >= 20
    x0, x1, y0, y1 = boxes[50]
    assert (x1 - x0) * (y1 - y0) >= 90_000 * (1 - 1e-9)
    assert min(map(boxes.count, boxes)) < 20


def test_users_of_a_box_are_at_places_of_several_kinds(kinds, capsys):
    line = ["cloak", "kinds.csv", "-k", "3", "--diversity", "2", "-o", "boxes.csv"]
    assert run(line) == 2
    assert "--place-column" in capsys.readouterr().err
    assert run([*line, "--place-column", "kind"]) == 0
    boxes = boxes_of(kinds)
    for box in set(boxes):
        inside = [i for i in range(60) if boxes[i] == box]
        assert len({"clinic" if i < 30 else i % 2 for i in inside}) >= 2
    assert run([*line, "--place-column", "kind", "--method", "casper"]) == 2
    assert "reciprocal" in capsys.readouterr().err
    assert run(["cloak", "kinds.csv", "--diversity", "9", "--place-column", "kind", "-o", "b"]) == 1


def test_a_stream_keeps_own_waits_kinds_and_sessions(kinds, capsys):
    (kinds / "wishes.csv").write_text("person,k,reach,wait\nu3,4,600,30\nu31,2,,50\n")
    line = ["cloak", "kinds.csv", "--stream", "-k", "3", "--bounds=0,1000,0,1000", "--json",
            "-o", "boxes.csv", "--profiles", "wishes.csv", "--memory", "--session", "300",
            "--diversity", "2", "--place-column", "kind", "--report", "page.html"]  # fmt: skip
    assert run(line) == 0
    told = json.loads(capsys.readouterr().out)["result"]
    assert told["requests"] == 60
    assert told["promise"]["cloaking"] == {
        "k": 2, "most_k": 4, "min_area": 0.0, "diversity": 2, "reach": 1000.0,
        "wait": 120.0, "session": 300.0,
    }  # fmt: skip
    page = (kinds / "page.html").read_text()
    assert "left with as many users as she asked for" in page
    assert "intersection of successive boxes" in page
    assert run([*line, "--min-area", "5"]) == 2
    assert "is for a snapshot" in capsys.readouterr().out


def test_boxes_are_recorded_before_they_appear_and_shown_on_a_page(kinds, capsys):
    line = ["cloak", "kinds.csv", "-k", "4", "-o", "boxes.csv", "-L", "ledger.sqlite"]
    assert run([*line, "--report", "page.html"]) == 0
    with sf.Ledger("ledger.sqlite") as ledger:
        [entry] = [e for e in ledger.entries() if e.kind == "released"]
    assert entry.fingerprint == hashlib.sha256((kinds / "boxes.csv").read_bytes()).hexdigest()
    assert entry.guarantee == "cloaking with k = 4"
    assert entry.dataset == "kinds"
    assert entry.details["records"] == 60
    page = (kinds / "page.html").read_text()
    assert page.count("<svg") >= 3
    assert "Cloaking with k = 4 holds" in page
    assert "who can have asked" in page
    assert "http" not in page.replace("http-equiv", "")
    capsys.readouterr()
    assert run([*line, "--purpose", "advertising"]) == 3  # the ledger names no such purpose
    assert run(["cloak", "kinds.csv", "-k", "400", "-o", "none.csv", "-L", "ledger.sqlite"]) == 1
    with sf.Ledger("ledger.sqlite") as ledger:
        assert len(ledger.entries()) == 1
    assert not (kinds / "none.csv").exists()


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ("person,k\nu1,0\n", "k must be a whole number from 1 in record 1"),
        ("person,k\nu1,2\nu1,3\n", "names a person a second time"),
        ("person,k\n,3\n", "names no person"),
        ("person,min_area\nu1,-4\n", "min_area must be a number of square metres"),
        ("person,wait\nu1,soon\n", "wait must be a number of seconds"),
        ("person,age\nu1,3\n", "at least one of k, min_area, reach"),
    ],
)
def test_wishes_that_make_no_sense_get_a_sentence(kinds, capsys, wishes, message):
    (kinds / "wishes.csv").write_text(wishes)
    assert run(["cloak", "kinds.csv", "--profiles", "wishes.csv", "-o", "boxes.csv"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert message in said
    assert "soon" not in said


def test_columns_that_are_not_there_get_a_sentence(kinds, capsys):
    for more in ([], ["--stream", "--bounds=0,1000,0,1000"]):
        assert run(["cloak", "kinds.csv", "--k-column", "wishs", "-o", "boxes.csv", *more]) == 2
        assert "Did you mean 'wish'" in " ".join(capsys.readouterr().err.split())
    (kinds / "bad.csv").write_text("user,x,y,time,k\na,1,1,9,2\nb,1,1,5,many\n")
    for more in ([], ["--stream", "--bounds=0,1000,0,1000"]):
        assert run(["cloak", "bad.csv", "--k-column", "k", "-o", "boxes.csv", *more]) == 2
        assert "in record 2" in " ".join(capsys.readouterr().err.split())


def test_a_fault_is_found_before_anything_is_written(kinds, capsys, monkeypatch):
    from sfumato.anonymize.places import snapshot

    whole = snapshot.cloak

    def broken(points, **asked):
        made = whole(points, **asked)
        return replace(made, boxes=made.boxes + np.arange(len(points))[:, None])

    monkeypatch.setattr(snapshot, "cloak", broken)
    line = ["cloak", "kinds.csv", "-k", "3", "-o", "boxes.csv", "-L", "ledger.sqlite"]
    assert run([*line, "--report", "page.html"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "in a box with too few users" in said
    assert "whose box depends on who asks" in said
    for name in ("boxes.csv", "page.html", "ledger.sqlite"):
        assert not (kinds / name).exists()
