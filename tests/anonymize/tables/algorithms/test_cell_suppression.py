"""Cell suppression: a cell is as it was, or `*`, and nothing between."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.tables.algorithms.cell_suppression import flatten, suppress_cells
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable

TREE = Hierarchy.from_rows([(str(i), f"{i // 2}h", f"{i // 4}q", "*") for i in range(8)])
ONE = Hierarchy.from_rows([("x",)])


def problem_of(quasi, hierarchies, k):
    quasi = np.array(quasi, dtype=np.int32)
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(quasi.shape[1])), (), quasi, quasi[:, :0],
        np.ones(len(quasi), dtype=np.int64),
    )  # fmt: skip
    share = 1 / len(hierarchies)
    return Problem(
        table, tuple(hierarchies), KAnonymity(k),
        costs=tuple(h.loss * share for h in hierarchies),
        suppressed=tuple(np.full(h.size, share) for h in hierarchies),
    )  # fmt: skip


def test_neighbours_in_the_tree_are_no_better_than_strangers():
    # 0 and 1 are siblings, but a suppressed cell costs the same whoever shares it.
    problem = problem_of([[0, 3], [1, 5], [7, 3], [6, 5]], (TREE, TREE), 2)
    recoding = suppress_cells(problem)
    assert set(np.unique(recoding.level)) == {0, 3}
    # The best: pair by the second attribute, keep it, and suppress the first cells.
    assert recoding.record.facts["loss"] == pytest.approx(0.5)
    assert (recoding.level == [3, 0]).all()
    assert recoding.record.algorithm == "cells"
    assert "heuristic" in recoding.record.label


def test_an_attribute_of_one_level_is_never_suppressed():
    problem = problem_of([[0, 0], [1, 0]], (TREE, ONE), 2)
    recoding = suppress_cells(problem)
    assert recoding.level.tolist() == [[3, 0]]


def test_flattening_keeps_the_price_of_the_root():
    problem = problem_of([[0, 0]], (TREE, ONE), 1)
    flat = flatten(problem)
    assert [h.height for h in flat.hierarchies] == [2, 1]
    assert flat.hierarchies[0].labels == (TREE.labels[0], ("*",))
    assert (flat.costs[0] == problem.costs[0][:, [0, 3]]).all()


@pytest.mark.real_data
@pytest.mark.slow("30,162 records")
def test_adult():
    home = Path(__file__).resolve().parents[4] / "bench" / "adult.py"
    spec = importlib.util.spec_from_file_location("adult", home)
    adult = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adult)
    if not adult.FOLDER.exists():
        pytest.skip(f"the Adult data is not in {adult.FOLDER}; nothing was measured")
    problem = adult.problem(KAnonymity(5))
    recoding = suppress_cells(problem)
    roots = problem.heights - 1
    assert ((recoding.level == 0) | (recoding.level == roots)).all()
    assert np.bincount(recoding.class_, weights=recoding.count).min() >= 5
    assert recoding.record.facts["loss"] <= 0.146
