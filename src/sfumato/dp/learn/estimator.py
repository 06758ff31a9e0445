"""What all estimators share: scikit-learn's manners, and a promise known before a row is read.

Contract: ``guarantee`` is a function of the parameters alone, and so is ``error``; ``fit`` keeps
the guarantee for its rows (features and target), and whatever it sets on the estimator may be
published. Every call of ``fit`` spends the guarantee anew, those that cross-validation makes
included; in a session each of them is charged (``session.fit``).

The number of rows is not told: nothing that is kept depends on it but through noisy totals.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.learn.budget import Budget
from sfumato.dp.learn.features import Category, Column, as_cells, declare, read_columns
from sfumato.dp.mechanisms import parameters
from sfumato.dp.queries.bounds import read_ends
from sfumato.errors import DataError, MissingExtra, ParameterError
from sfumato.representation import show_html

try:
    from sklearn.base import BaseEstimator, clone
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtra("scikit-learn", "ml", "A model with scikit-learn's manners") from None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.publish.forecast import Forecast
    from sfumato.release import Release


class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """An estimator whose fit is differentially private for its rows."""

    epsilon: Any
    delta: Any
    bounds: Any
    domain: Any
    neighbours: Any
    pure = False  # whether δ = 0 is possible

    @property
    def guarantee(self) -> Guarantee:
        """What one call of ``fit`` promises, known before."""
        return self._budget().guarantee

    def _budget(self) -> Budget:
        return Budget.of(self.epsilon, self.delta, self.neighbours, pure=self.pure)

    # -- what a fit will be worth, and what it has learnt ----------------------------------------

    def forecast(self, rows: int) -> Forecast:
        """Tell, before a row is read, how large the errors of so many rows will be."""
        from sfumato.dp.learn.forecasts import CLEAR, forecast_values  # noqa: PLC0415 - when used

        columns = self._declared()
        number = int(parameters.positive(rows, "The number of rows"))
        what = f"{type(self).__name__} of {len(columns)} columns, {self.guarantee}"
        return forecast_values(
            what, number, lambda group: self.errors(len(columns), group), CLEAR * self.clearly
        )

    clearly = 1.0  # in which unit values are judged to be clear

    @abstractmethod
    def errors(self, columns: int, group: float) -> dict[str, float]:
        """Give the noise of what is learnt of a group of so many rows, the value of use last."""

    def _declared(self) -> tuple[Column, ...]:
        """Give the columns that are declared by name; a model for all columns knows none yet."""
        if hasattr(self, "columns_"):
            return self.columns_
        limits = self.bounds if isinstance(self.bounds, Mapping) else {}
        names = [*limits, *(self.domain or {})]
        if not names:
            raise ParameterError(
                "The columns are not named yet; give bounds={column: (low, high)} or "
                "domain={column: values} to have errors told before."
            )
        return declare(names, self.bounds, self.domain)

    def noise_told(self) -> dict[str, float]:
        """Give the noise of what was learnt, in words, for a model card."""
        promise: Any = self.guarantee_  # parameters may have been changed since
        fitted = clone(self).set_params(
            epsilon=promise.epsilon, delta=getattr(promise, "delta", None),
            neighbours=promise.neighbours,
        )  # fmt: skip
        told: dict[str, float] = fitted.errors(len(self.columns_), 1000.0)
        return told

    @abstractmethod
    def learnt(self) -> dict[str, Any]:
        """Give what the fit has learnt and published, by name."""

    @abstractmethod
    def learn_again(self, learnt: dict[str, Any]) -> None:
        """Take over what an earlier fit has learnt."""

    def release(self, name: str = "model", *, predicts: str | None = None, **facts: Any) -> Release:
        """Hand the fitted model over as a release, with its guarantee and a model card.

        ``predicts`` names the target; ``facts`` (such as ``purpose="…"``) go to `release.json` and
        to the card.
        """
        from sfumato.dp.learn.artefact import Model  # noqa: PLC0415 - loaded when used

        check_is_fitted(self)
        return Model(self, predicts, facts).release(name)

    # -- reading rows ------------------------------------------------------------------------

    def _begin(self, X: Any) -> list[NDArray[Any]]:  # noqa: N803 - scikit-learn's name
        """Read the columns of the rows to learn from, and hold them against the declarations.

        What an earlier fit has promised ends here: whatever is set from now on is of this one.
        """
        self._budget()
        if hasattr(self, "guarantee_"):
            del self.guarantee_
        names, cells = read_columns(X)
        if not names:
            raise DataError("0 feature(s) (no columns) while a minimum of 1 is required.")
        self.columns_: tuple[Column, ...] = declare(names, self.bounds, self.domain)
        self.n_features_in_ = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return cells

    def _continue(self, X: Any) -> list[NDArray[Any]]:  # noqa: N803 - scikit-learn's name
        """Read the columns of rows to be judged by a model that is there."""
        check_is_fitted(self)
        names, cells = read_columns(X)
        if len(names) != self.n_features_in_:
            raise DataError(
                f"X has {len(names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        known = [column.name for column in self.columns_]
        if names != known and all(isinstance(name, str) for name in (*names, *known)):
            raise DataError(
                "The feature names should match those that were passed during fit, in their order."
            )
        return cells

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether a fit came to its end, and so to a promise."""
        return hasattr(self, "guarantee_")

    def _repr_html_(self) -> str:
        """Show parameters, promise and picture; scikit-learn's page would list what was learnt."""
        return show_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


