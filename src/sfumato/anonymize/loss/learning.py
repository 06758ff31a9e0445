"""How much worse a model becomes when it learns from the release.

Records are split once. One model learns from the originals of the training part, another
from what the release shows of the same records (suppressed ones are gone); both predict a
sensitive attribute for the original records of the test part. The loss is the accuracy
(and the area under the ROC curve) that the second lacks.

A value is coded one-hot over the nodes of its hierarchy, its ancestors included: a leaf
switches on its whole path to the root, a generalised cell the path from its node, a range
the path from the lowest node that covers it. So both models see the same columns and can
be asked about the same people, whatever the recoding was.

Needs scikit-learn (extra `ml`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.definition import number_between, positive_integer
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.apply.cells import ReleasedCells
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable


@dataclass(frozen=True, eq=False)
class TargetCounts:
    """What is to be predicted: `count[i]` records of tuple `tuple_[i]` have value `value[i]`."""

    name: str
    tuple_: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, table: FrequencyTable, name: str) -> TargetCounts:
        """Return the counts of a sensitive attribute that the frequency table has."""
        if name not in table.sensitive_names:
            raise ParameterError(
                f"The target must be a sensitive attribute of the frequency table; {name!r} is "
                f"none of {', '.join(table.sensitive_names) or 'no attributes'}."
            )
        value = table.sensitive[:, table.sensitive_names.index(name)].astype(np.int64)
        return cls(name, np.arange(table.distinct), value, table.counts)


@dataclass(frozen=True)
class LearningLoss:
    """What both models achieve on the original test records.

    `guess` is the accuracy of always naming the most frequent value of the training part.
    """

    target: str
    accuracy_original: float
    accuracy_release: float
    auc_original: float
    auc_release: float
    guess: float

    @property
    def accuracy_loss(self) -> float:
        """Accuracy lost by learning from the release; below 0 when it happened to help."""
        return self.accuracy_original - self.accuracy_release

    @property
    def auc_loss(self) -> float:
        """Area under the ROC curve lost by learning from the release."""
        return self.auc_original - self.auc_release

    def __str__(self) -> str:
        return (
            f"predicting {self.target}: accuracy {self.accuracy_original:.3f} learnt from the "
            f"original, {self.accuracy_release:.3f} from the release (guessing: {self.guess:.3f}); "
            f"AUC {self.auc_original:.3f} and {self.auc_release:.3f}"
        )


def learning_loss(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    target: str | TargetCounts,
    *,
    model: Any = None,
    test_share: float = 1 / 3,
    records: int = 30_000,
    seed: int = 0,
) -> LearningLoss:
    """Train on the release and on the original, test both on the original.

    `model` is any scikit-learn classifier with `predict_proba` (default: logistic
    regression). At most `records` records, drawn at random, are used.
    """
    clone, classifier = _scikit_learn(model)
    counts = target if isinstance(target, TargetCounts) else TargetCounts.of(table, target)
    share = number_between("test_share", test_share, 0, 1, open_low=True)
    cells = released_cells(table, hierarchies, recoding)
    drawn = _Records.drawn(cells, counts, positive_integer("records", records), seed)
    test, train = drawn.cut(round(len(drawn.label) * share))
    shown = train.only(train.row >= 0)
    if min(len(np.unique(train.label)), len(np.unique(shown.label))) < 2 or not len(test.label):
        raise ParameterError(
            f"Learning to predict '{counts.name}' needs at least two of its values among the "
            "records to train on, and a record to test on; use more records or another target."
        )
    features = _Features(table, tuple(hierarchies), cells)
    original = clone(classifier).fit(features.original(train), train.label)
    release = clone(classifier).fit(features.released(shown), shown.label)
    asked = features.original(test)
    return LearningLoss(
        counts.name,
        accuracy_original=float((original.predict(asked) == test.label).mean()),
        accuracy_release=float((release.predict(asked) == test.label).mean()),
        auc_original=_auc(original, asked, test.label),
        auc_release=_auc(release, asked, test.label),
        guess=float((test.label == np.bincount(train.label).argmax()).mean()),
    )


def _scikit_learn(model: Any) -> tuple[Any, Any]:
    try:
        from sklearn.base import clone  # noqa: PLC0415 - an extra
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("scikit-learn", "ml", "Machine-learning loss") from None
    return clone, LogisticRegression(max_iter=300) if model is None else model


@dataclass(frozen=True, eq=False)
class _Records:
    """Single records: their distinct tuple, their row of the released cells, their label."""

    tuple_: NDArray[np.int64]
    row: NDArray[np.int64]
    label: NDArray[np.int64]

    @classmethod
    def drawn(cls, cells: ReleasedCells, counts: TargetCounts, records: int, seed: int) -> _Records:
        """Draw records; within a tuple, labels and classes are paired at random."""
        rng = np.random.default_rng(seed)  # which records a model is tried on; nothing is released
        shares = np.argsort(cells.tuple_, kind="stable")
        tuple_ = np.repeat(cells.tuple_[shares], cells.count[shares])
        row = np.repeat(cells.row[shares], cells.count[shares])
        label = np.repeat(counts.value, counts.count)
        mixed = np.lexsort((rng.random(len(label)), np.repeat(counts.tuple_, counts.count)))
        chosen = rng.choice(len(tuple_), size=min(records, len(tuple_)), replace=False)
        return cls(tuple_[chosen], row[chosen], label[mixed][chosen])

    def only(self, chosen: NDArray[np.bool_] | slice) -> _Records:
        return _Records(self.tuple_[chosen], self.row[chosen], self.label[chosen])

    def cut(self, at: int) -> tuple[_Records, _Records]:
        return self.only(slice(None, at)), self.only(slice(at, None))


@dataclass(frozen=True, eq=False)
class _Features:
    """Codes records as sparse one-hot rows over the nodes of all hierarchies."""

    table: FrequencyTable
    hierarchies: tuple[Hierarchy, ...]
    cells: ReleasedCells

    def original(self, records: _Records) -> Any:
        leaves = self.table.quasi[records.tuple_].astype(np.int64)
        return self._matrix(leaves, np.zeros_like(leaves))

    def released(self, records: _Records) -> Any:
        rows = records.row
        low, high, level = self.cells.low[rows], self.cells.high[rows], self.cells.level[rows]
        for a, h in enumerate(self.hierarchies):
            covers = np.argmax(h.levels[low[:, a]] == h.levels[high[:, a]], axis=1)
            level[:, a] = np.where(level[:, a] < 0, covers, level[:, a])
        return self._matrix(low, level)

    def _matrix(self, leaf: NDArray[np.int64], level: NDArray[np.int64]) -> Any:
        """Switch on the nodes from `level` up to the root, above each leaf."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - comes with scikit-learn

        empty = np.zeros(0, dtype=np.int64)
        rows, columns, width = [empty], [empty], 0
        for a, h in enumerate(self.hierarchies):
            for v in range(h.height - 1):
                on = np.flatnonzero(level[:, a] <= v)
                rows.append(on)
                columns.append(h.levels[leaf[on, a], v].astype(np.int64) + width)
                width += len(h.labels[v])
        row, column = np.concatenate(rows), np.concatenate(columns)
        return csr_matrix((np.ones(len(row)), (row, column)), shape=(len(leaf), max(width, 1)))


def _auc(model: Any, asked: Any, truth: NDArray[np.int64]) -> float:
    """Return the area under the ROC curve, each value against the rest, by their frequency."""
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415 - an extra

    scores = model.predict_proba(asked)
    known = {int(value): column for column, value in enumerate(model.classes_)}
    total, weight = 0.0, 0.0
    for value, count in zip(*np.unique(truth, return_counts=True), strict=True):
        if count == len(truth):
            continue
        column = known.get(int(value))
        area = 0.5 if column is None else roc_auc_score(truth == value, scores[:, column])
        total, weight = total + count * area, weight + count
    return float(total / weight) if weight else 0.5
