"""Classes count people: five rows of one patient are no class of five."""

from __future__ import annotations

import json
from collections import defaultdict

import pandas as pd
import pytest

import sfumato as sf
from sfumato.anonymize.tables.sweep import sweep, sweep_release
from sfumato.audit.overlap import overlap
from sfumato.errors import DataError, ParameterError, SchemaError, Unsatisfiable

ALGORITHMS = ("optimal", "local", "mondrian", "cluster", "topdown", "cells")
AGES = sf.Hierarchy.intervals(width=10, fanout=2, low=20, high=60)


def schema(unit="patient", **more):
    return sf.Schema(
        identifiers=["patient"],
        quasi={"age": AGES, "zip": sf.Hierarchy.mask(length=2)},
        sensitive=["disease"],
        unit=unit,
        **more,
    )


def visits(people=12, each=5):
    """Every patient has as many rows as she would need company; all agree on her age and zip."""
    rows = [
        (f"p{p}", str(20 + 3 * p), f"1{p % 3}", ("flu", "hiv", "cold")[(p + v) % 3])
        for p in range(people)
        for v in range(each)
    ]
    return pd.DataFrame(rows, columns=["patient", "age", "zip", "disease"])


def people_per_class(data):
    found = defaultdict(set)
    for row in data.to_dict("records"):
        found[row["age"], row["zip"]].add(row["person_in_class"])
    return {key: len(people) for key, people in found.items()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_class_of_five_has_five_people(algorithm):
    release = sf.anonymize(visits(), sf.KAnonymity(5), schema=schema(), algorithm=algorithm)
    data = release.data
    assert "patient" not in data.columns
    assert min(people_per_class(data).values()) >= 5
    assert len(set(map(tuple, data[["age", "zip"]].to_numpy()))) < 12  # rows of one were a class
    checked = release.verify()
    assert checked.holds
    assert checked.measured[0].found == min(people_per_class(data).values())
    assert checked.risk.prosecutor == 1 / checked.measured[0].found


def test_more_people_than_there_are_cannot_be_asked_for():
    with pytest.raises(ParameterError, match="12"):
        sf.anonymize(visits(), sf.KAnonymity(13), schema=schema())


def test_a_value_that_everybody_has_is_no_secret():
    """Each of three patients has HIV and something else: distinct 2-diversity tells HIV of all."""
    rows = [(p, "30", "11", d) for p in "abc" for d in ("hiv", f"x{p}")]
    table = pd.DataFrame(rows, columns=["patient", "age", "zip", "disease"])
    with pytest.raises(Unsatisfiable):
        sf.anonymize(table, sf.DistinctLDiversity(2, "disease"), schema=schema())


def test_a_stranger_who_cannot_count_people_is_told_so(tmp_path):
    data = visits().drop(columns="patient")
    data.to_csv(tmp_path / "release.csv", index=False)
    checked = sf.verify(tmp_path / "release.csv", schema=schema(), definition=sf.KAnonymity(5))
    assert not checked.holds
    assert any("tells people apart" in str(finding) for finding in checked.findings)


def test_numbers_that_say_more_than_a_class_are_found(tmp_path):
    release = sf.anonymize(visits(), sf.KAnonymity(3), schema=schema())
    path = release.save(tmp_path / "out", report=False)
    assert sf.verify(path, schema=schema()).holds
    frame = pd.read_csv(path, dtype=str)
    frame["person_in_class"] = frame["person_in_class"].astype(int) + 7
    frame.to_csv(path, index=False)
    facts = json.loads((tmp_path / "out/release.json").read_text())
    facts.pop("sha256")
    (tmp_path / "out/release.json").write_text(json.dumps(facts))
    assert not sf.verify(path, schema=schema()).holds


def test_a_frame_with_numbers_says_the_same_as_its_file():
    release = sf.anonymize(visits(), sf.KAnonymity(3), schema=schema())
    checked = sf.verify(release.data, schema(), sf.KAnonymity(3))
    assert checked.holds
    assert checked.measured[0].found == release.verify().measured[0].found
    assert not sf.verify(release.data, schema(), sf.KAnonymity(13)).holds


def test_one_row_each_needs_no_numbers():
    table = visits(each=1)
    release = sf.anonymize(table, sf.KAnonymity(3), schema=schema())
    assert "person_in_class" not in release.data.columns
    assert release.verify().holds


def test_what_links_rows_of_a_person_is_refused():
    with pytest.raises(ParameterError, match="Pseudonyms"):
        sf.anonymize(visits(), sf.KAnonymity(3), schema=schema(), pseudonym_key=b"k" * 32)
    with pytest.raises(ParameterError, match="span classes"):
        sf.anonymize(visits(), sf.KAnonymity(3, on=("age",)), schema=schema())
    with pytest.raises(SchemaError, match="no column"):
        sf.anonymize(visits(), sf.KAnonymity(3), schema=schema(unit="person"))
    people = {"age": ["20"], "zip": ["11"], "patient": ["p1"]}
    twice = {name: cells * 2 for name, cells in people.items()}
    with pytest.raises(DataError, match="several rows"):
        sf.anonymize(visits(), sf.KMap(2), schema=schema(), population=twice)


def test_a_policy_and_a_trade_off_curve_count_people():
    release = sf.anonymize(visits(), sf.KAnonymity(3), schema=schema())
    loss = {k: sf.anonymize(visits(), sf.KAnonymity(k), schema=schema()).loss["LM"] for k in (2, 5)}
    for points in (
        sweep_release(release, (2, 5, 13)),
        sweep(visits(), sf.KAnonymity(3), (2, 5, 13), schema=schema()),
    ):
        assert [point.loss for point in points[:2]] == [pytest.approx(loss[k]) for k in (2, 5)]
        assert points[2].loss is None
    policy = sf.Policy.of(release)
    again = policy.apply(visits(people=15))
    assert min(people_per_class(again.data).values()) >= 3
    with pytest.raises(SchemaError, match="unit"):
        policy.apply(visits(people=15), schema=schema(unit="row"))


def test_attacks_reports_and_overlaps_count_people(tmp_path):
    release = sf.anonymize(visits(), sf.KAnonymity(3), schema=schema())
    checked = sf.attack.precheck(release)
    linked = next(one for one in checked.tried if one.name == "linkage by a prosecutor")
    assert linked.before.exposed > 0  # alone with her five rows, she was found
    assert linked.after.exposed == 0
    path = release.save(tmp_path / "one")
    page = (tmp_path / "one/report.html").read_text()
    assert "100" in page[page.index("highest risk") :][:400]  # before: everybody is alone
    found = overlap(path, path, schema())
    assert all(pair.first.people for pair in found.pairs)
    plain = visits().drop(columns="patient")
    plain.to_csv(tmp_path / "plain.csv", index=False)
    with pytest.raises(DataError, match="tells people apart"):
        overlap(tmp_path / "plain.csv", path, schema())


def test_one_record_each_is_a_statement_of_the_release(tmp_path):
    release = sf.anonymize(visits(each=1), sf.KAnonymity(3), schema=schema())
    path = release.save(tmp_path / "out", report=False)
    checked = sf.verify(path, schema())
    assert checked.holds
    assert any("release.json states" in str(finding) for finding in checked.findings)


# -- whoever fits no class is known to be absent -----------------------------------------


def crowd():
    ages = [str(a) for a in range(20, 60, 2)]
    return {"age": ages * 3, "zip": [f"1{i % 3}" for i in range(60)]}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_lower_bound_of_presence_covers_the_population(algorithm):
    table = visits(people=12, each=1)
    table = table[table["age"].astype(int) < 40]  # nobody of 40 or more is in the table
    everybody = crowd()
    for name in ("age", "zip"):
        everybody[name] = [*everybody[name], *table[name]]
    promise = sf.DeltaPresence(0.02, 1.0)
    release = sf.anonymize(
        table, promise, schema=schema(), algorithm=algorithm, population=everybody
    )
    assert release.verify().holds
    shown = set(map(tuple, release.data[["age", "zip"]].to_numpy()))
    assert all(
        any(covers(labels, person) for labels in shown)
        for person in zip(everybody["age"], everybody["zip"], strict=True)
    )


def covers(labels, person):
    """Tell whether a class covers somebody, by reading its labels."""
    age, place = labels
    fits = age == "*" or age == person[0]
    if age.startswith("["):
        low, high = (int(end) for end in age[1:-1].split(","))
        fits = low <= int(person[0]) < high or (age.endswith("]") and int(person[0]) == high)
    return fits and all(a in ("*", b) for a, b in zip(place, person[1], strict=False))


BY_POPULATION = (sf.DeltaPresence(0, 0.5), sf.DeltaPresence(0.1, 0.5), sf.KMap(10))


@pytest.mark.parametrize(
    ("algorithm", "promise"),
    [
        pytest.param(algorithm, promise, marks=() if i % 3 == j else pytest.mark.soak)
        for i, algorithm in enumerate(ALGORITHMS)
        for j, promise in enumerate(BY_POPULATION)
    ],
    ids=str,
)
def test_what_everybody_under_a_star_keeps_is_kept(algorithm, promise):
    """Three neighbours in one class show `[20,30)`, which only they fit; `*` fits ten people."""
    table = visits(people=3, each=1).assign(age=["20", "21", "22"], zip="11")
    everybody = {"age": [*table["age"], *map(str, range(53, 60))], "zip": ["11"] * 3 + ["29"] * 7}
    release = sf.anonymize(
        table, promise, schema=schema("row"), algorithm=algorithm, population=everybody
    )
    assert release.verify().holds
    assert set(release.data["age"]) == {"*"}
    with pytest.raises(Unsatisfiable):
        sf.anonymize(
            table, sf.KMap(11), schema=schema("row"), algorithm=algorithm, population=everybody
        )


def test_verify_says_that_absent_people_break_a_lower_bound(tmp_path):
    table = pd.DataFrame({"age": ["[20,30)"] * 4, "zip": ["11"] * 4, "disease": list("abcd")})
    table.to_csv(tmp_path / "r.csv", index=False)
    everybody = {"age": ["21", "22", "23", "24", "45"], "zip": ["11"] * 5}
    plain = schema(unit="row")
    promise = sf.DeltaPresence(0.1, 1.0)
    checked = sf.verify(tmp_path / "r.csv", schema=plain, definition=promise, population=everybody)
    assert not checked.holds
    inside = {name: cells[:4] for name, cells in everybody.items()}
    assert sf.verify(tmp_path / "r.csv", schema=plain, definition=promise, population=inside).holds
