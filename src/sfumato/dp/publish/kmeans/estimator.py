"""``KMeans``: centres and sizes of clusters under differential privacy, as scikit-learn has them.

Promise: what ``guarantee`` says, for all that is released together: ``cluster_centers_``,
``sizes_``, their errors, and whatever is computed from them. Nothing else is kept of the rows:
there is no ``labels_``, which would say of each where it belongs; ``predict`` tells their owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sfumato.dp.mechanisms import parameters
from sfumato.dp.publish.kmeans import kernels
from sfumato.dp.publish.kmeans.best import best_clusters
from sfumato.dp.publish.kmeans.lecture import lecture_clusters
from sfumato.dp.publish.kmeans.outlook import outlook
from sfumato.dp.publish.kmeans.rows import Box, box_of, matrix_of
from sfumato.dp.publish.numbers import ERRORS, NumberTable, release_numbers
from sfumato.dp.publish.purse import Price, Purse, price_of, statement
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours, PrivacyUnit
    from sfumato.dp.publish.forecast import Forecast
    from sfumato.dp.publish.kmeans.clusters import Clusters
    from sfumato.dp.publish.purse import PurseEntry
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_PARAMETERS = (
    "n_clusters", "epsilon", "bounds", "delta", "rho", "algorithm", "rounds", "neighbours",
)  # fmt: skip


class KMeans(Shown):
    """k-means clustering under differential privacy.

    ``bounds`` are public: (low, high) for all columns, a list of such, or a mapping by column,
    which then also says which columns are used. Values outside are clamped; a row with a missing
    value is left out. ``algorithm`` is "best", or "lecture": ``rounds`` rounds, each with noisy
    sizes and noisy sums. Pure ε unless ``delta`` or ``rho`` is given, which pays
    off for many columns.

    >>> import numpy as np
    >>> rows = np.repeat([[0.2, 0.2], [0.8, 0.8]], 5000, axis=0)
    >>> model = KMeans(n_clusters=2, epsilon=1, bounds=(0, 1)).fit(rows)
    >>> model.cluster_centers_.shape, model.guarantee.epsilon
    ((2, 2), 1.0)

    After ``fit``: ``cluster_centers_``, ``sizes_`` and the standard deviations that noise gives
    them, ``size_error_`` and ``center_error_`` (per coordinate); ``entries_`` lists what the budget
    was spent on; ``notes_`` says where the result is of little use. Where noise would hide so many
    clusters, fewer are released, or the mean of all rows alone, and a note says so. Labels are not
    kept, because a fitted model may be given away; ``predict(rows)`` gives them to the owner of the
    rows.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Stated | None = None,
        bounds: Any = None,
        delta: Stated | None = None,
        rho: Stated | None = None,
        algorithm: Literal["best", "lecture"] = "best",
        rounds: int = 7,
        neighbours: Neighbours | PrivacyUnit | str = "unbounded",
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.delta = delta
        self.rho = rho
        self.algorithm = algorithm
        self.rounds = rounds
        self.neighbours = neighbours

    # -- what it promises and what it will be worth ----------------------------------------

    @property
    def price(self) -> Price:
        """What one release promises, and what one row may cost."""
        return price_of(
            epsilon=self.epsilon, delta=self.delta, rho=self.rho, neighbours=self.neighbours
        )

    @property
    def guarantee(self) -> Guarantee:
        """The promise of one ``fit``."""
        return self.price.guarantee

    def forecast(self, rows: int, columns: int | None = None) -> Forecast:
        """Tell, before anything is spent, how large the errors will be for so many rows."""
        self._check()
        width = columns or box_of(None, self.bounds).width
        lecture = self.rounds if self.algorithm == "lecture" else 0
        return outlook(
            rows=rows, count=self.n_clusters, width=width, price=self.price, lecture=lecture
        )

    # -- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002, N803 - scikit-learn's signature
        """Release centres and sizes, spending the guarantee once."""
        self._check()
        if sample_weight is not None:
            raise ParameterError(
                "Weights would change how much one row may move the result; leave sample_weight "
                "out."
            )
        purse = Purse(self.price)
        box = box_of(X, self.bounds)
        found = self._released(np.ascontiguousarray(box.unit(matrix_of(X, box))), purse)
        self.keep(found, box, purse.close())
        return self

    def _released(self, rows: NDArray[np.float64], purse: Purse) -> Clusters:
        if self.algorithm == "lecture":
            return lecture_clusters(rows, self.n_clusters, purse, self.rounds)
        return best_clusters(rows, self.n_clusters, purse)

    def keep(self, found: Clusters, box: Box, entries: tuple[PurseEntry, ...]) -> None:
        """Take over what was released, now or earlier; for storing, not for use by hand."""
        self.released = found
        self.box = box
        self.cluster_centers_ = box.back(found.centres)
        self.sizes_ = found.sizes
        self.size_error_ = found.size_deviation
        self.center_error_ = found.centre_deviation[:, None] * box.sides
        self.entries_ = entries
        self.n_features_in_ = box.width
        self.columns_ = box.names
        seen = self.forecast(max(int(found.sizes.sum()), 1), box.width)
        fewer = len(found.sizes)
        made = "one mean is" if fewer == 1 else f"{fewer} are"
        told = f"Noise would hide {self.n_clusters} clusters of so few rows, so {made} released."
        hidden = () if fewer == self.n_clusters else (told,)
        self.notes_ = (*hidden, *(() if seen.useful else (f"{seen.advice}.",)))

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803 - scikit-learn's signature
        """Give the nearest centre of each row, −1 for rows with a missing value; spends nothing.

        Labels of private rows are as private as the rows.
        """
        if not hasattr(self, "cluster_centers_"):
            raise ParameterError("This model has no centres yet; call fit first.")
        matrix = matrix_of(X, self.box)
        centres = np.ascontiguousarray((self.cluster_centers_ - self.box.low) / self.box.sides)
        kept = ~np.isnan(matrix).any(axis=1)
        labels = np.full(matrix.shape[0], -1, dtype=np.int64)
        labels[kept] = kernels.nearest(np.ascontiguousarray(self.box.unit(matrix)), centres)
        return labels

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:  # noqa: N803 - the same
        """Release centres, and give the owner the label of each row."""
        return self.fit(X, y).predict(X)

    # -- handing over ------------------------------------------------------------------------

    def release(self, name: str = "clusters") -> Release:
        """Hand centres and sizes over as a release: a row per cluster."""
        if not hasattr(self, "cluster_centers_"):
            raise ParameterError("This model has no centres yet; call fit first.")
        columns = self.columns_ or tuple(f"x{i + 1}" for i in range(self.n_features_in_))
        errors = tuple(f"{column} ±" for column in columns)
        rows = [
            (number + 1, float(self.sizes_[number]), float(self.size_error_[number]),
             *self.cluster_centers_[number].tolist(), *self.center_error_[number].tolist())
            for number in range(len(self.sizes_))
        ]  # fmt: skip
        facts = {"spent_on": self.statement, "notes": list(self.notes_), "errors": ERRORS}
        table = NumberTable(("cluster", "size", "size ±", *columns, *errors), rows, self, facts)
        mechanism = f"k-means, {self.algorithm}"
        return release_numbers(table, self.guarantee, name=name, mechanism=mechanism)

    # -- showing -----------------------------------------------------------------------------

    def picture(self) -> str:
        """Draw the centres of the first two columns as an SVG, as large as their sizes."""
        from sfumato.dp.publish.pictures.clusters import draw_clusters  # noqa: PLC0415 - loaded when shown

        return draw_clusters(self)

    @property
    def statement(self) -> str:
        """What the budget was spent on, in one line."""
        return statement(self.entries_, pure=self.price.pure)

    def __repr__(self) -> str:
        price = f"rho={self.rho}" if self.rho is not None else f"epsilon={self.epsilon}"
        return f"KMeans(n_clusters={self.n_clusters}, {price}, algorithm={self.algorithm!r})"

    # -- scikit-learn ------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """Give the parameters by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **given: Any) -> Self:
        """Change parameters by name."""
        for name, value in given.items():
            if name not in _PARAMETERS:
                raise ParameterError(
                    f"KMeans has no parameter {name!r}; it has {', '.join(_PARAMETERS)}."
                )
            setattr(self, name, value)
        return self

    def _check(self) -> None:
        parameters.count(self.n_clusters, "The number of clusters (n_clusters)")
        parameters.count(self.rounds, "The number of rounds")
        if self.n_clusters is None or self.n_clusters > 10_000:
            raise ParameterError("The number of clusters (n_clusters) is between 1 and 10,000.")
        if self.algorithm not in {"best", "lecture"}:
            raise ParameterError(
                f"algorithm= is 'best' or 'lecture', and {self.algorithm!r} was given."
            )
        if self.algorithm == "lecture" and not self.price.pure:
            raise ParameterError("The lecture's algorithm is ε-DP; leave delta= and rho= out.")
