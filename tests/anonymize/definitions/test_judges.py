"""Definitions against formulas in exact fractions, and the worked examples."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.errors import HierarchyError, ParameterError

TREE = Hierarchy.from_rows(
    [
        ("gastric ulcer", "stomach", "digestive", "*"),
        ("gastritis", "stomach", "digestive", "*"),
        ("colitis", "colon", "digestive", "*"),
        ("flu", "flu", "respiratory", "*"),
        ("pneumonia", "lung", "respiratory", "*"),
    ]
)


def classes_of(rows, *, total=None, population=None, hierarchy=None, values=()):
    counts = np.array(rows, dtype=np.int64)
    whole = counts.sum(axis=0) if total is None else np.array(total, dtype=np.int64)
    view = SensitiveHistogram(counts, whole, values, hierarchy)
    people = None if population is None else np.array(population, dtype=np.int64)
    return Classes(counts.sum(axis=1), {"d": view}, people)


def holds(definition, row, **kwargs):
    return bool(definition.judge(classes_of([row], **kwargs))[0])


histograms = st.lists(
    st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any), min_size=1, max_size=6
)


# -- worked examples ------------------------------------------------------------------

FLU_ACNE_SHINGLES = [3, 2, 1]


@pytest.mark.parametrize(
    ("c", "size", "expected"),
    [
        (1, 2, False),
        (1.000001, 2, True),
        (50, 2, True),
        (3, 3, False),
        (3.000001, 3, True),
        (2, 1, True),
        (2, 2, True),
        (2, 3, False),
        (1e9, 4, False),
    ],
)
def test_recursive_diversity_of_flu_acne_shingles(c, size, expected):
    assert holds(sf.RecursiveLDiversity(c, size, "d"), FLU_ACNE_SHINGLES) is expected


def test_third_class_of_the_patients_is_homogeneous():
    heart, flu, cancer = [2, 1, 0], [2, 2, 0], [0, 1, 4]
    classes = classes_of(list(zip(heart, flu, cancer, strict=True)))
    assert sf.DistinctLDiversity(2, "d").judge(classes).tolist() == [True, True, False]
    assert KAnonymity(4).judge(classes).all()
    assert not KAnonymity(5).judge(classes).any()


def distance(name, p, q, **kwargs):
    total = [round(x * 1000) for x in q]
    row = [round(x * 1000) for x in p]
    classes = classes_of([row], total=total, **kwargs)
    return float(sf.TCloseness(0.5, "d", distance=name).distances(classes)[0])


def test_distances_of_the_worked_example():
    p, q = (0.1, 0.6, 0.3), (0.2, 0.4, 0.4)
    assert distance("equal", p, q) == pytest.approx(0.2, abs=1e-12)
    assert distance("variational", p, q) == pytest.approx(0.2, abs=1e-12)
    assert distance("kl", p, q) == pytest.approx(0.087660, abs=5e-7)
    assert distance("ordered", p, q) == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize(("p", "ordered"), [((0.5, 0.5, 0, 0), 1 / 3), ((0, 0.5, 0.5, 0), 1 / 6)])
def test_salaries(p, ordered):
    q = (0.25, 0.25, 0.25, 0.25)
    assert distance("equal", p, q) == pytest.approx(0.5, abs=1e-12)
    assert distance("kl", p, q) == pytest.approx(math.log(2), abs=1e-12)
    assert distance("ordered", p, q) == pytest.approx(ordered, abs=1e-12)


# -- exact formulas -------------------------------------------------------------------


def fractions(row):
    return [Fraction(x, sum(row)) for x in row]


def exact_entropy_holds(row, goal):
    """−Σ p·log p ≥ log l ⇔ Π p^(−p) ≥ l ⇔ n^n ≥ l^n · Π r^r, in whole numbers."""
    n = sum(row)
    return n**n >= goal**n * math.prod(r**r for r in row if r)


@settings(max_examples=150, deadline=None)
@given(histograms, st.integers(1, 6))
def test_diversity_equals_exact_arithmetic(rows, goal):
    classes = classes_of(rows)
    distinct = [sum(x > 0 for x in row) >= goal for row in rows]
    assert sf.DistinctLDiversity(goal, "d").judge(classes).tolist() == distinct
    entropy = [exact_entropy_holds(row, goal) for row in rows]
    assert sf.EntropyLDiversity(goal, "d").judge(classes).tolist() == entropy


@settings(max_examples=150, deadline=None)
@given(histograms, st.integers(1, 6), st.integers(1, 40))
def test_recursive_diversity_equals_exact_arithmetic(rows, rank, tenths):
    expected = []
    for row in rows:
        ranked = sorted(row, reverse=True)
        expected.append(10 * ranked[0] < tenths * sum(ranked[rank - 1 :]))
    definition = sf.RecursiveLDiversity(tenths / 10, rank, "d")
    assert definition.judge(classes_of(rows)).tolist() == expected


def exact_distance(name, p, q, occurs):
    differences = [a - b for a, b in zip(p, q, strict=True)]
    if name == "equal":
        return sum(abs(d) for d in differences) / 2
    kept = [d for d, present in zip(differences, occurs, strict=True) if present]
    running = [abs(sum(kept[: i + 1])) for i in range(len(kept))]
    return sum(running) / (len(kept) - 1) if len(kept) > 1 else Fraction(0)


@settings(max_examples=150, deadline=None)
@given(histograms, st.integers(0, 20), st.sampled_from(["equal", "ordered"]))
def test_closeness_equals_exact_arithmetic(rows, twentieths, name):
    total = [sum(column) for column in zip(*rows, strict=True)]
    q = fractions(total)
    t = Fraction(twentieths, 20)
    expected = [exact_distance(name, fractions(r), q, [x > 0 for x in total]) <= t for r in rows]
    judged = sf.TCloseness(twentieths / 20, "d", distance=name).judge(classes_of(rows))
    assert judged.tolist() == expected


@settings(max_examples=100, deadline=None)
@given(histograms)
def test_kullback_leibler_equals_the_sum(rows):
    total = [sum(column) for column in zip(*rows, strict=True)]
    q = fractions(total)
    found = sf.TCloseness(0.5, "d", distance="kl").distances(classes_of(rows))
    for row, value in zip(rows, found, strict=True):
        p = fractions(row)
        exact = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True) if a)
        assert value == pytest.approx(exact, abs=1e-12)


def moved_by_flow(p, q, ground):
    """Earth mover's distance by linear programming: an independent formula."""
    from scipy.optimize import linprog

    m = len(p)
    leaving = np.kron(np.eye(m), np.ones(m))
    arriving = np.kron(np.ones(m), np.eye(m))
    answer = linprog(
        np.array(ground).ravel(),
        A_eq=np.vstack([leaving, arriving]),
        b_eq=np.concatenate([p, q]),
        method="highs",
    )
    return float(answer.fun)


