"""Classes of isomorphic trees: worked examples, and brute force on many small random trees."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from chance import seeds

import sfumato as sf
from sfumato.anonymize.trees.classes import single
from sfumato.anonymize.trees.merge_kernel import assign, merge_cost
from sfumato.anonymize.trees.tree_arrays import make_forest
from sfumato.errors import DataError, ParameterError, SchemaError, Unsatisfiable

sys.path.insert(0, str(Path(__file__).parent))
from small_trees import (
    SCHEMA,
    cheapest_matching,
    classes,
    illnesses_by_likeness,
    random_records,
)

STUDENTS = [
    {"major": "CS", "born": 1990, "courses": [{"id": "CS303", "grade": "B", "books": ["logic"]}]},
    {"major": "CS", "born": 1991, "courses": [{"id": "CS305", "grade": "A", "books": ["crypto"]}]},
    {"major": "EE", "born": 1992, "courses": [{"id": "EE310", "grade": "A", "books": ["circuits"]},
                                              {"id": "EE312", "grade": "B", "books": ["waves"]}]},
    {"major": "EE", "born": 1992, "courses": [{"id": "EE312", "grade": "C", "books": []},
                                              {"id": "EE310", "grade": "B", "books": ["waves"]}]},
]  # fmt: skip
COURSES = sf.Hierarchy.tree({"*": {"CS3xx": ["CS303", "CS305"], "EE3xx": ["EE310", "EE312"]}})
STUDENT_SCHEMA = sf.Schema(
    quasi={
        "major": sf.Hierarchy.flat(["CS", "EE"]),
        "born": sf.Hierarchy.intervals(width=2, low=1990, high=1994),
        "courses.id": COURSES,
    },
    sensitive=["courses.grade"],
    insensitive=["courses.books"],
)


def students(promise, **options):
    data = sf.read(STUDENTS, shape="trees", schema=STUDENT_SCHEMA)
    return sf.anonymize(data, promise, **options)


def test_students_are_2_anonymous_with_their_courses():
    release = students(sf.KAnonymity(2))
    assert release.verify().holds
    assert release.verify().found["k"] == 2
    shown = Counter(
        (r["major"], r["born"], *sorted((c["id"], len(c["books"])) for c in r["courses"]))
        for r in release.data
    )
    # Courses stand in any order: the second two are alike but for a book that one of them lacks.
    assert shown == {
        ("CS", "[1990,1992)", ("CS3xx", 1)): 2,
        ("EE", "1992", ("EE310", 1), ("EE312", 0)): 2,
    }
    assert sorted(c["grade"] for r in release.data for c in r["courses"]) == list("AABBBC")
    assert release.loss["vertices left out"] == pytest.approx(1 / 15)


def test_numbers_that_are_not_generalised_stay_numbers():
    records = [{"age": 30, "pay": 100.5}, {"age": 31, "pay": 90.25}]
    schema = sf.Schema(quasi=["age"], sensitive=["pay"])
    release = sf.anonymize(sf.read(records, shape="trees", schema=schema), sf.KAnonymity(2))
    assert sorted(r["pay"] for r in release.data) == [90.25, 100.5]
    assert all(isinstance(r["age"], str) for r in release.data)


@seeds(120)
def test_random_trees_fall_into_classes_of_k(seed):
    records = random_records(seed)
    k = 2 + seed % 2
    release = sf.anonymize(sf.read(records, shape="trees", schema=SCHEMA), sf.KAnonymity(k))
    found = classes(release.data)
    smallest = min(map(len, found))
    assert len(release.data) == len(records)
    assert smallest >= k
    checked = release.verify()
    assert checked.holds
    assert checked.found["k"] == smallest
    assert checked.classes == len(found)
    assert "name" not in json.dumps(release.data)


@seeds(120)
def test_random_trees_are_diverse_among_vertices_that_look_alike(seed):
    records = random_records(seed)
    kind = sf.DistinctLDiversity if seed % 2 else sf.VertexDiversity
    promise = sf.KAnonymity(2) & kind(2, "visits.illness")
    release = sf.anonymize(sf.read(records, shape="trees", schema=SCHEMA), promise)
    for group in classes(release.data):
        for values in illnesses_by_likeness(group).values():
            told = Counter(value for value in values if value != "*")
            if told and seed % 2:
                assert len(told) >= 2
            elif told:
                assert 2 * max(told.values()) <= sum(told.values())
    assert release.verify().holds


@seeds(200)
def test_the_verifier_measures_what_brute_force_does(seed):
    records = random_records(seed, most=7)
    for record in records:
        record.pop("name")
    trees = sf.read(records, shape="trees", schema=SCHEMA)
    checked = sf.verify(trees, SCHEMA, sf.KAnonymity(2), shape="trees")
    sizes = [len(group) for group in classes(records)]
    assert checked.found["k"] == min(sizes)
    assert checked.classes == len(sizes)
    assert checked.holds == (min(sizes) >= 2)
    diverse = sf.verify(trees, SCHEMA, sf.DistinctLDiversity(2, "visits.illness"), shape="trees")
    alike = [v for g in classes(records) for v in illnesses_by_likeness(g).values()]
    assert diverse.holds == all(len(set(values)) >= 2 for values in alike)
    assert diverse.found["distinct l of visits.illness"] == min(len(set(v)) for v in alike)


def test_diversity_is_about_orbits_not_positions():
    # Both people have two visits that look alike. At each position flu and gout meet, so whoever
    # goes by positions is content; but the four visits can all be exchanged.
    records = [
        {"visits": [{"ward": "1", "illness": "flu"}, {"ward": "1", "illness": "flu"}]},
        {"visits": [{"ward": "1", "illness": "gout"}, {"ward": "1", "illness": "flu"}]},
    ]
    schema = sf.Schema(quasi=["visits.ward"], sensitive=["visits.illness"])
    checked = sf.verify(records, schema, sf.VertexDiversity(2, "visits.illness"), shape="trees")
    assert not checked.holds
    assert checked.found["l at every vertex of visits.illness"] == pytest.approx(4 / 3)


@seeds(200)
def test_assignment_is_the_best_of_all(seed):
    chance = np.random.default_rng(seed)
    rows = int(chance.integers(1, 5))
    columns = int(chance.integers(rows, 7))
    costs = np.round(chance.normal(size=(rows, columns)), 1)
    chosen = assign(costs)
    assert len(set(chosen.tolist())) == rows
    assert costs[np.arange(rows), chosen].sum() == pytest.approx(cheapest_matching(costs.tolist()))


@seeds(60)
def test_the_price_of_a_merger_is_what_its_members_lose_more(seed):
    trees = sf.read(random_records(seed), shape="trees", schema=SCHEMA)
    forest = make_forest(trees)
    group = single(forest, 0, forest.tree(0))
    spent = 0.0
    for record in range(1, 4):
        other = forest.tree(record)
        spent += merge_cost(forest.model, group.tree, other, len(group))
        group = group.merge(record, other)
        marks = group.tree.marks
        shown = np.where(marks >= 0, forest.model.loss[marks], 0.0).sum()
        came = sum(len(forest.originals[r]) for r in group.members)
        lost = came - len(group.kinds) * len(group) + shown * len(group)
        assert spent == pytest.approx(lost)


@seeds(200)
def test_merging_two_trees_is_optimal(seed):
    """Compare with the best over all ways to pair visits, and within them drugs."""
    records = random_records(seed)[:2]
    records[0]["visits"] = records[0]["visits"][:3]
    trees = sf.read(records, shape="trees", schema=SCHEMA)
    forest = make_forest(trees)
    found = merge_cost(forest.model, forest.tree(0), forest.tree(1), 1)
    assert found == pytest.approx(_cheapest(records))


WARDS = {"1": "in", "2": "in", "3": "out"}
DRUGS = {"x": "strong", "y": "strong", "z": "weak"}


def _label(a, b, groups, step):
    if a == b:
        return 0.0
    return step if groups[a] == groups[b] else 1.0


def _cheapest(records):
    """The least loss of two people, by trying everything."""
    towns = {"a": "north", "b": "north", "c": "south", "d": "south"}
    first, second = (r["visits"] for r in records)
    base = 2 * _label(records[0]["town"], records[1]["town"], towns, 1 / 3)
    return base + _pairing(first, second, _size, _visit)


def _size(visit):
    return 1 + len(visit["drugs"]) + len(visit["tests"])


def _visit(a, b):
    cost = 2 * _label(a["ward"], b["ward"], WARDS, 1 / 2)
    cost += abs(len(a["tests"]) - len(b["tests"]))
    return cost + _pairing(
        a["drugs"], b["drugs"], lambda _: 1, lambda x, y: 2 * _label(x, y, DRUGS, 1 / 2)
    )


def _pairing(first, second, alone, together):
    """Pair some of the first with some of the second; the rest is left out."""
    if not first:
        return sum(map(alone, second))
    head, *tail = first
    best = alone(head) + _pairing(tail, second, alone, together)
    for i, other in enumerate(second):
        rest = second[:i] + second[i + 1 :]
        best = min(best, together(head, other) + _pairing(tail, rest, alone, together))
    return best


def test_other_definitions_hold_at_every_vertex():
    promises = [
        sf.EntropyLDiversity(2, "visits.illness"),
        sf.RecursiveLDiversity(2, 2, "visits.illness"),
    ]
    for seed, promise in enumerate(promises):
        records = random_records(seed, most=14)
        data = sf.read(records, shape="trees", schema=SCHEMA)
        assert sf.anonymize(data, sf.KAnonymity(3) & promise).verify().holds


def test_a_release_from_disk_is_verified_without_its_schema(tmp_path):
    data = sf.read(random_records(3), shape="trees", schema=SCHEMA)
    release = sf.anonymize(data, sf.KAnonymity(2) & sf.DistinctLDiversity(2, "visits.illness"))
    for form in ("jsonl", "json", "xml"):
        release.save(tmp_path / form, file_format=form)
        assert sf.verify(tmp_path / form).holds
    text = (tmp_path / "jsonl" / "report.html").read_text()
    assert "<svg" in text
    assert "Trees that look alike" in text


def test_a_tampered_file_is_found_out(tmp_path):
    data = sf.read(random_records(5), shape="trees", schema=SCHEMA)
    path = sf.anonymize(data, sf.KAnonymity(2)).save(tmp_path / "out", report=False)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[0]["visits"].append({"ward": "1", "illness": "flu", "drugs": [], "tests": []})
    records[1]["name"] = "Ann"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    checked = sf.verify(tmp_path / "out", SCHEMA)
    assert not checked.holds
    assert checked.found["k"] == 1
    assert any("name" in finding.text for finding in checked.findings)


def test_what_cannot_be_promised_is_refused():
    data = sf.read(random_records(1), shape="trees", schema=SCHEMA)
    with pytest.raises(Unsatisfiable, match="only"):
        sf.anonymize(data, sf.KAnonymity(100))
    with pytest.raises(ParameterError, match="some labels"):
        sf.anonymize(data, sf.KAnonymity(2, on=("town",)))
    with pytest.raises(ParameterError, match="not"):
        sf.anonymize(data, sf.KAnonymity(2), algorithm="disassociate")
    with pytest.raises(ParameterError, match="nothing about"):
        sf.anonymize(data, sf.KDegreeAnonymity(2))
    with pytest.raises(SchemaError, match="no roles"):
        sf.anonymize(sf.read(random_records(1), shape="trees"), sf.KAnonymity(2))
    with pytest.raises(SchemaError, match="sensitive"):
        sf.anonymize(data, sf.KAnonymity(2) & sf.DistinctLDiversity(2, "town"))


def test_attacks_before_and_after():
    data = sf.read(random_records(8, most=12), shape="trees", schema=SCHEMA)
    release = sf.anonymize(data, sf.KAnonymity(2) & sf.VertexDiversity(2, "visits.illness"))
    found = sf.attack.precheck(release)
    assert found.holds
    assert {attempt.name for attempt in found.tried} == {
        "the whole tree",
        "two labels and how they are related",
        "value at a vertex of visits.illness",
    }
    assert all(attempt.before is not None for attempt in found.tried)
    assert any(attempt.before.exposed > 0 for attempt in found.tried)
    secrets = {"flu", "cold", "cough", "gout"}
    assert not any(word in str(found) for word in secrets)


def test_hundreds_of_alike_children_are_merged_greedily():
    records = [
        {"town": "a", "visits": [{"ward": str(i % 3 + 1)} for i in range(n)]} for n in (230, 240)
    ]
    schema = sf.Schema(quasi=["town", "visits.ward"])
    release = sf.anonymize(sf.read(records, shape="trees", schema=schema), sf.KAnonymity(2))
    assert release.verify().holds
    assert len(release.data[0]["visits"]) == 230


def test_no_records_no_release():
    with pytest.raises(DataError, match="no records"):
        sf.read([], shape="trees", schema=SCHEMA)