def read_labels(y: Any, classes: Sequence[Any] | None, rows: int) -> tuple[Any, NDArray[np.int64]]:
    """Give the declared classes and the place of each label among them; −1 for others.

    Without a declaration the classes are 0 and 1, of an array or a column that is not one of texts
    alone; which objects a column holds is no reason to refuse it. A label that is not declared adds
    nothing.
    """
    labels = read_target(y, rows)
    if classes is None:
        if isinstance(y, list | tuple) or labels.dtype.kind in "US":
            raise ParameterError(
                "The classes are not declared, and 0 and 1 are meant where they are not, in an "
                "array or a column of numbers; give classes=[…] with the labels that may occur, "
                "from knowledge and never from the data."
            )
        classes = (0, 1)
    declared = Category("classes", _classes(classes))
    places = declared.codes(labels, len(declared.values))
    return np.array(declared.values), np.where(places < len(declared.values), places, -1)


def _classes(classes: Sequence[Any]) -> tuple[Any, ...]:
    listed = [value.item() if isinstance(value, np.generic) else value for value in classes]
    if isinstance(classes, str) or len(listed) < 2 or len(set(listed)) < len(listed):
        raise ParameterError("classes= lists two labels or more, each once.")
    return tuple(listed)


def read_target(y: Any, rows: int) -> NDArray[Any]:
    """Read a column with one value for each row."""
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, list | tuple):  # a list of one value is that value
        y = [cell[0] if _is_single(cell) else cell for cell in y]
    target = as_cells(y)
    if isinstance(y, list) and target.ndim != 1:
        target = np.empty(len(y), dtype=object)
        target[:] = [None if isinstance(cell, list | tuple) else cell for cell in y]
    if target.ndim == 2 and target.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=3,
        )
        target = target[:, 0]
    if target.ndim != 1 or target.size != rows:
        raise DataError("The target y has one value for each row of X.")
    return target


def _is_single(cell: Any) -> bool:
    return isinstance(cell, list | tuple) and len(cell) == 1


def read_interval(value: Any) -> tuple[float, float]:
    """Read the declared bounds of a numeric target."""
    if value is None:
        raise ParameterError(
            "The target is not declared; give target=(low, high), from knowledge of the domain and "
            "never from the data; values outside are clamped."
        )
    return read_ends(value, "bounds of the target")
