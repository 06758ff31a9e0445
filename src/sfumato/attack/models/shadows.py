"""Shadow models: how sure a model is of a row it saw, and of one it did not.

LiRA (Carlini, Chien, Nasr, Song, Terzis and Tramèr, S&P 2022). Many models are trained, each on a
random half of the same rows. For every row the confidences of models that saw it and of those that
did not are about normal on the scale of log-odds; the ratio of the two densities at a target's
confidence is the best test. *Offline* uses only the models that did not see the row.

Models whose training is a few matrix products are trained in one call, each on its own half alone:
products over all models at once would be of rows most models do not see, and leave the cache. Each
target model is judged by the other models: no model is its own shadow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.models.guesses import ALARMS, Membership, judge_scores, log_odds
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee


@dataclass(frozen=True)
class Network(Shown):
    """A network with one hidden layer, and how it is trained: Adam on all rows at once."""

    hidden: int = 64
    steps: int = 150
    rate: float = 0.01


def shadow_membership(
    rows: Any,
    labels: Any,
    *,
    fit: Callable[[Any, Any], Any] | None = None,
    network: Network | None = None,
    models: int = 64,
    targets: int = 16,
    guarantee: Guarantee | None = None,
    alarms: Sequence[float] = ALARMS,
    seed: int = 0,
) -> dict[str, Membership]:
    """Train models on random halves of the rows, and guess who was in which half.

    `fit(rows, labels)` trains one model with `predict_proba`; without it small networks are,
    all of them together. Returns the threshold on the loss, LiRA offline and LiRA online.
    """
    table, places, classes = _read(rows, labels)
    if models < 8 or not 1 <= targets <= models:
        raise ParameterError("At least 8 models, of which any number are targets.")
    generator = np.random.Generator(np.random.PCG64(seed))  # an attack; nothing is released
    inside = generator.random((models, len(table))) < 0.5
    shares: NDArray[Any]
    if fit is None:
        shares = train_together(table, places, len(classes), inside, network or Network(), seed)
    else:
        shares = _train_each(fit, table, np.asarray(labels), inside)
    scores = log_odds(shares)
    return {
        name: judge_scores(name, *_split(judged, inside[:targets]), guarantee=guarantee,
                           alarms=alarms)
        for name, judged in _judged(scores, inside, targets).items()
    }  # fmt: skip


def _judged(
    scores: NDArray[np.float64], inside: NDArray[np.bool_], targets: int
) -> dict[str, NDArray[np.float64]]:
    """Return the score of every target and row by the three attacks."""
    offline, online = np.empty((targets, scores.shape[1])), np.empty((targets, scores.shape[1]))
    for target in range(targets):
        others = np.arange(len(scores)) != target
        seen, unseen = inside[others], ~inside[others]
        mean_in, spread_in = _normal(scores[others], seen)
        mean_out, spread_out = _normal(scores[others], unseen)
        value = scores[target]
        offline[target] = (value - mean_out) / spread_out
        online[target] = (
            np.log(spread_out / spread_in)
            - ((value - mean_in) / spread_in) ** 2 / 2
            + ((value - mean_out) / spread_out) ** 2 / 2
        )
    return {"loss threshold": scores[:targets], "LiRA offline": offline, "LiRA online": online}


def _normal(
    scores: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and spread per row over the chosen models; spreads lean on that of all rows."""
    count = np.maximum(chosen.sum(axis=0), 1)
    mean = (scores * chosen).sum(axis=0) / count
    square = (((scores - mean) ** 2) * chosen).sum(axis=0)
    common = square.sum() / max(float(count.sum() - len(count)), 1.0)
    return mean, np.sqrt((square + 4 * common) / (count + 3)) + 1e-9


