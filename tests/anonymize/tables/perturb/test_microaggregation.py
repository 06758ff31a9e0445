"""Microaggregation against brute force and against MDAV written down from the paper."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymize.tables.perturb import number_groups as grouping_numbers
from sfumato.anonymize.tables.perturb.number_groups import multivariate_groups, univariate_groups
from sfumato.anonymize.tables.perturb.records import records_of
from sfumato.errors import DataError


def within(values, groups):
    """Sum of squared distances to the group means, in plain Python."""
    members = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        members[group].append(value)
    total = 0.0
    for numbers in members.values():
        mean = sum(numbers) / len(numbers)
        total += sum((x - mean) ** 2 for x in numbers)
    return total


def partitions(items, size):
    """Every partition of a list into groups of at least `size`."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for mask in range(2 ** len(rest)):
        group = [first, *(x for i, x in enumerate(rest) if mask >> i & 1)]
        if len(group) >= size:
            left = [x for i, x in enumerate(rest) if not mask >> i & 1]
            yield from ([group, *others] for others in partitions(left, size))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-50, 50).map(lambda x: x / 4), min_size=2, max_size=8),
    st.integers(2, 3),
)
def test_one_column_is_grouped_optimally(values, size):
    if len(values) < size:
        return
    found = univariate_groups(np.array(values), size)
    assert min(Counter(found.tolist()).values()) >= size
    best = min(
        within([values[i] for g in p for i in g], [n for n, g in enumerate(p) for _ in g])
        for p in partitions(list(range(len(values))), size)
    )
    assert within(values, found.tolist()) == pytest.approx(best, abs=1e-9)


def reference_mdav(points, size):
    """MDAV step by step, with lists and no cleverness."""
    left = list(range(len(points)))
    groups = []

    def distance(a, b):
        return float(((a - b) ** 2).sum())

    def cluster(seed):
        near = sorted(left, key=lambda i: distance(points[i], points[seed]))[:size]
        groups.append(frozenset(near))
        for i in near:
            left.remove(i)

    while len(left) >= 3 * size:
        centre = points[left].mean(axis=0)
        far = max(left, key=lambda i: distance(points[i], centre))
        opposite = max(left, key=lambda i: distance(points[i], points[far]))
        cluster(far)
        cluster(opposite)
    if len(left) >= 2 * size:
        centre = points[left].mean(axis=0)
        cluster(max(left, key=lambda i: distance(points[i], centre)))
    if left:
        groups.append(frozenset(left))
    return set(groups)


@pytest.mark.parametrize(
    ("n", "size", "columns"),
    [(40, 3, 2), (57, 5, 3), (100, 7, 1), (9, 4, 2), (7, 4, 2), (200, 2, 4)],
)
def test_several_columns_follow_mdav(n, size, columns):
    points = np.random.default_rng(n).normal(size=(n, columns)) * [1, 100, 0.01, 5][:columns]
    found = multivariate_groups(points, size)
    sets = defaultdict(set)
    for i, group in enumerate(found.tolist()):
        sets[group].add(i)
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    assert {frozenset(s) for s in sets.values()} == reference_mdav(scaled, size)


@pytest.mark.parametrize("n", [4, 5, 7, 8, 11, 12, 13, 50])
def test_equal_points_are_grouped_too(n):
    found = multivariate_groups(np.ones((n, 3)), 4)
    assert min(Counter(found.tolist()).values()) >= 4
    assert max(Counter(found.tolist()).values()) < 8


def test_large_tables_are_halved_first(monkeypatch):
    monkeypatch.setattr(grouping_numbers, "LARGEST_PART", 60)
    points = np.random.default_rng(8).normal(size=(1_000, 2))
    parts = multivariate_groups(points, 5)
    assert min(Counter(parts.tolist()).values()) >= 5
    monkeypatch.setattr(grouping_numbers, "LARGEST_PART", 10_000)
    whole = multivariate_groups(points, 5)

    def loss(groups):
        return sum(within(points[:, c].tolist(), groups.tolist()) for c in range(2))

    assert loss(parts) < 1.3 * loss(whole)


def cells(table, name):
    column = records_of(table).columns[name]
    return [column.values[code] for code in column.codes]


def test_numbers_become_group_means():
    data = {"wage": ["10", "11", "13", "50", "52", "54.5"], "job": list("abcdef")}
    table = sf.perturb(data, sf.Microaggregate("wage", size=3))
    assert cells(table, "wage") == ["11.3"] * 3 + ["52.2"] * 3  # 34/3 and 156.5/3, one decimal
    assert cells(table, "job") == data["job"]
    assert table.untruthful == ("wage replaced by means of groups of at least 3 records",)


def test_integers_stay_integers_and_every_combination_is_shared():
    example = sf.examples.patients(700, 2)
    table = sf.perturb(example.columns, sf.Microaggregate(["age", "salary"], size=6))
    age, salary = cells(table, "age"), cells(table, "salary")
    assert all(str(int(a)) == a for a in (*age, *salary))
    assert min(Counter(zip(age, salary, strict=True)).values()) >= 6
    assert np.mean(list(map(int, age))) == pytest.approx(example.columns["age"].mean(), abs=0.1)
    schema = sf.Schema(quasi=["age", "salary"], sensitive=["diagnosis"])
    release = sf.anonymize(table, sf.KAnonymity(6), schema=schema)
    assert release.decision.recoding.levels == (0, 0)
    assert release.verify().holds


def test_large_numbers_lose_no_digits():
    base = 9_007_199_254_000_000
    data = {"x": [str(base + i) for i in (0, 1, 2, 10, 11, 12)]}
    table = sf.perturb(data, sf.Microaggregate("x", size=3))
    assert cells(table, "x") == [str(base + 1)] * 3 + [str(base + 11)] * 3


def test_records_with_missing_cells_join_the_nearest_group():
    data = {
        "a": ["1", "2", "3", "101", "102", "103", "", "99", ""],
        "b": ["1", "2", "3", "101", "102", "103", "5", "", ""],
    }
    table = sf.perturb(data, sf.Microaggregate(["a", "b"], size=3))
    low_b, high_a = str(round((1 + 2 + 3 + 5) / 4)), str(round((101 + 102 + 103 + 99) / 4))
    assert cells(table, "a") == ["2"] * 3 + [high_a] * 3 + ["", high_a, ""]
    assert cells(table, "b") == [low_b] * 3 + ["102"] * 3 + [low_b, "", ""]


def test_too_few_records():
    with pytest.raises(DataError, match=r"at least 3 records .* but there are 2"):
        sf.perturb({"x": ["1", "", "3"]}, sf.Microaggregate("x", size=3))
