"""`sfumato train`: a model that may be published, learnt under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import open_session
from sfumato.errors import ParameterError
from sfumato.requests.publish import TrainCommand

if TYPE_CHECKING:
    from sfumato.ask.session.session import Session
    from sfumato.release import Release
    from sfumato.requests.publish import Published

MODELS = {
    "additive": "AdditiveClassifier",
    "logistic": "LogisticRegression",
    "naive-bayes": "NaiveBayes",
    "additive-regression": "AdditiveRegressor",
    "linear": "LinearRegression",
    "pca": "PCA",
}


@takes_request
def train(request: TrainCommand) -> None:
    """Learn a model from private rows that may be published, and write its card.

    Example: sfumato train visits.csv department -s visits.yaml --groups 3 --rows-per-group 2
    --bounds cost=0,500 -e 1 --delta 1e-6 -o model --picture model.svg

    Example: sfumato train patients.csv salary -m linear --unit row --bounds age=0,110
    --bounds salary=0,200000 -e 1 --delta 1e-6 --forecast 5000

    The target is a column of classes or of numbers, as the model wants it; principal components (pca)
    have none. Bounds, values and classes are public: the schema's, or from knowledge; never from the data.
    Columns without any are left out. The same request again is given again for nothing. Read the
    model in Python with sf.dp.read_model; it predicts without any private row.
    """
    estimator = _estimator(request)
    columns = _listed(request.columns)
    with open_session(request.data, request.opening) as session:
        if request.forecast is not None:
            _foretell(session, estimator, request, columns)
            return
        if request.cross_validate is not None:
            _validate(session, estimator, request, columns)
        release = session.fit(estimator, target=request.target, columns=columns)
    _hand_over(release, request.published)


def _estimator(request: TrainCommand) -> Any:
    """Make the estimator that was named, with the price that was named."""
    if request.model not in MODELS:
        raise ParameterError(
            f"--model is one of {', '.join(MODELS)}, and {request.model!r} was given."
        )
    if request.published.epsilon is None:
        raise ParameterError("Say what the model may cost: --epsilon, and --delta (as 1e-6).")
    from sfumato import dp  # noqa: PLC0415 - help stays quick

    options: dict[str, Any] = {"epsilon": request.published.epsilon}
    if request.published.delta is not None or request.model != "naive-bayes":
        options["delta"] = request.published.delta
    if request.bounds:
        bounds = dict(request.bounds)
        if request.target in bounds and request.model in {"linear", "additive-regression"}:
            options["target"] = bounds.pop(request.target)
        options["bounds"] = bounds
    if request.classes is not None:
        options["classes"] = _listed(request.classes)
    made: Any = getattr(dp, MODELS[request.model])
    return made(**options)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _foretell(
    session: Session, estimator: Any, request: TrainCommand, columns: list[str] | None
) -> None:
    from sfumato.cli.terminal import out  # noqa: PLC0415 - help stays quick

    told = session.forecast(
        estimator, rows=request.forecast or 0, target=request.target, columns=columns
    )
    for name, size in told.errors.items():
        out.print(f"{name}: ± {size:.4g} (one standard deviation)", markup=False)
    out.print(told.advice or "The model will tell groups of a tenth of the rows apart.")


def _validate(
    session: Session, estimator: Any, request: TrainCommand, columns: list[str] | None
) -> None:
    from sfumato.cli.terminal import out  # noqa: PLC0415 - help stays quick

    if request.target is None:
        raise ParameterError("--cross-validate scores predictions; name the TARGET.")
    found = session.cross_validate(
        estimator, target=request.target, columns=columns, folds=request.cross_validate or 0
    )
    out.print(str(found), markup=False)


def _hand_over(release: Release, published: Published) -> None:
    """Say what was learnt, save the release and draw it where wanted."""
    from sfumato.cli.terminal import note, out  # noqa: PLC0415 - help stays quick
    from sfumato.data.atomic import write_text_atomically  # noqa: PLC0415 - the same

    told = release.artefact.manifest()
    predicts = f" that predicts {told['predicts']}" if told["predicts"] else ""
    names = ", ".join(str(column["name"]) for column in told["columns"])
    out.print(f"{told['model']}{predicts} from {names}", markup=False)
    for name, size in told["noise"].items():
        out.print(f"{name}, of a thousand rows: ± {size:.4g}", markup=False)
    out.print(f"{release.promise}", markup=False)
    if told.get("left_out"):
        note(f"left out, because nothing is declared of them: {', '.join(told['left_out'])}")
    if published.output is not None:
        note(f"{release.save(published.output)} was written")
    if published.picture is not None:
        write_text_atomically(published.picture, release.data.picture())
        note(f"{published.picture} was written")