def _split(
    judged: NDArray[np.float64], inside: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return judged[inside], judged[~inside]


def train_together(
    rows: NDArray[np.float64],
    places: NDArray[np.int64],
    classes: int,
    inside: NDArray[np.bool_],
    network: Network,
    seed: int = 0,
) -> NDArray[np.float32]:
    """Train one network per line of `inside`; return their shares of the true labels."""
    generator = np.random.Generator(np.random.PCG64(seed + 1))  # an attack; nothing is released
    models, columns = len(inside), rows.shape[1]
    data = rows.astype(np.float32)
    truth = np.eye(classes, dtype=np.float32)[places]
    shapes = [(models, columns, network.hidden), (models, 1, network.hidden),
              (models, network.hidden, classes), (models, 1, classes)]  # fmt: skip
    starts = [generator.standard_normal(shape).astype(np.float32) * np.float32(scale)
              for shape, scale in zip(shapes, (np.sqrt(2 / columns), 0, np.sqrt(1 / network.hidden),
                                               0), strict=True)]  # fmt: skip
    found = np.empty((models, len(data)), dtype=np.float32)
    for model, chosen in enumerate(inside):
        values = [start[model] for start in starts]
        if chosen.any():
            _descend(data[chosen], truth[chosen], values, network)
        shares = _forward(data, values)[1]
        found[model] = np.take_along_axis(shares, places[:, None], axis=1)[:, 0]
    return found


def _descend(
    data: NDArray[np.float32],
    truth: NDArray[np.float32],
    values: list[NDArray[np.float32]],
    network: Network,
) -> None:
    """Train one network by Adam, in place."""
    first = [np.zeros_like(value) for value in values]
    second = [np.zeros_like(value) for value in values]
    for step in range(1, network.steps + 1):
        slopes = _backward(data, truth, values)
        lean = np.float32(network.rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step))
        for part, slope in enumerate(slopes):
            first[part] += np.float32(0.1) * (slope - first[part])
            second[part] += np.float32(0.001) * (slope * slope - second[part])
            values[part] -= lean * first[part] / (np.sqrt(second[part]) + np.float32(1e-8))


def _forward(
    data: NDArray[np.float32], values: list[NDArray[np.float32]]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    hidden: NDArray[np.float32] = data @ values[0]
    hidden += values[1]
    np.maximum(hidden, 0, out=hidden)
    score: NDArray[np.float32] = hidden @ values[2] + values[3]
    score -= score.max(axis=1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=1, keepdims=True)
    return hidden, score


def _backward(
    data: NDArray[np.float32], truth: NDArray[np.float32], values: list[NDArray[np.float32]]
) -> list[NDArray[np.float32]]:
    hidden, shares = _forward(data, values)
    error = (shares - truth) / np.float32(len(data))
    back = error @ values[2].T
    back *= hidden > 0
    return [
        data.T @ back, back.sum(axis=0, keepdims=True),
        hidden.T @ error, error.sum(axis=0, keepdims=True),
    ]  # fmt: skip


def _train_each(
    fit: Callable[[Any, Any], Any],
    rows: NDArray[np.float64],
    labels: NDArray[Any],
    inside: NDArray[np.bool_],
) -> NDArray[np.float64]:
    shares = []
    for chosen in inside:
        model = fit(rows[chosen], labels[chosen])
        given = np.asarray(model.predict_proba(rows), dtype=np.float64)
        place = {value: k for k, value in enumerate(np.asarray(model.classes_).tolist())}
        columns = np.array([place.get(value, -1) for value in labels.tolist()])
        true = given[np.arange(len(rows)), columns]
        shares.append(np.where(columns >= 0, true, 0.0))
    return np.array(shares)


def _read(rows: Any, labels: Any) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[Any]]:
    table = np.asarray(rows, dtype=np.float64)
    classes, places = np.unique(np.asarray(labels), return_inverse=True)
    if table.ndim != 2 or len(places) != len(table) or not np.isfinite(table).all():
        raise ParameterError("Rows are a matrix of finite numbers, with a label for each.")
    return table, places.astype(np.int64), classes
