"""`sfumato synthesize`, and what else is published once from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from sfumato import examples
from sfumato.cli import run

VISITS = (
    "-s", "visits.yaml", "--groups", "3", "--rows-per-group", "2", "--budget", "9",
    "--budget-delta", "1e-4",
)  # fmt: skip


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
        return " ".join(printed.out.split()), " ".join(printed.err.split())

    return said


def rows_of(path):
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_table_is_copied_charged_and_given_again(say):
    asked = (
        "synthesize", "visits.csv", *VISITS, "--bounds", "cost=0,500", "-e", "4", "--delta", "1e-6",
        "--rule", "minutes >= 5 or cost <= 100",
    )  # fmt: skip
    out, err = say(*asked, "-o", "copy")
    assert "synthetic rows" in out
    assert "ε = 4" in out
    assert "was written" in err
    made = rows_of("copy/release.csv")
    assert set(made[0]) == {"department", "minutes", "cost"}
    assert all(
        int(row["minutes"]) >= 5 or float(row["cost"]) <= 100
        for row in made
        if row["minutes"] and row["cost"]
    )
    told = json.loads(Path("copy/release.json").read_text(encoding="utf-8"))
    assert told["shape"] == "synthetic"
    say(*asked, "-o", "again")
    assert rows_of("again/release.csv") == made  # the same, for nothing
    say(*asked, "-o", "copy", code=2)  # it is there already, and is not written over
    say("verify", "copy", "--shape", "synthetic")


def test_what_a_copy_will_be_worth_is_told_for_nothing(say):
    asked = ("synthesize", "visits.csv", *VISITS, "--bounds", "cost=0,500")
    out, _ = say(*asked, "-e", "1", "--delta", "1e-6", "--predict", "100000")
    assert "100,000 rows" in out
    assert "too small" not in out
    out, err = say(*asked, "-e", "0.001", "--delta", "1e-6", "--predict", "100")
    assert "too small" in out
    assert "of little use" in err
    out, _ = say("kmeans", "visits.csv", "minutes", "-k", "3", *VISITS, "-e", "1", "--predict", "5000")  # fmt: skip  # noqa: E501
    assert "5,000 rows" in out
    out, _ = say("topk", "visits.csv", "department", "-k", "3", *VISITS, "-e", "1", "--predict", "9")  # fmt: skip  # noqa: E501
    assert "peeling" in out
    assert "told apart" in out
    assert not list(Path().glob("*.ledger*"))  # nothing was spent


def test_distributions_and_maps_are_published_once(say):
    out, _ = say(
        "histogram", "visits.csv", "minutes", *VISITS, "-e", "2", "--ordered", "64",
        "--quantiles", "0.25,0.5", "-o", "spread", "--picture", "spread.svg",
    )  # fmt: skip
    assert "quantile 0.5" in out
    assert len(rows_of("spread/release.csv")) == 64
    assert Path("spread.svg").read_text(encoding="utf-8").startswith("<svg")
    box = ("--map", "latitude,longitude", "--box", "46.3,10.6,46.9,12.1", "--adaptive")
    say("histogram", "visits.csv", *VISITS, "-e", "2", *box, "-o", "map")
    found = rows_of("map/release.csv")
    assert all(46.3 <= float(row["latitude"]) <= 46.9 for row in found)
    out, _ = say("histogram", "visits.csv", *VISITS, "-e", "2", *box, "--estimate")
    assert "one standard deviation" in out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("synthesize", "visits.csv", "-e", "1", "--delta", "1e-6", "--unit", "row"), "--output"),
        (("synthesize", "visits.csv", *VISITS, "-e", "1", "--delta", "1e-6", "-o", "x", "--rule",
          "minuets > 3"), "minutes"),
        (("synthesize", "visits.csv", *VISITS, "-e", "1", "--delta", "1e-6", "-o", "x", "--rule",
          "minutes > 3", "--rule", "minutes < 2"), "contradict"),
        (("synthesize", "visits.csv", *VISITS, "-e", "1", "--delta", "1e-6", "-o", "no/x"),
         "no folder"),
        (("synthesize", "x.dat", "--shape", "sets", "-e", "1", "-o", "x"), "x.dat"),
        (("histogram", "visits.csv", "minutes", *VISITS, "-e", "1", "--ordered", "9", "-b", "3"),
         "leave --bins"),
        (("histogram", "visits.csv", *VISITS, "-e", "1", "--adaptive"), "--map"),
    ],
)  # fmt: skip
def test_bad_requests_are_explained_and_cost_nothing(say, given, words):
    _, err = say(*given, code=1 if words == "contradict" else 2)
    assert words in err
    assert not list(Path().glob("*.ledger*"))


def test_sets_and_graphs_are_copied_by_their_shape(say, tmp_path):
    rng = np.random.default_rng(0)
    lines = [" ".join(f"i{k}" for k in set(rng.geometric(0.3, 4))) for _ in range(900)]
    Path("baskets.dat").write_text("\n".join(lines), encoding="utf-8")
    Path("items.txt").write_text("\n".join(f"i{k}" for k in range(1, 30)), encoding="utf-8")
    asked = ("synthesize", "baskets.dat", "--shape", "sets", "--listed", "items.txt", "--top", "8")
    out, _ = say(*asked, "-e", "3", "--delta", "1e-6", "-o", "sets", "--ledger", "made.ledger")
    assert "synthetic sets" in out
    made = Path("sets/release.dat").read_text(encoding="utf-8").split()
    assert set(made) <= {f"i{k}" for k in range(1, 30)}
    out, _ = say("ledger", "show", "--ledger", "made.ledger")
    assert "baskets" in out
    out, _ = say(*asked, "-e", "3", "--delta", "1e-6", "--predict", "900")
    assert "each frequent item" in out
    steps = [(t, p) for t in range(150) for p in range(5)]
    points = "".join(f"{t % 60},{t},{p},{t % 9 + p},{p * 2}\n" for t, p in steps)
    Path("trips.csv").write_text(f"person,trip,time,x,y\n{points}", encoding="utf-8")
    asked = ("synthesize", "trips.csv", "--shape", "trajectories", "--bounds", "0,20,0,20")
    out, _ = say(*asked, "-e", "4", "--delta", "1e-6", "-o", "trips", "--trips", "2")
    assert "one person (at most 2 rows)" in out
    assert all(0 <= float(row["x"]) <= 20 for row in rows_of("trips/release.csv"))
    _, err = say(*asked[:4], "-e", "4", "--delta", "1e-6", "-o", "none", code=2)
    assert "bounds=" in err
    edges = [(u, v) for u in range(30) for v in range(u + 1, 30) if (u * v) % 3 == 0]
    Path("friends.edges").write_text("\n".join(f"{u} {v}" for u, v in edges), encoding="utf-8")
    _, err = say("synthesize", "friends.edges", "--shape", "graph", "-e", "2", "-o", "none", code=2)
    assert "nodes='named'" in err
    asked = ("synthesize", "friends.edges", "--shape", "graph", "--nodes", "named", "-e", "2")
    out, _ = say(*asked, "-o", "graph")
    assert "one edge" in out
    _, err = say(*asked, "--delta", "1e-6", "-o", "other", code=2)
    assert "no option 'delta'" in err
