"""From every kind of data to a release in kind, with nothing lost, invented or left behind."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymize.tables.apply import rows as release_rows
from sfumato.data.tables.permutation import RandomWords, shuffle

PEOPLE = {
    "name": [f"person {i}" for i in range(60)],
    "age": [20 + i % 7 for i in range(60)],
    "zip": [f"130{i % 5}{i % 3}" for i in range(60)],
    "disease": [("flu", "acne", "shingles")[i % 3] for i in range(60)],
    "visits": [i % 4 for i in range(60)],
    "note": ["nobody asked"] * 60,
}
SCHEMA = sf.Schema(
    identifiers=["name"],
    quasi={
        "age": sf.Hierarchy.intervals(width=4, fanout=2, low=16, high=32),
        "zip": sf.Hierarchy.mask(5),
    },
    sensitive=["disease"],
    insensitive=["visits"],
)


@pytest.fixture(params=["lines", "query"])
def way(request, monkeypatch):
    """Run once with rows composed from distinct lines, once streamed by the engine."""
    if request.param == "query":
        monkeypatch.setattr(release_rows, "_are_few", lambda *_: False)
    return request.param


def rows_of(release):
    frame = release.rows.frame("columns")
    return Counter(zip(*frame.values(), strict=True)), list(frame)


def test_kept_columns_are_untouched_and_others_are_gone(way):
    release = sf.anonymize(sf.read(PEOPLE, schema=SCHEMA), sf.KAnonymity(5))
    rows, columns = rows_of(release)
    assert columns == ["age", "zip", "disease", "visits"]
    assert release.left_out == ("name", "note")
    kept = Counter((r[2], r[3]) for r in rows.elements())
    assert kept == Counter(zip(PEOPLE["disease"], PEOPLE["visits"], strict=True))
    classes = Counter(r[:2] for r in rows.elements())
    assert min(classes.values()) >= 5
    assert release.verify().holds


@pytest.mark.parametrize(
    "algorithm", ["optimal", "local", "mondrian", "cluster", "topdown", "cells"]
)
def test_every_record_gets_a_text_that_covers_it(way, algorithm):
    """Match released records to originals by a unique insensitive number."""
    people = {**PEOPLE, "visits": list(range(60))}
    release = sf.anonymize(
        sf.read(people, schema=SCHEMA),
        sf.KAnonymity(3) & sf.DistinctLDiversity(2, "disease"),
        algorithm=algorithm,
    )
    rows, _ = rows_of(release)
    assert sum(rows.values()) == 60
    problem = release.decision.problem
    for age, code, disease, visit in rows:
        assert disease == people["disease"][visit]
        for text, name, h in zip((age, code), ("age", "zip"), problem.hierarchies, strict=True):
            leaf = h.codes[str(people[name][visit])]
            labels = {h.label(leaf, level) for level in range(h.height)}
            low_high = str(text).strip("[]").split(",")
            inside = len(low_high) == 2 and low_high[0] <= str(people[name][visit]) <= low_high[1]
            assert str(text) in labels or inside


def test_frames_come_back_in_kind(way):
    sources = {
        pd.DataFrame: pd.DataFrame(PEOPLE),
        pl.DataFrame: pl.DataFrame(PEOPLE),
        pa.Table: pa.table(PEOPLE),
        dict: PEOPLE,
    }
    for kind, source in sources.items():
        table = sf.anonymize(sf.read(source, schema=SCHEMA), sf.KAnonymity(5)).table
        assert isinstance(table, kind)
        numbers = table["visits"].to_pylist() if kind is pa.Table else list(table["visits"])
        assert sorted(numbers) == sorted(PEOPLE["visits"])
        assert isinstance(int(numbers[0]), int)
        assert not isinstance(numbers[0], str)


def test_files_come_back_as_files(tmp_path):
    pl.DataFrame(PEOPLE).write_parquet(tmp_path / "people.parquet")
    pl.DataFrame(PEOPLE).write_csv(tmp_path / "people.csv", separator=";")
    for form in ("parquet", "csv"):
        path = sf.anonymize(
            sf.read(tmp_path / f"people.{form}", schema=SCHEMA), sf.KAnonymity(5)
        ).save(tmp_path / form, report=False)
        assert path.name == f"release.{form}"
        assert sf.verify(path, SCHEMA, sf.KAnonymity(5)).holds
        facts = json.loads((tmp_path / form / "release.json").read_text())
        assert facts["promise"] == [{"definition": "KAnonymity", "k": 5}]
        assert facts["records_released"] == 60
    with (tmp_path / "csv" / "release.csv").open() as file:
        assert len(list(csv.reader(file, delimiter=";"))) == 61


def test_order_can_be_kept_and_is_shuffled_by_default():
    people = {**PEOPLE, "visits": list(range(60))}
    table = sf.read(people, schema=SCHEMA)
    kept = sf.anonymize(table, sf.KAnonymity(5), order="keep").rows.frame("columns")["visits"]
    assert list(kept) == list(range(60))
    orders = {
        tuple(sf.anonymize(table, sf.KAnonymity(5)).rows.frame("columns")["visits"])
        for _ in range(4)
    }
    assert len(orders) == 4
    assert all(sorted(order) == list(range(60)) for order in orders)


def test_a_seed_repeats_the_release(way):
    table = sf.read(PEOPLE, schema=SCHEMA)
    first, second = (
        sf.anonymize(table, sf.KAnonymity(5), seed=7).rows.frame("columns") for _ in range(2)
    )
    assert {k: list(v) for k, v in first.items()} == {k: list(v) for k, v in second.items()}


def test_shuffling_favours_no_order():
    """All 24 orders of four items: chi-square with 23 degrees, false alarm about 1 in 10,000."""
    counts = Counter()
    words = RandomWords(11)
    for _ in range(24_000):
        items = np.arange(4)
        shuffle(items, words)
        counts[tuple(items)] += 1
    assert len(counts) == 24
    assert sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 57


def test_pseudonyms_are_keyed_and_consistent():
    table = sf.read(PEOPLE, schema=SCHEMA)
    key, other = b"k" * 32, b"o" * 32
    one, two = (
        sf.anonymize(table, sf.KAnonymity(5), pseudonym_key=key).rows.frame("columns")["name"]
        for _ in range(2)
    )
    assert set(one) == set(two)
    assert len(set(one)) == 60
    assert not set(one) & set(PEOPLE["name"])
    third = sf.anonymize(table, sf.KAnonymity(5), pseudonym_key=other).rows.frame("columns")["name"]
    assert not set(one) & set(third)
    assert sf.anonymize(table, sf.KAnonymity(5), pseudonym_key=key).verify().holds


def test_missing_cells_are_values_of_their_own(way):
    people = {
        **PEOPLE,
        "zip": [None if i % 10 == 0 else z for i, z in enumerate(PEOPLE["zip"])],
        "age": [float("nan") if i % 6 == 0 else float(a) for i, a in enumerate(PEOPLE["age"])],
    }
    release = sf.anonymize(
        sf.read(pd.DataFrame(people), schema=SCHEMA), sf.KAnonymity(4), algorithm="local"
    )
    rows, _ = rows_of(release)
    classes = Counter(tuple("" if c is None else c for c in r[:2]) for r in rows.elements())
    assert min(classes.values()) >= 4
    assert sum(classes.values()) == 60
    assert release.verify().holds


def test_nothing_is_put_in_place_when_the_file_breaks_its_promise(tmp_path, monkeypatch):
    from sfumato.data.tables.rows import Lines
    from sfumato.errors import PromiseBroken

    release = sf.anonymize(sf.read(PEOPLE, schema=SCHEMA), sf.KAnonymity(5))
    write = Lines.write_csv

    def sabotage(self, path, delimiter=","):
        write(self, path, delimiter)
        with path.open("a") as file:
            file.write(delimiter.join(["17", "99999", "flu", "0"]) + "\n")

    monkeypatch.setattr(Lines, "write_csv", sabotage)
    with pytest.raises(PromiseBroken):
        release.save(tmp_path / "out", report=False)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_no_release(tmp_path):
    code = (
        "import sys, time, sfumato as sf\n"
        "from sfumato.data.tables.rows import Lines\n"
        "write = Lines.write_csv\n"
        "def slow(self, path, delimiter=','):\n"
        "    write(self, path, delimiter); print('written', flush=True); time.sleep(60)\n"
        "Lines.write_csv = slow\n"
        "t = sf.read({'age': [1, 1, 2, 2]}, schema=sf.Schema(quasi=['age']))\n"
        f"sf.anonymize(t, sf.KAnonymity(2)).save({str(tmp_path / 'out')!r}, report=False)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "written"
    process.kill()
    process.wait()
    assert not (tmp_path / "out").exists()


def test_two_processes_write_the_same_folder_without_mixing(tmp_path):
    code = (
        "import sys, sfumato as sf\n"
        "t = sf.read({'age': [1, 1, 2, 2, 3, 3]}, schema=sf.Schema(quasi=['age']))\n"
        "release = sf.anonymize(t, sf.KAnonymity(2))\n"
        f"release.save({str(tmp_path / 'out')!r}, report=False, replace=True)\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(2)
    ]
    codes = [process.wait() for process in both]
    assert 0 in codes
    time.sleep(0.1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]
    assert sf.verify(tmp_path / "out" / "release.csv", sf.Schema(quasi=["age"])).holds


def test_two_processes_cannot_both_make_one_folder(tmp_path):
    code = (
        "import sys, sfumato as sf\n"
        "t = sf.read({'age': [1, 1, 2, 2, 3, 3]}, schema=sf.Schema(quasi=['age']))\n"
        "release = sf.anonymize(t, sf.KAnonymity(2))\n"
        f"release.save({str(tmp_path / 'out')!r}, report=False)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) for _ in "ab"]
    assert sorted(process.wait() for process in both) == [0, 1]


def test_which_records_of_a_shared_tuple_go_where_does_not_depend_on_their_cells():
    """Ten records of one tuple are lent to two classes; the note must not be sorted into them."""
    people = {
        "age": ["1"] * 3 + ["2"] * 14 + ["3"] * 3,
        "note": ["x"] * 3 + ["a"] * 7 + ["z"] * 7 + ["x"] * 3,
    }
    schema = sf.Schema(quasi={"age": sf.Hierarchy.flat("123")}, insensitive=["note"])
    problem_of = sf.read(people, schema=schema)
    seen = set()
    for _ in range(12):
        release = sf.anonymize(problem_of, sf.KAnonymity(5), algorithm="local")
        frame = release.rows.frame("columns")
        kept = [n for a, n in zip(frame["age"], frame["note"], strict=True) if a == "2"]
        seen.add((len(kept), "".join(sorted(kept))))
    if any(length < 14 for length, _ in seen):
        assert len(seen) > 1, "the same records every time"


def test_closeness_along_a_tree_wants_a_tree_that_does_not_change():
    people = {"q": ["1", "1", "2", "2"], "d": ["1", "2", "1", "2"]}
    schema = sf.Schema(quasi=["q"], sensitive={"d": sf.Hierarchy.intervals(width=10)})
    promise = sf.TCloseness(0.2, "d", distance="hierarchical")
    with pytest.raises(sf.SfumatoError, match="rule"):
        sf.anonymize(sf.read(people, schema=schema), promise)


def test_presence_with_a_lower_bound_suppresses_nobody():
    people = {"q": ["1"] * 4 + ["2"]}
    everybody = {"q": ["1"] * 5 + ["2"]}
    schema = sf.Schema(quasi={"q": sf.Hierarchy.flat("12")})
    release = sf.anonymize(
        sf.read(people, schema=schema),
        sf.DeltaPresence(0.1, 0.9),
        suppression=0.2,
        population=everybody,
    )
    assert release.suppressed == 0
    assert release.verify().holds


def test_jobs_of_the_worked_examples():
    """Age 30 stays 30 in the second class: the lowest common ancestor, never more."""
    people = {
        "job": ["Engineer", "Engineer", "Lawyer", "Writer", "Writer", "Dancer", "Dancer"],
        "sex": ["Male"] * 3 + ["Female"] * 4,
        "age": [35, 38, 38, 30, 30, 30, 30],
    }
    schema = sf.Schema(
        quasi={
            "job": sf.Hierarchy.tree(
                {"*": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Writer", "Dancer"]}}
            ),
            "sex": sf.Hierarchy.tree({"*": ["Male", "Female"]}),
            "age": sf.Hierarchy.intervals(width=5, fanout=2, low=30, high=40),
        }
    )
    for algorithm in ("local", "cluster", "topdown"):
        release = sf.anonymize(
            sf.read(people, schema=schema), sf.KAnonymity(3), algorithm=algorithm
        )
        rows, _ = rows_of(release)
        assert rows == {
            ("Professional", "Male", "[35,40)"): 3,
            ("Artist", "Female", "30"): 4,
        }, algorithm


def test_the_order_of_the_schema_need_not_be_that_of_the_columns(way):
    """The same values under other hierarchies would be swapped silently."""
    people = {"low": ["1", "2", "3", "4"] * 3, "high": ["1", "1", "3", "3"] * 3}
    pairs = sf.Hierarchy.tree({"*": {"1-2": ["1", "2"], "3-4": ["3", "4"]}})
    halves = sf.Hierarchy.tree({"*": {"odd": ["1", "3"], "even": ["2", "4"]}})
    schema = sf.Schema(quasi={"high": halves, "low": pairs})
    release = sf.anonymize(sf.read(people, schema=schema), sf.KAnonymity(6))
    frame = release.rows.frame("columns")
    assert set(frame["low"]) <= {"1-2", "3-4", "*", "1", "2", "3", "4"}
    assert set(frame["high"]) <= {"odd", "even", "*", "1", "3"}
    assert release.levels == {"high": 0, "low": 1}


def test_a_frame_from_a_csv_has_the_types_its_cells_look_like(tmp_path):
    path = tmp_path / "people.csv"
    lines = [f"{20 + i % 2},00{i % 2},{i % 3},{i / 4},2020-01-0{1 + i % 3}" for i in range(12)]
    path.write_text("\n".join(["age,code,visits,share,day", *lines]) + "\n")
    schema = sf.Schema(quasi=["age"], insensitive=["code", "visits", "share", "day"])
    frame = sf.anonymize(sf.read(path, schema=schema), sf.KAnonymity(6)).table
    assert frame["code"].tolist()[0] in {"000", "001"}
    assert str(frame["visits"].dtype) == "int64"
    assert str(frame["age"].dtype) == "int64"
    assert frame["share"].sum() == pytest.approx(sum(i / 4 for i in range(12)))
    assert str(frame["day"].dtype).startswith("datetime")
    told = sf.read(path, schema=schema, types={"visits": "text"})
    assert sf.anonymize(told, sf.KAnonymity(6)).table["visits"].tolist()[0] in {"0", "1", "2"}
    with pytest.raises(sf.SfumatoError, match="visit"):
        sf.read(path, schema=schema, types={"visit": "text"})
