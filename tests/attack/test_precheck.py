"""The check before a release: every attack that fits, its table, its page and its command."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.report.attack_section import page, section, write_page
from sfumato.report.reconstruction_picture import reconstruction_picture


@pytest.fixture(scope="module")
def people():
    return sf.examples.patients(900, seed=11)


@pytest.fixture(scope="module")
def release(people):
    promise = sf.KAnonymity(4) & sf.DistinctLDiversity(2, "diagnosis")
    return sf.anonymize(people.columns, promise, schema=people.schema, algorithm="mondrian")


@pytest.fixture(scope="module")
def checked(release, people):
    return sf.audit.precheck(release, public=people.columns, original=people.columns)


def test_the_table_agrees_with_the_attacks_run_by_hand(checked, release, people):
    for attack, options in (
        (sf.attack.homogeneity, {}),
        (sf.attack.background_knowledge, {}),
        (sf.attack.skewness, {}),
        (sf.attack.similarity, {}),
        (sf.attack.probabilistic_inference, {}),
    ):
        for name in ("diagnosis", "salary"):
            alone = attack(release, attribute=name, **options)
            found = next(t for t in checked.tried if t.name == alone.name)
            assert found.after.exposed == alone.exposed
            before = attack(people.columns, attribute=name, schema=people.schema, **options)
            assert found.before.exposed == before.exposed
    linked = checked.outcome("linkage by a journalist")
    assert linked.expected == sf.attack.linkage(release, people.columns).expected


def test_what_was_promised_is_stopped_and_what_was_not_succeeds(checked):
    verdicts = {t.name: t.verdict for t in checked.tried}
    assert verdicts["linkage by a prosecutor"] == "stopped"
    assert verdicts["homogeneity of diagnosis"] == "stopped"
    assert verdicts["skewness of diagnosis"] == "succeeds"
    assert not checked.holds
    assert {t.name for t in checked.succeeding} == {
        n for n, v in verdicts.items() if v == "succeeds"
    }
    assert ("composition", "no other release was given") in checked.skipped


def test_each_row_says_which_definition_would_have_stopped_it(checked):
    rows = {row[0]: row for row in checked.table}
    assert "2-anonymity" in rows["linkage by a prosecutor"][4]
    assert "distinct 2-diversity of diagnosis" in rows["homogeneity of diagnosis"][4]
    assert "0.24-closeness of diagnosis" in rows["skewness of diagnosis"][4]


def test_following_the_advice_stops_the_attacks_on_classes(checked, people):
    stops = {
        t.after.stopped_by
        for t in checked.succeeding
        if t.after.attribute == "diagnosis" and t.after.stopped_by is not None
    }
    assert stops
    promise = sf.KAnonymity(4)
    for stop in sorted(stops, key=str):
        promise &= stop
    better = sf.anonymize(people.columns, promise, schema=people.schema, suppression=0.05)
    again = sf.audit.precheck(better)
    left = [t.name for t in again.succeeding if t.after.attribute == "diagnosis"]
    assert not [name for name in left if not name.startswith("de Finetti")]


def test_a_release_brings_what_it_judged(release):
    checked = sf.audit.precheck(release)
    by_name = {t.name: t for t in checked.tried}
    assert by_name["homogeneity of diagnosis"].before.exposed > 0
    assert by_name["homogeneity of salary"].before is None  # the promise did not judge it
    assert by_name["linkage by a prosecutor"].before.exposed > 800
    assert "linkage by a journalist" in dict(checked.skipped)


def test_no_sensitive_value_is_shown_unless_asked_for(checked):
    values = set(sf.examples.patients(900, seed=11).columns["diagnosis"])
    for text in (str(checked), repr(checked), str(section(checked))):
        assert not [value for value in values if value in text]
    assert [value for value in values if value in checked.told(reveal=True)]
    assert [value for value in values if value in section(checked, reveal=True)]


def test_the_page_is_whole_and_loads_nothing(checked, tmp_path):
    text = write_page(checked, tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("<section") == text.count("</section>")
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    rows = re.findall(r'<th scope="row">([^<]+)<', text)
    assert rows == [t.name for t in checked.tried]
    assert f"{len(checked.succeeding)} attacks succeed" in text


def test_the_report_of_a_release_shows_the_attacks(release, checked, tmp_path):
    with_it = release.report(tmp_path / "a.html", precheck=checked).read_text(encoding="utf-8")
    without = release.report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert 'id="attacks"' in with_it
    assert 'href="#attacks"' in with_it
    assert "attacks" not in re.findall(r'id="([^"]+)"', without)


def test_a_hostile_name_is_escaped():
    schema = sf.Schema(quasi=["<b>age</b>"], sensitive=["ill"])
    frame = {"<b>age</b>": ["<i>20s</i>"] * 2, "ill": ["x", "x"]}
    text = page(sf.audit.precheck(frame, schema=schema))
    assert "<i>20s" not in text
    assert "&lt;i&gt;20s" in text


def test_operations_that_hurt_truth_are_told(people, tmp_path):
    swapped = sf.perturb(
        sf.read(people.columns, schema=people.schema), sf.Swap("diagnosis", share=0.1)
    )
    release = sf.anonymize(swapped, sf.KAnonymity(4))
    assert "no longer facts" in str(sf.audit.precheck(release))
    release.save(tmp_path / "out", report=False)
    assert "no longer facts" in str(sf.audit.precheck(tmp_path / "out", schema=people.schema))


def test_two_releases_are_intersected(release, people):
    other = sf.anonymize(people.columns, sf.KAnonymity(3), schema=people.schema, algorithm="local")
    checked = sf.audit.precheck(release, other=other, public=people.columns)
    found = checked.outcome("composition of diagnosis")
    assert found.people > 0
    assert "composition" not in dict(checked.skipped)


# -- the command -------------------------------------------------------------------------


@pytest.fixture
def clinic(people, release, tmp_path):
    people.write(tmp_path)
    release.save(tmp_path / "out", report=False)
    return tmp_path


def test_the_command_prints_the_table_and_hides_values(clinic, capsys):
    files = [str(clinic / "out"), "-s", str(clinic / "patients.yaml")]
    more = ["--public", str(clinic / "patients.csv"), "--original", str(clinic / "patients.csv")]
    assert run(["attack", *files, *more, "--report", str(clinic / "page.html")]) == 0
    shown = capsys.readouterr().out
    assert "skewness" in shown
    assert "attacks succeed" in shown
    values = set(sf.examples.patients(900, seed=11).columns["diagnosis"])
    assert not [value for value in values if value in shown]
    assert "What an attacker sees" in (clinic / "page.html").read_text(encoding="utf-8")
    assert run(["attack", *files, "--strict", "-q"]) == 1
    run(["attack", *files, *more, "--reveal"])
    revealed = capsys.readouterr().out
    assert [value for value in values if value in revealed]


def test_without_a_schema_the_roles_in_the_manifest_serve(clinic, capsys):
    roles = json.loads((clinic / "out" / "release.json").read_text())["roles"]
    assert roles == {
        "quasi": ["age", "zip", "sex", "nationality", "job"],
        "sensitive": ["diagnosis", "salary"],
        "insensitive": [],
    }
    assert run(["attack", str(clinic / "out"), "--public", str(clinic / "patients.csv")]) == 0
    shown = capsys.readouterr().out
    assert "not tried: linkage by a prosecutor" in shown
    assert "not tried: linkage by a journalist" not in shown


def test_what_cannot_be_attacked_is_refused(clinic, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no release\.csv"):
        sf.audit.precheck(tmp_path / "empty")
    with pytest.raises(SchemaError, match="states no roles"):
        sf.audit.precheck(clinic / "patients.csv")
    with pytest.raises(ParameterError, match="confidence"):
        sf.audit.precheck(clinic / "out", confidence=2)
    assert run(["attack", str(clinic / "out" / "release.csv"), "--facts", "-1"]) == 2
    (clinic / "out" / "release.json").write_text("[]")
    with pytest.raises(DataError, match="JSON mapping"):
        sf.audit.precheck(clinic / "out")


# -- pictures and the house ---------------------------------------------------------------


def test_the_picture_has_a_line_per_number_of_queries():
    secret = np.arange(40) % 2
    curves = sf.attack.reconstruction_curves(secret, noise=[0, 5, 20], queries=[40, 160])
    picture = str(reconstruction_picture(curves))
    assert picture.count("<polyline") == 2
    assert "160 queries" in picture
    with pytest.raises(ParameterError, match="curves"):
        reconstruction_picture([])


def test_every_name_of_the_room_loads_whatever_was_imported_first_and_no_algorithm_does():
    code = (
        "import sfumato.attack.releases.linkage, sfumato.attack.prechecks, sfumato as sf, sys\n"
        "names = set(sf.attack.__all__) - {'models'}  # a room, not a name\n"
        "assert all(callable(getattr(sf.attack, n)) for n in names)\n"
        "assert callable(sf.audit.precheck)\n"
        "print([m for m in sys.modules if m.startswith('sfumato.anonymize') and 'algorithms' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
