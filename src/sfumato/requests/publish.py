"""What can be published once from a dataset: `sfumato kmeans`, `sfumato topk`, `sfumato train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.errors import ParameterError
from sfumato.requests.ask import Bounds
from sfumato.requests.request import Amount, Request, argument, option, piece
from sfumato.requests.session import DataPlace, DatasetOpening

if TYPE_CHECKING:
    from collections.abc import Mapping


MODELS = {
    "additive": "AdditiveClassifier",
    "logistic": "LogisticRegression",
    "naive-bayes": "NaiveBayes",
    "additive-regression": "AdditiveRegressor",
    "linear": "LinearRegression",
    "pca": "PCA",
}
"""Models that can be trained, and their classes in `sf.dp`."""


def make_estimator(
    model: str,
    price: OncePrice,
    *,
    target: str | None,
    bounds: Mapping[str, Any],
    classes: list[str] | None,
) -> Any:
    """Make the estimator that was named, with the price that was named."""
    if model not in MODELS:
        raise ParameterError(f"--model is one of {', '.join(MODELS)}, and {model!r} was given.")
    if price.epsilon is None:
        raise ParameterError("Say what the model may cost: --epsilon, and --delta (as 1e-6).")
    from sfumato import dp  # noqa: PLC0415 - help stays quick

    options: dict[str, Any] = {"epsilon": price.epsilon, "delta": price.delta}
    if bounds:
        known = dict(bounds)
        if target in known and model in {"linear", "additive-regression"}:
            options["target"] = known.pop(target)
        options["bounds"] = known
    if classes is not None:
        options["classes"] = classes
    made: Any = getattr(dp, MODELS[model])
    return made(**options)


class OncePrice(Request):
    """What something that is published once may cost."""

    epsilon: Annotated[Amount | None, option("--epsilon", "-e", help="ε to spend.")] = None
    delta: Annotated[
        Amount | None, option("--delta", help="δ to spend, where it is needed or pays off.")
    ] = None
    rho: Annotated[Amount | None, option("--rho", help="ρ to spend, instead of ε and δ.")] = None

    def given(self) -> dict[str, Any]:
        """Return what was said, as a session takes it."""
        stated = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: value for name, value in stated.items() if value is not None}


class SavedOnce(Request):
    """What something that is published once may cost, and the folder it goes to."""

    price: OncePrice = piece(OncePrice)
    predict: Annotated[
        int | None,
        option(
            "--predict",
            metavar="ROWS",
            help="Only tell how large the errors will be for about so many rows; spends nothing.",
            ge=1,
        ),
    ] = None
    output: Annotated[
        Path | None, option("--output", "-o", help="Folder to save the release in.")
    ] = None
    force: Annotated[bool, option("--force", help="Replace what is already there.")] = False


class PicturedRequest(SavedOnce):
    """The same, with a picture."""

    picture: Annotated[Path | None, option("--picture", help="SVG file to draw it into.")] = None


class KMeansCommand(Request):
    """`sfumato kmeans`: columns, how many clusters, and the dataset that is opened."""

    data: DataPlace
    columns: Annotated[
        tuple[str, ...], argument(metavar="COLUMN…", help="The columns of numbers to cluster.")
    ]
    clusters: Annotated[int, option("--clusters", "-k", help="How many clusters.")] = 5
    algorithm: Annotated[
        str, option("--algorithm", help="'best', or 'lecture': rounds of sizes and sums.")
    ] = "best"
    bounds: Bounds = {}
    published: PicturedRequest = piece(PicturedRequest)
    opening: DatasetOpening = piece(DatasetOpening)


class TopKCommand(Request):
    """`sfumato topk`: a column, how many winners, and the dataset that is opened."""

    data: DataPlace
    column: Annotated[str, argument(metavar="COLUMN", help="Column whose values are ranked.")]
    k: Annotated[int, option("--top", "-k", help="How many values.")] = 10
    values: Annotated[
        str | None,
        option("--values", help="Public list of values, separated by commas; else the schema's."),
    ] = None
    counts: Annotated[bool, option("--counts", help="Pay for noisy counts beside the names.")] = (
        False
    )
    set_size: Annotated[
        int,
        option(
            "--sets",
            help="Rank sets of up to so many values that people have together.",
            ge=1,
            le=3,
        ),
    ] = 1
    published: PicturedRequest = piece(PicturedRequest)
    opening: DatasetOpening = piece(DatasetOpening)


class TrainCommand(Request):
    """`sfumato train`: what to predict, with which model, and the dataset that is opened."""

    data: DataPlace
    target: Annotated[
        str | None, argument(metavar="TARGET", help="Column to predict; none for pca.")
    ] = None
    model: Annotated[
        str,
        option(
            "--model",
            "-m",
            help="additive, logistic, naive-bayes (classes); additive-regression, linear "
            "(numbers); pca.",
        ),
    ] = "additive"
    columns: Annotated[
        str | None,
        option("--columns", help="Columns it may use, separated by commas; else all declared."),
    ] = None
    bounds: Bounds = {}
    classes: Annotated[
        str | None,
        option("--classes", help="Public list of labels, separated by commas; else the schema's."),
    ] = None
    cross_validate: Annotated[
        int | None,
        option("--cross-validate", help="Also buy a noisy score, over so many folds.", metavar="K"),
    ] = None
    published: PicturedRequest = piece(PicturedRequest)
    opening: DatasetOpening = piece(DatasetOpening)
