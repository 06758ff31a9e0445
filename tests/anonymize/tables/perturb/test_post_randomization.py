"""PRAM: probabilities as promised, exactly where they can be had, and what stays untouched."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymize.tables.perturb.post_randomization import backward
from sfumato.anonymize.tables.perturb.records import records_of
from sfumato.errors import ParameterError

N = 40_000
DATA = {"x": (["a"] * 6 + ["b"] * 3 + ["c"]) * (N // 10), "y": list(range(N))}
MATRIX = {
    "a": {"a": 0.7, "b": 0.2, "d": 0.1},
    "b": {"b": 0.5, "c": 0.5},
    "c": {"a": 1.0},
}


def shown(operation, data=DATA, seed=1):
    records = records_of(sf.perturb(data, operation, seed=seed))
    column = records.columns["x"]
    return [column.values[code] for code in column.codes]


def transitions(after, before):
    pairs, starts = Counter(zip(before, after, strict=True)), Counter(before)
    return {(i, j): n / starts[i] for (i, j), n in pairs.items()}


def near(found, wanted, n):
    return abs(found - wanted) <= 5 * np.sqrt(max(wanted * (1 - wanted), 1e-9) / n) + 1e-12


def check(found, wanted):
    starts = Counter(DATA["x"])
    for i, row in wanted.items():
        assert {j for k, j in found if k == i} == {j for j, p in row.items() if p > 0}
        assert all(near(found[i, j], p, starts[i]) for j, p in row.items() if p > 0)


def test_kept_values_follow_the_distribution_of_the_column():
    pi = {"a": 0.6, "b": 0.3, "c": 0.1}
    wanted = {i: {j: 0.7 * (i == j) + 0.3 * pi[j] for j in pi} for i in pi}
    check(transitions(shown(sf.PostRandomize("x", keep=0.7)), DATA["x"]), wanted)


def test_without_invariance_all_values_are_alike():
    wanted = {i: {j: 0.7 * (i == j) + 0.1 for j in "abc"} for i in "abc"}
    after = shown(sf.PostRandomize("x", keep=0.7, invariant=False))
    check(transitions(after, DATA["x"]), wanted)


def test_a_matrix_is_followed():
    after = shown(sf.PostRandomize("x", matrix=MATRIX, invariant=False))
    check(transitions(after, DATA["x"]), MATRIX)


def test_the_invariant_of_a_matrix_keeps_expected_frequencies():
    forth = np.array([[0.7, 0.2, 0.0, 0.1], [0, 0.5, 0.5, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    counts = np.array([6, 3, 1, 0])
    both = forth @ backward(forth, counts)
    assert np.allclose(counts @ both, counts)
    assert np.allclose(both.sum(axis=1), 1)
    after = shown(sf.PostRandomize("x", matrix=MATRIX))
    wanted = {i: dict(zip("abcd", both["abc".index(i)], strict=True)) for i in "abc"}
    check(transitions(after, DATA["x"]), wanted)


def test_backward_of_random_matrices():
    rng = np.random.default_rng(2)
    for _ in range(50):
        size = int(rng.integers(1, 6))
        forth = rng.dirichlet(np.ones(size), size)
        counts = rng.integers(0, 9, size)
        assert np.allclose(counts @ forth @ backward(forth, counts), counts)


def test_extremes_missing_cells_and_other_columns():
    data = {"x": ["a", "", "b", ""] * 50, "y": list(range(200))}
    assert shown(sf.PostRandomize("x", keep=1), data) == data["x"]
    after = shown(sf.PostRandomize("x", keep=0), data)
    assert [v == "" for v in after] == [v == "" for v in data["x"]]
    assert after != data["x"]
    table = sf.perturb(data, sf.PostRandomize("x", keep=0.5))
    assert records_of(table).columns["y"].values == tuple(str(i) for i in range(200))
    assert table.untruthful == (
        "values of x drawn anew (each kept with probability 0.5, expected frequencies kept)",
    )
    nothing = {"x": ["", ""], "y": [1, 2]}
    assert shown(sf.PostRandomize("x", keep=0.5), nothing) == ["", ""]


def test_randomness_is_new_every_time():
    runs = [shown(sf.PostRandomize("x", keep=0.5), seed=None) for _ in range(3)]
    assert all(a != b for a, b in pairwise(runs))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep": 0.5, "matrix": MATRIX},
        {"keep": 1.5},
        {"matrix": {"a": {"a": 0.5}}},
        {"matrix": {"a": {"a": 1.5, "b": -0.5}}},
    ],
)
def test_slips_are_told(options):
    with pytest.raises(ParameterError, match="PostRandomize"):
        sf.PostRandomize("x", **options)


def test_a_value_without_a_row_is_counted_not_quoted():
    with pytest.raises(ParameterError, match=r"2 value\(s\)") as caught:
        shown(sf.PostRandomize("x", matrix={"a": {"a": 1.0}}))
    assert "'b'" not in str(caught.value)
