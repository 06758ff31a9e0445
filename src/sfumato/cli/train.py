"""`sfumato train`: a model that may be published, learnt under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.cli.options.bridge import takes_request
from sfumato.cli.options.session import open_session
from sfumato.errors import ParameterError
from sfumato.requests.publish import TrainCommand, make_estimator

if TYPE_CHECKING:
    from sfumato.ask.session.session import Session
    from sfumato.release import Release
    from sfumato.requests.publish import PicturedRequest


@takes_request
def train(request: TrainCommand) -> None:
    """Learn a model from private rows that may be published, and write its card.

    Example: sfumato train visits.csv department -s visits.yaml --groups 3 --rows-per-group 2
    --bounds cost=0,500 -e 1 --delta 1e-6 -o model --picture model.svg

    Example: sfumato train patients.csv salary -m linear --unit row --bounds age=0,110
    --bounds salary=0,200000 -e 1 --delta 1e-6 --predict 5000

    The target is a column of classes or of numbers, as the model wants it; principal components
    (pca) have none. Bounds, values and classes are public: the schema's, or from knowledge; never
    from the data. Columns without any are left out. The same request again is given again for
    nothing. Read the model in Python with sf.dp.read_model; it predicts without any private row.
    """
    from sfumato.cli.display.publication import (  # noqa: PLC0415 - help stays quick
        check_places,
        tell_prediction,
    )

    wanted = request.published
    estimator = make_estimator(
        request.model, wanted.price, target=request.target, bounds=request.bounds,
        classes=_listed(request.classes),
    )  # fmt: skip
    columns = _listed(request.columns)
    check_places(wanted.output, wanted.picture, force=wanted.force)
    asked: dict[str, Any] = {"target": request.target, "columns": columns}
    with open_session(request.data, request.opening) as session:
        if wanted.predict is not None:
            tell_prediction(session.forecast(estimator, rows=wanted.predict, **asked))
            return
        if request.cross_validate is not None:
            _validate(session, estimator, request.cross_validate, asked)
        _hand_over(session.fit(estimator, **asked), wanted, session)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _validate(session: Session, estimator: Any, folds: int, asked: dict[str, Any]) -> None:
    from sfumato.cli.display.terminal import out  # noqa: PLC0415 - help stays quick

    if asked["target"] is None:
        raise ParameterError("--cross-validate scores predictions; name the TARGET.")
    out.print(str(session.cross_validate(estimator, folds=folds, **asked)), markup=False)


def _hand_over(release: Release, published: PicturedRequest, session: Session) -> None:
    """Say what was learnt, save and record the release, and draw it where wanted."""
    from sfumato.cli.display.publication import draw, save  # noqa: PLC0415 - help stays quick
    from sfumato.cli.display.terminal import note, out  # noqa: PLC0415 - the same

    told = release.artefact.manifest()
    predicts = f" that predicts {told['predicts']}" if told["predicts"] else ""
    names = ", ".join(str(column["name"]) for column in told["columns"])
    out.print(f"{told['model']}{predicts} from {names}", markup=False)
    for name, size in told["noise"].items():
        out.print(f"{name}, of a thousand rows: ± {size:.4g}", markup=False)
    out.print(f"{release.promise}", markup=False)
    if told.get("left_out"):
        note(f"left out, because nothing is declared of them: {', '.join(told['left_out'])}")
    save(release, published, session)
    draw(release, published)
