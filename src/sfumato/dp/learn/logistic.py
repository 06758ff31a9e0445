"""Logistic regression for two and more classes, by noisy gradients of whole numbers.

Categories are coded one-hot, numbers are scaled from their bounds to [−1, 1], and there is an
intercept. Promise: (ε, δ)-differential privacy for the rows of ``fit``.

Proof. A fit makes T + 1 noisy sums. (1) The moments of the features, with the L2 sensitivity that
:mod:`.linear_features` proves; centres and reaches of numbers follow from them. (2) In each of T
rounds it adds residual × feature, where the residual is clamped to ±c in whole steps (K > 2
classes: a vector of norm at most √2·c) and every feature is a whole number of at most 2¹² in size
(:mod:`.linear_sums`): √(m + 1)·2¹²·c. Shares of μ² add up to 1 (:mod:`.budget`); all else is
post-processing. A row with a label that is not declared adds nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from sfumato.dp.learn import linear_sums, residuals
from sfumato.dp.learn.descent import check_steps, clip_steps
from sfumato.dp.learn.estimator import PrivateEstimator, read_labels
from sfumato.dp.learn.linear_features import (
    NUMBER,
    LinearLayout,
    Scaling,
    name_coefficients,
    read_moments,
)
from sfumato.dp.learn.probabilities import probabilities
from sfumato.dp.mechanisms import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOMENTS_SHARE = Fraction(1, 10)
_RESIDUAL = 1 << residuals.RESIDUAL_BITS


class LogisticRegression(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Logistic regression, (ε, δ)-private for its rows.

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
        rounds: int = 60,
        rate: float = 2.0,
        damping: float = 80.0,
        clip: float = 0.5,
        momentum: float = 0.8,
        neighbours: Any = "unbounded",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.classes = classes
        self.rounds = rounds
        self.rate = rate
        self.damping = damping
        self.clip = clip
        self.momentum = momentum
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        self.classes_, places = read_labels(y, self.classes, len(cells[0]))
        keep = places >= 0
        self.layout_ = LinearLayout(self.columns_)
        codes, steps = self.layout_.read(cells)
        self._descend(codes[keep], steps[keep], places[keep])
        self.guarantee_ = self.guarantee
        return self

    def _descend(
        self, codes: NDArray[np.uint32], steps: NDArray[np.int32], places: NDArray[np.int64]
    ) -> None:
        budget, classes = self._budget(), len(self.classes_)
        rounds = parameters.count(self.rounds, "The number of rounds") or 1
        clip = self._clip_steps(classes)
        moved = (len(self.columns_) + 1) * NUMBER**2
        moments = budget.gaussian(
            self.layout_.moments(codes, steps), self.layout_.moments_l2_squared, MOMENTS_SHARE
        )
        error = math.sqrt(budget.variance(self.layout_.moments_l2_squared, MOMENTS_SHARE))
        self.scaling_, squares = read_moments(
            moments.astype(np.float64) / NUMBER, self.layout_, error / NUMBER
        )
        steps = self.scaling_.apply(steps)
        share = (1 - MOMENTS_SHARE) / rounds
        noise = math.sqrt(budget.variance(moved * clip**2, 1 - MOMENTS_SHARE))
        noise /= NUMBER * _RESIDUAL
        weight = 0.15 * squares + self.damping * noise
        shape = (self.layout_.size,) if classes == 2 else (self.layout_.size, classes)
        step = 1 / (weight if classes == 2 else weight[:, None])
        values, speed, mean = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        kept = rounds - rounds // 2
        for k in range(rounds):
            sums = self._sum(codes, steps, places, values, clip)
            noisy = budget.gaussian(sums, moved * clip**2, share).astype(np.float64)
            speed = self.momentum * speed + step * noisy / (NUMBER * _RESIDUAL)
            values = values - self.rate * (1 - self.momentum) * speed
            if k >= rounds - kept:
                mean += values / kept
        self._keep(mean)

    def _clip_steps(self, classes: int) -> int:
        check_steps(self.rate, self.damping, self.momentum)
        parameters.count(self.rounds, "The number of rounds")
        return clip_steps(self.clip, classes)

    def _sum(
        self, codes: NDArray[np.uint32], steps: NDArray[np.int32], places: NDArray[np.int64],
        values: NDArray[np.float64], clip: int,
    ) -> NDArray[np.int64]:  # fmt: skip
        grid = residuals.on_grid(values)
        sums = np.zeros(values.shape, dtype=np.int64)
        if values.ndim == 1:
            target = places * _RESIDUAL
            linear_sums.sum_binary(codes, steps, target, grid, residuals.LOGISTIC, clip, sums)
        else:
            linear_sums.sum_classes(codes, steps, places, grid, residuals.EXPONENTIAL, clip, sums)
        return sums

    def _keep(self, values: NDArray[np.float64]) -> None:
        rows = values[None, :] if values.ndim == 1 else values.T
        self.coef_, self.intercept_ = rows[:, :-1].copy(), rows[:, -1].copy()

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of the coefficient of a category that so many rows have."""
        classes = len(self.classes if self.classes is not None else (0, 1))
        clip = self._clip_steps(classes)
        moved = (columns + 1) * NUMBER**2 * clip**2
        sums = math.sqrt(self._budget().variance(moved, 1 - MOMENTS_SHARE)) / (NUMBER * _RESIDUAL)
        return {"coefficient against others (log-odds)": 1.7 * sums / (0.15 * group)}

    def learnt(self) -> dict[str, Any]:
        """Give coefficients, and how numbers were centred and stretched."""
        return {
            "coef": self.coef_, "intercept": self.intercept_, "centre": self.scaling_.centre,
            "reach": self.scaling_.reach,
        }  # fmt: skip

    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""
        self.layout_ = LinearLayout(self.columns_)
        self.coef_, self.intercept_ = learnt["coef"], learnt["intercept"]
        self.scaling_ = Scaling(learnt["centre"].astype(np.int64), learnt["reach"].astype(np.int64))
        if self.coef_.shape[1] != self.layout_.size - 1:
            raise ValueError

    @property
    def coefficients_(self) -> list[tuple[Any, str, NDArray[np.float64]]]:
        """The coefficients by column and category: (column, category or "", one a class)."""
        return name_coefficients(self.layout_, self.coef_)

    def picture(self) -> str:
        """Draw the largest coefficients."""
        from sfumato.dp.learn.coefficient_pictures import draw_coefficients  # noqa: PLC0415 - when used

        return draw_coefficients(self)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the linear score, for each class where there are more than two."""
        cells = self._continue(X)
        codes, steps = self.layout_.read(cells)
        steps = self.scaling_.apply(steps)
        first = self.layout_.first
        scores = self.coef_.T[codes].sum(axis=1)
        scores = scores + steps / NUMBER @ self.coef_[:, first:].T + self.intercept_
        return np.asarray(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the probability of each class."""
        return probabilities(self.decision_function(X), self.clip)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Give the likeliest class of each row."""
        chances = self.predict_proba(X)
        chosen: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return chosen
