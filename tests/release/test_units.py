"""Whoever is named as the person is never read as a row: every shape, every door.

Five rows of one person are one person. What cannot count people says so and refuses.
"""

from __future__ import annotations

import csv
import json

import pytest

import sfumato as sf

PEOPLE = [f"p{i // 5}" for i in range(50)]
AGES = [str(20 + i // 5) for i in range(50)]
ILL = ["a" if i % 2 else "b" for i in range(50)]
ITEMS = [["x", "y"] if (i // 5) % 2 else ["z", "w"] for i in range(50)]
PROMISE = sf.KAnonymity(5) & sf.KmAnonymity(5, m=2, attribute="items")


def hybrid_schema(unit):
    return sf.Schema(
        attributes={
            "person": {"role": "identifier"},
            "age": {"role": "quasi"},
            "ill": {"role": "sensitive"},
            "items": {"role": "quasi", "type": "set"},
        },
        unit=unit,
    )


def write_hybrid(path, people):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "age", "ill", "items"])
        rows = zip(people, AGES, ILL, map("|".join, ITEMS), strict=True)
        writer.writerows(rows)
    return path


def test_rows_with_sets_of_one_person_are_no_class(tmp_path):
    path = write_hybrid(tmp_path / "visits.csv", PEOPLE)
    with pytest.raises(sf.errors.DataError, match="several rows of one 'person'"):
        sf.read(path, schema=hybrid_schema("person"))
    with pytest.raises(sf.errors.SchemaError, match="'nobody' as the privacy unit, which is no"):
        sf.read(path, schema=hybrid_schema("nobody"))
    assert len(sf.read(path, schema=hybrid_schema("row"))) == 50


def test_a_release_of_rows_with_sets_says_whose_they_are(tmp_path):
    path = write_hybrid(tmp_path / "people.csv", [f"p{i}" for i in range(50)])
    schema = hybrid_schema("person")
    release = sf.anonymize(sf.read(path, schema=schema), PROMISE)
    saved = release.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "release.json").read_text())["people"] == {
        "unit": "person",
        "column": None,
    }
    assert sf.verify(saved, schema).holds
    assert sf.verify(saved).holds
    (tmp_path / "out" / "release.json").unlink()  # a foreign file, of which nothing is stated
    foreign = sf.verify(saved, schema, PROMISE, shape="hybrid")
    assert not foreign.holds
    assert any("no column that tells people apart" in f.text for f in foreign.findings)


def test_sets_of_one_person_in_a_foreign_file_are_seen(tmp_path):
    path = write_hybrid(tmp_path / "foreign.csv", PEOPLE)
    found = sf.verify(path, hybrid_schema("person"), PROMISE, shape="hybrid")
    assert not found.holds
    assert found.found["k"] == 1
    assert any("somebody has several records" in f.text for f in found.findings)


TREES = [
    {"person": who, "age": age, "visits": [{"ill": ill}]}
    for who, age, ill in zip(PEOPLE, AGES, ILL, strict=True)
]


def tree_schema(unit):
    return sf.Schema(
        identifiers=["person"], quasi=["age"], sensitive=["visits.ill"], unit=unit
    )  # fmt: skip


def test_trees_of_one_person_are_no_class():
    with pytest.raises(sf.errors.DataError, match="several trees of one 'person'"):
        sf.read(TREES, shape="trees", schema=tree_schema("person"))
    with pytest.raises(sf.errors.SchemaError, match="'nobody' as the privacy unit"):
        sf.read(TREES, shape="trees", schema=tree_schema("nobody"))
    with pytest.raises(sf.errors.SchemaError, match=r"'visits\.ill' as the privacy unit"):
        sf.read(TREES, shape="trees", schema=tree_schema("visits.ill"))
    with pytest.raises(sf.errors.SchemaError, match="the role 'quasi'"):
        sf.read(TREES, shape="trees", schema=tree_schema("age"))


def test_a_release_of_trees_says_whose_they_are(tmp_path):
    own = [{**tree, "person": f"q{i}"} for i, tree in enumerate(TREES)]
    schema = tree_schema("person")
    release = sf.anonymize(sf.read(own, shape="trees", schema=schema), sf.KAnonymity(5))
    saved = release.save(tmp_path / "out")
    assert sf.verify(saved, schema).holds
    (tmp_path / "out" / "release.json").unlink()
    foreign = sf.verify(saved, schema, sf.KAnonymity(5), shape="trees")
    assert not foreign.holds
    assert any("no label that tells people apart" in f.text for f in foreign.findings)


VISITS = {"id": PEOPLE, "age": AGES, "ill": ILL}
SCHEMA = sf.Schema(identifiers=["id"], quasi=["age"], sensitive=["ill"], unit="id")


def ask(unit, ledger, schema=SCHEMA):
    people = sf.read(VISITS, schema=schema, name="visits")
    with sf.Session(
        people, public_types=True, unit=unit, budget=sf.PureDP(3), ledger=ledger
    ) as session:
        return session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=1).guarantee


@pytest.mark.parametrize("unit", ["row", sf.dp.Row(), "age", sf.Unit("age", rows=5)])
def test_a_session_hides_the_person_whom_the_schema_names(unit, tmp_path):
    with pytest.raises(sf.errors.GovernanceError, match="names 'id' as the privacy unit"):
        ask(unit, tmp_path / "ledger.db")


def test_a_session_with_the_person_of_the_schema_answers(tmp_path):
    told = ask(sf.Unit("id", rows=5), tmp_path / "ledger.db")
    assert "one id (at most 5 rows)" in str(told)
    assert "one id (at most 5 rows)" in str(ask(None, tmp_path / "ledger.db"))


def test_a_registered_row_is_not_the_person_of_a_later_schema(tmp_path):
    plain = sf.Schema(identifiers=["id"], quasi=["age"], sensitive=["ill"])
    assert "one row" in str(ask("row", tmp_path / "ledger.db", plain))
    with pytest.raises(sf.errors.GovernanceError, match="registered for one row"):
        ask(None, tmp_path / "ledger.db")


def test_attacks_count_people_and_not_their_rows():
    release = sf.anonymize(sf.read(VISITS, schema=SCHEMA), sf.KAnonymity(3))
    found = sf.attack.precheck(release)
    linked = next(tried for tried in found.tried if tried.name.startswith("linkage"))
    assert (linked.before.people, linked.before.exposed) == (10, 10)
    assert linked.after.people == 10
    # Everybody has both values, so whoever rules one out knows the other: all are exposed.
    known = found.outcome("background knowledge of ill")
    assert known.share == 1.0


@pytest.mark.parametrize("attacked", ["release", "original"])
def test_nobody_attacks_records_where_people_cannot_be_told_apart(attacked, tmp_path):
    """Five records of one patient hide her from nobody, and no attack "fails" because of them."""
    rows = {name: cells for name, cells in VISITS.items() if name != "id"}
    made = sf.anonymize(sf.read(VISITS, schema=SCHEMA), sf.KAnonymity(3))
    pairs = {"release": (rows, VISITS), "original": (made, rows)}
    release, original = pairs[attacked]
    with pytest.raises(sf.errors.DataError, match="no column that tells people apart"):
        sf.attack.precheck(release, schema=SCHEMA, original=original)
    with pytest.raises(sf.errors.DataError, match="no column that tells people apart"):
        sf.attack.homogeneity(rows, schema=SCHEMA)
