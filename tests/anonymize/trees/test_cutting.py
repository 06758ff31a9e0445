"""Trees cut apart for k^(m,n)-anonymity: the hospital example, and brute force on random trees."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from chance import seeds

import sfumato as sf
from sfumato.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))
from small_trees import SCHEMA, fact_sets, least_support, random_records, renamed


def hospital(*visits):
    """A patient by (hospital, illness, drugs)."""
    return {"visits": [{"hospital": h, "illness": i, "drugs": list(d)} for h, i, d in visits]}


# Everybody has had flu and antibiotics, at the hospitals 1 and 2; only the first had flu at 1 and
# antibiotics at 2.
PATIENTS = [
    hospital(("1", "flu", ()), ("2", "cough", ("antibiotics",))),
    hospital(("1", "flu", ("antibiotics",)), ("2", "cough", ())),
    hospital(("1", "flu", ("antibiotics",)), ("2", "cough", ())),
]
HOSPITALS = sf.Schema(
    quasi={
        "visits.hospital": sf.Hierarchy.flat(["1", "2"]),
        "visits.illness": sf.Hierarchy.flat(["flu", "cough"]),
        "visits.drugs": sf.Hierarchy.flat(["antibiotics"]),
    }
)


def test_flu_at_one_hospital_and_antibiotics_at_another():
    data = sf.read(PATIENTS, shape="trees", schema=HOSPITALS)
    before = sf.verify(data, HOSPITALS, sf.KmnAnonymity(2, m=2, n=1), shape="trees")
    assert not before.holds
    assert before.found["trees with the same 2 labels and 1 relations"] == 1
    assert sf.verify(data, HOSPITALS, sf.KmnAnonymity(2, m=2, n=0), shape="trees").holds
    release = sf.anonymize(data, sf.KmnAnonymity(2, m=2, n=1))
    assert release.verify().holds
    # the link is cut and nothing else: all labels are there, the drug hangs at the patient
    for record in release.data:
        assert record["visits.drugs"] == ["antibiotics"]
        assert {(v["hospital"], v["illness"]) for v in record["visits"]} == {
            ("1", "flu"),
            ("2", "cough"),
        }
    assert release.loss["edges cut"] == pytest.approx(3 / 9)
    assert release.loss["loss per vertex"] == 0
    assert any("cut off" in f.text for f in release.verify().findings)


def test_without_cutting_labels_pay():
    data = sf.read(PATIENTS, shape="trees", schema=HOSPITALS)
    release = sf.anonymize(data, sf.KmnAnonymity(2, m=2, n=1), cut=False)
    assert release.verify().holds
    assert release.loss["edges cut"] == 0
    assert release.loss["loss per vertex"] > 0


@seeds(150)
def test_random_trees_keep_the_promise(seed):
    records = random_records(seed)
    k, m, n = 2 + seed % 2, 1 + seed % 3, seed % 4
    data = sf.read(records, shape="trees", schema=SCHEMA)
    promise = sf.KmnAnonymity(k, m=m, n=n)
    release = sf.anonymize(data, promise)
    least = least_support(release.data, m, n)
    assert least is None or least >= k
    checked = release.verify()
    assert checked.holds
    name = f"trees with the same {m} labels and {n} relations"
    assert checked.found.get(name) == least


@seeds(100)
def test_the_verifier_counts_like_brute_force(seed):
    records = random_records(seed, most=6)
    m, n = 1 + seed % 3, seed % 4
    trees = sf.read(records, shape="trees", schema=SCHEMA)
    checked = sf.verify(trees, SCHEMA, sf.KmnAnonymity(2, m=m, n=n), shape="trees")
    least = least_support(records, m, n)
    assert checked.promises[0].holds == (least >= 2)
    if least >= 2 or m < 3:
        assert checked.promises[0].found == least


@seeds(80)
def test_what_was_cut_off_may_have_been_anywhere(seed):
    """The guarantee in full: k originals that the release allows show what is known of a person."""
    records = random_records(seed, most=6)
    data = sf.read(records, shape="trees", schema=SCHEMA)
    k, m, n = 2, 3, 2
    release = sf.anonymize(data, sf.KmnAnonymity(k, m=m, n=n))
    loose = [(len(r.get("visits.drugs") or []), len(r["visits"] or [])) for r in release.data]
    if not any(drugs for drugs, _ in loose) or max(v**d for d, v in loose) > WORLDS:
        return
    labels = {a: _released(release, a) for a in ("town", "ward", "drug")}
    possible = [_all_facts_possible(record, m, n) for record in release.data]
    for person in records:
        for facts, relations in fact_sets(person, m, n):
            seen = tuple((name, labels[name].get(text, text)) for name, text in facts)
            order = sorted(range(len(seen)), key=lambda i: seen[i])
            place = {old: new for new, old in enumerate(order)}
            names = tuple(seen[i] for i in order)
            moved = renamed(names, tuple((place[a], place[b]) for a, b in relations))
            # Where vertices were left out, what is known may be shown by none.
            support = sum((names, moved) in shown for shown in possible)
            assert support >= k or (support == 0 and release.loss["vertices left out"] > 0)


WORLDS = 1000
"""Ways in which what was cut off may hang that are gone through."""


def _released(release, name):
    """What a label is shown as, read off the decision."""
    plan = release.decision.content
    label = {"town": "town", "ward": "visits.ward", "drug": "visits.drugs"}[name]
    nodes = plan.forest.nodes
    leaf, values = nodes.leaf[label], plan.data.values[label]
    return {v: nodes.texts[plan.shown[x]] for v, x in zip(values, leaf, strict=True)}


def _all_facts_possible(record, m, n):
    """Fact sets that some original shows from which the released record may come."""
    loose = record.get("visits.drugs") or []
    visits = record.get("visits") or []
    worlds = [[]]
    for drug in loose:
        worlds = [[*world, (drug, at)] for world in worlds for at in range(len(visits))]
    found = set()
    for world in worlds:
        copy = {**record, "visits.drugs": [], "visits": [{**v, "drugs": []} for v in visits]}
        for drug, at in world:
            copy["visits"][at]["drugs"].append(drug)
        found |= fact_sets(copy, m, n)
    return found


COURSES = sf.Schema(quasi={"courses.name": sf.Hierarchy.flat(["a", "b"])})


def students(*courses):
    return [{"courses": [{"name": name} for name in taken]} for taken in courses]


def test_a_label_that_is_known_twice_counts_twice():
    """Nine took the course once; who took it twice is known by that."""
    data = sf.read(students(*(["a"] * 9), "aa"), shape="trees", schema=COURSES)
    promise = sf.KmnAnonymity(5, m=2, n=1)
    checked = sf.verify(data, COURSES, promise, shape="trees")
    assert not checked.holds
    assert checked.promises[0].found == 1
    assert sf.verify(data, COURSES, sf.KmnAnonymity(5, m=1, n=0), shape="trees").holds
    tried = sf.audit.precheck(data, schema=COURSES, shape="trees")
    assert tried.outcome("two labels and how they are related").exposed == 1
    release = sf.anonymize(data, promise)
    assert release.verify().holds
    assert least_support_of_names(release) == 10
    assert release.loss["vertices left out"] == pytest.approx(1 / 21)  # one course of one student


def least_support_of_names(release):
    names = [tuple(c["name"] for c in record["courses"]) for record in release.data]
    assert set(names) == {("a",)}
    return len(names)


def test_three_of_the_same_are_bounded_where_two_are_common():
    data = sf.read(students(*(["aa"] * 5), "aaa"), shape="trees", schema=COURSES)
    release = sf.anonymize(data, sf.KmnAnonymity(3, m=3, n=0))
    assert release.verify().holds
    assert {len(record["courses"]) for record in release.data} == {2}


def test_three_labels_and_more():
    records = random_records(11, most=8)
    data = sf.read(records, shape="trees", schema=SCHEMA)
    release = sf.anonymize(data, sf.KmnAnonymity(2, m=4, n=3))
    assert release.verify().holds
    assert (least_support(release.data, 4, 3) or 2) >= 2


def test_classes_keep_it_too():
    data = sf.read(random_records(4), shape="trees", schema=SCHEMA)
    release = sf.anonymize(data, sf.KAnonymity(2) & sf.KmnAnonymity(3, m=2, n=1))
    assert release.provenance.record.algorithm == "cluster"
    assert least_support(release.data, 2, 1) >= 3
    assert release.verify().holds


def test_a_release_that_was_cut_is_not_cut_again(tmp_path):
    data = sf.read(PATIENTS, shape="trees", schema=HOSPITALS)
    path = sf.anonymize(data, sf.KmnAnonymity(2, m=2, n=1)).save(tmp_path / "out")
    again = sf.read(path, shape="trees", schema=HOSPITALS)
    assert again.detached.sum() == 3
    with pytest.raises(ParameterError, match="cut off"):
        sf.anonymize(again, sf.KmnAnonymity(2, m=2, n=1))


@pytest.mark.parametrize(
    ("m", "n", "wrong"), [(0, 1, "m must"), (2, -1, "n must"), (2, 1.5, "n must")]
)
def test_bad_numbers(m, n, wrong):
    with pytest.raises(ParameterError, match=wrong):
        sf.KmnAnonymity(2, m=m, n=n)
    assert str(sf.KmnAnonymity(5, m=2, n=1)) == "5^(2,1)-anonymity"
