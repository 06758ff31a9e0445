"""Every family × every definition on random small tables, checked by code of its own.

The check below works on the records as an adversary would see them: it spells out the label
of every cell, puts records with equal labels into classes, and computes the definitions with
plain Python. It shares nothing with the package but the hierarchy's rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.definition import Definition
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.presence import DeltaPresence, KMap
from sfumato.anonymize.tables.algorithms.bottom_up.clustering import cluster
from sfumato.anonymize.tables.algorithms.cell_suppression import suppress_cells
from sfumato.anonymize.tables.algorithms.top_down.mondrian import partition
from sfumato.anonymize.tables.algorithms.top_down.specialization import specialize
from sfumato.anonymize.tables.problem import Problem
from sfumato.anonymize.tables.recoding import FullDomain
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import Unsatisfiable

ALGORITHMS = {
    "mondrian": partition,
    "mondrian relaxed": lambda p: partition(p, strict=False),
    "mondrian on trees": lambda p: partition(p, ranges=False),
    "mondrian relaxed on trees": lambda p: partition(p, strict=False, ranges=False),
    "cluster": cluster,
    "cells": suppress_cells,
    "topdown loss": specialize,
    "topdown children": lambda p: specialize(p, steps="fewest-children"),
    "topdown information": lambda p: specialize(p, steps="information-gain"),
    "levels loss": lambda p: specialize(p, scope="full-domain"),
    "levels children": lambda p: specialize(p, scope="full-domain", steps="fewest-children"),
    "levels information": lambda p: specialize(p, scope="full-domain", steps="information-gain"),
}

SHAPES = [
    Hierarchy.from_rows([("x",)]),
    Hierarchy.from_rows([("a", "*"), ("b", "*"), ("c", "*")]),
    Hierarchy.from_rows([(str(i), f"{i // 2}h", f"{i // 4}q", "*") for i in range(8)]),
    Hierarchy.from_rows([(str(i), f"{i // 3}t", "*") for i in range(9)], ordered=True),
    Hierarchy.from_rows(
        [("p", "p", "*"), ("s", "gov", "*"), ("l", "gov", "*"), ("i", "self", "*")]
    ),
    # A label that means a leaf on one level and more on the next.
    Hierarchy.from_rows([("m", "m", "*"), ("n", "m", "*"), ("o", "o", "*")]),
]
DISEASES = ("acne", "flu", "gout", "rash")
TREE = Hierarchy.from_rows(
    [("acne", "skin", "*"), ("flu", "inner", "*"), ("gout", "inner", "*"), ("rash", "skin", "*")]
)


@dataclass(frozen=True)
class EvenSizes(Definition):
    """A user's own definition with nothing but `judge`: unions hold, but not larger classes."""

    def judge(self, classes):
        return (classes.sizes % 2 == 0) & (classes.sizes > 0)


@dataclass(frozen=True)
class Small(Definition):
    """A user's own definition that unions break: two to six records."""

    def judge(self, classes):
        return (classes.sizes >= 2) & (classes.sizes <= 6)


def shares(values):
    return {v: n / len(values) for v, n in Counter(values).items()}


def close(values, everyone, t, distance):
    p, q = shares(values), shares(everyone)
    if distance == "equal":
        return sum(abs(p.get(v, 0) - q[v]) for v in q) / 2 <= t + 1e-9
    if distance == "kl":
        return sum(p[v] * math.log(p[v] / q[v]) for v in p) <= t + 1e-9
    if distance == "ordered":
        there = [v for v in DISEASES if v in q]
        gaps = np.cumsum([p.get(v, 0) - q[v] for v in there])
        return np.abs(gaps).sum() / max(len(there) - 1, 1) <= t + 1e-9
    moved = sum(abs(p.get(v, 0) - q.get(v, 0)) for v in DISEASES)
    for group in (("acne", "rash"), ("flu", "gout")):
        moved += abs(sum(p.get(v, 0) - q.get(v, 0) for v in group))
    return moved / 4 <= t + 1e-9


