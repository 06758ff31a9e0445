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

from sfumato.anonymize.definitions import number_between, positive_integer
from sfumato.anonymize.released import released_cells
from sfumato.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.recoding import Recoding
    from sfumato.anonymize.released import ReleasedCells
    from sfumato.data.frequency import FrequencyTable
    from sfumato.data.hierarchy import Hierarchy


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


def learning_loss(
    table: FrequencyTable,
    hierarchies: Sequence[Hierarchy],
    recoding: Recoding,
    target: str,
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
    labels = _labels(table, target)
    number_between("test_share", test_share, 0, 1, open_low=True)
    cells = released_cells(table, hierarchies, recoding)
    train, test = _split(cells.count, positive_integer("records", records), test_share, seed)
    shown = train[cells.row[train] >= 0]
    y = labels[cells.tuple_]
    if len(np.unique(y[train])) < 2 or len(np.unique(y[shown])) < 2 or not len(test):
        raise ParameterError(
            f"Learning to predict '{target}' needs at least two of its values among the records "
            "to train on, and a record to test on; use more records or another target."
        )
    features = _Features(table, tuple(hierarchies), cells)
    original = clone(classifier).fit(features.original(train), y[train])
    release = clone(classifier).fit(features.released(shown), y[shown])
    asked = features.original(test)
    frequent = np.bincount(y[train]).argmax()
    return LearningLoss(
        target,
        accuracy_original=float((original.predict(asked) == y[test]).mean()),
        accuracy_release=float((release.predict(asked) == y[test]).mean()),
        auc_original=_auc(original, asked, y[test]),
        auc_release=_auc(release, asked, y[test]),
        guess=float((y[test] == frequent).mean()),
    )


def _scikit_learn(model: Any) -> tuple[Any, Any]:
    try:
        from sklearn.base import clone  # noqa: PLC0415 - an extra
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("scikit-learn", "ml", "Machine-learning loss") from None
    return clone, LogisticRegression(max_iter=300) if model is None else model


def _labels(table: FrequencyTable, target: str) -> NDArray[np.int64]:
    if target not in table.sensitive_names:
        raise ParameterError(
            f"The target must be a sensitive attribute, which is released as it is; "
            f"{target!r} is none of {', '.join(table.sensitive_names) or 'no attributes'}."
        )
    return table.sensitive[:, table.sensitive_names.index(target)].astype(np.int64)


def _split(
    count: NDArray[np.int64], records: int, test_share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw records as numbers of their shares, and cut them into training and test part."""
    rng = np.random.default_rng(seed)
    total = int(count.sum())
    drawn = rng.choice(total, size=min(records, total), replace=False)
    shares = np.searchsorted(np.cumsum(count), drawn, side="right")
    tested = round(len(shares) * test_share)
    return shares[tested:], shares[:tested]


@dataclass(frozen=True, eq=False)
class _Features:
    """Codes shares as sparse one-hot rows over the nodes of all hierarchies."""

    table: FrequencyTable
    hierarchies: tuple[Hierarchy, ...]
    cells: ReleasedCells

    def original(self, shares: NDArray[np.int64]) -> Any:
        leaves = self.table.quasi[self.cells.tuple_[shares]].astype(np.int64)
        return self._matrix(leaves, np.zeros_like(leaves))

    def released(self, shares: NDArray[np.int64]) -> Any:
        rows = self.cells.row[shares]
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
