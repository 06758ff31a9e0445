"""What the page says of classes, attributes and risk, against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymize.run import anonymize
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.audit.risk import reidentification_risk
from sfumato.promise import in_words
from sfumato.report.tables.attribute_changes import (
    MOST_BARS,
    attribute_changes,
    distribution,
    estimated_leaves,
    has_order,
)
from sfumato.report.tables.class_sizes import original_sizes, size_bins
from sfumato.report.tables.risk_change import risk_rows

sizes_of_classes = st.lists(st.integers(1, 30_000), min_size=1, max_size=60)


@given(sizes_of_classes)
@settings(max_examples=60, deadline=None)
def test_every_class_is_in_one_bin(sizes):
    array = np.array(sizes, dtype=np.int64)
    for bins in (size_bins(array), size_bins(array, start=min(sizes)), size_bins(array, last=100)):
        assert sum(b.classes for b in bins) == len(sizes)
        assert sum(b.records for b in bins) == sum(sizes)
        for b in bins:
            inside = [s for s in sizes if s >= b.low and (b.high is None or s <= b.high)]
            assert (b.classes, b.records) == (len(inside), sum(inside))


def test_a_few_sizes_get_a_bin_each_and_many_get_growing_ones():
    few = size_bins(np.array([5, 5, 6, 9]), start=5)
    assert [(b.label, b.classes) for b in few] == [
        ("5", 2), ("6", 1), ("7", 0), ("8", 0), ("9", 1)
    ]  # fmt: skip
    many = size_bins(np.array([1, 4, 70, 2_500_000]))
    assert [b.label for b in many][:5] == ["1", "2", "3–4", "5–9", "10–19"]
    assert [b.tick for b in many][-3:] == ["500k", "1M", "2M"]


def test_original_sizes_count_people_with_the_very_same_values(by_levels, patients):
    rows = zip(*(patients.columns[name] for name in patients.schema.quasi_names), strict=True)
    counted = Counter(rows)
    assert sorted(original_sizes(by_levels.decision.problem)) == sorted(counted.values())


def test_risk_before_and_after_on_classes_known_by_heart():
    before = reidentification_risk(np.array([1, 1, 3, 5]))
    after = reidentification_risk(np.array([5, 5]))
    rows = {row.name: (row.before, row.after) for row in risk_rows(before, after)}
    plain = {
        name.replace("\N{NO-BREAK SPACE}", " "): tuple(
            x.replace("\N{NO-BREAK SPACE}", " ") for x in pair
        )
        for name, pair in rows.items()
    }
    assert plain == {
        "highest risk": ("100 %", "20.0 %"),
        "average risk": ("40.0 %", "20.0 %"),
        "records above 20 % risk": ("50.0 %", "0 %"),
        "unique records": ("20.0 %", "0 %"),
        "marketer risk": ("40.0 %", "20.0 %"),
    }


# -- attributes --------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["by_levels", "by_classes"])
def test_bars_add_up_to_the_records_before_and_after(which, request):
    release = request.getfixturevalue(which)
    changes = attribute_changes(release.decision.problem, release.decision.recoding)
    assert [c.name for c in changes] == list(release.schema.quasi_names)
    for change in changes:
        assert sum(b.count for b in change.before.bars) == release.records
        assert sum(b.count for b in change.after.bars) == release.records - release.suppressed
        assert len(change.before.bars) <= MOST_BARS
        assert len(change.after.bars) <= MOST_BARS
        assert sum(b.share for b in change.after.bars) == pytest.approx(1)
        assert sum(b.estimate for b in change.before.bars if not b.rest) <= 1 + 1e-9


def test_released_labels_are_counted_as_the_released_table_shows_them(by_classes):
    table = by_classes.rows.frame("pandas")
    changes = attribute_changes(by_classes.decision.problem, by_classes.decision.recoding)
    for change in changes:
        shown = Counter(table[change.name].fillna("(missing)").astype(str))
        assert change.labels == len(shown)
        for one in change.after.bars:
            if not one.rest:
                assert one.count == shown[one.label]


def test_original_values_are_counted_on_a_level_that_needs_few_bars(by_levels, patients):
    changes = attribute_changes(by_levels.decision.problem, by_levels.decision.recoding)
    age = changes[0]
    by_five = Counter(int(a) // 5 * 5 for a in patients.columns["age"])
    expected = [(f"[{low},{low + 5})", n) for low, n in sorted(by_five.items())]
    assert [(b.label, b.count) for b in age.before.bars] == expected
    assert "grouped as on level 1" in age.before.note
    sex = changes[2]
    assert sex.before.note == ""
    assert {b.label: b.count for b in sex.before.bars} == Counter(patients.columns["sex"])


def test_what_does_not_fit_is_one_last_row():
    counts = np.arange(1, 41, dtype=np.float64)
    shown = distribution([f"v{i}" for i in range(1, 41)], counts, in_order=True)
    assert len(shown.bars) == MOST_BARS
    assert [b.label for b in shown.bars[:2]] == ["v40", "v39"]
    assert shown.bars[-1].rest
    assert (shown.bars[-1].label, shown.bars[-1].count) == ("21 others", sum(range(1, 22)))
    assert shown.longest == pytest.approx(40 / counts.sum())


@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_a_reader_spreads_every_label_over_its_values(algorithm, patients):
    release = anonymize(
        {name: column[:200] for name, column in patients.columns.items()},
        sf.KAnonymity(4), schema=patients.schema, algorithm=algorithm, suppression=0.05,
    )  # fmt: skip
    problem = release.decision.problem
    cells = released_cells(problem.table, problem.hierarchies, release.decision.recoding)
    for a, h in enumerate(problem.hierarchies):
        expected = np.zeros(h.size)
        for row, records in zip(cells.row, cells.count, strict=True):
            if row < 0:
                continue
            level, low, high = (int(x[row, a]) for x in (cells.level, cells.low, cells.high))
            if level < 0:
                stands_for = list(range(low, high + 1))
            else:
                node = h.label(low, level)
                stands_for = [i for i in range(h.size) if h.label(i, level) == node]
            for leaf in stands_for:
                expected[leaf] += records / len(stands_for)
        assert estimated_leaves(h, cells, a) == pytest.approx(expected)


def test_numbers_keep_their_order_even_where_nobody_declared_it():
    assert has_order(sf.Hierarchy.from_rows([("2", "*"), ("10", "*"), ("", "*")]))
    assert not has_order(sf.Hierarchy.from_rows([("10", "*"), ("2", "*")]))
    assert not has_order(sf.Hierarchy.from_rows([("a", "*"), ("b", "*")]))


# -- the promise in words ----------------------------------------------------------------


def test_each_promise_has_a_sentence_of_its_own():
    promise = (
        sf.KAnonymity(5) & sf.KAnonymity(9, on=("age",)) & sf.DistinctLDiversity(3, "illness")
        & sf.EntropyLDiversity(2.5, "illness") & sf.RecursiveLDiversity(2.0, 3, "illness")
        & sf.TCloseness(0.2, "illness") & sf.BetaLikeness(1.5, "illness")
        & sf.DeltaDisclosure(0.7, "illness") & sf.KMap(4) & sf.DeltaPresence(0.1, 0.8)
    )  # fmt: skip
    sentences = in_words(promise, ["age", "zip", "sex"])
    assert len(set(sentences)) == len(promise.parts)
    assert sentences[0] == (
        "Every released record looks like at least 4 others on age, zip and sex."
    )
    assert sentences[1].endswith("at least 8 others on age.")
    for sentence, words in zip(
        sentences[2:],
        ["3 different values of illness", "2.5 equally", "2 times", "0.2", "1.5", "0.7", "4 people",
         "between 0.1 and 0.8"],
        strict=True,
    ):  # fmt: skip
        assert words in sentence


def test_an_own_definition_is_described_by_its_docstring():
    class Even(sf.Definition):
        """Every class has an even number of records."""

        def judge(self, classes):
            return classes.sizes % 2 == 0

    assert in_words(Even(), []) == ("Every class has an even number of records.",)
    assert str(Even()) == "Even"
    assert str(sf.KAnonymity(2) & sf.KMap(3)) == "2-anonymity and 3-map"
