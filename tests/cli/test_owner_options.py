"""What an owner fixes and amends on the command line: policy, limits, blocks, private tables."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.govern.policies import EqualShares, Fixed, Free, Geometric

PEOPLE = 300
COUNT = "SELECT COUNT(*) AS n FROM patients"


@pytest.fixture(scope="module")
def made():
    return sf.examples.patients(PEOPLE, seed=2), sf.examples.visits(PEOPLE, seed=2)


@pytest.fixture
def clinic(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("LOGNAME", "ada")
    for one in made:
        one.write(tmp_path)
    lines = Path("patients.csv").read_text().splitlines(keepends=True)
    for name, rows in (("first.csv", lines[1:101]), ("later.csv", lines[101:])):
        Path(name).write_text(lines[0] + "".join(rows))
    return tmp_path


@pytest.fixture
def say(capsys):
    def said(*arguments, code=0):
        capsys.readouterr()
        found = run([str(one) for one in arguments])
        printed = capsys.readouterr()
        assert found == code, printed.err
        assert "Traceback" not in printed.err
        return printed.out, " ".join(printed.err.split())

    return said


def registered(dataset="patients", place="patients.csv.ledger.sqlite"):
    with sf.Ledger(place, create=False) as ledger:
        assert ledger.verify().ok
        return ledger.registration(dataset)


def cells(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("free", Free()),
        ("Geometric", Geometric()),
        ("equal:4", EqualShares(4)),
        ("fixed:0.1", Fixed(Fraction(1, 10))),
    ],
)
def test_policies_are_registered(clinic, say, text, policy):
    price = ("-e", "0.1") if text in {"free", "fixed:0.1"} else ()
    say("ask", "patients.csv", COUNT, "--unit", "row", "--policy", text, *price)
    assert registered().policy == policy


def test_a_time_zone_is_registered_and_shown(clinic, say):
    asked = ("ask", "patients.csv", COUNT, "--unit", "row", "-e", "0.1")
    _, err = say(*asked, "--time-zone", "Mars/Olympus", code=2)
    assert "no time zone" in err
    say(*asked, "--time-zone", "Europe/Vienna")
    assert registered().time_zone == "Europe/Vienna"
    out, _ = say("ledger", "show", "1", "--data", "patients.csv")
    assert "days: in the time zone Europe/Vienna" in out
    say(*asked)  # what is registered stays
    say(*asked, "--time-zone", "Asia/Tokyo", code=3)


def test_a_policy_deals_the_budget_out(clinic, say):
    first = ("ask", "patients.csv", COUNT, "--unit", "row", "--policy", "equal:2", "-f", "csv")
    _, err = say(*first, "--budget-delta", "0", "--public-types", "age")
    assert "cost: ε = 0.5, pure" in err
    _, err = say("ask", "patients.csv", f"{COUNT} WHERE age > 3", "-e", "0.1", code=3)
    assert "gives question 2 exactly 0.5" in err
    say("histogram", "patients.csv", "age", "-b", "0,50,100")
    _, err = say("ask", "patients.csv", f"{COUNT} WHERE age > 3", code=3)
    assert "none is left" in err
    _, err = say("ask", "patients.csv", COUNT, "--policy", "free", "-e", "0.1", code=3)
    assert "other policy" in err


def test_limits_per_analyst_and_purpose_decide(clinic, say):
    asked = ("ask", "patients.csv", "-f", "csv")
    say(
        *asked, COUNT, "-s", "patients.yaml", "--budget", "3", "--budget-delta", "0", "-e", "0.5",
        "--limit-analyst", "1", "--limit-analyst", "bob=1/4", "--limit-purpose", "research=2",
    )  # fmt: skip
    limits = registered().limits
    assert (limits.dataset, limits.analyst) == (sf.PureDP(3), sf.PureDP(1))
    assert limits.analysts == {"bob": sf.PureDP("1/4")}
    assert limits.purposes == {"research": sf.PureDP(2)}
    _, err = say(*asked, COUNT, "-e", "0.6", code=3)
    assert "limit of analyst 'ada': requested ε = 0.6, remaining ε = 0.5" in err
    _, err = say(*asked, COUNT, "-e", "0.3", "--analyst", "bob", code=3)
    assert "analyst 'bob'" in err
    for name in ("carl", "dora"):
        _, err = say(*asked, COUNT, "-e", "0.7", "--analyst", name)
    _, err = say(*asked, COUNT, "-e", "0.2", "--analyst", "eve", code=3)
    assert "purpose 'research'" in err
    _, err = say(*asked, COUNT, "-e", "0.1", "--limit-analyst", "2", code=3)
    assert "other limits" in err


def test_limits_are_of_the_kind_of_the_budget(clinic, say):
    say("ask", "patients.csv", COUNT, "--unit", "row", "--limit-analyst", "0.5", "-e", "0.1")
    assert registered().limits.analyst == sf.ApproxDP("0.5", "1e-6")
    say("histogram", "first.csv", "age", "-b", "0,50,100", "--unit", "row", "--limit-analyst",
        "0.2", "--rho", "0.1", "--budget-rho", "1", "--policy", "free",
        "--public-types", "all")  # fmt: skip
    assert registered("first", "first.csv.ledger.sqlite").limits.analyst == sf.ZCDP("0.2")


def test_a_private_table_of_the_same_people(clinic, say, made):
    asked = (
        "SELECT COUNT(DISTINCT v.patient) AS n FROM visits v JOIN patients p USING (patient) "
        "WHERE p.age >= 40"
    )
    out, _ = say("ask", "visits.csv", asked, "--unit", "patient", "--rows", "1", "--budget", "1000",
                 "--private", "patients=patients.csv", "-e", "500", "-f", "csv",
                 "--public-types", "all")  # fmt: skip
    people, visits = (one.columns for one in made)
    old = set(people["patient"][people["age"] >= 40])
    assert int(cells(out)[0]["n"]) == len(old & set(visits["patient"]))
    _, err = say("ask", "visits.csv", "SELECT COUNT(*) FROM visits", "-e", "1", code=3)
    assert "name it in --private" in err
    out, _ = say("histogram", "visits.csv", "department", "--private", "patients=patients.csv",
                 "-b", "radiology", "-e", "1", "-f", "csv")  # fmt: skip
    assert len(cells(out)) == 1


def test_blocks_have_budgets_of_their_own(clinic, say):
    both = ("ask", "first.csv", "--block", "later.csv", "-f", "csv")
    asked = "SELECT COUNT(*) AS n FROM data"
    say(*both, asked, "--unit", "row", "-e", "50", "--budget", "100", "--blocks", "1",
        "--public-types", "all")  # fmt: skip
    out, err = say(*both, asked, "-e", "60", "--blocks", "2")
    assert int(cells(out)[0]["n"]) == 200
    assert "left: ε = 40" in err
    out, _ = say(*both, asked, "-e", "40")
    assert int(cells(out)[0]["n"]) == 300
    out, _ = say(*both, asked, "-e", "20", "--estimate")
    assert "does not fit" in out
    out, _ = say(*both, asked, "-e", "10", "--estimate", "--blocks", "1")
    assert "It fits" in out
    out, err = say("histogram", "first.csv", "--block", "later.csv", "age", "-b", "0,100", "-e",
                   "10", "--blocks", "1", "-f", "csv")  # fmt: skip
    assert int(cells(out)[0]["count"]) in range(98, 103)
    assert "left: ε = 0" in err
    _, err = say(*both, asked, "-e", "1", "--blocks", "3", code=2)
    assert "has the blocks main, block 2" in err


@pytest.fixture
def patients(clinic, say):
    say("ask", "patients.csv", COUNT, "-s", "patients.yaml", "-e", "0.5", "--budget-delta", "0")
    return ("ledger", "amend", "patients", "--data", "patients.csv", "--reason", "the board")


def test_an_owner_amends_what_she_may(patients, say):
    out, _ = say(
        *patients, "--budget", "2", "--limit-analyst", "1.5", "--limit-analyst", "bob=0.5",
        "--purposes", "care,research", "--limit-purpose", "care=1", "--policy", "fixed:1/4",
    )  # fmt: skip
    assert "before" in out
    now = registered()
    assert now.limits.dataset == sf.PureDP(2)  # still pure, as no δ was stated
    assert now.limits.analyst == sf.PureDP("1.5")
    assert now.limits.purposes == {"care": sf.PureDP(1)}
    assert (now.purposes, now.policy) == (("care", "research"), Fixed("1/4"))
    say(*patients, "--limit-analyst", "none", "--limit-purpose", "care=none")
    later = registered()
    assert (later.limits.analyst, later.limits.purposes) == (None, {})
    assert later.limits.analysts == {"bob": sf.PureDP("0.5")}  # what is not stated stays
    assert (later.limits.dataset, later.policy) == (sf.PureDP(2), Fixed("1/4"))
    say("ask", "patients.csv", COUNT, "--purpose", "care")
    shown, _ = say("ledger", "show", "--data", "patients.csv")
    assert shown.count("reason: the board") == 2
    assert "ε = 0.25" in shown


def test_an_amendment_of_the_budget_keeps_its_kind(clinic, say):
    say("ask", "patients.csv", COUNT, "--unit", "row", "-e", "0.1", "--budget-delta", "1e-7")
    amend = ("ledger", "amend", "patients", "--data", "patients.csv", "--reason", "x")
    say(*amend, "--budget", "5")
    assert registered().limits.dataset == sf.ApproxDP(5, 1e-7)
    say(*amend, "--budget-delta", "1e-6")
    assert registered().limits.dataset == sf.ApproxDP(5, 1e-6)
    say(*amend, "--budget-rho", "2")
    assert registered().limits.dataset == sf.ZCDP(2)
    _, err = say(*amend, "--budget", "5", code=2)
    assert "both --budget and --budget-delta" in err


def test_an_owner_lets_a_public_table_in(patients, say):
    Path("sexes.csv").write_text("sex,code\nfemale,1\nmale,2\n")
    asked = "SELECT COUNT(*) AS n FROM patients p JOIN sexes s ON p.sex = s.sex WHERE s.code = 1"
    joined = ("ask", "patients.csv", asked, "-e", "0.1", "--public", "sexes=sexes.csv")
    _, err = say(*joined, code=3)
    assert "sexes" in err
    out, _ = say(*patients, "--public", "sexes")
    assert "sexes" in out
    say(*joined)
    Path("sexes.csv").write_text("sex,code\nfemale,1\nmale,1\n")
    say(*joined, code=3)
    _, err = say(*patients, "--public", "sexes")
    assert "its rules read as before" in err
    say(*joined)
    shown, _ = say("ledger", "show", "--data", "patients.csv")
    assert "public tables: sexes" in shown


def test_an_analyst_learns_that_the_owner_amends(patients, say):
    _, err = say("ask", "patients.csv", COUNT, "-e", "0.1", "--budget", "9", code=3)
    assert "amend" in err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "Say what changes"),
        (("--policy", "often"), "free, geometric, equal:10 or fixed:0.1"),
        (("--policy", "equal:x"), "free, geometric, equal:10 or fixed:0.1"),
        (("--policy", "equal:0"), "at least 1"),
        (("--policy", "fixed:x"), "not a number"),
        (("--limit-analyst", "x"), "finite number"),
        (("--limit-analyst", "ann=x"), "finite number"),
        (("--limit-purpose", "0.5"), "NAME=AMOUNT"),
        (("--limit-purpose", "strange=1"), "does not name"),
        (("--budget", "1", "--budget-rho", "1"), "--budget-rho alone"),
    ],
)
def test_bad_amendments_are_explained_and_change_nothing(patients, say, given, words):
    before = registered()
    _, err = say(*patients, *given, code=2)
    assert words in err
    assert registered() == before


def test_an_unknown_dataset_and_bad_options(patients, say):
    _, err = say("ledger", "amend", "others", "-d", "patients.csv", "--reason", "x", "--budget",
                 "2", code=2)  # fmt: skip
    assert "no dataset 'others'" in err
    for given, words in (
        (("--blocks", "x"), "--blocks wants numbers"),
        (("--blocks", "0"), "--blocks wants numbers"),
        (("--private", "visits"), "NAME=FILE"),
        (("--private", "v=nowhere.csv"), "not a file"),
        (("--block", "nowhere.csv"), "nowhere.csv is not a file"),
        (("--policy", "all"), "--policy wants"),
    ):
        _, err = say("ask", "patients.csv", COUNT, "-e", "0.1", *given, code=2)
        assert words in err


def test_every_way_of_asking_takes_blocks(clinic):
    files = [clinic / "first.csv", clinic / "later.csv"]
    with sf.Session(files, unit="row", budget=sf.PureDP(10_000), public_types=True) as one:
        assert one.blocks == ("main", "block 2")
        later = {"blocks": ["block 2"], "epsilon": 100}
        assert one.table().count().ask(**later).value == 200
        assert one.ask(one.table().count(), **later).stored
        (answer,) = one.together(["SELECT COUNT(*) FROM data WHERE age >= 0"], **later)
        assert answer.value == 200
        assert answer.remaining == one.estimate("SELECT COUNT(*) FROM data", **later).remaining
        assert sum(one.histogram("age", bins=[0, 50, 200], **later).column("count")) == 200
        assert one.ledger.spent("first").epsilon == 0
        assert one.estimate("SELECT COUNT(*) FROM data", epsilon=9_800, blocks=["main"]).fits
        assert not one.table().count().estimate(epsilon=9_800).fits
