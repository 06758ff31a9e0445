"""Machine-learning loss: known extremes, determinism, and clear refusals."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from sfumato.anonymize.loss.learning import TargetCounts, learning_loss
from sfumato.anonymize.tables.recoding import FullDomain, Local, SearchRecord
from sfumato.data.hierarchies.hierarchy import Hierarchy
from sfumato.data.tables.frequency import FrequencyTable
from sfumato.errors import MissingExtra, ParameterError

RECORD = SearchRecord("test")
LETTER = Hierarchy.from_rows([(c, "first" if c in "ab" else "last", "*") for c in "abcd"])
NUMBER = Hierarchy.from_rows(
    [(str(i), "low" if i < 3 else "high", "*") for i in range(6)], ordered=True
)
TREES = (LETTER, NUMBER)


def table():
    """The letter decides the diagnosis: a and c are ill in 9 of 10 cases, b and d in 1."""
    rows, counts = [], []
    for letter in range(4):
        for number in range(6):
            ill = 45 if letter in {0, 2} else 5
            rows += [(letter, number, 1), (letter, number, 0)]
            counts += [ill, 50 - ill]
    array = np.array(rows, dtype=np.int32)
    return FrequencyTable(
        ("letter", "number"),
        ("ill",),
        array[:, :2],
        array[:, 2:],
        np.array(counts),
        (("no", "yes"),),
    )


def full(levels, suppressed=None):
    gone = np.zeros(48, dtype=np.bool_) if suppressed is None else suppressed
    return FullDomain(levels, gone, RECORD)


def test_releasing_the_table_as_it_is_loses_nothing():
    found = learning_loss(table(), TREES, full((0, 0)), "ill")
    assert found.accuracy_loss == 0
    assert found.auc_loss == 0
    assert found.accuracy_original == pytest.approx(0.9, abs=0.03)
    assert found.auc_original == pytest.approx(0.9, abs=0.03)
    assert found.guess == pytest.approx(0.5, abs=0.05)


def test_hiding_what_decides_loses_everything_it_gave():
    found = learning_loss(table(), TREES, full((1, 0)), "ill")
    assert found.accuracy_original == pytest.approx(0.9, abs=0.03)
    assert found.accuracy_release == pytest.approx(0.5, abs=0.06)
    assert found.auc_loss == pytest.approx(0.4, abs=0.08)


def test_hiding_what_does_not_matter_loses_little():
    found = learning_loss(table(), TREES, full((0, 2)), "ill")
    assert abs(found.accuracy_loss) < 0.01


def test_local_recoding_with_ranges():
    data = table()
    # Numbers become the ranges 0–2 and 3–5, letters stay: one class per letter and range.
    classes = data.quasi[:, 0] * 2 + data.quasi[:, 1] // 3
    level = np.tile([0, -1], (8, 1))
    low = np.array([[c // 2, 3 * (c % 2)] for c in range(8)])
    high = low + np.array([0, 2])
    recoding = Local(np.arange(48), classes.astype(np.int64), data.counts, level, low, high, RECORD)
    found = learning_loss(data, TREES, recoding, "ill")
    assert abs(found.accuracy_loss) < 0.01
    assert recoding.level[0, 1] == -1  # measuring changes nothing


def test_target_that_the_frequency_table_does_not_have():
    """Counts of the target per tuple give the same picture as a judged attribute."""
    data = table()
    quasi, index = np.unique(data.quasi, axis=0, return_inverse=True)
    counts = np.bincount(index.reshape(-1), weights=data.counts).astype(np.int64)
    coarse = FrequencyTable(
        data.quasi_names, (), quasi, np.zeros((len(quasi), 0), dtype=np.int32), counts
    )
    target = TargetCounts(
        "ill", index.reshape(-1), data.sensitive[:, 0].astype(np.int64), data.counts
    )
    nothing = np.zeros(len(quasi), dtype=np.bool_)
    kept = learning_loss(coarse, TREES, FullDomain((0, 0), nothing, RECORD), target)
    assert kept.accuracy_loss == 0
    assert kept.accuracy_original == pytest.approx(0.9, abs=0.03)
    hidden = learning_loss(coarse, TREES, FullDomain((1, 0), nothing, RECORD), target)
    assert hidden.accuracy_release == pytest.approx(0.5, abs=0.06)
    # Half of each tuple goes to a class with the letter hidden: labels are not sorted first.
    n = len(quasi)
    shares = np.concatenate([counts // 2, counts - counts // 2])
    level = np.concatenate([np.tile([2, 0], (n, 1)), np.tile([0, 0], (n, 1))])
    low = np.concatenate([quasi, quasi]).astype(np.int64)
    split = Local(np.tile(np.arange(n), 2), np.arange(2 * n), shares, level, low, low, RECORD)
    assert learning_loss(coarse, TREES, split, target).accuracy_loss < 0.05


def test_same_seed_same_figures_and_own_model():
    from sklearn.naive_bayes import BernoulliNB

    one = learning_loss(table(), TREES, full((1, 1)), "ill", model=BernoulliNB(), seed=5)
    assert one == learning_loss(table(), TREES, full((1, 1)), "ill", model=BernoulliNB(), seed=5)
    assert one.accuracy_original == pytest.approx(0.9, abs=0.03)


def test_refusals():
    with pytest.raises(ParameterError, match="sensitive attribute"):
        learning_loss(table(), TREES, full((0, 0)), "letter")
    everybody = np.ones(48, dtype=np.bool_)
    with pytest.raises(ParameterError, match="at least two"):
        learning_loss(table(), TREES, full((0, 0), everybody), "ill")


def test_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"sfumato\[ml\]"):
        learning_loss(table(), TREES, full((0, 0)), "ill")
