"""What suppression adds at least below a node: every node below, and every choice of records."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.loss.measures import separable
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.algorithms.full_domain.gains import Gains, _count_removed
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable

AGES = [(f"{i}", f"{i // 2}x", f"{i // 4}y", "*") for i in range(8)]
PLACES = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "de", "*"), ("e", "de", "*")]
TREES = (Hierarchy.from_rows(AGES), Hierarchy.from_rows(PLACES))


def problem(rng, objective, n=60):
    codes = np.column_stack([np.minimum(rng.geometric(0.3, n) - 1, t.size - 1) for t in TREES])
    lines, counts = np.unique(codes, axis=0, return_counts=True)
    table = FrequencyTable(
        ("age", "place"), (), np.ascontiguousarray(lines, dtype=np.int32),
        np.empty((len(lines), 0), np.int32), counts.astype(np.int64), (),
    )  # fmt: skip
    costs, out = separable(objective, TREES, table)
    return Problem(table, TREES, KAnonymity(2), costs, out, n // 2, objective=objective)


def gain_of_tuples(p, node):
    """Return what suppressing one record of each tuple adds to the price of a node."""
    return sum(
        p.suppressed[a][p.table.quasi[:, a]] - p.costs[a][p.table.quasi[:, a], level]
        for a, level in enumerate(node)
    )


@pytest.mark.parametrize("objective", ["LM", "NUE", "MD"])
@pytest.mark.parametrize("seed", range(6))
def test_no_choice_of_records_in_a_node_below_adds_less(objective, seed):
    rng = np.random.default_rng(seed)
    p = problem(rng, objective)
    evaluator, gains = Evaluator(p), Gains(p, p.table.quasi)
    everything = np.arange(p.table.distinct)
    for node in itertools.product(range(4), range(3)):
        grouping = evaluator.grouping(node)
        labels = [t.levels[p.table.quasi[:, a], node[a]] for a, t in enumerate(TREES)]
        keys = labels[0] * 100 + labels[1]
        removed = rng.integers(0, grouping.sizes + 1)
        found = gains.added(node, grouping.representatives, removed)
        assert [len(levels) for levels in found] == [level + 1 for level in node]
        for below in itertools.product(*(range(level + 1) for level in node)):
            each = gain_of_tuples(p, below)
            cheapest = 0.0
            for c, r in zip(keys[grouping.representatives], removed, strict=True):
                of_class = everything[keys == c]
                singles = np.sort(np.repeat(each[of_class], p.table.counts[of_class]))
                cheapest += singles[:r].sum()
            bound = sum(levels[h] for levels, h in zip(found, below, strict=True))
            assert bound <= cheapest + 1e-9
            if below == node:
                assert bound == pytest.approx(cheapest)  # as sharp as can be where it is known


def test_both_forms_count_the_same():
    rng = np.random.default_rng(3)
    quasi = rng.integers(0, 5, (40, 2)).astype(np.int32)
    begins, chosen = np.array([0, 5, 10]), rng.permutation(40)[:25].astype(np.int64)
    removed = rng.integers(0, 4, 25)
    plain = _count_removed.plain(quasi, begins, chosen, removed)
    expected = np.zeros(10)
    for c, r in zip(chosen, removed, strict=True):
        expected[quasi[c, 0]] += r
        expected[5 + quasi[c, 1]] += r
    assert np.array_equal(plain, expected)
    assert np.array_equal(_count_removed.compiled(quasi, begins, chosen, removed), expected)
