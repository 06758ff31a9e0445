"""Query error: the worked example, an independent estimate row by row, and bad queries."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymize.loss.queries import Between, query_loss, random_workload
from sfumato.anonymize.tables.recoding import SUPPRESSED, FullDomain, Local, SearchRecord
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import ParameterError

RECORD = SearchRecord("test")
PATIENTS = [
    ("13053", "28"), ("13068", "29"), ("13068", "21"), ("13053", "23"),
    ("14853", "50"), ("14853", "55"), ("14850", "47"), ("14850", "59"),
    ("13053", "31"), ("13053", "37"), ("13068", "36"), ("13068", "32"),
]  # fmt: skip
ZIPS = ("13053", "13068", "14850", "14853")
# Masked digits stand for ten values each; the root stands for all five digits.
ZIP = Hierarchy.from_rows(
    [(z, z[:4] + "*", z[:3] + "**", z[:2] + "***", "*") for z in ZIPS],
    spans=tuple(np.full(n, float(s)) for n, s in ((4, 1), (3, 10), (2, 100), (2, 1000), (1, 1e5))),
)
AGE = Hierarchy.from_rows(
    [(str(a), "<30" if a < 30 else "30-40" if a < 40 else ">40", "*") for a in range(20, 60)],
    ordered=True,
)


def table_of(rows, hierarchies):
    tuples = Counter(rows)
    quasi = [[h.codes[v] for h, v in zip(hierarchies, row, strict=True)] for row in tuples]
    return FrequencyTable(
        ("zip", "age"),
        (),
        np.array(quasi, dtype=np.int32),
        np.zeros((len(tuples), 0), dtype=np.int32),
        np.array(list(tuples.values()), dtype=np.int64),
    )


def patients():
    """The twelve patients and their release in three classes."""
    table = table_of(PATIENTS, (ZIP, AGE))
    classes = np.repeat([0, 1, 2], 4)
    levels = np.array([[2, 1], [1, 1], [2, 1]])
    low = np.array(
        [[ZIP.codes[z], AGE.codes[a]] for z, a in (PATIENTS[0], PATIENTS[4], PATIENTS[8])]
    )
    return table, Local(
        np.arange(12), classes, np.ones(12, dtype=np.int64), levels, low, low, RECORD
    )


def test_worked_example():
    table, recoding = patients()
    found = query_loss(table, (ZIP, AGE), recoding, [{"zip": "13053", "age": "37"}])
    assert found.truths.tolist() == [1]
    assert found.estimates == pytest.approx([0.004])
    assert found.mean == found.median == pytest.approx(0.996)


def test_a_query_for_a_whole_node_is_exact():
    table, recoding = patients()
    workload = [{"age": Between(20, 29)}, {"age": Between("30", "39")}, {"age": Between(20, 59)}]
    found = query_loss(table, (ZIP, AGE), recoding, workload)
    assert found.truths.tolist() == [4, 4, 12]
    assert found.estimates == pytest.approx([4, 4, 12])
    assert found.mean == pytest.approx(0)


def test_sanity_bound_and_suppression():
    table, _ = patients()
    gone = np.zeros(12, dtype=np.bool_)
    gone[:4] = True
    recoding = FullDomain((0, 0), gone, RECORD)
    workload = [{"age": Between(20, 29)}, {"zip": "14850", "age": "20"}, {"age": "50"}]
    found = query_loss(table, (ZIP, AGE), recoding, workload, sanity=0.5)
    assert found.truths.tolist() == [4, 0, 1]
    assert found.estimates == pytest.approx([0, 0, 1])
    assert found.errors == pytest.approx([4 / 6, 0, 0])


COLOURS = Hierarchy.from_rows(
    [("red", "warm", "*"), ("orange", "warm", "*"), ("blue", "blue", "*"), ("grey", "grey", "*")]
)
SMALL = Hierarchy.from_rows(
    [(str(i), "low" if i < 4 else "high", "*") for i in range(8)], ordered=True
)
rows_strategy = st.lists(
    st.tuples(st.sampled_from(COLOURS.leaves), st.sampled_from(SMALL.leaves)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(
    rows_strategy,
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.sets(st.sampled_from(COLOURS.leaves)),
    st.tuples(st.integers(0, 7), st.integers(0, 7)),
)
def test_estimate_equals_counting_the_possible_originals(rows, levels, colours, ends):
    """Every generalised record stands for all its originals, each equally likely."""
    trees = (COLOURS, SMALL)
    table = table_of(rows, trees)
    recoding = FullDomain(levels, np.zeros(table.distinct, dtype=np.bool_), RECORD)
    low, high = min(ends), max(ends)
    found = query_loss(
        table, trees, recoding, [{"zip": sorted(colours), "age": Between(low, high)}]
    )
    expected = 0.0
    for row in rows:
        below = [
            [r[0] for r in h.rows() if r[v] == h.rows()[h.codes[value]][v]]
            for h, v, value in zip(trees, levels, row, strict=True)
        ]
        worlds = list(product(*below))
        expected += sum(c in colours and low <= int(n) <= high for c, n in worlds) / len(worlds)
    truth = sum(c in colours and low <= int(n) <= high for c, n in rows)
    assert found.truths.tolist() == [truth]
    assert found.estimates == pytest.approx([expected])


def test_ranges_of_leaves():
    table = table_of([("red", "1"), ("red", "3"), ("blue", "7")], (COLOURS, SMALL))
    recoding = Local(
        np.array([0, 1, 2]),
        np.array([0, 0, SUPPRESSED]),
        np.ones(3, dtype=np.int64),
        np.array([[0, -1]]),
        np.array([[0, 1]]),
        np.array([[0, 3]]),
        RECORD,
    )
    found = query_loss(table, (COLOURS, SMALL), recoding, [{"age": ["1", "2"]}, {"age": "7"}])
    assert found.estimates == pytest.approx([2 * 2 / 3, 0])


def test_random_workload_is_about_people_who_are_there_and_repeatable():
    rng = np.random.default_rng(1)
    rows = [(COLOURS.leaves[i], str(j)) for i, j in rng.integers(0, (4, 8), (100, 2))]
    table = table_of(rows, (COLOURS, SMALL))
    workload = random_workload(table, (COLOURS, SMALL), queries=50, share=0.4, seed=3)
    assert workload == random_workload(table, (COLOURS, SMALL), queries=50, share=0.4, seed=3)
    assert workload != random_workload(table, (COLOURS, SMALL), queries=50, share=0.4, seed=4)
    assert {len(query) for query in workload} == {1, 2}
    for query in workload:
        assert len(query.get("zip", "ab")) == 2
        numbers = sorted(map(int, query.get("age", ["1", "2", "3"])))
        assert numbers == list(range(numbers[0], numbers[0] + 3))
    identity = FullDomain((0, 0), np.zeros(table.distinct, dtype=np.bool_), RECORD)
    exact = query_loss(table, (COLOURS, SMALL), identity, workload)
    assert (exact.truths > 0).all()
    assert exact.mean == pytest.approx(0)
    nothing = FullDomain((2, 2), np.zeros(table.distinct, dtype=np.bool_), RECORD)
    assert query_loss(table, (COLOURS, SMALL), nothing, queries=50).median > 0.05


@pytest.mark.parametrize(
    ("workload", "match"),
    [
        ([], "empty"),
        ([{"height": "3"}], "quasi-identifiers zip, age"),
        ([{"age": "99"}], "not a leaf"),
        ([{"age": Between("1", "99")}], "both ends"),
    ],
)
def test_bad_queries(workload, match):
    table, recoding = patients()
    with pytest.raises(ParameterError, match=match):
        query_loss(table, (ZIP, AGE), recoding, workload)


def test_sanity_must_be_positive():
    table, recoding = patients()
    with pytest.raises(ParameterError, match="sanity"):
        query_loss(table, (ZIP, AGE), recoding, sanity=0)
