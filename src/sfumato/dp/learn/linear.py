"""Linear regression (ridge) from noisy second moments.

Categories are coded one-hot, numbers are stretched to [−1, 1] as in :mod:`.linear_features`, and
the target to [−1, 1] by its declared bounds. Promise: (ε, δ)-differential privacy for the rows of
``fit``.

Proof. Two noisy sums: the moments of the features (:mod:`.linear_features`), by which numbers are
centred, and the second moments of (features, 1, target) (:mod:`.gram`), p = m + 2 for m columns.
The shares of μ² add up to 1 (:mod:`.budget`); all else is post-processing.

A noisy matrix of second moments may have negative eigenvalues, and its inverse then explodes (what
ruins the functional mechanism). Those are set to 0, and how far each direction is trusted follows
from what is known of the noise (:func:`shrink`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from sfumato.dp.learn.estimator import PrivateEstimator, read_interval, read_target
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.gram import BITS, STEP, exact_gram, noisy_gram
from sfumato.dp.learn.linear_features import (
    LEAST_REACH,
    NUMBER,
    LinearLayout,
    Scaling,
    name_coefficients,
    read_moments,
)
from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOMENTS_SHARE = Fraction(1, 10)
CLEAR = 10.0  # chosen on other splits than the reported ones, as are both ends of the reach
MOST_REACH = 8.0
_SHIFT = 12 - BITS
_SIZES = np.geomspace(1e-6, 10.0, 80)  # τ²; features and target lie between −1 and 1
_ROUNDS = 3  # ‖β‖² is known after the first
_LEAST_VARIANCE = 1e-6


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
        self._check()
        low, high = read_interval(self.target)
        wanted = Number("target", low, high).steps(read_target(y, len(cells[0])), BITS)
        self.layout_ = LinearLayout(self.columns_)
        codes, steps = self.layout_.read(cells)
        budget = self._budget()
        moved = self.layout_.moments_l2_squared
        moments = budget.gaussian(self.layout_.moments(codes, steps), moved, MOMENTS_SHARE)
        error = math.sqrt(budget.variance(moved, MOMENTS_SHARE)) / NUMBER
        noisy = moments.astype(np.float64) / NUMBER
        released, l2_squared = released_places(self.layout_)
        size = self.layout_.size + 1
        ahead = math.sqrt(budget.variance(l2_squared, 1 - MOMENTS_SHARE) * size)
        far = choose_reach(noisy[self.layout_.size - 1], ahead)
        self.scaling_, _ = read_moments(noisy, self.layout_, error, far)
        exact = exact_gram(codes, np.column_stack([self._steps(steps), wanted]), size)
        gram, noise = noisy_gram(exact, released, l2_squared, budget, 1 - MOMENTS_SHARE)
        self._solve(fill_diagonal(gram, self.layout_), noise)
        self.guarantee_ = self.guarantee
        return self

    def _check(self) -> None:
        if parameters.read(self.alpha, "The penalty (alpha)", "a finite number from 0 on") < 0:
            raise ParameterError(f"The penalty (alpha) is at least 0, and {self.alpha} was given.")

    def _steps(self, steps: NDArray[np.int32]) -> NDArray[np.int64]:
        """Give numbers and intercept of rows in whole steps of 2⁻¹⁰."""
        scaled = self.scaling_.apply(steps).astype(np.int64) >> _SHIFT
        return np.column_stack([scaled, np.full(len(steps), STEP, dtype=np.int64)])

    def _solve(self, gram: NDArray[np.float64], noise: float) -> None:
        """Centre by the noisy means, and solve; post-processing."""
        size = self.layout_.size - 1
        rows = max(gram[size, size], 1.0)
        means = np.clip(gram[size, :size] / rows, -1.0, 1.0)
        # Where noise exceeds the rows, the mean is drawn to the middle of the bounds.
        mean = gram[size, size + 1] * rows / (rows**2 + 4 * noise**2)
        spread = gram[:size, :size] - rows * np.outer(means, means)
        shared = gram[:size, size + 1] - rows * means * mean
        variance = gram[size + 1, size + 1] / rows - mean**2
        solved = shrink(spread, shared, noise, max(variance, _LEAST_VARIANCE), self.alpha)
        low, high = read_interval(self.target)
        half = (high - low) / 2
        self.coef_ = solved * half
        self.intercept_ = float((mean - means @ solved) * half + (low + high) / 2)
        self.noise_ = noise

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of a second moment, and of the coefficient of a group of so many rows."""
        self._check()
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


def choose_reach(rows: float, noise: float) -> float:
    """Choose after how many standard deviations numbers are clamped: the further, the less noise.

    A number that reaches k standard deviations has a second moment of rows/k², which is to stay
    above the noise of the matrix (its spectral norm, about σ·√d) by the factor ``CLEAR``.
    """
    return min(max(math.sqrt(max(rows, 0.0) / (CLEAR * noise)), LEAST_REACH), MOST_REACH)


def shrink(
    spread: NDArray[np.float64],
    shared: NDArray[np.float64],
    noise: float,
    variance: float,
    alpha: float = 0.0,
) -> NDArray[np.float64]:
    """Solve spread·β = shared where both have noise, each coefficient at its likeliest size.

    In the directions of the spread, s_j its eigenvalues (those below 0 are taken for 0), c_j =
    s_j·β_j + e_j. The error e_j has a variance of about ν_j = σ²·(1 + ‖β‖²) + s_j·v: the noise of
    c_j and, multiplied by β, of the spread, and what rows would scatter without any noise, v the
    target's variance. With β_j of variance τ² before anything is seen, its mean given c_j is
    s_j·c_j/(s_j² + ν_j/τ²), and c_j has variance s_j²·τ² + ν_j; τ² is the likeliest by that
    (empirical Bayes). A direction that holds noise only is not trusted; none needs a constant.
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    s, c = np.maximum(values, 0.0), vectors.T @ shared
    found = np.zeros(len(s))
    for _ in range(_ROUNDS):
        errors = noise**2 * (1 + found @ found) + s * variance
        spreads = np.outer(_SIZES, s**2) + errors
        likeliest = _SIZES[np.argmin((np.log(spreads) + c**2 / spreads).sum(axis=1))]
        found = s * c / (s**2 + alpha * s + errors / likeliest)
    solved: NDArray[np.float64] = vectors @ found
    return solved


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