def tree_ground(tree):
    rows = tree.rows()
    root = tree.height - 1
    return [[next(h for h in range(root + 1) if a[h] == b[h]) / root for b in rows] for a in rows]


@settings(max_examples=25, deadline=None)
@given(histograms)
def test_earth_movers_equal_the_cheapest_flow(rows):
    total = np.sum(rows, axis=0)
    q = total / total.sum()
    classes = classes_of(rows, hierarchy=TREE, values=TREE.leaves)
    found = sf.TCloseness(0.5, "d", distance="hierarchical").distances(classes)
    ground = tree_ground(TREE)
    for row, value in zip(rows, found, strict=True):
        p = np.array(row) / sum(row)
        assert value == pytest.approx(moved_by_flow(p, q, ground), abs=1e-8)
    if (total > 0).all():
        line = [[abs(i - j) / 4 for j in range(5)] for i in range(5)]
        ordered = sf.TCloseness(0.5, "d", distance="ordered").distances(classes)
        p = np.array(rows[0]) / sum(rows[0])
        assert ordered[0] == pytest.approx(moved_by_flow(p, q, line), abs=1e-8)


def test_hierarchical_distance_finds_values_by_name():
    reordered = list(permutations(range(5)))[37]
    values = tuple(TREE.leaves[i] for i in reordered)
    row = np.array([5, 0, 3, 1, 1])
    total = np.array([9, 4, 6, 8, 3])
    straight = classes_of([row], total=total, hierarchy=TREE, values=TREE.leaves)
    mixed = classes_of(
        [row[list(reordered)]], total=total[list(reordered)], hierarchy=TREE, values=values
    )
    definition = sf.TCloseness(0.5, "d", distance="hierarchical")
    assert definition.distances(straight) == pytest.approx(definition.distances(mixed))


