"""Why a release is as coarse as it is: every figure against plain Python over the records."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymize.run import anonymize
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.recoding import FullDomain, Local, SearchRecord
from sfumato.report.tables.lattice_view import lattice_view
from sfumato.report.tables.local_reasons import LocalClasses, class_examples, local_reasons
from sfumato.report.tables.reasons import node_loss, steps_down

TREES = {
    "city": [("Pisa", "north", "*"), ("Pavia", "north", "*"), ("Bari", "south", "*"),
             ("Lecce", "south", "*")],
    "age": [("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*")],
}  # fmt: skip
SCHEMA = sf.Schema(
    quasi={name: sf.Hierarchy.from_rows(rows) for name, rows in TREES.items()}, sensitive=["ill"]
)
ANCESTORS = {name: {row[0]: row for row in rows} for name, rows in TREES.items()}

people = st.lists(
    st.tuples(
        st.sampled_from(["Pisa", "Pavia", "Bari", "Lecce"]),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from(["flu", "acne"]),
    ),
    min_size=6,
    max_size=40,
)


def columns(rows):
    return {n: np.array(c, dtype=object) for n, c in zip(("city", "age", "ill"), zip(*rows, strict=True), strict=True)}  # fmt: skip  # noqa: E501


def failing(rows, levels, k, diverse):
    """Return the classes that break k-anonymity, or 2-diversity where asked, as sets of rows."""
    classes = defaultdict(list)
    for i, (city, age, ill) in enumerate(rows):
        key = (ANCESTORS["city"][city][levels[0]], ANCESTORS["age"][age][levels[1]])
        classes[key].append((i, ill))
    return {
        key: [i for i, _ in members]
        for key, members in classes.items()
        if len(members) < k or (diverse and len({ill for _, ill in members}) < 2)
    }


@given(people, st.integers(2, 4), st.booleans(), st.sampled_from([0.0, 0.2]))
@settings(max_examples=30, deadline=None)
def test_one_level_lower_puts_so_many_records_into_failing_classes(rows, k, diverse, share):
    promise = sf.KAnonymity(k) & sf.DistinctLDiversity(2, "ill") if diverse else sf.KAnonymity(k)
    try:
        release = anonymize(columns(rows), promise, schema=SCHEMA, suppression=share)
    except sf.errors.Unsatisfiable:
        return
    problem, recoding = release.decision.problem, release.decision.recoding
    gone = {i for members in failing(rows, recoding.levels, k, diverse).values() for i in members}
    assert len(gone) == release.suppressed
    for a, step in enumerate(steps_down(problem, recoding)):
        assert step.level == recoding.levels[a]
        if recoding.levels[a] == 0:
            assert step.outcome == "kept"
            continue
        lower = tuple(level - (b == a) for b, level in enumerate(recoding.levels))
        broken = failing(rows, lower, k, diverse)
        lost = [i for members in broken.values() for i in members]
        assert step.failing == len(lost)
        if step.outcome == "fails":
            assert len(lost) > problem.suppression_limit or len(lost) == len(rows)
            hit = Counter(released_class(rows[i], recoding.levels) for i in lost if i not in gone)
            assert step.classes_broken == len(hit)
            if step.example is not None:
                cells = tuple(text for _, text in step.example.cells)
                assert step.example.failing == hit[cells] == max(hit.values())
        else:
            assert len(lost) <= problem.suppression_limit
            assert step.outcome == "dearer"  # the release is optimal


def released_class(row, levels):
    return ANCESTORS["city"][row[0]][levels[0]], ANCESTORS["age"][row[1]][levels[1]]


def test_each_part_of_a_promise_is_charged_on_its_own(by_levels):
    problem, recoding = by_levels.decision.problem, by_levels.decision.recoding
    for a, step in enumerate(steps_down(problem, recoding)):
        if step.outcome != "fails":
            continue
        lower = tuple(level - (b == a) for b, level in enumerate(recoding.levels))
        for part, (name, records) in zip(problem.definition.parts, step.by_part, strict=True):
            alone = Evaluator(replace(problem, definition=part)).evaluate(lower)
            assert (name, records) == (str(part), alone.suppressed)
            assert records <= step.failing


def test_a_heuristic_that_left_something_lying_is_told_so():
    rows = [("Pisa", "1", "flu")] * 5 + [("Bari", "3", "acne")] * 5
    problem = anonymize(columns(rows), sf.KAnonymity(5), schema=SCHEMA).decision.problem
    lazy = FullDomain((2, 2), np.zeros(problem.table.distinct, np.bool_), SearchRecord("lazy"))
    for step in steps_down(problem, lazy):
        assert step.outcome == "cheaper"
        assert "does not take it" in step.sentence


@pytest.mark.parametrize("objective", ["LM", "MD", "NUE", "DM", "AECS"])
def test_the_loss_of_a_node_is_the_loss_of_its_release(objective, patients):
    release = anonymize(
        patients.columns, sf.KAnonymity(4), schema=patients.schema, suppression=0.03,
        objective=objective,
    )  # fmt: skip
    problem = release.decision.problem
    found = Evaluator(problem).evaluate(release.decision.recoding.levels)
    assert node_loss(problem, found) == pytest.approx(release.loss[objective])


# -- the lattice -------------------------------------------------------------------------


def test_a_small_lattice_shows_every_node_with_its_verdict():
    generator = np.random.default_rng(4)
    rows = [
        (TREES["city"][generator.integers(4)][0], TREES["age"][generator.integers(3)][0], "flu")
        for _ in range(30)
    ]
    release = anonymize(columns(rows), sf.KAnonymity(3), schema=SCHEMA, suppression=0.1)
    view = lattice_view(release.decision.problem, release.decision.recoding)
    assert view.whole
    verdicts = {dot.node: dot.tone for dot in view.dots}
    for node in product(range(3), range(3)):
        lost = sum(len(members) for members in failing(rows, node, 3, diverse=False).values())
        holds = lost <= 3
        chosen = node == release.decision.recoding.levels
        assert verdicts[node] == ("chosen" if chosen else "holds" if holds else "fails")
    assert sum(layer.nodes for layer in view.layers) == 9
    held = sum(tone != "fails" for tone in verdicts.values())
    assert sum(layer.holds for layer in view.layers) == held


def test_of_a_large_lattice_the_neighbours_are_shown(by_levels):
    problem, recoding = by_levels.decision.problem, by_levels.decision.recoding
    view = lattice_view(problem, recoding)
    assert not view.whole
    assert view.nodes == 6 * 6 * 2 * 3 * 3
    for dot in view.dots:
        apart = [abs(x - y) for x, y in zip(dot.node, recoding.levels, strict=True)]
        assert sum(apart) == (0 if dot.tone == "chosen" else 1)
    assert {dot.text for dot in view.dots} >= {"chosen", "sex +1"}


# -- local recodings ---------------------------------------------------------------------


@given(people, st.integers(2, 4), st.sampled_from(["local", "cluster", "mondrian"]))
@settings(max_examples=25, deadline=None)
def test_a_class_is_forced_when_one_step_finer_leaves_too_few(rows, k, algorithm):
    release = anonymize(columns(rows), sf.KAnonymity(k), schema=SCHEMA, algorithm=algorithm)
    problem, recoding = release.decision.problem, release.decision.recoding
    if isinstance(recoding, FullDomain):
        return
    members = defaultdict(Counter)
    for tuple_, class_, records in zip(
        recoding.tuple_, recoding.class_, recoding.count, strict=True
    ):
        if class_ >= 0:
            shown = tuple(
                h.label(int(recoding.low[class_, a]), int(recoding.level[class_, a]))
                for a, h in enumerate(problem.hierarchies)
            )
            cells = tuple(
                h.leaves[problem.table.quasi[tuple_, a]] for a, h in enumerate(problem.hierarchies)
            )
            members[shown][cells] += int(records)
    for a, reason in enumerate(local_reasons(LocalClasses(problem, recoding))):
        tree = ANCESTORS[reason.attribute]
        generalized = {shown for shown in members if shown[a] not in tree}
        forced = 0
        for shown in generalized:
            level = next(v for v in (1, 2) if any(row[v] == shown[a] for row in tree.values()))
            parts = Counter()
            for cells, records in members[shown].items():
                parts[tree[cells[a]][level - 1]] += records
            forced += min(parts.values()) < k
        assert (reason.generalized, reason.forced) == (len(generalized), forced)
        assert sum(use.records for use in reason.uses) == len(rows) - release.suppressed
        assert sum(use.classes for use in reason.uses) == len(members)


def test_a_class_that_could_be_split_is_not_called_forced():
    rows = [(city, "1", "flu") for city in ("Pisa", "Pavia", "Bari", "Lecce") for _ in range(2)]
    problem = anonymize(columns(rows), sf.KAnonymity(3), schema=SCHEMA).decision.problem
    n = problem.table.distinct
    top = np.array([[2, 0]])  # everybody in one class: city *, age 1
    lazy = Local(
        np.arange(n), np.zeros(n, np.int64), problem.table.counts, top,
        problem.table.quasi[:1].astype(np.int64), problem.table.quasi[:1].astype(np.int64),
        SearchRecord("lazy"),
    )  # fmt: skip
    city, age = local_reasons(LocalClasses(problem, lazy))
    # North and south have four each, which is enough; single cities would have two.
    assert (city.generalized, city.forced) == (1, 0)
    assert "in 1 it would not" in city.sentence
    assert (age.generalized, age.forced) == (0, 0)


def test_ranges_are_cut_in_half_and_shown_as_released(patients):
    release = anonymize(
        patients.columns, sf.KAnonymity(6), schema=patients.schema, algorithm="mondrian"
    )
    classes = LocalClasses(release.decision.problem, release.decision.recoding)
    shown = set(release.rows.frame("pandas")["age"].astype(str))
    assert {classes.text(c, 0) for c in range(classes.n) if classes.sizes[c]} == shown
    assert any(text.startswith("[") for text in shown)
    reason = local_reasons(classes)[0]
    ages = classes.problem.hierarchies[0].leaves
    forced = 0
    for c in np.flatnonzero(classes.level[:, 0] == -1):
        mine = classes.group == c
        low, high = int(classes.low[c, 0]), int(classes.high[c, 0])
        first = [ages[i] for i in range(low, high + 1)][: (high - low) // 2 + 1]
        leaves = [ages[i] for i in classes.problem.table.quasi[classes.tuples[mine], 0]]
        below = sum(
            n for leaf, n in zip(leaves, classes.counts[mine], strict=True) if leaf in first
        )
        parts = [below, int(classes.sizes[c]) - below]
        forced += any(0 < part < 6 for part in parts)
    assert reason.forced == forced


def test_examples_show_values_that_belong_together(by_classes):
    classes = LocalClasses(by_classes.decision.problem, by_classes.decision.recoding)
    examples = class_examples(classes)
    assert 1 <= len(examples) <= 3
    smallest = [e for e in examples if e.what == "the smallest class"]
    for example in smallest:
        assert example.records == classes.sizes.min()
    for example in examples:
        assert [name for name, _, _ in example.cells] == list(by_classes.schema.quasi_names)
        for _, text, values in example.cells:
            assert (values == "all alike") or text not in values.split(", ")


def test_a_promise_about_a_population_is_not_judged_class_by_class(patients):
    release = anonymize(
        patients.columns, sf.KAnonymity(3) & sf.KAnonymity(6, on=("age", "sex")),
        schema=patients.schema, algorithm="local",
    )  # fmt: skip
    classes = LocalClasses(release.decision.problem, release.decision.recoding)
    assert all(reason.forced is None for reason in local_reasons(classes))