def keeps(definition, members, everyone, people):
    """Judge one class of (diseases …) records against everyone released, and the population."""
    if len(definition.parts) > 1:
        return all(keeps(part, members, everyone, people) for part in definition.parts)
    if isinstance(definition, KAnonymity):
        return len(members) >= definition.k
    if isinstance(definition, EvenSizes):
        return len(members) % 2 == 0
    if isinstance(definition, Small):
        return 2 <= len(members) <= 6
    if isinstance(definition, KMap):
        return people >= definition.k
    if isinstance(definition, DeltaPresence):
        share = len(members) / people if people else 2
        return definition.low - 1e-9 <= share <= definition.high + 1e-9
    at = {"disease": 0, "other": 1}[definition.attribute]
    values, all_values = [m[at] for m in members], [m[at] for m in everyone]
    ranked = sorted(Counter(values).values(), reverse=True)
    if isinstance(definition, DistinctLDiversity):
        return len(ranked) >= definition.l
    if isinstance(definition, EntropyLDiversity):
        entropy = -sum(x * math.log(x) for x in shares(values).values())
        return entropy >= math.log(definition.l) - 1e-9
    if isinstance(definition, RecursiveLDiversity):
        return ranked[0] < definition.c * sum(ranked[definition.l - 1 :]) - 1e-9
    return close(values, all_values, definition.t, definition.distance)


def cell(hierarchy, level, low, high):
    """Return the text of a cell and the leaves it covers."""
    rows = hierarchy.rows()
    if level < 0:
        assert hierarchy.ordered
        assert low < high
        return f"{low}..{high}", {row[0] for row in rows[low : high + 1]}
    label = rows[low][level]
    return label, {row[0] for row in rows if row[level] == label}


def release(problem, recoding):
    """Yield (records, tuple, text per cell, leaves per cell, class) for every share released."""
    table, width = problem.table, problem.attributes
    if isinstance(recoding, FullDomain):
        for i in np.flatnonzero(~recoding.suppressed):
            cells = [
                cell(h, recoding.levels[a], table.quasi[i, a], None)
                for a, h in enumerate(problem.hierarchies)
            ]
            yield int(table.counts[i]), i, cells, None
        return
    for i, c, n in zip(recoding.tuple_, recoding.class_, recoding.count, strict=True):
        assert n > 0
        if c >= 0:
            cells = [
                cell(h, recoding.level[c, a], recoding.low[c, a], recoding.high[c, a])
                for a, h in enumerate(problem.hierarchies[:width])
            ]
            yield int(n), i, cells, c


def never_more(problem, recoding, *, flat):
    """Assert that each class releases the lowest common ancestor, or the tightest range."""
    table = problem.table
    for c in range(recoding.classes):
        members = table.quasi[recoding.tuple_[recoding.class_ == c]]
        assert len(members)
        for a, h in enumerate(problem.hierarchies):
            level, leaves = recoding.level[c, a], members[:, a]
            if level < 0:
                assert (recoding.low[c, a], recoding.high[c, a]) == (leaves.min(), leaves.max())
                continue
            finer = range(level) if not flat else [0][: int(level > 0)]
            for lower in finer:
                assert len({h.rows()[leaf][lower] for leaf in leaves}) > 1


def check(problem, recoding, *, flat=False):
    """Assert that a recoding is complete, covers its records, and keeps the promise."""
    table = problem.table
    if isinstance(recoding, FullDomain):
        gone = int(table.counts[recoding.suppressed].sum())
    else:
        there = np.bincount(recoding.tuple_, weights=recoding.count, minlength=table.distinct)
        assert (there == table.counts).all()
        gone = int(recoding.count[recoding.class_ < 0].sum())
        assert set(recoding.class_) - {-1} == set(range(recoding.classes))
        never_more(problem, recoding, flat=flat)
    assert gone <= problem.suppression_limit
    seen, people = defaultdict(list), {}
    for n, i, cells, _ in release(problem, recoding):
        text = tuple(label for label, _ in cells)
        for a, (_, covered) in enumerate(cells):
            assert problem.hierarchies[a].leaves[table.quasi[i, a]] in covered
        values = tuple(
            table.sensitive_values[s][table.sensitive[i, s]]
            for s in range(len(table.sensitive_names))
        )
        seen[text] += [values] * n
        if problem.population is not None:
            people[text] = sum(
                int(n)
                for n, row in zip(problem.population.counts, problem.population.quasi, strict=True)
                if all(
                    problem.hierarchies[a].leaves[row[a]] in covered
                    for a, (_, covered) in enumerate(cells)
                )
            )
    everyone = [values for members in seen.values() for values in members]
    assert len(everyone) == problem.rows - gone > 0
    for text, members in seen.items():
        assert keeps(problem.definition, members, everyone, people.get(text))
    if not isinstance(recoding, FullDomain):
        assert not recoding.record.proven_optimal
        assert "heuristic" in recoding.record.label


