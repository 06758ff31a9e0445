"""Mondrian: where it cuts, what it shares, what it releases."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hangs import usually

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.loss.measures import losses
from sfumato.anonymize.tables.algorithms.top_down.mondrian import partition
from sfumato.anonymize.tables.algorithms.top_down.specialization import specialize
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable


def problem_of(quasi, hierarchies, definition, counts=None, sensitive=None, **more):
    quasi = np.array(quasi, dtype=np.int32)
    if counts is None:
        counts = np.ones(len(quasi), dtype=np.int64)
    names = ("s",) if sensitive is not None else ()
    column = np.array(sensitive or [[]] * len(quasi), dtype=np.int32).reshape(len(quasi), -1)
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(quasi.shape[1])), names, quasi, column,
        np.array(counts, dtype=np.int64), (("x", "y"),) if names else (),
    )  # fmt: skip
    share = 1 / len(hierarchies)
    return Problem(
        table, tuple(hierarchies), definition,
        costs=tuple(h.loss * share for h in hierarchies),
        suppressed=tuple(np.full(h.size, share) for h in hierarchies), **more,
    )  # fmt: skip


def shown(problem, recoding):
    """Return the labels of each class and its records, as a set."""
    found = set()
    for c in range(recoding.classes):
        labels = []
        for a, h in enumerate(problem.hierarchies):
            level, low, high = recoding.level[c, a], recoding.low[c, a], recoding.high[c, a]
            labels.append(f"{low}-{high}" if level < 0 else h.rows()[low][level])
        found.add((*labels, int(recoding.count[recoding.class_ == c].sum())))
    return found


JOB = Hierarchy.from_rows(
    [
        ("Engineer", "Professional", "*"),
        ("Lawyer", "Professional", "*"),
        ("Writer", "Artist", "*"),
        ("Dancer", "Artist", "*"),
    ]
)
SEX = Hierarchy.from_rows([("Male", "*"), ("Female", "*")])
AGE = Hierarchy.from_rows(
    [(str(a), "[30,35)" if a < 35 else "[35,40)", "[30,40)", "*") for a in range(30, 40)]
)
LINE = Hierarchy.from_rows([(str(i), "*") for i in range(8)], ordered=True)
JOBS = [[0, 0, 5], [0, 0, 8], [1, 0, 8], [2, 1, 0], [3, 1, 0]]


@pytest.mark.parametrize("run", [partition, specialize])
def test_jobs_become_professionals_and_artists(run):
    problem = problem_of(JOBS, (JOB, SEX, AGE), KAnonymity(3), counts=[1, 1, 1, 2, 2])
    assert shown(problem, run(problem)) == {
        ("Professional", "Male", "[35,40)", 3),
        ("Artist", "Female", "30", 4),
    }


def test_an_ordered_attribute_is_cut_at_its_median_into_ranges():
    problem = problem_of(np.arange(8)[:, None], (LINE,), KAnonymity(2))
    recoding = partition(problem)
    assert shown(problem, recoding) == {("0-1", 2), ("2-3", 2), ("4-5", 2), ("6-7", 2)}
    assert recoding.record.facts["loss"] == pytest.approx(1 / 7)
    assert shown(problem, partition(problem, ranges=False)) == {("*", 8)}


def test_a_range_of_one_leaf_is_that_leaf():
    problem = problem_of([[3], [6]], (LINE,), KAnonymity(4), counts=[4, 5])
    assert shown(problem, partition(problem)) == {("3", 4), ("6", 5)}


def test_relaxed_divides_the_records_at_the_cut():
    problem = problem_of([[1], [2], [3]], (LINE,), KAnonymity(5), counts=[3, 4, 3])
    assert shown(problem, partition(problem)) == {("1-3", 10)}
    relaxed = partition(problem, strict=False)
    assert shown(problem, relaxed) == {("1-2", 5), ("2-3", 5)}
    assert sorted(relaxed.count[relaxed.tuple_ == 1]) == [2, 2]


def test_relaxed_fills_up_a_small_remainder():
    letters = Hierarchy.from_rows([("a", "*"), ("b", "*")])
    problem = problem_of([[0], [1]], (letters,), KAnonymity(3), counts=[10, 1])
    assert shown(problem, partition(problem)) == {("*", 11)}
    assert shown(problem, partition(problem, strict=False)) == {("a", 8), ("*", 3)}


def test_small_children_stay_together_as_a_remainder():
    letters = Hierarchy.from_rows([(x, "*") for x in "abcd"])
    problem = problem_of([[0], [1], [2], [3]], (letters,), KAnonymity(3), counts=[5, 4, 2, 1])
    assert shown(problem, partition(problem)) == {("a", 5), ("b", 4), ("*", 3)}


def test_another_attribute_is_tried_where_the_best_cut_breaks_closeness():
    # The first attribute tells the sensitive value, the second does not.
    quasi = [[i, j] for i in range(4) for j in range(4)]
    sensitive = [[int(i >= 2)] for i, _ in quasi]
    wide = Hierarchy.from_rows([(str(i), f"{i // 2}", "*") for i in range(4)])
    problem = problem_of(
        quasi, (wide, wide), KAnonymity(2) & TCloseness(0.1, "s"), sensitive=sensitive
    )
    recoding = partition(problem)
    assert recoding.classes > 2
    for c in range(recoding.classes):
        members = recoding.tuple_[recoding.class_ == c]
        assert np.mean([sensitive[i][0] for i in members]) == 0.5


def test_failing_parts_are_put_together_before_a_cut_is_given_up():
    # Children a and b hold alone; c and d hold only together.
    letters = Hierarchy.from_rows([(x, "*") for x in "abcd"])
    quasi = [[i] for i in (0, 0, 1, 1, 2, 3)]
    sensitive = [[0], [1], [0], [1], [0], [1]]
    problem = problem_of(
        quasi, (letters,), KAnonymity(2) & TCloseness(0.1, "s"), counts=[2] * 6, sensitive=sensitive
    )
    assert shown(problem, partition(problem)) == {("a", 4), ("b", 4), ("*", 4)}


def test_the_loss_in_the_record_is_the_loss_of_the_recoding():
    rng = np.random.default_rng(3)
    quasi = np.unique(rng.integers(0, 8, (80, 2)), axis=0)
    tree = Hierarchy.from_rows([(str(i), f"{i // 2}h", "*") for i in range(8)])
    problem = problem_of(quasi, (LINE, tree), KAnonymity(4))
    recoding = partition(problem)
    total = 0.0
    for i, c in zip(recoding.tuple_, recoding.class_, strict=True):
        total += (recoding.high[c, 0] - recoding.low[c, 0]) / 7 / 2
        total += tree.loss[quasi[i, 1], recoding.level[c, 1]] / 2
    assert (recoding.level[:, 0] < 0).any()
    assert recoding.record.facts["loss"] == pytest.approx(total / problem.rows)
    measured = losses(problem.table, problem.hierarchies, recoding, (1.0, 1.0))
    assert measured["LM"] == pytest.approx(total / problem.rows)


def adult():
    home = Path(__file__).resolve().parents[5] / "bench" / "adult.py"
    spec = importlib.util.spec_from_file_location("adult", home)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.FOLDER.exists():
        pytest.skip(f"the Adult data is not in {module.FOLDER}; nothing was measured")
    return module


@pytest.mark.real_data
@pytest.mark.parametrize(("strict", "limit"), [(True, 0.0685), (False, 0.0585)])
def test_adult(strict, limit):
    problem = adult().problem(KAnonymity(5))
    partition(problem, strict=strict)
    with usually(0.1):
        recoding = partition(problem, strict=strict)
    assert recoding.record.facts["loss"] <= limit
    assert np.bincount(recoding.class_, weights=recoding.count).min() >= 5
