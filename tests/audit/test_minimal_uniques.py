"""Minimal sample uniques against brute force over records, sharing no code with the search."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError


def brute_force(rows, most):
    """Return the minimal sets of every record."""
    width = len(rows[0])
    found = []
    for row in rows:
        unique = [
            set(chosen)
            for k in range(width + 1)
            for chosen in combinations(range(width), k)
            if sum(all(other[a] == row[a] for a in chosen) for other in rows) == 1
        ]
        minimal = [s for s in unique if not any(t < s for t in unique)]
        found.append([s for s in minimal if 0 < len(s) <= most])
    return found


def score_of(sets, width, most):
    total = 0
    for s in sets:
        points = 1
        for i in range(len(s), min(most, width - 1) + 1):
            points *= width - i
        total += points
    return total


@pytest.mark.parametrize(
    ("most", "width"),
    [
        pytest.param(most, width, marks=() if (i + j) % 2 == 0 else pytest.mark.soak)
        for i, most in enumerate((1, 2, 3, 5))
        for j, width in enumerate((1, 2, 3, 5))
    ],
)
def test_equals_brute_force(width, most):
    rng = np.random.default_rng(10 * width + most)
    for n in (1, 2, 7, 25):
        rows = rng.integers(0, 3, size=(n, width)).tolist()
        names = [f"c{i}" for i in range(width)]
        data = {name: [str(row[i]) for row in rows] for i, name in enumerate(names)}
        found = sf.audit.special_uniques(data, names, size=most)
        sets = brute_force(rows, most)
        wanted = Counter(len(s) for some in sets for s in some)
        assert {k: v for k, v in found.sets.items() if v} == dict(wanted)
        scores = sorted((score_of(some, width, min(most, width)) for some in sets), reverse=True)
        assert found.scores.tolist() == [s for s in scores if s]
        assert found.share == sum(bool(some) for some in sets) / n
        total = sum(scores) or 1
        for i, name in enumerate(names):
            part = sum(
                score_of([s], width, min(most, width)) for some in sets for s in some if i in s
            )
            assert found.by_attribute[name] == pytest.approx(part / total)


def test_points_by_hand():
    # four attributes, sets of at most three: one attribute adds 3·2·1, two 2·1, three 1
    data = {
        "a": ["9", "1", "1", "1"],
        "b": ["1", "1", "2", "2"],
        "c": ["1", "1", "1", "1"],
        "d": ["1", "1", "1", "2"],
    }
    found = sf.audit.special_uniques(data, list("abcd"))
    assert found.sets == {1: 2, 2: 2, 3: 0}  # {a}; {d}; {a, b}; {b, d}
    assert found.scores.tolist() == [6, 6, 2, 2]


def test_the_schema_names_the_attributes_and_no_cell_is_shown():
    patients = sf.examples.patients(200, seed=1)
    found = sf.audit.special_uniques(patients.columns, schema=patients.schema)
    assert found.attributes == tuple(patients.schema.quasi_names)
    for name in found.attributes:
        for cell in set(map(str, patients.columns[name])):
            assert len(cell) < 4 or cell not in str(found) + repr(found)


def test_dis_by_hand():
    data = {"a": ["1", "2", "3", "3", "4", "4", "4"]}
    found = sf.audit.special_uniques(data, ["a"])
    assert (found.alone, found.pairs) == (2, 1)
    assert found.match_probability(0.1) == pytest.approx(0.2 / (0.2 + 0.9))
    assert found.match_probability(1) == 1
    assert sf.audit.special_uniques({"a": ["1", "1"]}, ["a"]).match_probability(0.1) == 0


def test_slips_are_told():
    with pytest.raises(SchemaError, match="name them"):
        sf.audit.special_uniques({"a": [1]})
    with pytest.raises(ParameterError, match="no column 'b'"):
        sf.audit.special_uniques({"a": [1]}, ["b"])
    with pytest.raises(ParameterError, match="size"):
        sf.audit.special_uniques({"a": [1]}, ["a"], size=0)


def test_the_estimate_is_shared_out_by_scores():
    people = {"age": [30, 30, 40, 50, 50], "zip": ["1", "2", "2", "3", "3"]}
    found = sf.audit.special_uniques(people, ["age", "zip"], size=2)
    shared = found.match_probabilities(0.1)
    assert len(shared) == len(found.scores) == found.alone == 3
    assert shared.mean() == pytest.approx(found.match_probability(0.1))
    assert shared[0] / shared[-1] == pytest.approx(found.scores[0] / found.scores[-1])
    assert (found.match_probabilities(1) <= 1).all()
