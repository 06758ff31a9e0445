"""Linkage: people found in a naive release, candidates by brute force, bounds by k."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from chance import seeds
from hangs import usually

import sfumato as sf
from sfumato.attack.releases.fit import fit
from sfumato.errors import ParameterError, SchemaError
from sfumato.released.compatibility import may_meet
from sfumato.released.covering import cover
from sfumato.released.view import see


def test_everybody_is_found_in_the_file_as_it_is(patients, schema):
    found = sf.attack.linkage(patients, patients, schema=schema)
    assert found.succeeds
    assert (found.certain, found.exposed, found.expected) == (12, 12, 12.0)
    assert (found.confidence == 1).all()


def test_nobody_is_found_with_more_than_a_quarter_in_a_4_anonymous_one(
    patients, four_anonymous, schema
):
    for adversary in ("journalist", "prosecutor"):
        found = sf.attack.linkage(four_anonymous, patients, schema=schema, adversary=adversary)
        assert not found.succeeds
        assert found.certain == 0
        assert found.expected == pytest.approx(3.0)  # one of each class
        assert found.confidence.tolist() == [0.25] * 12
        assert found.records.tolist() == [4] * 12


def test_a_person_fits_the_classes_whose_labels_cover_the_values(four_anonymous, schema):
    target = {"zip": ["13053"], "age": ["33"], "nationality": ["Indian"]}
    found = sf.attack.linkage(four_anonymous, target, schema=schema, adversary="prosecutor")
    assert found.candidates(0) == [({"zip": "130**", "age": "[30,40)", "nationality": "*"}, 4)]


def test_tree_nodes_ranges_and_strangers(schema):
    release = {
        "zip": ["130**", "1485*", "*"],
        "age": ["[20,40)", "55", "*"],
        "nationality": ["Asia", "Europe", "*"],
        "disease": ["a", "b", "c"],
    }
    people = {
        "zip": ["13053", "14850", "99999"],
        "age": [25, 55, 3],
        "nationality": ["Indian", "Russian", "Martian"],  # no leaf of the tree
    }
    found = sf.attack.linkage(release, people, schema=schema, adversary="prosecutor")
    by_zip = dict(zip(found.columns["zip"], found.records, strict=True))
    assert by_zip == {"13053": 2, "14850": 2, "99999": 1}


def brute(release, people, names, schema):
    """Count per person and per class who fits whom, label by label."""
    labels = {n: list(dict.fromkeys(release[n])) for n in names}
    values = {n: list(dict.fromkeys(people[n])) for n in names}
    fits = {}
    for n in names:
        covers = cover(labels[n], values[n], n, schema)
        for v, value in enumerate(values[n]):
            for label in covers.of(v):
                fits[n, labels[n][label], value] = True
    classes = release.groupby(list(names)).size().reset_index(name="n")
    matrix = np.array(
        [[all((n, c[n], p[n]) in fits for n in names) for _, c in classes.iterrows()]
         for _, p in people.iterrows()]
    )  # fmt: skip
    return classes, matrix


@seeds(4, few=2)
def test_counts_agree_with_brute_force_on_overlapping_classes(seed):
    rng = np.random.default_rng(seed)
    age = sf.Hierarchy.from_rows(
        [(str(a), f"{a // 5 * 5}+", f"{a // 10 * 10}s", "*") for a in range(20, 50)], ordered=True
    )
    schema = sf.Schema(quasi={"age": age, "zip": sf.Hierarchy.mask(3)}, sensitive=["ill"])
    labels = ["20s", "30s", "*", "25+", "37", "[22,34]", "40", "[30,31]"]
    zips = ["12*", "1**", "***", "*", "123", "131", "13*"]
    release = pd.DataFrame(
        {
            "age": rng.choice(labels, 60),
            "zip": rng.choice(zips, 60),
            "ill": rng.choice(["a", "b"], 60),
        }
    )
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 50, 200).astype(str),
            "zip": rng.choice(["123", "131", "124", "990"], 200),
        }
    )
    classes, matrix = brute(release, people, ("age", "zip"), schema)
    expected = matrix @ classes["n"].to_numpy()
    found = sf.attack.linkage(release, people, schema=schema, adversary="prosecutor")
    columns = found.columns
    by_person = {
        (a, z): n for a, z, n in zip(columns["age"], columns["zip"], found.records, strict=True)
    }
    assert [by_person[p["age"], p["zip"]] for _, p in people.iterrows()] == expected.tolist()
    assert found.expected == pytest.approx(sum(1 / n for n in expected if n))
    journalist = sf.attack.linkage(release, people, schema=schema)
    crowd = np.maximum(matrix.sum(axis=0), classes["n"])
    reached = matrix.sum(axis=0) > 0
    assert journalist.expected == pytest.approx((classes["n"] / crowd)[reached].sum())
    best = np.where(matrix, 1 / crowd.to_numpy(), 0).max(axis=1)
    sure = {
        (a, z): c
        for a, z, c in zip(columns["age"], columns["zip"], journalist.confidence, strict=True)
    }
    assert [sure[p["age"], p["zip"]] for _, p in people.iterrows()] == pytest.approx(best.tolist())
    assert journalist.certain == int((best == 1).sum())


def test_covers_of_rules_agree_with_reading_the_labels():
    schema = sf.Schema(
        quasi={"age": sf.Hierarchy.intervals(width=5), "zip": sf.Hierarchy.mask(5)},
        sensitive=["x"],
    )
    for name, labels, values in (
        (
            "age",
            ["[20,25)", "[30,40)", "<20", ">=40", "*", "37", "[21,33]"],
            ["19", "21", "37", "44"],
        ),
        ("zip", ["130**", "1485*", "14850", "*****", "*"], ["13053", "14850", "14853", "20000"]),
    ):
        found = cover(labels, values, name, schema)
        for v, value in enumerate(values):
            fits = {labels[i] for i in found.of(v)}
            assert fits == {label for label in labels if may_meet(label, value)}


def test_without_a_schema_a_label_that_nobody_can_read_may_be_anything(tmp_path):
    people = {"nation": ["Italian", "Italian", "Austrian", "Peruvian"], "x": list("abcd")}
    tree = sf.Hierarchy.tree(
        {"*": {"Europe": ["Italian", "Austrian"], "America": ["Peruvian", "US"]}}
    )
    schema = sf.Schema(quasi={"nation": tree}, sensitive=["x"])
    sf.anonymize(people, sf.KAnonymity(3), schema=schema, suppression=0.25).save(tmp_path / "out")
    target = {"nation": ["Peruvian"]}
    blind = sf.attack.linkage(tmp_path / "out", target, adversary="prosecutor")
    assert blind.records.tolist() == [3]
    assert "cannot be read" in blind.notes[0]
    seeing = sf.attack.linkage(tmp_path / "out", target, schema=schema, adversary="prosecutor")
    assert seeing.records.tolist() == [0]
    assert not seeing.notes


def test_the_evidence_replays_in_sql(patients, schema):
    found = sf.attack.linkage(patients, patients, schema=schema, most=12)
    assert len(found.findings) == 12
    release = patients  # noqa: F841 - read by the query
    for finding in found.findings:
        rows = duckdb.sql(finding.evidence["replay"]).df()
        assert len(rows) == 1
        assert finding.secret == (f"disease = {rows['disease'][0]}",)


def test_sensitive_values_stay_hidden_unless_revealed(patients, schema):
    found = sf.attack.linkage(patients, patients, schema=schema)
    for text in (str(found), repr(found), repr(found.findings[0]), str(found.findings[0])):
        assert not any(disease in text for disease in ("Cancer", "Flu", "Heart"))
    assert "disease = " in found.told(reveal=True)


def test_names_come_from_the_public_table(patients, schema):
    voters = patients.drop(columns="disease").assign(name=[f"Person {i}" for i in range(12)])
    found = sf.attack.linkage(patients, voters, schema=schema, names="name", most=12)
    assert {f.who for f in found.findings} == set(voters["name"])
    with pytest.raises(SchemaError, match="no column"):
        sf.attack.linkage(patients, voters, schema=schema, names="nickname")


def test_fewer_attributes_find_fewer_people(patients, schema):
    found = sf.attack.linkage(patients, patients[["zip"]], schema=schema)
    assert found.certain == 0
    assert found.records.sum() == sum(len(g) for _, g in patients.groupby("zip"))


def test_a_public_table_that_lacks_people_is_told(patients, four_anonymous, schema):
    found = sf.attack.linkage(four_anonymous, patients[:1], schema=schema)
    assert found.confidence.tolist() == [0.25]  # not 1: four records, one known person
    assert "does not hold everybody" in found.notes[0]


@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_k_bounds_the_prosecutor_and_k_map_the_journalist(algorithm):
    people = sf.examples.patients(500, seed=2)
    naive = sf.attack.linkage(people.columns, people.columns, schema=people.schema)
    assert naive.certain > 400
    stop = sf.KAnonymity(6)
    release = sf.anonymize(
        people.columns, stop, schema=people.schema, algorithm=algorithm, suppression=0.02
    )
    found = sf.attack.linkage(release, people.columns, adversary="prosecutor", confidence=1 / 5)
    assert not found.succeeds
    assert found.posterior <= 1 / 6
    assert found.stopped_by == stop


def test_the_remedy_stops_the_journalist(patients, schema):
    found = sf.attack.linkage(patients[:6], patients, schema=schema, confidence=0.4)
    assert found.succeeds
    assert found.stopped_by == sf.KMap(3)
    safe = sf.anonymize(patients[:6], found.stopped_by, schema=schema, population=patients)
    assert not sf.attack.linkage(safe, patients, confidence=0.4).succeeds


def test_the_governor_is_found_and_then_hidden():
    case = sf.examples.governor(3_000, seed=1)
    naive = sf.attack.linkage(case.records, case.voters, schema=case.schema)
    assert naive.certain > 1_000
    front_page = {"name": [case.name], **{key: [value] for key, value in case.known.items()}}
    found = sf.attack.linkage(
        case.records, front_page, schema=case.schema, names="name", adversary="prosecutor"
    )
    assert [f.who for f in found.findings] == [case.name]
    true = (
        pd.DataFrame(case.records).set_index(["zip", "born", "sex"]).loc[tuple(case.known.values())]
    )
    assert found.findings[0].secret == (f"diagnosis = {true['diagnosis']}",)
    voters = pd.DataFrame(case.voters)
    assert (voters["born"] == case.known["born"]).sum() >= 6
    safe = sf.anonymize(case.records, sf.KAnonymity(5), schema=case.schema, suppression=0.05)
    after = sf.attack.linkage(safe, case.voters, adversary="prosecutor", confidence=0.21)
    assert not after.succeeds


def test_large_tables_take_seconds():
    people = sf.examples.patients(80_000, seed=4)
    names = ("age", "zip", "sex", "nationality", "job")
    public = {n: people.columns[n] for n in names}
    sample = {n: c[:20_000] for n, c in people.columns.items()}
    sf.attack.linkage({n: c[:50] for n, c in sample.items()}, public, schema=people.schema)
    with usually(0.8):
        found = sf.attack.linkage(sample, public, schema=people.schema)
    counts = pd.DataFrame(public).groupby(list(names), dropna=False).size()
    unique = set(counts[counts == 1].index)
    inside = pd.DataFrame({n: sample[n] for n in names})
    assert found.certain == sum(t in unique for t in inside.itertuples(index=False, name=None))


def test_groups_of_agrees_with_the_walk(patients, four_anonymous, schema):
    fitting = fit(see(four_anonymous, schema), patients)
    walked = fitting.add_up(fitting.sizes, fitting.sizes)
    for kind in range(fitting.kinds):
        groups = fitting.groups_of(kind)
        assert walked.classes[kind] == len(groups)
        assert walked.total[kind] == fitting.sizes[groups].sum()


def test_a_group_too_long_to_be_written_out_may_hold_anybody():
    jobs = [f"job number {i}" for i in range(40)]
    people = {"job": jobs, "x": ["a", "b"] * 20}
    schema = sf.Schema(quasi={"job": sf.Hierarchy.frequency(groups=[2])}, sensitive=["x"])
    release = sf.anonymize(people, sf.KAnonymity(5), schema=schema)
    found = sf.attack.linkage(release, {"job": jobs[:3]}, adversary="prosecutor")
    assert (found.records == 40).all()
    assert "cannot be read" in found.notes[0]


def test_outcomes_are_values(patients, schema):
    twice = [sf.attack.linkage(patients, patients, schema=schema) for _ in range(2)]
    assert twice[0] == twice[1]
    assert len(set(twice)) == 1
    assert twice[0] != sf.attack.linkage(patients[:5], patients, schema=schema)
    with pytest.raises(AttributeError):
        twice[0].findings[0].posterior = 0.0


def test_refusals(patients, schema):
    with pytest.raises(SchemaError, match="not a quasi-identifier of both"):
        sf.attack.linkage(patients, patients, schema=schema, on=("zip", "shoe size"))
    with pytest.raises(SchemaError, match="shares none"):
        sf.attack.linkage(patients, {"name": ["x"]}, schema=schema)
    with pytest.raises(ParameterError, match="adversary"):
        sf.attack.linkage(patients, patients, schema=schema, adversary="spy")
    with pytest.raises(ParameterError, match="confidence"):
        sf.attack.linkage(patients, patients, schema=schema, confidence=0)
    with pytest.raises(ParameterError, match="schema="):
        sf.attack.linkage(patients, patients)
