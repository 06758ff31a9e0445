"""The verifier's formulas against fractions in plain Python, class by class."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.audit.verification import measures
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.released.evidence import Spread, numbered

TREE = Hierarchy.from_rows(
    [
        ("a", "ab", "abc", "*"),
        ("b", "ab", "abc", "*"),
        ("c", "c", "abc", "*"),
        ("d", "de", "de", "*"),
        ("e", "de", "de", "*"),
    ]
)


def spread_of(rows):
    """Turn dense rows of counts into the sparse form; values nobody has are left out."""
    rows = np.array(rows)
    occurs = rows.sum(axis=0) > 0
    values = tuple(np.array(list("abcde"))[occurs])
    class_, value = np.nonzero(rows[:, occurs])
    count = rows[:, occurs][class_, value]
    return Spread(class_, value, count, values, rows.sum(axis=1), TREE), rows[:, occurs].tolist()


histograms = st.lists(
    st.lists(st.integers(0, 8), min_size=5, max_size=5).filter(any), min_size=1, max_size=7
)


def shares(row):
    return [Fraction(x, sum(row)) for x in row]


@settings(max_examples=150, deadline=None)
@given(histograms)
def test_every_figure_equals_its_definition(rows):
    spread, dense = spread_of(rows)
    q = shares([sum(column) for column in zip(*dense, strict=True)])
    distinct = measures.distinct_values(spread)
    entropy = measures.effective_values(spread)
    equal, kl = measures.equal_distance(spread), measures.divergence(spread)
    ordered = measures.ordered_distance(spread)
    beta, delta = measures.largest_gain(spread), measures.largest_change(spread)
    for c, row in enumerate(dense):
        p = shares(row)
        assert distinct[c] == sum(x > 0 for x in row)
        assert entropy[c] == pytest.approx(math.exp(-sum(float(x) * math.log(x) for x in p if x)))
        assert equal[c] == pytest.approx(
            float(sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2)
        )
        exact_kl = sum(float(x) * math.log(x / y) for x, y in zip(p, q, strict=True) if x)
        assert kl[c] == pytest.approx(exact_kl, abs=1e-12)
        flow = [abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(p))]
        assert ordered[c] == pytest.approx(float(sum(flow) / max(len(p) - 1, 1)), abs=1e-12)
        assert beta[c] == pytest.approx(float(max((x - y) / y for x, y in zip(p, q, strict=True))))
        changes = [abs(math.log(x / y)) if x else math.inf for x, y in zip(p, q, strict=True)]
        assert delta[c] == pytest.approx(max(changes), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(histograms)
def test_hierarchical_distance_equals_the_tree_sum_of_the_paper(rows):
    """Li et al. give cost(N) = height(N)/H · min(positive extra, negative extra), summed."""
    spread, dense = spread_of(rows)
    q = shares([sum(column) for column in zip(*dense, strict=True)])
    leaves = {value: row for row in TREE.rows() for value in [row[0]]}
    found = measures.hierarchical_distance(spread, TREE)

    def extra(node, level, surplus):
        """Surplus of a node, and the cost of everything moved inside it."""
        if level == 0:
            return surplus[node], Fraction(0)
        children = {leaves[v][level - 1] for v in surplus if leaves[v][level] == node}
        parts = [extra(child, level - 1, surplus) for child in sorted(children)]
        gains = sum(s for s, _ in parts if s > 0)
        needs = -sum(s for s, _ in parts if s < 0)
        inside = Fraction(level, 3) * min(gains, needs)
        return gains - needs, inside + sum(cost for _, cost in parts)

    for c, row in enumerate(dense):
        surplus = {v: x - y for v, x, y in zip(spread.values, shares(row), q, strict=True)}
        _, cost = extra("*", 3, surplus)
        assert found[c] == pytest.approx(float(cost), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(histograms, st.integers(1, 6), st.integers(1, 40))
def test_recursive_diversity(rows, rank, tenths):
    spread, dense = spread_of(rows)
    ranked = [sorted(row, reverse=True) for row in dense]
    parts = [(r[0], sum(r[rank - 1 :])) for r in ranked]
    top, tail = measures.recursive_parts(spread, rank)
    assert list(zip(top.tolist(), tail.tolist(), strict=True)) == parts
    held = measures.is_recursive(spread, tenths / 10, rank).tolist()
    assert held == [10 * a < tenths * b for a, b in parts]
    ratio = measures.recursive_ratio(spread, rank)
    assert ratio == pytest.approx([a / b if b else math.inf for a, b in parts])
    largest = measures.largest_rank(spread, tenths / 10)
    ranks = [r for r in range(1, 6) if all(10 * x[0] < tenths * sum(x[r - 1 :]) for x in ranked)]
    assert largest == max(ranks, default=0)


def test_worked_recursive_example():
    spread, _ = spread_of([[3, 2, 1, 0, 0]])
    assert measures.largest_rank(spread, 2) == 2
    assert measures.recursive_ratio(spread, 2)[0] == pytest.approx(1)
    assert measures.recursive_ratio(spread, 3)[0] == pytest.approx(3)
    assert not measures.is_recursive(spread, 1, 2)[0]
    assert not measures.is_recursive(spread, 3, 3)[0]


@settings(max_examples=60, deadline=None)
@given(histograms, st.integers(1, 30), st.booleans())
def test_gain_beyond_the_bound(rows, tenths, enhanced):
    spread, dense = spread_of(rows)
    q = shares([sum(column) for column in zip(*dense, strict=True)])
    found = measures.gain_beyond(spread, tenths / 10, enhanced=enhanced)
    for c, row in enumerate(dense):
        gaps = []
        for x, y in zip(shares(row), q, strict=True):
            if x:
                bound = min(tenths / 10, -math.log(y)) if enhanced else tenths / 10
                gaps.append(float((x - y) / y) - bound)
        assert found[c] == pytest.approx(max(gaps), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)), max_size=40))
def test_rows_are_numbered_by_kind(rows):
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]
    number, kinds = numbered(columns, [4, 3, 5], len(rows))
    assert kinds == len(set(rows))
    assert len(set(zip(number.tolist(), rows, strict=True))) == kinds
