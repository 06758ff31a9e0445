"""Hybrid records: (k, k^m) by brute force on many small inputs, bounds, files, attacks."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError, SchemaError, Unsatisfiable

sys.path.insert(0, str(Path(__file__).parents[1] / "sets"))
import brute

SCHEMA = sf.Schema(
    attributes={
        "name": "identifier",
        "age": "quasi",
        "city": "quasi",
        "films": {"role": "quasi", "type": "set"},
        "illness": "sensitive",
    }
)


def people(rng, count=24):
    return {
        "name": [f"p{i}" for i in range(count)],
        "age": [str(rng.integers(20, 60)) for _ in range(count)],
        "city": [str(rng.choice(["Ulm", "Bonn", "Köln"])) for _ in range(count)],
        "films": ["|".join(members) for members in brute.random_sets(rng, sets=count)],
        "illness": [str(rng.choice(["flu", "cold", "gout"])) for _ in range(count)],
    }


def groups_of(data, attribute="films"):
    found = defaultdict(list)
    for age, city, members in zip(data["age"], data["city"], data[attribute], strict=True):
        found[age, city].append(members)
    return found


ROUNDS = [2, pytest.param(24, marks=pytest.mark.soak)]


@pytest.mark.parametrize("strategy", ["both", "rows", "sets"])
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_every_class_has_k_records_and_k_for_m_known_items(strategy, m, rounds):
    rng = np.random.default_rng(m)
    for _ in range(rounds):
        k = int(rng.integers(2, 5))
        promise = sf.KAnonymity(k) & sf.KmAnonymity(k, m=m, attribute="films")
        release = sf.anonymize(
            sf.read(people(rng), schema=SCHEMA), promise, strategy=strategy, row_bound=0.6
        )
        groups = groups_of(release.data)
        assert min(len(members) for members in groups.values()) >= k
        rarest = [brute.rarest(members, m) for members in groups.values()]
        assert all(found is None or found >= k for found in rarest)
        checked = release.verify()
        assert checked.holds
        assert checked.promises[1].found == min((r for r in rarest if r is not None), default=None)
        assert len(release.data["age"]) == 24
        assert "name" not in release.data


def test_two_separate_promises_are_not_the_joint_one(tmp_path):
    rows = [("30", "Ulm", "a"), ("30", "Ulm", "b"), ("40", "Ulm", "a"), ("40", "Ulm", "b")]
    path = tmp_path / "release.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("age", "city", "films"), *rows])
    schema = sf.Schema(attributes={
        "age": "quasi", "city": "quasi", "films": {"role": "quasi", "type": "set"}
    })  # fmt: skip
    joint = sf.KAnonymity(2) & sf.KmAnonymity(2, m=1, attribute="films")
    found = sf.verify(path, schema=schema, definition=joint, shape="hybrid")
    assert found.promises[0].holds  # rows alone are alike, and each item is in two records
    assert not found.promises[1].holds
    assert found.promises[1].found == 1
    assert "films" in found.promises[1].bottleneck.cells


def test_rows_and_sets_trade_off():
    rng = np.random.default_rng(4)
    data = sf.read(people(rng, 80), schema=SCHEMA)
    promise = sf.KAnonymity(3) & sf.KmAnonymity(3, m=2, attribute="films")
    tight = sf.anonymize(data, promise, row_bound=0.2, seed=1)
    wide = sf.anonymize(data, promise, row_bound=0.9, seed=1)
    assert tight.loss["row NCP"] <= wide.loss["row NCP"]
    assert tight.loss["set NCP"] > wide.loss["set NCP"]
    assert wide.loss["row NCP"] <= 0.9
    some = sf.anonymize(data, promise, set_bound=0.4, seed=1)
    assert some.loss["set NCP"] <= 0.4
    assert some.loss["row NCP"] <= wide.loss["row NCP"]
    assert 0 <= some.loss["query error"] <= 1


def test_definitions_about_tables_hold_in_the_same_classes():
    rng = np.random.default_rng(5)
    promise = (
        sf.KAnonymity(2) & sf.DistinctLDiversity(2, "illness")
        & sf.KmAnonymity(2, m=2, attribute="films")
    )  # fmt: skip
    for _ in range(2):
        release = sf.anonymize(sf.read(people(rng), schema=SCHEMA), promise)
        assert all(len(set(found)) >= 2 for found in groups_of(release.data, "illness").values())
        assert release.verify().holds


@pytest.mark.parametrize("strategy", ["both", "rows", "sets"])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_attributes_of_sets_and_a_diverse_column_hold_in_the_same_classes(strategy, rounds):
    """Each with its own k and m, counted within the classes, whatever else is promised."""
    rng = np.random.default_rng(11)
    schema = sf.Schema(attributes={
        "age": "quasi", "city": "quasi", "films": {"role": "quasi", "type": "set"},
        "books": {"role": "quasi", "type": "set"}, "illness": "sensitive", "name": "identifier",
    })  # fmt: skip
    for _ in range(rounds):
        k, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        table = people(rng, 30)
        table["books"] = ["|".join(s) for s in brute.random_sets(rng, sets=30, items=9)]
        promise = (
            sf.KAnonymity(k) & sf.KmAnonymity(k, m=m, attribute="films")
            & sf.KmAnonymity(k + 1, m=1, attribute="books") & sf.DistinctLDiversity(2, "illness")
        )  # fmt: skip
        release = sf.anonymize(sf.read(table, schema=schema), promise, strategy=strategy)
        assert release.verify().holds
        assert min(len(set(found)) for found in groups_of(release.data, "illness").values()) >= 2
        for attribute, least, known in (("films", k, m), ("books", k + 1, 1)):
            for members in groups_of(release.data, attribute).values():
                assert len(members) >= k
                found = brute.rarest(members, known)
                assert found is None or found >= least


def test_a_release_is_verified_from_its_folder(tmp_path):
    rng = np.random.default_rng(6)
    promise = sf.KAnonymity(3) & sf.KmAnonymity(3, m=2, attribute="films")
    table = people(rng, 40)
    frame = pl.DataFrame({**table, "films": [cell.split("|") for cell in table["films"]]})
    for source, kind in ((table, dict), (frame, pl.DataFrame), (pd.DataFrame(table), pd.DataFrame)):
        release = sf.anonymize(sf.read(source, schema=SCHEMA), promise)
        assert isinstance(release.data, kind)
        for form in ("csv", "parquet"):
            folder = tmp_path / f"{kind.__module__}-{form}"
            release.save(folder, file_format=form, ledger=tmp_path / "ledger.sqlite")
            assert sf.verify(folder).holds
            assert "Rows against sets" in (folder / "report.html").read_text()


def test_whoever_knows_row_and_items_finds_nobody():
    rng = np.random.default_rng(7)
    promise = sf.KAnonymity(3) & sf.KmAnonymity(3, m=2, attribute="films")
    release = sf.anonymize(sf.read(people(rng, 60), schema=SCHEMA), promise)
    found = {attempt.name: attempt for attempt in sf.attack.precheck(release).tried}
    both = found["row and items of films"]
    assert both.verdict == "stopped"
    assert both.before.exposed > 40


def test_a_set_may_be_empty_and_a_class_may_have_too_few_sets_to_tell():
    table = {
        "age": ["30"] * 6, "city": ["Ulm"] * 6, "films": ["a|b", "", "", "", "", "c"],
        "name": ["x"] * 6, "illness": ["flu"] * 6,
    }  # fmt: skip
    promise = sf.KAnonymity(3) & sf.KmAnonymity(3, m=2, attribute="films")
    release = sf.anonymize(sf.read(table, schema=SCHEMA), promise)
    assert release.data["films"] == [[]] * 6
    assert release.verify().holds


def test_what_cannot_be_promised_is_refused():
    data = sf.read(people(np.random.default_rng(8)), schema=SCHEMA)
    films = sf.KmAnonymity(3, attribute="films")
    for promise, words in (
        (sf.KAnonymity(3), "nothing is promised about it"),
        (films, "need k-anonymity of their rows"),
        (sf.KAnonymity(3) & sf.KmAnonymity(3), "of which attribute"),
        (sf.KAnonymity(3) & sf.KmAnonymity(3, attribute="books") & films, "no attribute of sets"),
    ):
        with pytest.raises(ParameterError, match=words):
            sf.anonymize(data, promise)
    with pytest.raises(Unsatisfiable, match="only 24"):
        sf.anonymize(data, sf.KAnonymity(50) & films)
    with pytest.raises(ParameterError, match="strategy"):
        sf.anonymize(data, sf.KAnonymity(3) & films, strategy="none")
    with pytest.raises(ParameterError, match="row_bound"):
        sf.anonymize(data, sf.KAnonymity(3) & films, row_bound=2)
    with pytest.raises(SchemaError, match="no attribute of type 'set'"):
        sf.read({"age": ["1"]}, schema=sf.Schema(quasi=["age"]), shape="hybrid")
    with pytest.raises(DataError, match="No record has an item"):
        sf.read({**people(np.random.default_rng(1), 2), "films": ["", ""]}, schema=SCHEMA)


def test_records_without_rows_are_one_class():
    schema = sf.Schema(attributes={"films": {"role": "quasi", "type": "set"}})
    data = sf.read({"films": ["a|b", "a|b", "a|c", "c"] * 3}, schema=schema)
    promise = sf.KAnonymity(4) & sf.KmAnonymity(3, m=2, attribute="films")
    release = sf.anonymize(data, promise)
    assert release.loss["set NCP"] == 0
    assert release.verify().holds


def test_missing_sets_are_empty_ones_and_alike_rows_stay_together():
    table = {
        "name": ["x"] * 12, "age": ["30", "31", "40", "41"] * 3, "city": ["U", "U", "B", "B"] * 3,
        "films": [["a", "b"], None, ["c"], []] * 3, "illness": ["flu"] * 12,
    }  # fmt: skip
    promise = sf.KAnonymity(2) & sf.KmAnonymity(2, m=2, attribute="films")
    release = sf.anonymize(sf.read(table, schema=SCHEMA), promise)
    assert release.verify().holds
    assert release.loss["row NCP"] == 0  # three alike are no two and one more to be merged
    assert release.loss["set NCP"] == 0
    assert sorted(map(tuple, release.data["films"])) == [()] * 6 + [("a", "b")] * 3 + [("c",)] * 3
