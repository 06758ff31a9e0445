"""Sets and hybrid records from the command line: commands that work, and input that cannot."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.cli import run


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sf.examples.shop(300, seed=2).write(tmp_path)
    return tmp_path


def test_sets_are_anonymised_verified_and_attacked(shop, capsys):
    words = (
        "anonymize baskets.dat --shape sets --hierarchy goods.csv --km 4:2 -o out -L book.sqlite"
    )
    assert run(words.split()) == 0
    assert run(["verify", "out"]) == 0
    assert run(["verify", "out", "--shape", "sets", "--km", "300:2"]) == 1
    attack = "attack out --shape sets --original baskets.dat --known 2 --absent 1 --strict"
    assert run(attack.split()) == 1  # absences are not promised
    assert "known items and absences" in capsys.readouterr().out.replace("\n", " ").replace("│", "")
    assert (shop / "out" / "report.html").exists()
    assert run(["ledger", "show", "-L", "book.sqlite"]) == 0


@pytest.mark.parametrize("way", ["global", "merging", "suppression", "disassociation"])
def test_every_algorithm_can_be_asked_for(shop, way):
    words = f"anonymize baskets.dat --shape sets --hierarchy 4 --km 4:2 --algorithm {way} -o out"
    assert run([*words.split(), "--no-report"]) == 0
    assert run(["verify", "out"]) == 0


def test_whole_sets_as_bags(shop):
    words = "anonymize baskets.dat --shape sets --hierarchy goods.csv -k 3 --meaning bag -o out"
    assert run([*words.split(), "--no-report"]) == 0
    assert run(["verify", "out"]) == 0


def test_promises_about_items_are_written_as_options(shop):
    words = ["--rho", "0.5:gin,mango", "--itemset", "4:milk,bread", "--item-diversity", "2:gin"]
    base = [
        "anonymize",
        "baskets.dat",
        "--shape",
        "sets",
        "--hierarchy",
        "goods.csv",
        "-o",
        "out",
        "--no-report",
    ]
    assert run([*base, *words]) == 0
    assert run(["verify", "out"]) == 0


def test_hybrid_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + i % 9},{'ab'[i % 2]}|{'cd'[i % 3 % 2]}\n" for i in range(40))
    (tmp_path / "people.csv").write_text(f"age,films\n{rows}")
    (tmp_path / "people.yaml").write_text(
        "attributes:\n  age: quasi\n  films: {role: quasi, type: set}\n"
    )
    words = "anonymize people.csv --shape hybrid -s people.yaml -k 3 --km 3:2:films -o out"
    assert run(words.split()) == 0
    assert run(["verify", "out"]) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("baskets.dat --hierarchy goods.csv --km 999:2", 1, "only 300"),
        ("baskets.dat --hierarchy few.csv --km 3:2", 2, "does not cover"),
        ("baskets.dat --hierarchy 1 --km 3:2", 2, "at least 2"),
        ("nothing.dat --km 3:2", 2, "not a file"),
        ("empty.dat --km 3:2", 2, "no set"),
        ("binary.dat --km 3:2", 2, "not text"),
        ("baskets.dat --km three:2", 2, "whole number"),
        ("baskets.dat --rho 0.5:unicorn", 2, "no item 'unicorn'"),
        ("baskets.dat --rho 0.5", 2, "wants for instance"),
        ("baskets.dat", 2, "Nothing is promised"),
        ("baskets.dat -k 3 --algorithm best --meaning pile", 2, "pile"),
    ],
)
def test_input_that_cannot_be_used_gets_a_message_and_writes_nothing(
    shop, capsys, words, code, said
):
    (shop / "few.csv").write_text("milk,food\n")
    (shop / "empty.dat").write_text("")
    (shop / "binary.dat").write_bytes(b"\xff\xfe\x00bread\xff")
    assert run(["anonymize", *words.split(), "--shape", "sets", "-o", "out"]) == code
    printed = capsys.readouterr()
    assert said in " ".join((printed.out + printed.err).split())
    assert not (shop / "out").exists()
