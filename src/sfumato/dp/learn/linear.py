"""Linear regression (ridge) from noisy second moments.

Categories are coded one-hot, numbers are stretched to [−1, 1] as in :mod:`.linear_features`, and
the target to [−1, 1] by its declared bounds. Promise: (ε, δ)-differential privacy for the rows of
``fit``.

Proof. Two noisy sums: the moments of the features (:mod:`.linear_features`), by which numbers are
centred, and the second moments of (features, 1, target) (:mod:`.gram`), p = m + 2 for m columns.
The shares of μ² add up to 1 (:mod:`.budget`); all else is post-processing.

A noisy matrix of second moments may have negative eigenvalues, and its inverse then explodes (what
ruins the functional mechanism). Those are set to 0, and the penalty is at least the
spectral norm of the noise, about 2·σ·√d, so that no direction is trusted that holds noise only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from sfumato.dp.learn.estimator import PrivateEstimator, read_interval, read_target
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.gram import BITS, STEP, exact_gram, nearest_psd, noisy_gram
from sfumato.dp.learn.linear_features import (
    NUMBER,
    LinearLayout,
    Scaling,
    name_coefficients,
    read_moments,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOMENTS_SHARE = Fraction(1, 10)
_SHIFT = 12 - BITS


class LinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Ridge regression, (ε, δ)-private for its rows.

    ``target`` is (low, high), the public bounds of what is predicted. ``alpha`` is the penalty, in
    rows, on top of what the noise asks for. Features are declared by ``bounds`` and ``domain``.
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-5,
        bounds: Any = None,
        domain: Any = None,
        target: Any = None,
        alpha: float = 0.0,
        neighbours: Any = "unbounded",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.domain = domain
        self.target = target
        self.alpha = alpha
        self.neighbours = neighbours

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        low, high = read_interval(self.target)
        wanted = Number("target", low, high).steps(read_target(y, len(cells[0])), BITS)
        self.layout_ = LinearLayout(self.columns_)
        codes, steps = self.layout_.read(cells)
        budget = self._budget()
        moved = self.layout_.moments_l2_squared
        moments = budget.gaussian(self.layout_.moments(codes, steps), moved, MOMENTS_SHARE)
        error = math.sqrt(budget.variance(moved, MOMENTS_SHARE)) / NUMBER
        noisy = moments.astype(np.float64) / NUMBER
        self.scaling_, _ = read_moments(noisy, self.layout_, error)
        size = self.layout_.size + 1
        exact = exact_gram(codes, np.column_stack([self._steps(steps), wanted]), size)
        released, l2_squared = released_places(self.layout_)
        gram, noise = noisy_gram(exact, released, l2_squared, budget, 1 - MOMENTS_SHARE)
        self._solve(fill_diagonal(gram, self.layout_), noise)
        self.guarantee_ = self.guarantee
        return self

    def _steps(self, steps: NDArray[np.int32]) -> NDArray[np.int64]:
        """Give numbers and intercept of rows in whole steps of 2⁻¹⁰."""
        scaled = self.scaling_.apply(steps).astype(np.int64) >> _SHIFT
        return np.column_stack([scaled, np.full(len(steps), STEP, dtype=np.int64)])

    def _solve(self, gram: NDArray[np.float64], noise: float) -> None:
        """Centre by the noisy means, project, and solve; post-processing."""
        size = self.layout_.size - 1
        rows = max(gram[size, size], 1.0)
        means = np.clip(gram[size, :size] / rows, -1.0, 1.0)
        # Where noise exceeds the rows, the mean is drawn to the middle of the bounds.
        mean = gram[size, size + 1] * rows / (rows**2 + 4 * noise**2)
        spread = gram[:size, :size] - rows * np.outer(means, means)
        shared = gram[:size, size + 1] - rows * means * mean
        penalty = self.alpha + 2 * noise * math.sqrt(size)
        solved = np.linalg.solve(nearest_psd(spread) + penalty * np.eye(size), shared)
        low, high = read_interval(self.target)
        half = (high - low) / 2
        self.coef_ = solved * half
        self.intercept_ = float((mean - means @ solved) * half + (low + high) / 2)
        self.noise_ = noise

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of a second moment, and of the coefficient of a group of so many rows."""
        moved = (columns + 2) * (columns + 3) // 2
        noise = math.sqrt(self._budget().variance(moved, 1 - MOMENTS_SHARE))
        low, high = read_interval(self.target)
        off = noise / group * (high - low) / 2
        return {"second moment (rows)": noise, "coefficient against others (of the target)": off}

    @property
    def clearly(self) -> float:  # type: ignore[override]  # a constant of classifiers
        """A tenth of the target's bounds is half of this."""
        low, high = read_interval(self.target)
        return (high - low) / 5

    def learnt(self) -> dict[str, Any]:
        """Give coefficients, and how numbers were centred and stretched."""
        return {
            "coef": self.coef_, "intercept": self.intercept_, "noise": self.noise_,
            "centre": self.scaling_.centre, "reach": self.scaling_.reach,
        }  # fmt: skip

    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""
        self.layout_ = LinearLayout(self.columns_)
        self.coef_, self.intercept_, self.noise_ = (
            learnt["coef"], learnt["intercept"], learnt["noise"],
        )  # fmt: skip
        self.scaling_ = Scaling(learnt["centre"].astype(np.int64), learnt["reach"].astype(np.int64))
        if len(self.coef_) != self.layout_.size - 1:
            raise ValueError

    @property
    def coefficients_(self) -> list[tuple[Any, str, NDArray[np.float64]]]:
        """The coefficients by column and category: (column, category or "", [coefficient])."""
        return name_coefficients(self.layout_, self.coef_[None, :])

    def picture(self) -> str:
        """Draw the largest coefficients."""
        from sfumato.dp.learn.coefficient_pictures import draw_coefficients  # noqa: PLC0415 - when used

        return draw_coefficients(self)

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the predicted number of each row, within the declared bounds."""
        cells = self._continue(X)
        codes, steps = self.layout_.read(cells)
        low, high = read_interval(self.target)
        first = self.layout_.first
        scores = (
            self.coef_[codes].sum(axis=1) + self._steps(steps)[:, :-1] / STEP @ self.coef_[first:]
        )
        return np.asarray(np.clip(scores + self.intercept_, low, high))


def released_places(layout: LinearLayout) -> tuple[NDArray[np.bool_], int]:
    """Mark the places that get noise, and bound the square of what a row moves in them."""
    size = layout.size + 1
    released = np.triu(np.ones((size, size), dtype=bool))
    for start, stop in zip(layout.bins.starts, layout.bins.starts[1:], strict=False):
        released[start:stop, start:stop] = False
    parts = len(layout.columns) + 2
    return released, parts * (parts + 1) // 2 - len(layout.categories)


def fill_diagonal(gram: NDArray[np.float64], layout: LinearLayout) -> NDArray[np.float64]:
    """Copy the counts of categories from the intercept's row to their diagonal places."""
    places = np.arange(layout.first)
    gram[places, places] = gram[places, layout.size - 1]
    return gram
