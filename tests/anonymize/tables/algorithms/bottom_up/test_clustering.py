"""Clustering: near the optimum on tiny tables, better than k-member on Adult."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.diversity import DistinctLDiversity
from sfumato.anonymize.tables.algorithms.bottom_up.clustering import LARGE, cluster
from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Shares
from sfumato.anonymize.tables.algorithms.bottom_up.move import improve
from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
from sfumato.anonymize.tables.algorithms.encoding import Encoding
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable

TREE = Hierarchy.from_rows([(str(i), f"{i // 2}h", f"{i // 4}q", "*") for i in range(8)])
FLAT = Hierarchy.from_rows([("a", "*"), ("b", "*"), ("c", "*")])


def problem_of(quasi, hierarchies, definition, counts=None, **more):
    quasi = np.array(quasi, dtype=np.int32)
    counts = np.ones(len(quasi), dtype=np.int64) if counts is None else np.array(counts)
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(quasi.shape[1])), (), quasi, quasi[:, :0], counts
    )
    share = 1 / len(hierarchies)
    return Problem(
        table, tuple(hierarchies), definition,
        costs=tuple(h.loss * share for h in hierarchies),
        suppressed=tuple(np.full(h.size, share) for h in hierarchies), **more,
    )  # fmt: skip


def partitions(n, k):
    """Yield all partitions of range(n) into blocks of at least k."""

    def grow(i, blocks):
        if i == n:
            if all(len(b) >= k for b in blocks):
                yield [list(b) for b in blocks]
            return
        for b in blocks:
            b.append(i)
            yield from grow(i + 1, blocks)
            b.pop()
        blocks.append([i])
        yield from grow(i + 1, blocks)
        blocks.pop()

    yield from grow(0, [])


def price(problem, block):
    """Return what the records of one class pay."""
    total = 0.0
    for a, h in enumerate(problem.hierarchies):
        leaves = problem.table.quasi[block, a]
        total += problem.costs[a][leaves, h.common_level(leaves)].sum()
    return total


def test_close_to_the_best_of_all_partitions_and_never_below_it():
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        quasi = np.column_stack([rng.permutation(8)[:7], rng.integers(0, 3, 7)])
        problem = problem_of(quasi, (TREE, FLAT), KAnonymity(2))
        best = min(sum(price(problem, b) for b in p) for p in partitions(7, 2)) / 7
        loss = cluster(problem).record.facts["loss"]
        assert loss >= best - 1e-12
        ratios.append(loss / best)
    assert np.mean(ratios) < 1.05
    assert np.median(ratios) == pytest.approx(1.0)


def test_a_large_class_lends_records_instead_of_being_coarsened():
    problem = problem_of([[0, 0], [1, 0]], (TREE, FLAT), KAnonymity(3), counts=[100, 1])
    recoding = cluster(problem)
    sizes = np.bincount(recoding.class_, weights=recoding.count)
    assert sorted(sizes) == [3, 98]
    assert recoding.record.facts["loss"] == pytest.approx(3 * (1 / 7) / 2 / 101)


def test_an_outlier_is_suppressed_where_that_costs_less():
    quasi = [[0, 0], [1, 0], [7, 2]]
    counts = [3, 3, 1]
    kept = cluster(problem_of(quasi, (TREE, FLAT), KAnonymity(3), counts))
    # Best: the outlier and two records of its neighbour pay 1, four others 1/14 each.
    assert kept.record.facts["loss"] == pytest.approx((3 + 4 / 14) / 7)
    spent = cluster(problem_of(quasi, (TREE, FLAT), KAnonymity(3), counts, suppression_limit=1))
    assert list(spent.tuple_[spent.class_ < 0]) == [2]
    assert spent.record.facts["loss"] == pytest.approx(1 / 7)


def test_moving_never_raises_the_loss_and_mends_a_bad_beginning():
    rng = np.random.default_rng(8)
    quasi = np.unique(np.column_stack([rng.integers(0, 8, 60), rng.integers(0, 8, 60)]), axis=0)
    problem = problem_of(quasi, (TREE, TREE), KAnonymity(3))
    encoding = Encoding.of(problem)
    judge = Judge(problem, encoding)
    n = len(quasi)
    blocks = np.arange(n) % (n // 4)
    bad = Shares(np.arange(n), blocks, problem.table.counts)
    better = improve(bad, judge)

    def total(shares):
        return sum(
            price(problem, np.repeat(shares.tuple_[here], shares.count[here]))
            for here in (shares.class_ == c for c in np.unique(shares.class_))
        )

    assert total(better) < 0.7 * total(bad)
    assert np.bincount(better.class_, weights=better.count).min() >= 3
    assert (np.bincount(better.tuple_, weights=better.count) == 1).all()


def test_large_tables_begin_with_a_partition():
    rng = np.random.default_rng(2)
    wide = Hierarchy.from_rows([(str(i), f"{i // 5}", f"{i // 25}q", "*") for i in range(300)])
    quasi = np.unique(rng.integers(0, 300, (LARGE + 8_000, 2)), axis=0)
    assert len(quasi) < LARGE  # duplicates: grown
    more = np.column_stack([np.arange(LARGE + 1) % 300, np.arange(LARGE + 1) // 300])
    problem = problem_of(more, (wide, wide), KAnonymity(5))
    recoding = cluster(problem)
    assert np.bincount(recoding.class_, weights=recoding.count).min() >= 5
    assert recoding.record.facts["loss"] < 0.01


def adult():
    home = Path(__file__).resolve().parents[5] / "bench" / "adult.py"
    spec = importlib.util.spec_from_file_location("adult", home)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.FOLDER.exists():
        pytest.skip(f"the Adult data is not in {module.FOLDER}; nothing was measured")
    return module


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("definition", "limit"),
    [
        (KAnonymity(5), 0.0525),
        pytest.param(
            KAnonymity(5) & DistinctLDiversity(2, "salary-class"), 0.105, marks=pytest.mark.scale
        ),
        pytest.param(
            KAnonymity(5) & TCloseness(0.2, "salary-class"), 0.30, marks=pytest.mark.scale
        ),
    ],
    ids=str,
)
@pytest.mark.slow("30,162 records")
def test_adult(definition, limit):
    problem = adult().problem(definition)
    recoding = cluster(problem)
    assert recoding.record.facts["loss"] <= limit
    assert np.bincount(recoding.class_, weights=recoding.count).min() >= 5
    assert recoding.count.sum() == 30_162
