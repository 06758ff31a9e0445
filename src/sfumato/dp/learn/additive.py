"""Additive models: one shape function per column, learnt from noisy sums and made to be drawn.

f(row) = Σ_j f_j(bin of column j). Bins are public: equal widths between declared bounds, or the
values of a declared domain, and one more for missing cells. The shape functions *are* the model:
``shapes_`` lists them, and ``picture()`` draws them. As explainable boosting machines (Nori,
Caruana, Bu, Shen and Kulkarni, ICML 2021), but all columns learn in every round.

Promise: (ε, δ)-differential privacy for the rows of ``fit``.

Proof. A fit makes T + 1 noisy sums. (1) The histogram of all columns: a row adds 1 to one bin of
each of the m columns, so it moves the counts by √m in L2. (2) In each of T rounds a row adds its
residual, clamped to ±c, to its m bins: √m·c. (K > 2 classes: a residual vector of norm at most
√2·c, so √(2m)·c.) The residual is a whole number that depends on the row and on the values of the
rounds before (:mod:`.residuals`), which are functions of noisy sums. The shares of μ² add up to 1
(:mod:`.budget`); everything else is post-processing. A row with a label that is not declared adds
nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from sfumato.dp.learn import residuals
from sfumato.dp.learn.descent import COUNTS_SHARE, Descent, check_steps, clip_steps, descend
from sfumato.dp.learn.estimator import PrivateEstimator, read_interval, read_labels, read_target
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.probabilities import probabilities
from sfumato.dp.learn.shapes import Layout, Shape, lay_out, shapes_of
from sfumato.dp.mechanisms import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

FINE = 128  # bins of a column of numbers before those with few rows are joined
_UNIT = 1 << residuals.RESIDUAL_BITS


class _Additive(PrivateEstimator):
    """What the classifier and the regressor share."""

    bins: int
    rounds: int
    rate: float
    damping: float
    smoothing: float
    clip: float
    momentum: float

    def _learn(
        self, cells: list[NDArray[Any]], target: NDArray[np.int64], keep: NDArray[np.bool_],
        kernel: Any, table: NDArray[np.int64], constants: Descent,
    ) -> None:  # fmt: skip
        self.layout_: Layout = lay_out(self.columns_, FINE)
        codes = self.layout_.codes(cells)
        if not keep.all():
            codes, target = codes[keep], target[keep]
        self.values_, self.counts_ = descend(
            self._budget(), self.layout_, codes, target, kernel, constants, table
        )
        self.guarantee_ = self.guarantee

    def _constants(self, curvature: float, classes: int = 2) -> Descent:
        rounds = parameters.count(self.rounds, "The number of rounds") or 1
        bins = parameters.count(self.bins, "The number of bins") or 1
        check_steps(self.rate, self.damping, self.momentum, self.smoothing)
        return Descent(
            rounds, self.rate, self.damping, self.smoothing, self.momentum,
            clip_steps(self.clip, classes), curvature, classes if classes > 2 else 1, bins,
        )  # fmt: skip

    def _scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        cells = self._continue(X)
        codes = self.layout_.codes(cells)
        scores: NDArray[np.float64] = self.values_[codes].sum(axis=1)
        return scores

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of a count, and of the value of a bin that holds so many rows."""
        constants = self._noisy_constants()
        sums = constants.noise(self._budget(), columns)
        weight = constants.curvature * group
        counted = math.sqrt(self._budget().variance(columns, COUNTS_SHARE))
        return {"count of a bin": counted, self.told: 1.7 * sums / weight * self.unit}

    told = "value of a bin against others (log-odds)"
    unit = 1.0

    @abstractmethod
    def _noisy_constants(self) -> Descent:
        """Give the constants of the descent."""

    def learnt(self) -> dict[str, Any]:
        """Give the value of every bin, and the noisy counts."""
        return {"values": self.values_, "counts": self.counts_}

    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""
        self.layout_ = lay_out(self.columns_, FINE)
        self.values_, self.counts_ = learnt["values"], learnt["counts"]
        if len(self.values_) != self.layout_.total:
            raise ValueError

    @property
    def shapes_(self) -> tuple[Shape, ...]:
        """The shape function of each column."""
        return shapes_of(self.layout_, self.values_)

    def count_error(self, confidence: float = 0.95, columns: int | None = None) -> float:
        """Give how far a noisy count of rows in a bin is off, at most, with this probability.

        Known before the fit, for a number of columns.
        """
        from statistics import NormalDist  # noqa: PLC0415 - loaded when used

        number = columns if columns is not None else self.n_features_in_
        sigma = math.sqrt(self._budget().variance(number, COUNTS_SHARE))
        return NormalDist().inv_cdf((1 + confidence) / 2) * sigma + 0.5

    def picture(self, *columns: Any) -> str:
        """Draw the shape functions of the named columns, or of those with the largest spread."""
        from sfumato.dp.learn.shape_pictures import draw_shapes  # noqa: PLC0415 - loaded when used

        return draw_shapes(self, columns)


