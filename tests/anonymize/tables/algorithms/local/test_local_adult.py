"""Local recoding on real data reaches the loss it promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import DistinctLDiversity
from sfumato.anonymize.tables.algorithms.local.local import recode

BENCH = Path(__file__).resolve().parents[5] / "bench" / "adult.py"
spec = importlib.util.spec_from_file_location("bench_adult", BENCH)
adult = importlib.util.module_from_spec(spec)
spec.loader.exec_module(adult)

WITH_SALARY = tuple("salary-class" if name == "occupation" else name for name in adult.QUASI)


@pytest.mark.real_data
@pytest.mark.skipif(not adult.FOLDER.exists(), reason=f"real data is absent: {adult.FOLDER}")
@pytest.mark.parametrize(
    ("definition", "quasi", "limit"),
    [
        (KAnonymity(5), adult.QUASI, 0.0485),
        pytest.param(
            KAnonymity(5) & DistinctLDiversity(2, "salary-class"),
            adult.QUASI,
            0.120,
            marks=pytest.mark.scale,
        ),
        pytest.param(
            KAnonymity(5) & TCloseness(0.2, "salary-class"),
            adult.QUASI,
            0.230,
            marks=pytest.mark.scale,
        ),
        pytest.param(
            KAnonymity(5) & DistinctLDiversity(5, "occupation"),
            WITH_SALARY,
            0.0500,
            marks=pytest.mark.scale,
        ),
    ],
    ids=lambda value: str(value) if hasattr(value, "judge") else None,
)
@pytest.mark.slow("30,162 records")
def test_adult_loss(definition, quasi, limit):
    problem = adult.problem(definition, quasi=quasi)
    recoding = recode(problem)
    table = problem.table
    placed = np.bincount(recoding.tuple_, weights=recoding.count, minlength=table.distinct)
    assert np.array_equal(placed, table.counts)
    assert recoding.class_.min() >= 0, "nothing suppressed"
    assert definition.judge(
        problem.classes(
            recoding.class_, recoding.classes, tuples=recoding.tuple_, counts=recoding.count
        )
    ).all()
    total = 0.0
    for a, h in enumerate(problem.hierarchies):
        leaf = table.quasi[recoding.tuple_, a]
        level = recoding.level[recoding.class_, a]
        released = h.levels[recoding.low[recoding.class_, a], level]
        assert np.array_equal(h.levels[leaf, level], released), "each record lies below its class"
        total += float((problem.costs[a][leaf, level] * recoding.count).sum())
    assert total / problem.rows <= limit
