"""A definition, an attack and a shape from outside the package get all that ours get (row B11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ballots import Ballots, BallotsShape
from crowds import Crowds
from gossip import Gossip

import sfumato as sf

HERE = Path(__file__).parent
VOTES = [("ann", "bob", "cy")] * 15 + [("ann", "cy")] * 13 + [("bob", "ann", "cy")] * 14 + [
    ("cy", "bob", "ann"), ("cy", "ann", "bob"), *[("cy", "bob")] * 12,
]  # fmt: skip


@pytest.mark.parametrize("file", ["ballots.py", "crowds.py", "gossip.py"])
def test_each_of_them_is_under_sixty_lines_of_code(file):
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    assert sum(1 for line in lines if line.strip()) < 60
    assert not any("sfumato.shapes" in line for line in lines)


@pytest.fixture(scope="module")
def release():
    sf.register_shape(BallotsShape())  # a page of the documentation has one of this name, too
    data = sf.read(VOTES, shape="ballots")
    assert isinstance(data, Ballots)
    return sf.anonymize(data, Crowds(1) & sf.KAnonymity(12))


def test_the_shape_is_anonymized_and_verified_from_its_file(release, tmp_path):
    assert release.verify().holds
    assert release.data.count(("cy",)) == 14
    assert 0 < release.loss["ranks lost"] < 1
    path = release.save(tmp_path / "out", ledger=tmp_path / "l.sqlite", by="ann")
    with pytest.raises(sf.errors.ParameterError, match="definition="):
        sf.promise.from_json(json.loads((path.parent / "release.json").read_text())["promise"])
    assert sf.verify(path, definition=Crowds(1)).holds
    path.write_text(path.read_text(encoding="utf-8") + "dee > eve\n", encoding="utf-8")
    checked = sf.verify(path, definition=Crowds(1))
    assert not checked.holds
    assert "dee > eve" in str(checked.bottleneck)


def test_it_has_a_report_and_an_entry_in_the_ledger(release, tmp_path):
    release.save(tmp_path / "out", ledger=tmp_path / "l.sqlite", by="ann")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "crowds of 1 dozen" in page
    assert "ballots came in" in page
    with sf.Ledger(tmp_path / "l.sqlite") as ledger:
        entry = list(ledger.entries())[-1]
    assert entry.kind == "released"
    assert entry.details["shape"] == "ballots"
    assert entry.details["algorithm"] == "truncate"
    assert "crowds of 1 dozen" in (entry.guarantee or "")


def test_attacks_of_ours_and_from_outside_are_tried_before_and_after(release):
    raw = sf.read(VOTES, shape="ballots")
    found = sf.attack.precheck(release, original=raw, attacks=[Gossip()])
    assert [attempt.name for attempt in found.tried] == [
        "finding people by their group", "gossip",
    ]  # fmt: skip
    assert found.holds
    gossip = found.tried[1]
    assert gossip.before is not None
    assert gossip.before.exposed == 2
    assert gossip.verdict == "stopped"


def test_the_definition_and_the_attack_work_on_tables(tmp_path):
    people = sf.examples.patients(300, seed=1)
    table = sf.read(people.columns, schema=people.schema)
    made = sf.anonymize(table, Crowds(1), algorithm="mondrian")
    assert made.verify().holds
    assert min(made.verify().evidence.sizes) >= 12
    assert "gossip" in [
        attempt.name for attempt in sf.attack.precheck(made, attacks=[Gossip()]).tried
    ]


def test_what_makes_no_sense_for_a_shape_is_refused_with_the_reason():
    data = sf.read(VOTES, shape="ballots")
    with pytest.raises(sf.errors.ParameterError, match="nothing about data of the shape 'ballots'"):
        sf.anonymize(data, sf.DistinctLDiversity(2, "winner"))
    with pytest.raises(sf.errors.ParameterError, match="There is no shape 'ballot'"):
        sf.read(VOTES, shape="ballot")
    with pytest.raises(sf.errors.ParameterError, match="no algorithm 'best'; there are truncate"):
        sf.anonymize(data, sf.KAnonymity(2), algorithm="best")
