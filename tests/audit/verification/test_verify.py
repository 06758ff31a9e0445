"""Verification of files and frames: figures, promises, findings, and what must not slip past."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymize.definitions.definition import Definition
from sfumato.errors import DataError, ParameterError, PromiseBroken, SchemaError

RELEASED = (
    [("130**", "<30", "*", d) for d in ("Heart", "Heart", "Flu", "Flu")]
    + [("1485*", ">40", "*", d) for d in ("Cancer", "Heart", "Flu", "Flu")]
    + [("130**", "30-40", "*", "Cancer")] * 4
)
COLUMNS = ["zip", "age", "nationality", "disease"]
SCHEMA = sf.Schema(
    identifiers=["name"],
    quasi={"zip": None, "age": None, "nationality": None},
    sensitive=["disease"],
    insensitive=["note"],
)


PLAIN = sf.Schema(
    quasi={
        "zip": sf.Hierarchy.flat(["130**", "1485*"]),
        "age": sf.Hierarchy.flat(["<30", "30-40", ">40"]),
    },
    sensitive=["disease"],
    insensitive=["nationality"],
)


@pytest.fixture
def patients(tmp_path):
    return write(tmp_path / "release.csv", RELEASED)


def write(path, rows, columns=COLUMNS):
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def kinds(verification):
    return {finding.kind for finding in verification.findings}


# -- the worked example ---------------------------------------------------------------


def test_patients_are_four_anonymous_and_homogeneous(patients):
    found = sf.verify(patients, SCHEMA)
    assert (found.records, found.classes) == (12, 3)
    assert found.found["k"] == 4
    assert found.found["distinct l of disease"] == 1
    assert found.found["entropy l of disease"] == pytest.approx(1)
    # Third class against 3/12 Heart, 4/12 Flu, 5/12 Cancer.
    assert found.found["t (equal) of disease"] == pytest.approx(7 / 12)
    assert found.found["t (kl) of disease"] == pytest.approx(math.log(12 / 5))
    assert found.found["β of disease"] == pytest.approx(7 / 5)
    assert found.found["δ of disease"] == math.inf
    assert not found.findings
    assert not found.holds  # nothing was promised


def test_promise_kept_and_broken(patients):
    kept = sf.verify(patients, SCHEMA, sf.KAnonymity(4))
    assert kept.holds
    kept.raise_if_broken()
    broken = sf.verify(patients, SCHEMA, sf.KAnonymity(4) & sf.DistinctLDiversity(2, "disease"))
    assert not broken.holds
    assert [row.holds for row in broken.promises] == [True, False]
    assert broken.bottleneck.cells == {"zip": "130**", "age": "30-40", "nationality": "*"}
    assert broken.bottleneck.size == 4
    with pytest.raises(PromiseBroken, match="distinct 2-diversity of disease does not hold") as e:
        broken.raise_if_broken()
    assert "Cancer" not in str(e.value)
    assert "Cancer" not in str(broken)
    assert not sf.verify(patients, SCHEMA, sf.KAnonymity(5)).holds


@pytest.mark.parametrize(
    ("promise", "holds"),
    [
        (sf.EntropyLDiversity(1, "disease"), True),
        (sf.EntropyLDiversity(1.01, "disease"), False),
        (sf.RecursiveLDiversity(9, 2, "disease"), False),
        (sf.RecursiveLDiversity(1.1, 1, "disease"), True),
        (sf.TCloseness(7 / 12, "disease"), True),
        (sf.TCloseness(0.58, "disease"), False),
        (sf.TCloseness(0.88, "disease", distance="kl"), True),
        (sf.TCloseness(0.87, "disease", distance="kl"), False),
        # Order Cancer, Flu, Heart: third class (1, 0, 0) against (5, 4, 3)/12.
        (sf.TCloseness(10 / 24, "disease", distance="ordered"), True),
        (sf.TCloseness(0.41, "disease", distance="ordered"), False),
        (sf.BetaLikeness(1.4, "disease", enhanced=False), True),
        (sf.BetaLikeness(1.39, "disease", enhanced=False), False),
        (sf.BetaLikeness(1.4, "disease"), False),  # −ln(5/12) is less than 1.4
        (sf.DeltaDisclosure(50, "disease"), False),
        (sf.KAnonymity(8, on=("zip", "nationality")), False),
        (sf.KAnonymity(4, on=("zip", "nationality")), True),
    ],
    ids=str,
)
def test_every_promise_is_decided(patients, promise, holds):
    assert sf.verify(patients, SCHEMA, promise).holds is holds


def test_a_k_of_some_attributes_looks_at_them_alone(patients):
    found = sf.verify(patients, SCHEMA, sf.KAnonymity(5, on=("zip",)))
    assert found.found["k on zip"] == 4
    assert sf.verify(patients, SCHEMA, sf.KAnonymity(12, on=("nationality",))).holds


def test_recursive_figures(patients):
    found = sf.verify(patients, SCHEMA)
    assert found.least_c("disease", l=1) == 1
    assert found.least_c("disease", l=2) == math.inf
    assert found.largest_l("disease", c=1.5) == 1
    assert found.largest_l("disease", c=1) == 0


def test_no_built_in_promise_is_judged_by_its_own_code(patients, monkeypatch):
    """The verifier must not share a mistake with the definition that guided the algorithm."""
    promises = [
        sf.KAnonymity(4),
        sf.DistinctLDiversity(1, "disease"),
        sf.EntropyLDiversity(1, "disease"),
        sf.RecursiveLDiversity(1.1, 1, "disease"),
        sf.TCloseness(0.6, "disease"),
        sf.BetaLikeness(2, "disease", enhanced=False),
        sf.KMap(1),
        sf.DeltaPresence(0, 1),
    ]

    def refuse(*_):
        raise AssertionError("judged by its own code")

    for promise in [*promises, sf.DeltaDisclosure(1, "disease")]:
        for method in ("judge", "shortfall"):
            monkeypatch.setattr(type(promise), method, refuse)
    for promise in promises:
        assert sf.verify(patients, PLAIN, promise, population=patients).holds
    assert not sf.verify(patients, PLAIN, sf.DeltaDisclosure(1, "disease")).holds


# -- every kind of source ---------------------------------------------------------------


def test_frames_and_parquet_say_the_same(tmp_path, patients):
    frame = pd.DataFrame(RELEASED, columns=COLUMNS)
    frame.to_parquet(tmp_path / "release.parquet")
    sources = [frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()]
    sources += [tmp_path / "release.parquet", str(patients)]
    figures = [dict(sf.verify(source, SCHEMA).found) for source in sources]
    assert all(each == figures[0] for each in figures)


def test_schema_from_a_file(tmp_path, patients):
    path = tmp_path / "schema.yaml"
    path.write_text(
        "attributes:\n  zip: quasi\n  age: quasi\n  nationality: quasi\n  disease: sensitive\n"
    )
    assert sf.verify(patients, path).found["k"] == 4


# -- the promise beside the file --------------------------------------------------------


def test_promise_is_read_from_the_release(tmp_path, patients):
    facts = tmp_path / "release.json"
    facts.write_text(json.dumps({"promise": [{"definition": "KAnonymity", "k": 5}]}))
    found = sf.verify(patients, SCHEMA)
    assert not found.holds
    assert found.promises[0].promised == "5-anonymity"
    assert sf.verify(patients, SCHEMA, sf.KAnonymity(3)).holds  # what is handed over counts


def test_a_promise_of_the_users_own_is_not_taken_for_kept(tmp_path, patients):
    entries = [{"definition": "KAnonymity", "k": 4}, {"definition": "mine:Odd", "text": "oddness"}]
    (tmp_path / "release.json").write_text(json.dumps({"promise": entries}))
    found = sf.verify(patients, SCHEMA)
    assert found.unchecked == ("oddness",)
    assert found.promises[0].holds
    assert not found.holds
    with pytest.raises(PromiseBroken, match="oddness was not checked"):
        found.raise_if_broken()


def test_facts_that_cannot_be_read_are_an_error(tmp_path, patients):
    (tmp_path / "release.json").write_text("{")
    with pytest.raises(DataError, match=r"release\.json is not a JSON mapping"):
        sf.verify(patients, SCHEMA)


# -- a definition of the user's own -------------------------------------------------------


class AtMostHalf(Definition):
    """No value in more than half of a class."""

    sensitive = ("disease",)

    def judge(self, classes):
        return classes.sensitive["disease"].shares.max(axis=1, initial=0) <= 0.5

    def __str__(self):
        return "at most half"


def test_own_definition_is_judged_by_itself(patients):
    found = sf.verify(patients, SCHEMA, sf.KAnonymity(2) & AtMostHalf())
    assert [row.holds for row in found.promises] == [True, False]
    assert found.promises[1].found == 1
    assert found.bottleneck.cells["age"] == "30-40"


def test_own_subclass_of_a_built_in_is_judged_by_itself(patients):
    class Strict(sf.KAnonymity):
        def judge(self, classes):
            return classes.sizes > self.k

    assert sf.verify(patients, SCHEMA, sf.KAnonymity(4)).holds
    assert not sf.verify(patients, SCHEMA, Strict(4)).holds


def test_own_definition_in_batches(patients, monkeypatch):
    monkeypatch.setattr("sfumato.audit.verification.checks.CELLS_AT_ONCE", 3)
    assert sf.verify(patients, SCHEMA, AtMostHalf()).promises[0].found == 1


# -- nothing slips past ---------------------------------------------------------------------


def test_missing_cells_are_a_value(tmp_path):
    rows = [("130**", "<30", "*", "Flu")] * 5 + [(None, "<30", "*", "Flu"), ("", "<30", "*", None)]
    found = sf.verify(write(tmp_path / "r.csv", rows), SCHEMA, sf.KAnonymity(3))
    assert found.found["k"] == 2
    assert not found.holds
    assert found.bottleneck.cells["zip"] == ""
    assert "(missing)" in str(found.bottleneck)
    assert found.found["distinct l of disease"] == 1  # five Flu
    frame = pd.DataFrame(
        {"zip": [1.0, 1.0, np.nan], "age": "*", "nationality": "*", "disease": "x"}
    )
    assert sf.verify(frame, SCHEMA).found["k"] == 1


def test_identifiers_and_columns_without_role(tmp_path):
    rows = [("Ann", "x", *row) for row in RELEASED]
    path = write(tmp_path / "r.csv", rows, ["name", "extra", *COLUMNS])
    found = sf.verify(path, SCHEMA, sf.KAnonymity(4))
    assert {"identifier", "no role"} <= kinds(found)
    assert not found.holds
    with pytest.raises(PromiseBroken, match="'name' is an identifier"):
        found.raise_if_broken()
    (tmp_path / "release.json").write_text(json.dumps({"pseudonyms": ["name"]}))
    assert "identifier" in kinds(sf.verify(path, SCHEMA))  # a manifest alone is not believed
    write(path, [("mhrq3nhxy5gnadln", *row[1:]) for row in rows], ["name", "extra", *COLUMNS])
    again = sf.verify(path, SCHEMA)
    assert "pseudonyms" in kinds(again)
    assert "identifier" not in kinds(again)


@pytest.mark.parametrize(
    "numbers", [range(12), range(12, 0, -1), [7, 3, 1, 9, 90, 5, 4, 2, 6, 8, 0, 11]]
)
def test_row_numbers_are_found(tmp_path, numbers):
    rows = [(n, *row) for n, row in zip(numbers, RELEASED, strict=True)]
    found = sf.verify(write(tmp_path / "r.csv", rows, ["index", *COLUMNS]), SCHEMA)
    assert "row number" in kinds(found)
    assert not found.holds


def test_row_numbers_under_a_name_of_the_schema(tmp_path):
    rows = [("1*", "*", "*", "Flu", n) for n in np.random.default_rng(0).permutation(40)]
    columns = [*COLUMNS, "note"]
    assert "row number" in kinds(sf.verify(write(tmp_path / "a.csv", rows, columns), SCHEMA))
    # Salaries that are all different, and decimals, are no row numbers.
    rows = [("1*", "*", "*", "Flu", 20_000 + 997 * n) for n in range(40)]
    assert "row number" not in kinds(sf.verify(write(tmp_path / "b.csv", rows, columns), SCHEMA))
    rows = [("1*", "*", "*", "Flu", n + 0.25) for n in range(40)]
    assert "row number" not in kinds(sf.verify(write(tmp_path / "c.csv", rows, columns), SCHEMA))


def test_labels_must_be_nodes_of_a_declared_hierarchy(tmp_path):
    tree = sf.Hierarchy.from_rows(
        [(str(a), "<30" if a < 30 else ">=30", "*") for a in range(20, 40)], ordered=True
    )
    schema = sf.Schema(quasi={"age": tree}, sensitive=["disease"])
    good = [("<30", "Flu"), ("*", "Flu"), ("25", "Flu"), ("[22,37]", "Flu"), ("", "Flu")]
    columns = ["age", "disease"]
    assert "strange label" not in kinds(sf.verify(write(tmp_path / "a.csv", good, columns), schema))
    for label in ("19", "[37,22]", "[19,22]", "<20"):
        bad = sf.verify(write(tmp_path / "b.csv", [*good, (label, "Flu")], columns), schema)
        assert "strange label" in kinds(bad)
        assert label not in str(bad).replace(str(tmp_path), "")
        assert not bad.holds


def test_all_suppressed_class_is_named_and_held_to_the_promise(tmp_path):
    rows = [*RELEASED, ("*", "*", "*", "Flu"), ("*", "*", "*", "Heart")]
    found = sf.verify(write(tmp_path / "r.csv", rows), SCHEMA, sf.KAnonymity(3))
    assert "nothing left" in kinds(found)
    assert found.found["k"] == 2
    assert not found.holds
    assert set(found.bottleneck.cells.values()) == {"*"}


def test_a_promise_about_a_column_that_is_gone_does_not_hold(tmp_path):
    path = write(tmp_path / "r.csv", [row[:3] for row in RELEASED], COLUMNS[:3])
    found = sf.verify(path, SCHEMA, sf.DistinctLDiversity(1, "disease"))
    assert not found.holds
    assert "left out" in kinds(found)
    with pytest.raises(PromiseBroken):
        found.raise_if_broken()


def test_attributes_judged_without_being_sensitive(tmp_path):
    rows = [(*row, "same") for row in RELEASED]
    path = write(tmp_path / "r.csv", rows, [*COLUMNS, "note"])
    assert not sf.verify(path, SCHEMA, sf.DistinctLDiversity(2, "note")).holds
    assert sf.verify(path, SCHEMA, sf.DistinctLDiversity(1, "note")).holds


# -- population -----------------------------------------------------------------------------

MASKED = sf.Schema(quasi={"zip": sf.Hierarchy.mask(5), "age": sf.Hierarchy.cuts([[30, 40]])})


def test_population_decides_k_map_presence_and_journalist_risk(tmp_path):
    released = pd.DataFrame({"zip": ["130**"] * 2 + ["14850"], "age": ["<30"] * 2 + ["*"]})
    people = pd.DataFrame(
        {
            "zip": ["13053", "13068", "13055", "13055", "14850", "99999"],
            "age": [20, 29, 25, 30, 70, 20],
        }
    )
    found = sf.verify(released, MASKED, sf.KMap(2), population=people)
    assert not found.holds
    assert found.promises[0].found == 1
    assert found.bottleneck.cells == {"zip": "14850", "age": "*"}
    assert found.risk.journalist == 1
    assert found.risk.marketer == pytest.approx((2 / 3 + 1) / 3)
    assert sf.verify(released, MASKED, sf.KMap(1), population=people).holds
    assert sf.verify(released, MASKED, sf.DeltaPresence(0, 1), population=people).holds
    assert not sf.verify(released, MASKED, sf.DeltaPresence(0, 0.9), population=people).holds
    # Two people fit no class, so nobody can say that everybody is there with probability ≥ 0.1.
    assert not sf.verify(released, MASKED, sf.DeltaPresence(0.1, 1), population=people).holds
    inside = people[(people["zip"] != "99999") & (people["age"] != 30)]
    assert sf.verify(released, MASKED, sf.DeltaPresence(0.1, 1), population=inside).holds


def test_an_incomplete_population_is_reported():
    released = pd.DataFrame({"zip": ["130**"] * 3, "age": ["*"] * 3})
    people = pd.DataFrame({"zip": ["13053", "99999"], "age": [20, 20]})
    found = sf.verify(released, MASKED, sf.KMap(1), population=people)
    assert "population" in kinds(found)
    assert not sf.verify(released, MASKED, sf.DeltaPresence(0, 1), population=people).holds


def test_a_number_written_otherwise_is_another_cell():
    schema = sf.Schema(quasi={"zip": sf.Hierarchy.mask(3)}, sensitive=["disease"])
    released = pd.DataFrame({"zip": ["010", "010"], "disease": ["flu", "acne"]})
    people = pd.DataFrame({"zip": ["10", "10", "10", "010"]})
    counted = sf.verify(released, schema, sf.KMap(1), population=people)
    assert counted.promises[0].found == 1
    assert not sf.verify(released, schema, sf.KMap(2), population=people).holds
    nobody = sf.verify(released, schema, sf.KMap(1), population=people[:3])
    assert (nobody.promises[0].found, nobody.holds) == (0, False)


def test_population_errors():
    released = pd.DataFrame({"zip": ["130**"], "age": ["*"]})
    with pytest.raises(ParameterError, match="population="):
        sf.verify(released, MASKED, sf.KMap(2))
    with pytest.raises(SchemaError, match="lacks the quasi-identifier"):
        sf.verify(released, MASKED, sf.KMap(2), population=pd.DataFrame({"zip": ["1"]}))


# -- bad input ------------------------------------------------------------------------------


def test_bad_input(tmp_path, patients):
    with pytest.raises(SchemaError, match="none of the quasi-identifiers"):
        sf.verify(patients, sf.Schema(quasi=["height"]))
    empty = tmp_path / "empty.csv"
    empty.write_text("zip,age,nationality,disease\n")
    with pytest.raises(DataError, match="no records"):
        sf.verify(empty, SCHEMA)
    with pytest.raises(DataError, match="not a file"):
        sf.verify(tmp_path / "none.csv", SCHEMA)


def test_one_record(tmp_path):
    found = sf.verify(write(tmp_path / "r.csv", RELEASED[:1]), SCHEMA)
    assert found.found["k"] == 1
    assert found.risk.prosecutor == found.risk.sample_uniqueness == 1


def test_words(patients):
    text = str(sf.verify(patients, SCHEMA, sf.KAnonymity(5)))
    assert "5-anonymity: BROKEN" in text
    assert "12 records in 3 classes" in text
    assert "prosecutor risk, highest: 0.25" in text
