"""`sfumato kmeans` and `sfumato topk`: published once, charged, saved, drawn, refused."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.cli import run

VISITS = ("-s", "visits.yaml", "--groups", "3", "--rows-per-group", "2")


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    examples.visits(600, 1).write(tmp_path)

    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(word) for word in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        return printed.out, " ".join(printed.err.split())

    return said


def test_clusters_are_saved_and_drawn(say):
    asked = (
        "kmeans", "visits.csv", "minutes", "cost", "-k", "3", *VISITS, "--bounds", "cost=0,500",
        "-e", "1", "--budget", "2",
    )  # fmt: skip
    out, err = say(*asked, "-o", "clusters", "--picture", "clusters.svg")
    assert "ε = 1" in " ".join(out.split())
    with Path("clusters/release.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["cluster"] for row in rows] == ["1", "2", "3"]
    assert all(0 <= float(row["cost"]) <= 500 for row in rows)
    assert Path("clusters.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "was written" in err
    again, _ = say(*asked)  # the same again, for nothing
    assert again == out
    say("topk", "visits.csv", "department", "-k", "2", "-e", "1.5", code=3)  # beyond the budget


@pytest.mark.parametrize(
    "asked",
    [
        ("kmeans", "visits.csv", "minutes", "-k", "2", *VISITS),
        ("topk", "visits.csv", "department", "-k", "2", *VISITS),
        ("synthesize", "visits.csv", *VISITS, "--delta", "1e-6", "--budget-delta", "1e-4"),
        ("histogram", "visits.csv", "minutes", "--ordered", "64", *VISITS),
    ],
    ids=lambda asked: asked[0],
)
def test_what_is_saved_is_charged_and_recorded(say, asked):
    """One charge and one entry of the release, of the dataset, with the digest of the file."""
    _, err = say(*asked, "-e", "1", "--budget", "2", "-o", "out")
    assert "recorded in the ledger" in err
    with sf.Ledger("visits.csv.ledger.sqlite", create=False) as ledger:
        found = ledger.entries("visits")
        charged = [entry for entry in found if entry.kind == "charged"]
        recorded = [entry for entry in found if entry.kind == "released"]
    file = next(Path("out").glob("release.csv"))
    assert len(charged) == len(recorded) == 1
    assert recorded[0].fingerprint == hashlib.sha256(file.read_bytes()).hexdigest()
    assert "ε = 1" in recorded[0].guarantee


def test_winners_are_listed_with_their_counts(say):
    out, _ = say(
        "topk", "visits.csv", "department", "-k", "2", *VISITS, "-e", "1", "--counts",
        "--budget", "3",
    )  # fmt: skip
    assert out.splitlines()[0] == "rank  item  count  count ±"
    assert len(out.splitlines()) >= 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("kmeans", "visits.csv", "nothing"), "no column"),
        (("kmeans", "visits.csv", "cost"), "no declared bounds"),
        (("kmeans", "visits.csv", "minutes", "-k", "0"), "clusters"),
        (("kmeans", "visits.csv", "minutes", "--algorithm", "magic"), "lecture"),
        (("topk", "visits.csv", "latitude"), "no public list"),
        (("topk", "visits.csv", "department", "-k", "99"), "at most"),
    ],
    ids=str,
)
def test_bad_requests_are_explained_and_cost_nothing(say, given, words):
    _, err = say(*given, *VISITS, "-e", "1", "--budget", "2", code=2)
    assert words in err