class AdditiveClassifier(ClassifierMixin, _Additive):  # type: ignore[misc]  # untyped library
    """A classifier that is a sum of shape functions, (ε, δ)-private for its rows.

    ``bounds`` is {column: (low, high)}, or (low, high) for all; ``domain`` is {column: values}.
    Every column needs one of them. ``classes`` are the labels that may occur: 0 and 1 unless
    given.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-5,
        bounds: Any = None,
        domain: Any = None,
        classes: Any = None,
        bins: int = 32,
        rounds: int = 60,
        rate: float = 1.0,
        damping: float = 70.0,
        smoothing: float = 50.0,
        clip: float = 0.5,
        momentum: float = 0.8,
        neighbours: Any = "unbounded",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.bins = bins
        self.rounds = rounds
        self.rate = rate
        self.damping = damping
        self.smoothing = smoothing
        self.clip = clip
        self.momentum = momentum
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        self.classes_, places = read_labels(y, self.classes, len(cells[0]))
        keep = places >= 0
        if len(self.classes_) == 2:
            constants = self._constants(0.15)
            kernel, table, target = residuals.sum_binary, residuals.LOGISTIC, places * _UNIT
        else:
            constants = self._constants(0.15, len(self.classes_))
            kernel, table, target = residuals.sum_classes, residuals.EXPONENTIAL, places
        self._learn(cells, target, keep, kernel, table, constants)
        return self

    def _noisy_constants(self) -> Descent:
        return self._constants(0.15, len(self.classes if self.classes is not None else (0, 1)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the sum of the shape functions, for each class where there are more than two."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the probability of each class."""
        return probabilities(self._scores(X), self.clip)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Give the likeliest class of each row."""
        chances = self.predict_proba(X)
        chosen: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return chosen


class AdditiveRegressor(RegressorMixin, _Additive):  # type: ignore[misc]  # untyped library
    """A regression that is a sum of shape functions, (ε, δ)-private for its rows.

    ``target`` is (low, high), the public bounds of what is predicted; values outside are
    clamped. Residuals are clamped to ``clip`` times half its width. Other parameters are those of
    :class:`AdditiveClassifier`.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-5,
        bounds: Any = None,
        domain: Any = None,
        target: Any = None,
        bins: int = 32,
        rounds: int = 60,
        rate: float = 1.0,
        damping: float = 1000.0,
        smoothing: float = 500.0,
        clip: float = 0.5,
        momentum: float = 0.8,
        neighbours: Any = "unbounded",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.target = target
        self.bins = bins
        self.rounds = rounds
        self.rate = rate
        self.damping = damping
        self.smoothing = smoothing
        self.clip = clip
        self.momentum = momentum
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        low, high = read_interval(self.target)
        wanted = read_target(y, len(cells[0]))
        steps = Number("target", low, high).steps(wanted, residuals.RESIDUAL_BITS)
        keep = np.ones(steps.size, dtype=bool)
        constants = self._constants(1.0)
        self._learn(cells, steps, keep, residuals.sum_numeric, residuals.LOGISTIC, constants)
        return self

    told = "value of a bin against others (of the target)"

    @property
    def unit(self) -> float:  # type: ignore[override]  # a constant of classifiers
        """Half the width of the target's bounds, and half again: here rounds do not converge so."""
        low, high = read_interval(self.target)
        return 1.5 * (high - low) / 2

    @property
    def clearly(self) -> float:  # type: ignore[override]  # a constant of classifiers
        """A quarter of the target's bounds is half of this."""
        return self.unit

    def _noisy_constants(self) -> Descent:
        return self._constants(1.0)

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the predicted number of each row, within the declared bounds."""
        low, high = read_interval(self.target)
        scores = np.clip(self._scores(X), -1.0, 1.0)
        return (low + high) / 2 + scores * (high - low) / 2
