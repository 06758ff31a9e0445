"""The smallest class that can hold, against brute force over all classes of that size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure
from sfumato.anonymize.tables.algorithms.full_domain.rules import rule_of, widen
from sfumato.anonymize.tables.algorithms.full_domain.smallest import smallest_class
from sfumato.data.hierarchies.hierarchy import Hierarchy

VALUES = ("flu", "cold", "ulcer")
TREE = Hierarchy.from_rows([("flu", "mild", "*"), ("cold", "mild", "*"), ("ulcer", "grave", "*")])
PARTS = (
    TCloseness(0.15, "d"),
    TCloseness(0.3, "d"),
    TCloseness(0.05, "d", distance="kl"),
    TCloseness(0.05, "d", distance="ordered"),
    TCloseness(0.2, "d", distance="ordered"),
    TCloseness(0.1, "d", distance="hierarchical"),
    BetaLikeness(0.4, "d"),
    BetaLikeness(0.3, "d", enhanced=False),
    DeltaDisclosure(0.4, "d"),
)


def holding(part, vectors, total):
    table = np.array(vectors, dtype=np.int64).reshape(-1, 3)
    view = SensitiveHistogram(table, np.array(total, dtype=np.int64), VALUES, TREE)
    return part.judge(Classes(table.sum(axis=1), {"d": view}))


def smallest_that_holds(part, total, limit):
    """Return the size of the smallest class that holds in a table with few records less."""
    best = sum(total) + 1
    for less in itertools.product(*(range(min(t, limit) + 1) for t in total)):
        left = [t - x for t, x in zip(total, less, strict=True)]
        if sum(less) > limit or not sum(left):
            continue
        classes = [c for c in itertools.product(*(range(x + 1) for x in left)) if 0 < sum(c) < best]
        held = holding(part, classes, left) if classes else ()
        best = min([best, *(sum(c) for c, ok in zip(classes, held, strict=True) if ok)])
    return best


@pytest.mark.parametrize("part", PARTS, ids=str)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(total=st.tuples(*[st.integers(0, 7)] * 3), limit=st.integers(0, 3))
def test_no_smaller_class_holds(part, total, limit):
    if not sum(total):
        return
    rule = rule_of(part, VALUES, TREE)
    bound = smallest_class(rule, widen(rule, np.array(total, dtype=np.int64), limit))
    assert 1 <= bound <= smallest_that_holds(part, total, limit)


@pytest.mark.parametrize(
    ("part", "total", "smallest"),
    [
        (TCloseness(0.1, "d"), (40, 40, 20), 5),  # 2, 2, 1; of four records none are so close
        (TCloseness(0.2, "d"), (40, 40, 20), 2),
        (TCloseness(0.1, "d", distance="ordered"), (50, 0, 50), 2),
        (BetaLikeness(0.1, "d", enhanced=False), (40, 40, 20), 5),
        (DeltaDisclosure(0.4, "d"), (40, 40, 20), 3),
    ],
    ids=str,
)
def test_bounds_are_as_sharp_as_the_definition(part, total, smallest):
    rule = rule_of(part, VALUES, TREE)
    assert smallest_class(rule, widen(rule, np.array(total), 0)) == smallest
    if not isinstance(part, DeltaDisclosure):
        assert smallest_that_holds(part, total, 0) == smallest