def test_hierarchical_distance_needs_a_tree():
    with pytest.raises(HierarchyError, match="hierarchy for the sensitive attribute 'd'"):
        holds(sf.TCloseness(0.5, "d", distance="hierarchical"), [1, 2])


@settings(max_examples=100, deadline=None)
@given(histograms, st.integers(1, 30), st.booleans())
def test_likeness_equals_the_formula(rows, tenths, enhanced):
    total = [sum(column) for column in zip(*rows, strict=True)]
    expected, doubtful = [], []
    for row in rows:
        gaps = []
        for p, q in zip(fractions(row), fractions(total), strict=True):
            if q:
                bound = Fraction(tenths, 10)
                bound = min(bound, -math.log(q)) if enhanced else bound
                gaps.append(float((p - q) / q - bound))
        expected.append(max(gaps) <= 0)
        doubtful.append(abs(max(gaps)) < 1e-8)
    judged = sf.BetaLikeness(tenths / 10, "d", enhanced=enhanced).judge(classes_of(rows))
    for verdict, right, skip in zip(judged, expected, doubtful, strict=True):
        assert skip or verdict == right


@settings(max_examples=100, deadline=None)
@given(histograms, st.integers(1, 30))
def test_disclosure_equals_the_formula(rows, tenths):
    total = [sum(column) for column in zip(*rows, strict=True)]
    expected = [
        all(
            p > 0 and abs(math.log(p / q)) < tenths / 10 - 1e-9
            for p, q in zip(fractions(row), fractions(total), strict=True)
            if q
        )
        for row in rows
    ]
    judged = sf.DeltaDisclosure(tenths / 10, "d").judge(classes_of(rows))
    assert judged.tolist() == expected


def test_disclosure_by_hand():
    # Shares 1/2 and 1/4 against 1/4 and 1/2: both changes are exactly ln 2, and < is strict.
    rows, total = [[2, 1, 1]], [4, 8, 4]
    assert not sf.DeltaDisclosure(math.log(2), "d").judge(classes_of(rows, total=total))[0]
    assert sf.DeltaDisclosure(0.7, "d").judge(classes_of(rows, total=total))[0]
    # A value of the table that the class lacks can never be allowed.
    assert not holds(sf.DeltaDisclosure(5000.0, "d"), [2, 0, 1], total=[4, 8, 4])


def test_presence_by_hand():
    classes = classes_of([[2, 0], [3, 1], [5, 0]], population=[8, 5, 4])
    assert sf.KMap(5).judge(classes).tolist() == [True, True, False]
    assert sf.DeltaPresence(0.25, 0.8).judge(classes).tolist() == [True, True, False]
    assert sf.DeltaPresence(0.3, 1.0).judge(classes).tolist() == [False, True, False]
    assert sf.DeltaPresence(0.3, 1.0).shortfall(classes) == pytest.approx([0.05, 0, 0.25])


@pytest.mark.parametrize("definition", [sf.KMap(2), sf.DeltaPresence(0, 0.5)])
def test_population_must_be_given(definition):
    with pytest.raises(ParameterError, match="population="):
        definition.judge(classes_of([[1, 2]]))


def test_boundary_of_closeness_is_not_lost_to_the_last_bit():
    # ½(|1/10 − 3/10| + |9/10 − 7/10|) = 0.2 exactly; in binary the sum is a bit more.
    assert holds(sf.TCloseness(0.2, "d"), [1, 9], total=[3, 7])
    assert not holds(sf.TCloseness(0.199999, "d"), [1, 9], total=[3, 7])
