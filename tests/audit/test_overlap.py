"""Two releases together: the pairs that narrow somebody down, and no others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from chance import rounds

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.released.compatibility import compatible, may_meet

AGE = sf.Hierarchy.from_rows(
    [(str(a), f"{a // 10 * 10}s", "*") for a in range(20, 50)], ordered=True
)
SCHEMA = sf.Schema(quasi={"age": AGE}, sensitive=["disease"])


def frame(*classes):
    rows = [(label, d) for label, diseases in classes for d in diseases]
    return pd.DataFrame(rows, columns=["age", "disease"])


def test_one_common_value_gives_somebody_away():
    first = frame(("20s", ["flu", "flu", "hiv"]), ("30s", ["flu", "acne", "acne"]))
    second = frame(("[20,34]", ["hiv", "hiv", "cold"]), ("[35,49]", ["acne", "flu", "acne"]))
    found = sf.overlap(first, second, SCHEMA, k=1)
    # 20s meets [20,34] in hiv alone; 30s meets [20,34] in nothing and [35,49] in two values.
    assert found.compared == 3
    assert len(found.pairs) == 1
    pair = found.pairs[0]
    assert (pair.first.cells["age"], pair.second.cells["age"]) == ("20s", "[20,34]")
    assert (pair.common_values, pair.people) == (1, 1)
    assert not found.holds
    assert "hiv" not in str(found)
    assert "20s" in found.warning


def test_too_few_people_in_common():
    first = frame(("20s", ["flu", "flu", "hiv", "hiv"]))
    second = frame(("[20,24]", ["flu", "hiv", "cold", "cold"]))
    assert sf.overlap(first, second, SCHEMA, k=2).holds
    found = sf.overlap(first, second, SCHEMA, k=3)
    assert [(pair.common_values, pair.people) for pair in found.pairs] == [(2, 2)]
    assert dict(found.table)["pairs with fewer than 3 people in common"] == "1"


def test_a_pair_counts_once_whatever_it_gives_away():
    schema = sf.Schema(quasi={"age": AGE}, sensitive=["disease", "job"])
    first, second = frame(("20s", ["flu", "hiv"])), frame(("20s", ["hiv", "cold"]))
    first["job"], second["job"] = ["cook", "nurse"], ["nurse", "clerk"]
    found = sf.overlap(first, second, schema, k=1)
    assert [pair.attribute for pair in found.pairs] == ["disease", "job"]
    assert dict(found.table)["pairs with a single sensitive value in common"] == "1"
    assert found.warning.startswith("1 of 1 pairs")


def test_what_one_release_reveals_alone_is_not_blamed_on_both():
    first = frame(("20s", ["flu", "flu"]))
    second = frame(("20s", ["flu", "flu", "hiv"]))
    assert sf.overlap(first, second, SCHEMA).holds
    assert sf.overlap(first, first, SCHEMA).holds


@rounds(8, 20)
def test_pairs_equal_brute_force(rounds):
    rng = np.random.default_rng(2)
    labels = ["20s", "30s", "40s", "*", "[20,34]", "[25,41]", "37"]
    leaves = {
        "20s": range(20, 30), "30s": range(30, 40), "40s": range(40, 50), "*": range(20, 50),
        "[20,34]": range(20, 35), "[25,41]": range(25, 42), "37": [37],
    }  # fmt: skip

    def release():
        return {
            label: rng.choice(list("abcd"), size=rng.integers(1, 6)).tolist()
            for label in rng.permutation(labels)[:4]
        }

    for _ in range(rounds):
        one, two, k = release(), release(), int(rng.integers(1, 4))
        expected = set()
        for (x, d), (y, e) in product(one.items(), two.items()):
            people = sum(min(d.count(v), e.count(v)) for v in "abcd")
            common = set(d) & set(e)
            single = len(common) == 1 and len(set(d)) > 1 and len(set(e)) > 1
            few = 0 < people < k <= min(len(d), len(e))
            if set(leaves[x]) & set(leaves[y]) and (single or few):
                expected.add((x, y, len(common), people))
        found = sf.overlap(frame(*one.items()), frame(*two.items()), SCHEMA, k=k)
        shown = {
            (p.first.cells["age"], p.second.cells["age"], p.common_values, p.people)
            for p in found.pairs
        }
        assert shown == expected


@pytest.mark.parametrize(
    ("one", "two", "meet"),
    [
        ("flu", "flu", True),
        ("flu", "cold", False),
        ("*", "cold", True),
        ("", "cold", False),
        ("[20,30)", "[30,40)", False),
        ("[20,30]", "[30,40)", True),
        ("[20,30)", "29.5", True),
        ("<20", "19", True),
        ("<20", "20", False),
        (">=40", "[30,40)", False),
        (">=40", "[30,41)", True),
        ("130**", "1305*", True),
        ("130**", "13068", True),
        ("130**", "14853", False),
        ("130**", "1300", False),
        ("2020-03", "2020-03-31", True),
        ("2020-03", "2020-04-01", False),
        ("2020-Q1", "2020-03-31", True),
        ("2020-Q2", "2020-03", False),
        ("2020", "2020-Q4", True),
        ("2020s", "2029-12-31", True),
        ("2010s", "2020-01", False),
        ("[2020-01-05,2020-02-01]", "2020-02", True),
        ("[2020-01-05,2020-02-01]", "2020-03", False),
        ("{flu, cold}", "flu", True),
        ("{flu, cold}", "{acne, cold}", True),
        ("{flu, cold}", "acne", False),
        ("{flu, cold, and 12 more}", "acne", True),
    ],
)
def test_labels_of_rules_are_read(one, two, meet):
    assert may_meet(one, two) is meet
    assert may_meet(two, one) is meet


def test_labels_of_a_tree_are_sets_of_leaves():
    matrix = compatible(["20s", "35", "odd"], ["[25,36]", "*", "odd"], AGE)
    assert matrix.tolist() == [[True, True, False], [True, True, False], [False, False, True]]


def test_refusals():
    here = frame(("20s", ["flu"]))
    with pytest.raises(ParameterError):
        sf.overlap(here, here, SCHEMA, k=0)
    with pytest.raises(SchemaError, match="nothing to compare"):
        sf.overlap(here, here[["age"]], SCHEMA)
