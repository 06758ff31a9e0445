"""The heuristic search of the lattice, against enumeration of every node."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from chance import rounds
from hangs import usually
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.closeness import TCloseness
from sfumato.anonymize.definitions.definition import Definition
from sfumato.anonymize.definitions.diversity import DistinctLDiversity, EntropyLDiversity
from sfumato.anonymize.tables.algorithms.full_domain import lattice
from sfumato.anonymize.tables.algorithms.full_domain.beam import beam_search
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.problem import Problem
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import ParameterError, Unsatisfiable

ADULT = Path(__file__).resolve().parents[6] / "shared" / "data" / "adult"
FOUR = Hierarchy.from_rows([(f"v{i}", f"pair{i // 2}", f"four{i // 4}", "*") for i in range(8)])
TREES = (
    FOUR,
    Hierarchy.from_rows([(f"{i}", f"{i // 3}x", "*") for i in range(9)]),
    Hierarchy.flat(["a", "b", "c"]),
    Hierarchy.from_rows([("p", "p", "*"), ("q", "Q", "*"), ("r", "Q", "*")]),
)
DEFINITIONS = (
    KAnonymity(3),
    KAnonymity(2) & DistinctLDiversity(2, "illness"),
    EntropyLDiversity(2, "illness"),
    KAnonymity(2) & TCloseness(0.4, "illness"),
)


def problem_of(records, definition, *, trees=TREES, limit=0, objective="LM"):
    rows = np.array(records, dtype=np.int32).reshape(len(records), -1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    d = len(trees)
    with_illness = distinct.shape[1] > d
    table = FrequencyTable(
        tuple(f"q{a}" for a in range(d)),
        ("illness",) if with_illness else (),
        np.ascontiguousarray(distinct[:, :d]),
        np.ascontiguousarray(distinct[:, d:]),
        counts.astype(np.int64),
        (("flu", "cold", "ulcer"),) if with_illness else (),
    )
    return Problem(
        table,
        tuple(trees),
        definition,
        costs=tuple(h.loss / d for h in trees),
        suppressed=tuple(np.full(h.size, 1 / d) for h in trees),
        suppression_limit=limit,
        objective=objective,
    )


def enumerated(problem):
    """Return the loss of every node that keeps the promise, by evaluating all of them."""
    evaluator = Evaluator(problem)
    table, n = problem.table, problem.rows
    losses = {}
    for node in itertools.product(*(range(h.height) for h in problem.hierarchies)):
        suppressed = evaluator.suppressed_tuples(node)
        gone = int(table.counts[suppressed].sum())
        if gone > problem.suppression_limit or suppressed.all():
            continue
        if problem.objective == "LM":
            cost = np.zeros(table.distinct)
            for a, level in enumerate(node):
                shown = problem.costs[a][table.quasi[:, a], level]
                cost += np.where(suppressed, problem.suppressed[a][table.quasi[:, a]], shown)
            losses[node] = float(cost @ table.counts) / n
        else:
            labels = np.stack(
                [h.levels[table.quasi[:, a], node[a]] for a, h in enumerate(problem.hierarchies)],
                axis=1,
            )[~suppressed]
            _, inverse = np.unique(labels, axis=0, return_inverse=True)
            sizes = np.bincount(inverse.reshape(-1), weights=table.counts[~suppressed])
            losses[node] = (float((sizes**2).sum()) + gone * n) / n**2
    return losses


records = st.lists(
    st.tuples(*(st.integers(0, h.size - 1) for h in TREES), st.integers(0, 2)),
    min_size=4,
    max_size=60,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    records, st.sampled_from(DEFINITIONS), st.sampled_from([0, 2, 8]), st.sampled_from(["LM", "DM"])
)
def test_what_it_returns_holds_and_is_priced_right(rows, definition, limit, objective):
    problem = problem_of(rows, definition, limit=min(limit, len(rows) - 1), objective=objective)
    every = enumerated(problem)
    if not every:
        with pytest.raises(Unsatisfiable):
            beam_search(problem)
        return
    found = beam_search(problem)
    assert found.levels in every
    assert found.record.facts["loss"] == pytest.approx(every[found.levels], abs=1e-9)
    assert not found.record.proven_optimal
    gone = int(problem.table.counts[found.suppressed].sum())
    assert gone <= problem.suppression_limit


@rounds(20, 45)
def test_it_nearly_always_finds_the_optimum_of_small_lattices(rounds):
    """108 nodes: the search must not cost more than 2 % anywhere, and nothing nearly always."""
    generator = np.random.default_rng(5)
    missed = 0
    for trial in range(rounds):
        n = int(generator.integers(20, 200))
        rows = np.stack([generator.integers(0, h.size, n) ** 2 % h.size for h in TREES], axis=1)
        rows = np.column_stack([rows, generator.integers(0, 3, n)])
        limit = (0, n // 20, n // 5)[trial % 3]
        problem = problem_of(rows, DEFINITIONS[trial % len(DEFINITIONS)], limit=limit)
        every = enumerated(problem)
        if not every:
            continue
        best = min(every.values())
        loss = beam_search(problem).record.facts["loss"]
        assert loss <= best * 1.02 + 1e-12
        missed += loss > best + 1e-9
    assert missed <= rounds // 20


class OddSizes(Definition):
    """A class holds when its size is odd: as far from monotone as a definition can be."""

    def judge(self, classes):
        return classes.sizes % 2 == 1


def test_a_definition_that_fails_at_the_root_can_hold_below():
    rows = [(i % 8, i % 9, i % 3, i % 3) for i in (0, 1, 2, 4, 5, 6, 7, 7, 7, 7)]
    problem = problem_of(rows, OddSizes(), limit=0)
    every = enumerated(problem)
    assert (3, 2, 1, 2) not in every
    assert every
    assert beam_search(problem).record.facts["loss"] == pytest.approx(min(every.values()))


def wide(attributes, n=4_000, limit=0, definition=None):
    """A table whose attributes are noisy copies of three hidden ones."""
    generator = np.random.default_rng(1)
    hidden = generator.integers(0, 8, (n, 3))
    columns = []
    for a in range(attributes):
        column = hidden[:, a % 3].copy()
        noisy = generator.random(n) < 0.2
        column[noisy] = generator.integers(0, 8, int(noisy.sum()))
        columns.append(column)
    rows = np.stack(columns, axis=1)
    return problem_of(rows, definition or KAnonymity(5), trees=(FOUR,) * attributes, limit=limit)


@pytest.mark.parametrize("attributes", [15, 20])
def test_twenty_quasi_identifiers_take_seconds(attributes):
    problem = wide(attributes, limit=200)
    assert math.prod(problem.heights.tolist()) > lattice.LARGEST_LATTICE
    with usually(1.6):
        found = lattice.search(problem)
    assert found.record.label == "best found by a heuristic search; not proven optimal"
    assert found.record.facts["nodes"] == 4**attributes
    shown = np.stack(
        [FOUR.levels[problem.table.quasi[:, a], v] for a, v in enumerate(found.levels)], axis=1
    )
    kept = ~found.suppressed
    _, inverse = np.unique(shown[kept], axis=0, return_inverse=True)
    sizes = np.bincount(inverse.reshape(-1), weights=problem.table.counts[kept])
    assert sizes.min() >= 5
    assert problem.table.counts[found.suppressed].sum() <= 200
    assert found.record.facts["loss"] < 0.9


def test_a_wider_beam_is_no_worse_and_is_recorded():
    problem = wide(12)
    narrow, broad = (beam_search(problem, width=w).record.facts for w in (1, 32))
    assert broad["loss"] <= narrow["loss"] + 1e-12
    assert (narrow["width"], broad["width"]) == (1, 32)
    assert narrow["checked"] < broad["checked"]


def test_the_heuristic_can_be_asked_for():
    problem = problem_of([(0, 0, 0, 0)] * 9, KAnonymity(3))
    assert lattice.search(problem).record.proven_optimal
    for options in ({"heuristic": True}, {"width": 3}):
        found = lattice.search(problem, **options)
        assert found.record.algorithm == "beam"
        assert not found.record.proven_optimal
        assert found.record.facts["loss"] == 0


def test_the_time_limit_gives_the_best_found():
    found = beam_search(wide(15), time_limit=0.0)
    assert found.record.label == (
        "best found by a heuristic search that was stopped; not proven optimal"
    )
    assert found.levels == (3,) * 15
    assert found.record.facts["checked"] == 1


def test_an_interrupt_gives_the_best_found():
    losses = []

    def interrupting(share, loss, words):
        losses.append(loss)
        assert 0 <= share <= 1
        assert "nodes looked at" in words
        if len(losses) == 5:
            raise KeyboardInterrupt

    found = beam_search(wide(15), progress=interrupting)
    assert "stopped" in found.record.label
    assert found.record.facts["loss"] == losses[-1] < 1.0
    assert losses == sorted(losses, reverse=True)


def test_wrong_width():
    with pytest.raises(ParameterError, match="width must be a whole number"):
        beam_search(wide(3, n=50), width=0)


def test_nothing_holds():
    with pytest.raises(Unsatisfiable, match="No generalisation of 15 quasi-identifiers"):
        beam_search(wide(15, n=4))


@pytest.mark.real_data
@pytest.mark.skipif(not ADULT.is_dir(), reason="the Adult extract is not in ../shared/data")
@pytest.mark.parametrize(
    ("suppression", "optimum"), [(0.0, 0.6608417111699387), (0.05, 0.2617569590577846)]
)
def test_adult_within_two_per_cent(suppression, optimum):
    sys.path.insert(0, str(Path(__file__).resolve().parents[5] / "bench"))
    try:
        import adult
    finally:
        sys.path.pop(0)
    problem = adult.problem(KAnonymity(5), suppression=suppression)
    with usually(0.4):
        found = lattice.search(problem, heuristic=True)
    assert optimum - 1e-9 <= found.record.facts["loss"] <= optimum * 1.02
