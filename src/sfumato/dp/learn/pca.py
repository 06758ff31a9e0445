"""Principal components of declared numbers, from noisy second moments.

Promise: (ε, δ)-differential privacy for the rows of ``fit``.

Proof. Numbers are scaled by their declared bounds to [−1, 1], in whole steps; the second moments
of (features, 1) have p = d + 1 entries a row, so the upper triangle moves by √(p(p + 1)/2)
(:mod:`.gram`). Centring by the noisy mean, the projection on matrices without negative
eigenvalues, and the eigenvectors are post-processing (Dwork, Talwar, Thakurta and Zhang, "Analyze
Gauss", STOC 2014).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import TransformerMixin

from sfumato.data.cells import as_numbers
from sfumato.dp.learn.estimator import PrivateEstimator
from sfumato.dp.learn.features import Number
from sfumato.dp.learn.forecasts import GROUP
from sfumato.dp.learn.gram import BITS, STEP, exact_gram, nearest_psd, noisy_gram
from sfumato.dp.mechanisms import parameters
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PCA(TransformerMixin, PrivateEstimator):  # type: ignore[misc]  # untyped library
    """Principal components, (ε, δ)-private for the rows of ``fit``.

    ``bounds`` is {column: (low, high)}, or (low, high) for all. ``noise_`` is the standard
    deviation of the noise in an entry of the second moments, in units of the bounds' half widths.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-5,
        bounds: Any = None,
        neighbours: Any = "unbounded",
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours

    domain = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803 - scikit-learn's names
        """Learn from rows, once, within the guarantee."""
        cells = self._begin(X)
        size = len(cells)
        wanted = self._wanted(size)
        scaled = [column.steps(cells[j], BITS) for j, column in enumerate(self._numbers())]
        steps = np.column_stack([*scaled, np.full(len(cells[0]), STEP, dtype=np.int64)])
        exact = exact_gram(np.empty((len(steps), 0), dtype=np.uint32), steps, size + 1)
        released = np.triu(np.ones((size + 1, size + 1), dtype=bool))
        moved = (size + 1) * (size + 2) // 2
        gram, self.noise_ = noisy_gram(exact, released, moved, self._budget())
        self._decompose(gram, wanted)
        self.guarantee_ = self.guarantee
        return self

    def _wanted(self, columns: int) -> int:
        wanted = parameters.count(self.n_components, "n_components")
        if wanted is not None and wanted > columns:
            raise ParameterError(f"n_components is at most {columns}, the number of columns.")
        return wanted or columns

    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of an entry of the covariance, in half widths of the bounds, squared."""
        self._wanted(columns)
        moved = (columns + 1) * (columns + 2) // 2
        noise = math.sqrt(self._budget().variance(moved))
        return {"second moment (rows)": noise, "covariance": noise / (GROUP * group)}

    clearly = 0.05  # a covariance, of numbers in [−1, 1]

    def learnt(self) -> dict[str, Any]:
        """Give the mean, the components and their variances."""
        return {
            "mean": self.mean_, "components": self.components_, "noise": self.noise_,
            "variance": self.explained_variance_, "ratio": self.explained_variance_ratio_,
        }  # fmt: skip

    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""
        self.mean_, self.components_ = learnt["mean"], learnt["components"]
        self.explained_variance_, self.noise_ = learnt["variance"], learnt["noise"]
        self.explained_variance_ratio_ = learnt["ratio"]
        self.n_components_ = len(self.components_)
        if self.components_.shape[1] != len(self.columns_):
            raise ValueError

    @property
    def coefficients_(self) -> list[tuple[Any, str, NDArray[np.float64]]]:
        """The components by column: (column, "", an entry for each component)."""
        return [(c.name, "", self.components_[:, j]) for j, c in enumerate(self.columns_)]

    def picture(self) -> str:
        """Draw the components."""
        from sfumato.dp.learn.coefficient_pictures import draw_coefficients  # noqa: PLC0415 - when used

        return draw_coefficients(self)

    def _numbers(self) -> list[Number]:
        return [column for column in self.columns_ if isinstance(column, Number)]

    def _decompose(self, gram: NDArray[np.float64], wanted: int) -> None:
        numbers = self._numbers()
        half = np.array([(column.high - column.low) / 2 for column in numbers])
        middle = np.array([(column.high + column.low) / 2 for column in numbers])
        size = len(numbers)
        rows = max(gram[size, size], 2.0)
        means = np.clip(gram[size, :size] / rows, -1.0, 1.0)
        spread = gram[:size, :size] / rows - np.outer(means, means)
        covariance = nearest_psd(spread * np.outer(half, half))
        values, vectors = np.linalg.eigh(covariance)
        order = np.argsort(values)[::-1][:wanted]
        components = vectors[:, order].T
        largest = np.abs(components).argmax(axis=1)
        signs = np.sign(components[np.arange(len(order)), largest])
        self.mean_ = middle + means * half
        self.components_ = components * signs[:, None]
        self.explained_variance_ = np.maximum(values[order], 0.0)
        total = max(float(np.maximum(values, 0.0).sum()), np.finfo(float).tiny)
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.n_components_ = len(order)

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the coordinates of rows along the components; missing cells lie at the mean."""
        cells = self._continue(X)
        table = np.column_stack([as_numbers(column) for column in cells])
        centred = np.where(np.isnan(table), 0.0, table - self.mean_)
        return np.asarray(centred @ self.components_.T)

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Give the rows that have these coordinates."""
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)
