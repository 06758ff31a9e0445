"""What every node below must suppress, against brute force over all parts of a class."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.tables.algorithms.full_domain import removal, rules, verdicts
from sfumato.anonymize.tables.algorithms.full_domain.rollup import Histogram
from sfumato.data.hierarchies.hierarchy import Hierarchy

VALUES = ("flu", "cold", "ulcer")
TREE = Hierarchy.from_rows([("flu", "mild", "*"), ("cold", "mild", "*"), ("ulcer", "grave", "*")])
PARTS = (
    DistinctLDiversity(2, "d"),
    EntropyLDiversity(1.9, "d"),
    RecursiveLDiversity(1.2, 2, "d"),
    RecursiveLDiversity(0.9, 3, "d"),
    TCloseness(0.15, "d"),
    TCloseness(0.05, "d", distance="kl"),
    TCloseness(0.1, "d", distance="ordered"),
    TCloseness(0.1, "d", distance="hierarchical"),
    BetaLikeness(0.4, "d"),
    BetaLikeness(0.3, "d", enhanced=False),
    DeltaDisclosure(0.4, "d"),
)
counts = st.tuples(*[st.integers(0, 6)] * 3)


def judged(part, vectors, total):
    table = np.array(vectors, dtype=np.int64).reshape(-1, 3)
    view = SensitiveHistogram(table, np.array(total, dtype=np.int64), VALUES, TREE)
    return part.judge(Classes(table.sum(axis=1), {"d": view}))


def as_histogram(vector):
    there = np.flatnonzero(vector)
    return Histogram(
        np.array([0, len(there)]), there.astype(np.int32), np.array(vector, np.int64)[there]
    )


def largest_part(part, found, total, limit):
    """Return the most records of a class that hold, against any table with few records less."""
    parts = [s for s in itertools.product(*(range(c + 1) for c in found)) if sum(s)]
    best = 0
    for less in itertools.product(*(range(min(t, limit) + 1) for t in total)):
        left = [t - x for t, x in zip(total, less, strict=True)]
        if sum(less) > limit or not sum(left):
            continue
        fitting = [s for s in parts if all(a <= b for a, b in zip(s, left, strict=True))]
        holds = judged(part, fitting, left) if fitting else ()
        best = max([best, *(sum(s) for s, ok in zip(fitting, holds, strict=True) if ok)])
    return best


@pytest.mark.parametrize("part", PARTS, ids=str)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(found=counts, rest=counts, limit=st.integers(0, 3))
def test_no_part_of_a_class_that_holds_is_larger_than_the_bound(part, found, rest, limit):
    total = np.array([a + b for a, b in zip(found, rest, strict=True)], dtype=np.int64)
    sizes = np.array([sum(found)], dtype=np.int64)
    if not sizes[0]:
        return
    rule = rules.rule_of(part, VALUES, TREE)
    histogram, fails = as_histogram(found), np.zeros(1, dtype=np.bool_)
    verdicts.judge_classes(
        rule, rules.reference(rule, total), histogram, sizes, fails, np.full(1, -np.inf), 0.0, 99
    )
    assert fails[0] != judged(part, [found], total)[0]
    removed, again = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    against = (rules.reference(rule, total), rules.widen(rule, total, limit))
    slack = np.full(1, -np.inf)
    risen = removal.bound_classes(
        rule, against, histogram, sizes, again, removed, slack, 1, int(sizes[0])
    )
    assert again[0] == fails[0]
    assert 0 <= removed[0] == risen <= sizes[0]
    if fails[0]:
        assert removed[0] <= sizes[0] - largest_part(part, found, total.tolist(), limit)


@pytest.mark.parametrize(
    ("part", "found", "total", "removed"),
    [
        # flu is cut off from 9 to 3: 3, 3, 1 has the entropy of 2.7 values, 4, 3, 1 has not
        (EntropyLDiversity(2.7, "d"), (9, 3, 1), (9, 3, 1), 6),
        (RecursiveLDiversity(1.0, 2, "d"), (9, 3, 1), (9, 3, 1), 6),
        # half of the table has each value: of 10 and 2 records at most 2/0.4 = 5 fit t = 0.1
        (TCloseness(0.1, "d"), (10, 2, 0), (50, 50, 0), 7),
        (BetaLikeness(0.2, "d", enhanced=False), (10, 2, 0), (50, 50, 0), 7),
    ],
    ids=str,
)
def test_bounds_are_as_sharp_as_the_definition(part, found, total, removed):
    rule = rules.rule_of(part, VALUES, TREE)
    against = (rules.reference(rule, np.array(total)), rules.widen(rule, np.array(total), 0))
    bound, sizes = np.zeros(1, dtype=np.int64), np.array([sum(found)])
    fails, slack = np.zeros(1, dtype=np.bool_), np.full(1, -np.inf)
    removal.bound_classes(rule, against, as_histogram(found), sizes, fails, bound, slack, 1, 99)
    assert bound[0] == removed


@pytest.mark.parametrize("part", [p for p in PARTS if isinstance(p, TCloseness | BetaLikeness)])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(found=counts, rest=counts, less=st.tuples(*[st.integers(0, 2)] * 3))
def test_a_class_with_slack_left_cannot_fail(part, found, rest, less):
    total = np.array([a + b for a, b in zip(found, rest, strict=True)], dtype=np.int64)
    after = np.maximum(total - np.array(less), np.array(found))
    if not sum(found):
        return
    rule = rules.rule_of(part, VALUES, TREE)
    before_reference, after_reference = rules.reference(rule, total), rules.reference(rule, after)
    slack, sizes = np.full(1, -np.inf), np.array([sum(found)])
    fails = np.zeros(1, dtype=np.bool_)
    args = (as_histogram(found), sizes, fails, slack)
    verdicts.judge_classes(rule, before_reference, *args, 0.0, 99)
    if slack[0] > rules.move(rule, before_reference, after_reference):
        assert judged(part, [found], after)[0]


def many_values(seed):
    """Return a table of 90 ordered values, some absent, and classes with a few of them each."""
    rng = np.random.default_rng(seed)
    total = rng.integers(0, 9, 90) * rng.integers(0, 2, 90)
    there = np.flatnonzero(total)
    classes = []
    for _ in range(30):
        some = np.sort(rng.choice(there, rng.integers(1, 8), replace=False))
        classes.append((some.astype(np.int32), rng.integers(1, total[some] + 1)))
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in classes])])
    values, found = (np.concatenate(part) for part in zip(*classes, strict=True))
    return total.astype(np.int64), Histogram(starts, values, found.astype(np.int64))


@pytest.mark.parametrize("seed", range(6))
def test_passing_over_ordered_values_gives_what_walking_along_them_gives(seed):
    total, histogram = many_values(seed)
    part = TCloseness(0.08, "d", distance="ordered")
    names = tuple(f"{v:02d}" for v in range(90))
    rule = rules.rule_of(part, names, None)
    against = (rules.reference(rule, total), rules.widen(rule, total, 5))
    scratch = np.zeros(90, dtype=np.int64)
    for c in range(30):
        begin, end = histogram.starts[c : c + 2]
        values, found = histogram.values[begin:end], histogram.counts[begin:end]
        size = int(found.sum())
        walked = verdicts._walk(against[0], values, found, size, scratch)
        steps = int((total > 0).sum()) - 1
        excess = verdicts.measure_excess(rule, against[0], histogram, c, size, scratch)
        assert excess == pytest.approx(walked / steps - rule.bound, abs=1e-12)
        for kept in (size, size * 0.7, 1.0):
            line = removal._ordered_line(against[1], values, found, size, kept, scratch)
            start = (against[1].occurring - 1) * against[1].distance
            long = removal._ordered_walk(against[1], values, found, size, kept, scratch, 0.0, start)
            # at a corner of G two lines are right; they meet there
            assert line[0] + line[1] * kept == pytest.approx(long[0] + long[1] * kept, abs=1e-9)


def test_bounding_ends_when_more_than_the_room_is_removed():
    total, histogram = many_values(1)
    rule = rules.rule_of(TCloseness(0.01, "d"), tuple(f"{v:02d}" for v in range(90)), None)
    against = (rules.reference(rule, total), rules.widen(rule, total, 5))
    sizes = np.add.reduceat(histogram.counts, histogram.starts[:-1])
    removed, fails = np.zeros(30, dtype=np.int64), np.zeros(30, dtype=np.bool_)
    slack = np.full(30, -np.inf)
    risen = removal.bound_classes(rule, against, histogram, sizes, fails, removed, slack, 1, 20)
    assert 20 < risen == removed.sum() < sizes.sum()
    assert not fails.all()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(total=counts, limit=st.integers(0, 4))
def test_whatever_is_left_out_the_reference_stays_within_the_widened_one(total, limit):
    if sum(total) <= limit:
        return
    part = TCloseness(0.1, "d", distance="ordered")
    widened = rules.widen(rules.rule_of(part, VALUES, TREE), np.array(total, np.int64), limit)
    least, most = widened.line[0, :-1], widened.line[3, :-1]
    for less in itertools.product(*(range(min(t, limit) + 1) for t in total)):
        if sum(less) > limit:
            continue
        left = np.array(total) - np.array(less)
        shares = left / left.sum()
        assert (shares <= widened.shares + 1e-12).all()
        assert (least - 1e-12 <= np.cumsum(shares)).all()
        assert (np.cumsum(shares) <= most + 1e-12).all()
        assert (left > 0)[widened.stays].all()