DEFINITIONS = st.one_of(
    st.builds(KAnonymity, st.integers(1, 6)),
    st.builds(DistinctLDiversity, st.integers(1, 3), st.just("disease")),
    st.builds(EntropyLDiversity, st.sampled_from([1.2, 1.8, 2.0, 2.5]), st.just("disease")),
    st.builds(
        RecursiveLDiversity,
        st.sampled_from([0.7, 1.0, 2.0, 3.5]),
        st.integers(1, 3),
        st.just("disease"),
    ),
    st.builds(
        TCloseness,
        st.sampled_from([0.0, 0.15, 0.3, 0.6]),
        st.sampled_from(["disease", "other"]),
        st.sampled_from(["equal", "kl", "ordered"]),
    ),
    st.builds(TCloseness, st.sampled_from([0.1, 0.3]), st.just("disease"), st.just("hierarchical")),
    st.builds(KMap, st.integers(1, 8)),
    st.builds(DeltaPresence, st.sampled_from([0.0, 0.1]), st.sampled_from([0.5, 0.8, 1.0])),
    st.just(EvenSizes()),
    st.just(Small()),
)


@st.composite
def problems(draw):
    hierarchies = tuple(draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4)))
    rows = draw(
        st.lists(
            st.tuples(
                *(st.integers(0, h.size - 1) for h in hierarchies),
                st.integers(0, 3),
                st.integers(0, 1),
            ),
            min_size=1,
            max_size=14,
            unique=True,
        )
    )
    counts = draw(
        st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=len(rows), max_size=len(rows))
    )
    array = np.array(rows, dtype=np.int32)
    width = len(hierarchies)
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(width)),
        ("disease", "other"),
        np.ascontiguousarray(array[:, :width]),
        np.ascontiguousarray(array[:, width:]),
        np.array(counts, dtype=np.int64),
        (DISEASES, ("acne", "flu")),
    )
    definition = draw(DEFINITIONS)
    if draw(st.booleans()):
        definition = definition & draw(DEFINITIONS)
    population = None
    if definition.needs_population:
        extra = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
        population = FrequencyTable(
            table.quasi_names, (), table.quasi, array[:, :0],
            table.counts + np.array(extra, dtype=np.int64),
        )  # fmt: skip
    share = 1 / width
    return Problem(
        table,
        hierarchies,
        definition,
        costs=tuple(h.loss * share for h in hierarchies),
        suppressed=tuple(np.full(h.size, share) for h in hierarchies),
        suppression_limit=draw(st.sampled_from([0, 0, 2, 8])),
        sensitive_hierarchies={"disease": TREE},
        population=population,
    )


def whole_holds(problem):
    """Say whether all records in one class, generalised only as far as they must be, hold."""
    table = problem.table
    members = [
        tuple(table.sensitive_values[s][v] for s, v in enumerate(row))
        for row, n in zip(table.sensitive, table.counts, strict=True)
        for _ in range(n)
    ]
    people = None if problem.population is None else int(problem.population.counts.sum())
    return keeps(problem.definition, members, members, people)


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(problem=problems())
def test_every_family_keeps_every_promise_or_says_that_it_cannot(name, problem):
    try:
        recoding = ALGORITHMS[name](problem)
    except Unsatisfiable as error:
        recoding, message = None, str(error)
    if recoding is None:
        # The last resort of every family is one class of everything.
        assert not whole_holds(problem)
        assert str(problem.definition) in message
    else:
        check(problem, recoding, flat=name == "cells")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_question_gets_the_same_answer(name):
    rng = np.random.default_rng(5)
    quasi = np.unique(rng.integers(0, 8, (60, 3)), axis=0).astype(np.int32)
    table = FrequencyTable(
        ("a", "b", "c"), ("disease",), quasi,
        rng.integers(0, 4, (len(quasi), 1)).astype(np.int32),
        rng.integers(1, 4, len(quasi)), (DISEASES,),
    )  # fmt: skip
    problem = Problem(
        table, (SHAPES[2],) * 3, KAnonymity(3) & DistinctLDiversity(2, "disease"),
        costs=(SHAPES[2].loss / 3,) * 3, suppressed=(np.full(8, 1 / 3),) * 3,
    )  # fmt: skip
    one, two = ALGORITHMS[name](problem), ALGORITHMS[name](problem)
    check(problem, one, flat=name == "cells")
    if isinstance(one, FullDomain):
        assert one.levels == two.levels
        assert (one.suppressed == two.suppressed).all()
    else:
        for field in ("tuple_", "class_", "count", "level", "low", "high"):
            assert (getattr(one, field) == getattr(two, field)).all()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    ("counts", "k", "possible"),
    [([1], 1, True), ([1], 2, False), ([7], 5, True), ([2, 2], 5, False), ([5, 4], 9, True)],
)
def test_tiny_tables(name, counts, k, possible):
    table = FrequencyTable(
        ("a",), ("disease",), np.arange(len(counts), dtype=np.int32)[:, None],
        np.zeros((len(counts), 1), dtype=np.int32), np.array(counts, dtype=np.int64), (DISEASES,),
    )  # fmt: skip
    problem = Problem(
        table, (SHAPES[1],), KAnonymity(k), costs=(SHAPES[1].loss,), suppressed=(np.ones(3),)
    )
    if possible:
        check(problem, ALGORITHMS[name](problem), flat=name == "cells")
    else:
        with pytest.raises(Unsatisfiable, match=f"{k}-anonymity"):
            ALGORITHMS[name](problem)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_fifteen_attributes_and_ten_million_records_in_few_tuples(name):
    rng = np.random.default_rng(1)
    quasi = np.unique(rng.integers(0, 8, (200, 15)), axis=0).astype(np.int32)
    table = FrequencyTable(
        tuple("abcdefghijklmno"), ("disease",), quasi,
        rng.integers(0, 4, (len(quasi), 1)).astype(np.int32),
        rng.integers(1, 10**5, len(quasi)), (DISEASES,),
    )  # fmt: skip
    assert table.rows > 5 * 10**6
    problem = Problem(
        table, (SHAPES[2],) * 15, KAnonymity(60_000) & DistinctLDiversity(2, "disease"),
        costs=(SHAPES[2].loss / 15,) * 15, suppressed=(np.full(8, 1 / 15),) * 15,
    )  # fmt: skip
    recoding = ALGORITHMS[name](problem)
    if isinstance(recoding, FullDomain):
        assert not recoding.suppressed.any()
        return
    level, class_ = recoding.level, recoding.class_
    sizes = np.bincount(class_, weights=recoding.count)
    assert sizes.min() >= 60_000
    assert sizes.sum() == table.rows
    values = defaultdict(set)
    for i, c in zip(recoding.tuple_, class_, strict=True):
        values[c].add(int(table.sensitive[i, 0]))
    assert min(map(len, values.values())) >= 2
    assert (level <= 3).all()


