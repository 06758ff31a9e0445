"""What a session offers for learning: models fitted, validated and foretold under its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.ask.session.publishing_methods import PublishingMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.session.cross_validation import Validation
    from sfumato.dp.publish.forecast import Forecast
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release


class LearningMethods(PublishingMethods):
    """The methods of a session that learn models; rows are read once they are paid for."""

    def fit(
        self, estimator: Any, *, target: str | None = None, columns: Sequence[str] | None = None
    ) -> Release:
        """Fit an estimator of `sf.dp` to the rows, charged to the ledger at its own price.

        ``.data`` of the release is the fitted model. `target` is the column to predict; `columns`
        are those it may use, all that are declared if left out. Bounds, values and classes are
        those of the schema, or of the estimator where the owner fixed none.
        """
        from sfumato.ask.session.learn import fit_model  # noqa: PLC0415 - loaded when used

        self._check_open()
        return fit_model(self.desk, estimator, target, columns)

    def cross_validate(
        self,
        estimator: Any,
        *,
        target: str,
        columns: Sequence[str] | None = None,
        folds: int = 3,
        score_epsilon: Stated | None = None,
    ) -> Validation:
        """Measure how well an estimator predicts rows it has not seen, charged to the ledger.

        It costs the estimator's price for each fold but one, and `score_epsilon` (a tenth of the
        estimator's ε if left out) for the score.
        """
        from sfumato.ask.session.cross_validation import cross_validate  # noqa: PLC0415 - when used

        self._check_open()
        return cross_validate(
            self.desk, estimator, target, columns, folds=folds, score_epsilon=score_epsilon
        )

    def train(
        self,
        network: Any,
        loss: Any,
        *,
        target: str,
        columns: Sequence[str] | None = None,
        epsilon: Stated,
        delta: Stated,
        lot: int,
        steps: int,
        **options: Any,
    ) -> Release:
        """Train a torch module on the rows by DP-SGD, charged once for all steps.

        `network` is a module, or a function from the number of inputs to one. Declared columns are
        its inputs: categories one-hot (and one more for missing cells), numbers in [−1, 1]. `loss`
        and `options` are as for `sf.dp.train`.
        """
        from sfumato.ask.session.networks import train_network  # noqa: PLC0415 - loaded when used

        self._check_open()
        return train_network(
            self.desk, network, loss, target=target, columns=columns, epsilon=epsilon,
            delta=delta, lot=lot, steps=steps, **options,
        )  # fmt: skip

    def forecast(
        self,
        estimator: Any,
        *,
        rows: int,
        target: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Forecast:
        """Tell how noisy a fit to about so many rows would be; nothing is read or spent."""
        from sfumato.ask.session.learn import prepare_fit  # noqa: PLC0415 - loaded when used

        self._check_open()
        return prepare_fit(self.desk, estimator, target, columns).estimator.forecast(rows)
