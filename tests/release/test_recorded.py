"""A release is an entry of the ledger before it is a folder; its purpose is one that is named."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato import release_folder as saving
from sfumato.cli import run
from sfumato.errors import GovernanceError, ParameterError, PromiseBroken, PurposeRefused
from sfumato.govern import Limits, Registration


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    sf.examples.patients(300, seed=4).write(folder)
    table = sf.read(folder / "patients.csv", schema=folder / "patients.yaml")
    return sf.anonymize(table, sf.KAnonymity(4))


@pytest.fixture
def ledger():
    with sf.Ledger() as made:
        yield made


def test_a_release_is_recorded_with_promise_purpose_and_fingerprint(release, ledger, tmp_path):
    path = release.save(tmp_path / "out", report=False, ledger=ledger, by="ada")
    (entry,) = ledger.entries()
    assert (entry.kind, entry.dataset, entry.analyst) == ("released", "patients", "ada")
    assert entry.purpose == "research"  # the schema's only one
    assert entry.guarantee == "4-anonymity"
    assert entry.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert entry.details["file"] == str(path)
    assert entry.details["records"] == len(path.read_text().splitlines()) - 1
    assert entry.details["loss"]["LM"] == round(release.loss["LM"], 6)
    assert entry.cost is None
    assert ledger.verify().ok


def test_a_place_is_as_good_as_a_ledger(release, tmp_path):
    place = tmp_path / "here.sqlite"
    for folder in ("one", "two"):
        release.save(tmp_path / folder, report=False, ledger=place)
    with sf.Ledger(place, create=False) as ledger:
        assert [one.kind for one in ledger.entries()] == ["released"] * 2


def test_another_purpose_is_refused_and_nothing_is_written(release, ledger, tmp_path):
    for kept in (ledger, None):
        with pytest.raises(PurposeRefused, match="'research'"):
            release.save(tmp_path / "out", report=False, ledger=kept, purpose="marketing")
    assert not (tmp_path / "out").exists()
    assert ledger.count() == 0
    release.save(tmp_path / "out", report=False, purpose="research")


def test_the_registered_purposes_decide(release, ledger, tmp_path):
    ledger.register(Registration("patients", Limits(sf.PureDP(1)), purposes=("care", "teaching")))
    with pytest.raises(PurposeRefused, match="none was given"):
        release.save(tmp_path / "out", report=False, ledger=ledger)
    release.save(tmp_path / "out", report=False, ledger=ledger, purpose="care")
    assert ledger.entries()[-1].purpose == "care"
    assert ledger.spent("patients").epsilon == 0


def test_no_release_without_its_entry(release, ledger, tmp_path, monkeypatch):
    with pytest.raises((GovernanceError, ParameterError), match="ledger"):
        release.save(tmp_path / "out", report=False, ledger=tmp_path)
    assert not (tmp_path / "out").exists()
    seen = []
    monkeypatch.setattr(saving, "_put_in_place", lambda *_: seen.append(ledger.count()))
    release.save(tmp_path / "out", report=False, ledger=ledger)
    assert seen == [1]


def test_a_broken_promise_is_not_recorded(release, ledger, tmp_path):
    worse = replace(release, promise=sf.KAnonymity(200))
    with pytest.raises(PromiseBroken):
        worse.save(tmp_path / "out", report=False, ledger=ledger)
    assert ledger.count() == 0


def test_the_command_line_records_releases(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "ada")
    sf.examples.patients(300, seed=4).write(tmp_path)
    given = ["patients.csv", "-s", "patients.yaml", "-L", "here.sqlite", "--no-report"]
    assert run(["anonymize", *given, "-k", "4", "-o", "out"]) == 0
    assert run(["apply", "out/policy.yaml", *given, "-o", "next", "--purpose", "research"]) == 0
    assert run(["anonymize", *given, "-k", "4", "-o", "no", "--purpose", "sale"]) == 3
    unrecorded = [one for one in given if one not in {"-L", "here.sqlite"}]
    assert run(["anonymize", *unrecorded, "-k", "4", "-o", "no", "--purpose", "sale"]) == 3
    assert not (tmp_path / "no").exists()
    assert "may be used for the purposes" in " ".join(capsys.readouterr().err.split())
    assert run(["ledger", "show", "-L", "here.sqlite"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "2 entries",
        "released  patients  ada for research",
        "4-anonymity",
        "out/release",
    ):
        assert words in shown
    assert run(["ledger", "verify", "-L", "here.sqlite"]) == 0
