"""Targets: the model under attack, as far as the attacker can see into it.

`target_of` looks at what it is handed: a linear model has weights, a network has gradients, a
forest has thresholds, and anything else answers with a label and nothing more. Works on fitted
scikit-learn classifiers (with a scaler in front of a linear model or network, too), torch modules
and plain functions.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Target:
    """A classifier that tells labels alone, as places in `classes`."""

    model: Any
    classes: NDArray[Any]

    def decide(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of the label of each row."""
        labels = np.asarray(self.model(rows) if callable(self.model) else self.model.predict(rows))
        return places_of(labels, self.classes)


@dataclass(frozen=True, eq=False)
class ScoringTarget(Target, ABC):
    """A classifier with a differentiable score per class: the largest one decides."""

    @abstractmethod
    def scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a score for every row and class."""

    @abstractmethod
    def gradients(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of every score at every row: rows × classes × columns."""

    def decide(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class of the largest score."""
        found: NDArray[np.int64] = self.scores(rows).argmax(axis=1)
        return found


@dataclass(frozen=True, eq=False)
class LinearTarget(ScoringTarget):
    """Scores that are linear in the row."""

    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights·row + offsets."""
        found: NDArray[np.float64] = rows @ self.weights.T + self.offsets
        return found

    def gradients(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights, whatever the row."""
        return np.broadcast_to(self.weights, (len(rows), *self.weights.shape))


_SLOPES: dict[str, Callable[[Any], Any]] = {
    "identity": np.ones_like,
    "relu": lambda out: (out > 0).astype(np.float64),
    "tanh": lambda out: 1 - out * out,
    "logistic": lambda out: out * (1 - out),
}
_BENDS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-np.clip(x, -500, 500))),
}


@dataclass(frozen=True, eq=False)
class NetworkTarget(ScoringTarget):
    """A network of dense layers; scores are what the last one has before softmax."""

    layers: tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]
    activation: str

    def _forward(self, rows: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        found = [rows]
        for place, (weights, offsets) in enumerate(self.layers):
            value = found[-1] @ weights + offsets
            last = place == len(self.layers) - 1
            found.append(value if last else _BENDS[self.activation](value))
        return found

    def scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run the network."""
        return self._forward(rows)[-1]

    def gradients(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run it backwards, from every class at once."""
        values = self._forward(rows)
        back = np.broadcast_to(
            self.layers[-1][0].T, (len(rows), len(self.classes), len(self.layers[-1][0]))
        )
        for place in range(len(self.layers) - 2, -1, -1):
            back = back * _SLOPES[self.activation](values[place + 1])[:, None, :]
            back = back @ self.layers[place][0].T
        return back


@dataclass(frozen=True, eq=False)
class TorchTarget(ScoringTarget):
    """A torch module that gives a score per class, or one score for two classes."""

    def _run(self, rows: Any) -> Any:
        import torch  # noqa: PLC0415 - the model is one of its modules, so it is loaded

        out = self.model(rows)
        out = out.reshape(len(rows), -1)
        return torch.cat([torch.zeros_like(out), out], 1) if out.shape[1] == 1 else out

    def _tensor(self, rows: NDArray[np.float64]) -> Any:
        import torch  # noqa: PLC0415 - as above

        kind = next((p.dtype for p in self.model.parameters()), torch.float32)
        return torch.as_tensor(rows, dtype=kind)

    def scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run the module."""
        import torch  # noqa: PLC0415 - as above

        with torch.no_grad():
            found: NDArray[np.float64] = self._run(self._tensor(rows)).double().numpy()
        return found

    def gradients(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Run it backwards once per class; rows do not mix, so sums over rows serve."""
        import torch  # noqa: PLC0415 - as above

        given = self._tensor(rows).requires_grad_(True)
        out = self._run(given)
        found = [
            torch.autograd.grad(out[:, place].sum(), given, retain_graph=True)[0]
            for place in range(out.shape[1])
        ]
        return torch.stack(found, 1).double().numpy()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class ProbedTarget(ScoringTarget):
    """A model with one smooth score for two classes, whose slopes are measured by differences."""

    reach: float = 0.02

    def scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 0 and the score."""
        score = np.asarray(self.model.decision_function(rows), dtype=np.float64).reshape(-1)
        return np.column_stack([np.zeros(len(rows)), score])

    def gradients(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move every cell a little to both sides."""
        columns = rows.shape[1]
        away = np.eye(columns) * self.reach
        moved = [(rows[:, None] + sign * away).reshape(-1, columns) for sign in (1, -1)]
        up, down = (self.scores(part)[:, 1].reshape(len(rows), columns) for part in moved)
        slope = (up - down) / (2 * self.reach)
        return np.stack([np.zeros_like(slope), slope], axis=1)


def places_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of labels among the classes; a label that is none of them is refused."""
    order = np.argsort(classes)
    spot = np.clip(np.searchsorted(classes[order], labels), 0, len(classes) - 1)
    found: NDArray[np.int64] = order[spot]
    if not (classes[found] == labels).all():
        raise ParameterError("A label is none of the classes that the model knows.")
    return found


def target_of(model: Any, classes: Any = None) -> Target:
    """Look into a model as far as it lets one."""
    if isinstance(model, Target):
        return model
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        if classes is None:
            raise ParameterError("classes= names the labels of a torch module, in their order.")
        return TorchTarget(model.eval(), np.asarray(classes))
    known = getattr(model, "classes_", classes)
    if known is None:
        raise ParameterError("classes= names the labels that the model can give.")
    inner, shift, scale = _unscaled(model)
    found = np.asarray(known)
    if hasattr(model, "layout_") and len(found) == 2:  # ours: weights are not per unit of a column
        return ProbedTarget(model, found)
    if hasattr(inner, "coefs_") and hasattr(inner, "intercepts_"):
        return _network(model, inner, found, shift, scale)
    if hasattr(inner, "coef_") and _is_linear(inner, len(found)):
        return _linear(model, inner, found, shift, scale)
    return Target(model, found)


def _is_linear(model: Any, classes: int) -> bool:
    rows = np.atleast_2d(np.asarray(model.coef_))
    return rows.ndim == 2 and len(rows) in {1, classes} and (len(rows) > 1 or classes == 2)


def _unscaled(model: Any) -> tuple[Any, Any, Any]:
    """Take scalers off a pipeline: the last step, and x ↦ (x − shift)·scale before it."""
    if not hasattr(model, "steps"):
        return model, 0.0, 1.0
    shift, scale = 0.0, 1.0
    for _, step in model.steps[:-1]:
        if hasattr(step, "mean_") and hasattr(step, "scale_"):  # (x − mean) / scale
            centre = 0.0 if step.mean_ is None else step.mean_
            width = 1.0 if step.scale_ is None else 1 / step.scale_
        elif hasattr(step, "data_min_") and hasattr(step, "min_"):  # x·scale + min
            centre, width = -step.min_ / step.scale_, step.scale_
        else:
            return model, 0.0, 1.0
        shift, scale = shift + centre / scale, scale * width
    return model.steps[-1][1], shift, scale


def _linear(model: Any, inner: Any, classes: NDArray[Any], shift: Any, scale: Any) -> LinearTarget:
    weights = np.atleast_2d(np.asarray(inner.coef_, dtype=np.float64)) * scale
    offsets = np.atleast_1d(np.asarray(inner.intercept_, dtype=np.float64)) - (weights * shift).sum(
        axis=1
    )
    if len(weights) == 1:
        weights = np.concatenate([np.zeros_like(weights), weights])
        offsets = np.array([0.0, float(offsets[0])])
    return LinearTarget(model, classes, weights, offsets)


def _network(
    model: Any, inner: Any, classes: NDArray[Any], shift: Any, scale: Any
) -> NetworkTarget:
    layers = [(np.asarray(w, float), np.asarray(b, float))
              for w, b in zip(inner.coefs_, inner.intercepts_, strict=True)]  # fmt: skip
    first = layers[0][0] * np.reshape(scale, (-1, 1))
    layers[0] = (first, layers[0][1] - (first * np.reshape(shift, (-1, 1))).sum(axis=0))
    if layers[-1][0].shape[1] == 1 and len(classes) == 2:
        weights, offsets = layers[-1]
        layers[-1] = (np.concatenate([np.zeros_like(weights), weights], axis=1),
                      np.array([0.0, float(offsets[0])]))  # fmt: skip
    return NetworkTarget(model, classes, tuple(layers), inner.activation)