def suppressing(seed):
    """Return a table of outliers whose suppression moves the distribution of diseases."""
    rng = np.random.default_rng(seed)
    quasi = np.column_stack([rng.integers(0, m, 24) for m in (8, 8, 3)])
    disease = np.where(quasi[:, 2:] == 0, 0, rng.integers(0, 2, (24, 1)))
    rows = np.unique(np.hstack([quasi, disease]), axis=0).astype(np.int32)
    hierarchies = (SHAPES[2], SHAPES[2], SHAPES[1])
    table = FrequencyTable(
        ("a", "b", "c"), ("disease",), np.ascontiguousarray(rows[:, :3]),
        np.ascontiguousarray(rows[:, 3:]), np.ones(len(rows), dtype=np.int64), (DISEASES,),
    )  # fmt: skip
    return Problem(
        table, hierarchies, KAnonymity(2) & TCloseness(0.2, "disease"),
        costs=tuple(h.loss / 3 for h in hierarchies),
        suppressed=tuple(np.full(h.size, 1 / 3) for h in hierarchies), suppression_limit=8,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [243, 260, 269, 270])
def test_suppressed_records_do_not_count_in_the_reference_distribution(seed):
    # With the distribution of the whole table as reference, each of these fails the check.
    problem = suppressing(seed)
    recoding = cluster(problem)
    check(problem, recoding)


def test_peaks_are_cut_where_the_whole_table_does_not_hold():
    # 30 of 40 records have one disease; entropy 1.9 needs a nearly even class.
    quasi = np.arange(8, dtype=np.int32)[:, None]
    table = FrequencyTable(
        ("a",), ("disease",), quasi, (quasi >= 6).astype(np.int32),
        np.array([5] * 8, dtype=np.int64), (DISEASES,),
    )  # fmt: skip
    problem = Problem(
        table, (SHAPES[2],), EntropyLDiversity(1.9, "disease"),
        costs=(SHAPES[2].loss,), suppressed=(np.ones(8),), suppression_limit=20,
    )  # fmt: skip
    # The most records x of the first disease with entropy of (x, 10) at least log 1.9 is 19.
    for run in (partition, cluster, specialize, suppress_cells):
        recoding = run(problem)
        check(problem, recoding, flat=run is suppress_cells)
        assert recoding.count[recoding.class_ < 0].sum() >= 40 - 10 - 19
    tight = Problem(table, (SHAPES[2],), problem.definition, problem.costs, problem.suppressed, 10)
    with pytest.raises(Unsatisfiable, match="at most 10 records suppressed"):
        partition(tight)
