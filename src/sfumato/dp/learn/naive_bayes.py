"""Naive Bayes over declared bins: noisy counts of class and bin, and nothing else.

Promise: ε-differential privacy (geometric noise), or (ε, δ) with ``delta`` (Gaussian noise).

Proof. A row of a declared class adds 1 to the count of its class and 1 to one bin of each of the m
columns, in the table of its class: m + 1 counts, so Δ₁ = m + 1 and Δ₂ = √(m + 1), and rows of other
labels add nothing. Noise as in :mod:`.budget`; probabilities are post-processing.

It ranks well for pure ε, and is too sure of itself, as naive Bayes is: correlated columns count
twice. Where probabilities matter use :class:`~sfumato.dp.learn.additive.AdditiveClassifier`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from sfumato.dp.learn.estimator import PrivateEstimator, read_labels
from sfumato.dp.learn.shapes import Layout, Shape, lay_out, shapes_of
from sfumato.dp.mechanisms import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NaiveBayes(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Naive Bayes on bins, ε-private for its rows, or (ε, δ)-private when ``delta`` is given.

    ``bounds`` is {column: (low, high)}, or (low, high) for all; ``domain`` is {column: values}.
    Every column needs one of them. ``classes`` are the labels that may occur: 0 and 1 unless
    given.
    """

    pure = True

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        bounds: Any = None,
        domain: Any = None,
        classes: Any = None,
        bins: int = 32,
        neighbours: Any = "unbounded",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.bins = bins
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        parameters.count(self.bins, "The number of bins")
        self.classes_, places = read_labels(y, self.classes, len(cells[0]))
        self.layout_: Layout = lay_out(self.columns_, self.bins)
        exact = count_classes(self.layout_.codes(cells), places, self.layout_, len(self.classes_))
        budget, moved = self._budget(), len(self.columns_) + 1
        noisy = budget.gaussian(exact, moved) if budget.delta else budget.laplace(exact, moved)
        self.counts_ = noisy
        self.noise_ = self.noise(len(self.columns_))
        self._weigh(noisy.astype(np.float64))
        self.guarantee_ = self.guarantee
        return self

    def noise(self, columns: int) -> float:
        """Give the standard deviation of the noise in one count, known before the fit."""
        budget = self._budget()
        if budget.delta:
            return math.sqrt(budget.variance(columns + 1))
        return math.sqrt(2) * float(budget.scale(columns + 1))

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of a count, and of a log-probability of so many rows, half in a class."""
        parameters.count(self.bins, "The number of bins")
        noise = self.noise(columns)
        return {"count of a bin": noise, "log-probability of a bin": 2 * noise / group}

    def learnt(self) -> dict[str, Any]:
        """Give the noisy counts."""
        return {"counts": self.counts_}

    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""
        self.layout_ = lay_out(self.columns_, self.bins)
        self.counts_ = learnt["counts"]
        if self.counts_.shape != (len(self.classes_), self.layout_.total + 1):
            raise ValueError
        self.noise_ = self.noise(len(self.columns_))
        self._weigh(self.counts_.astype(np.float64))

    @property
    def shapes_(self) -> tuple[Shape, ...]:
        """What each column adds: log-odds of two classes, or logarithms for each of more."""
        logs = self.feature_log_prob_
        return shapes_of(self.layout_, logs[1] - logs[0] if len(logs) == 2 else logs.T)

    def picture(self, *columns: Any) -> str:
        """Draw what the named columns add, or those with the largest spread."""
        from sfumato.dp.learn.shape_pictures import draw_shapes  # noqa: PLC0415 - loaded when used

        return draw_shapes(self, columns)

    def _weigh(self, noisy: NDArray[np.float64]) -> None:
        """Turn noisy counts into logarithms of probabilities, shrunk by the size of the noise."""
        prior = 1 + self.noise_
        counts = np.maximum(noisy, 0.0)
        totals = counts[:, -1] + prior
        self.class_log_prior_ = np.log(totals / totals.sum())
        logs = np.empty((len(self.classes_), self.layout_.total))
        pooled = counts[:, :-1].sum(axis=0)
        for bins, start in zip(self.layout_.bins, self.layout_.starts, strict=False):
            inside = slice(start, start + bins + 1)
            shape = (pooled[inside] + prior) / (pooled[inside] + prior).sum()
            part = counts[:, inside] + prior * (bins + 1) * shape
            logs[:, inside] = np.log(part / part.sum(axis=1, keepdims=True))
        self.feature_log_prob_ = logs

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the log-odds of two classes, or the joint log-likelihood of each of more."""
        joint = self._joint(X)
        return np.asarray(joint[:, 1] - joint[:, 0]) if joint.shape[1] == 2 else joint

    def _joint(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        cells = self._continue(X)
        codes = self.layout_.codes(cells)
        joint: NDArray[np.float64] = self.feature_log_prob_.T[codes].sum(axis=1)
        return np.asarray(joint + self.class_log_prior_)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the probability of each class."""
        joint = self._joint(X)
        powers = np.exp(joint - joint.max(axis=1, keepdims=True))
        chances: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return chances

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Give the likeliest class of each row."""
        joint = self._joint(X)
        chosen: NDArray[Any] = self.classes_[joint.argmax(axis=1)]
        return chosen


def count_classes(
    codes: NDArray[np.uint32], places: NDArray[np.int64], layout: Layout, classes: int
) -> NDArray[np.int64]:
    """Count, for each class, the rows of every bin and, last, all its rows."""
    keep = places >= 0
    width = layout.total + 1
    wide = codes[keep].astype(np.int64) + (places[keep] * width)[:, None]
    last = places[keep] * width + layout.total
    counted = np.bincount(wide.ravel(), minlength=classes * width)
    counted = counted + np.bincount(last, minlength=classes * width)
    return counted.astype(np.int64).reshape(classes, width)
