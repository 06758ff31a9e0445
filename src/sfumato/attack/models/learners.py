"""Learners a poisoner can see through: convex losses of a linear score, fitted by Newton's method.

θ minimises (1/n)·Σ ℓ(yᵢ·θ·x̃ᵢ) + (λ/2)·‖w‖², with labels ±1 and x̃ = (x, 1). A loss is its
value, slope and curvature in the margin. "squared_hinge" and "hinge" are linear support vector
machines; the corner of the hinge is rounded over a quarter on both sides, because what has no
curvature has no implicit gradient either. "clipped" is the logistic loss whose slope is bounded, as
in training that clips gradients: what a differentially private learner sees of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind: TypeAlias = Literal["logistic", "squared_hinge", "hinge", "ridge", "clipped"]
_KINDS = ("logistic", "squared_hinge", "hinge", "ridge", "clipped")
_ROUND = 0.25  # how far from margin 1 the hinge is rounded


@dataclass(frozen=True)
class Learner:
    """A loss and how much large weights cost; `clip` bounds the slope of the clipped loss."""

    kind: Kind = "logistic"
    ridge: float = 1e-3
    clip: float = 0.5

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            listed = ", ".join(map(repr, _KINDS[:-1]))
            raise ParameterError(
                f"A learner is {listed} or {_KINDS[-1]!r}, and {self.kind!r} was given."
            )
        if not self.ridge > 0 or not 0 < self.clip <= 1:
            raise ParameterError("ridge is above 0, and clip above 0 and at most 1.")

    def loss(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ℓ(m)."""
        if self.kind == "ridge":
            return (1 - margin) ** 2 / 2
        if self.kind == "squared_hinge":
            return np.maximum(1 - margin, 0.0) ** 2 / 2
        if self.kind == "hinge":
            inside = np.clip(1 - margin, -_ROUND, _ROUND) + _ROUND
            return inside**2 / (4 * _ROUND) + np.maximum(1 - margin - _ROUND, 0.0)
        found = np.logaddexp(0.0, -margin)
        if self.kind == "clipped":
            edge = self._edge()
            line = np.logaddexp(0.0, -edge) - self.clip * (margin - edge)
            found = np.where(margin < edge, line, found)
        return found

    def slope(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ℓ'(m)."""
        if self.kind == "ridge":
            return margin - 1
        if self.kind == "squared_hinge":
            return -np.maximum(1 - margin, 0.0)
        if self.kind == "hinge":
            return -np.clip((1 - margin + _ROUND) / (2 * _ROUND), 0.0, 1.0)
        found = -1 / (1 + np.exp(np.clip(margin, -500, 500)))
        return np.maximum(found, -self.clip) if self.kind == "clipped" else found

    def curvature(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ℓ''(m)."""
        if self.kind == "ridge":
            return np.ones_like(margin)
        if self.kind == "squared_hinge":
            return (margin < 1).astype(np.float64)
        if self.kind == "hinge":
            return (np.abs(1 - margin) < _ROUND) / (2 * _ROUND)
        share = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        found = share * (1 - share)
        return np.where(margin < self._edge(), 0.0, found) if self.kind == "clipped" else found

    def _edge(self) -> float:
        """Return the margin below which the slope is clipped."""
        return float(np.log(1 / self.clip - 1)) if self.clip < 1 else -np.inf

    def fit(
        self,
        rows: NDArray[np.float64],
        signs: NDArray[np.float64],
        start: NDArray[np.float64] | None = None,
        steps: int = 30,
    ) -> NDArray[np.float64]:
        """Return θ, the offset last, by damped Newton steps from `start`."""
        theta = np.zeros(rows.shape[1] + 1) if start is None else start.copy()
        value = self._objective(rows, signs, theta)
        for _ in range(steps):
            gradient = self.gradient(rows, signs, theta)
            step = np.linalg.solve(self.hessian(rows, signs, theta, self._least), gradient)
            rate = 1.0
            for _ in range(20):
                new = theta - rate * step
                found = self._objective(rows, signs, new)
                if found <= value - 1e-4 * rate * float(gradient @ step):
                    break
                rate /= 2
            theta, gained, value = new, value - found, found
            if gained < 1e-10:
                break
        return theta

    def gradient(
        self, rows: NDArray[np.float64], signs: NDArray[np.float64], theta: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the gradient of what is minimised."""
        weight = self.slope(signs * score(rows, theta)) * signs / len(rows)
        return np.append(weight @ rows + self.ridge * theta[:-1], weight.sum())

    @property
    def _least(self) -> float:
        """The curvature to step by where there is none: such a loss is straight on one side."""
        return 0.05 if self.kind in {"clipped", "hinge"} else 0.0

    def hessian(
        self,
        rows: NDArray[np.float64],
        signs: NDArray[np.float64],
        theta: NDArray[np.float64],
        least: float = 0.0,
    ) -> NDArray[np.float64]:
        """Return its second derivative, a little above 0; `least` counts for every row."""
        full = np.column_stack([rows, np.ones(len(rows))])
        curved = np.maximum(self.curvature(signs * score(rows, theta)), least)
        weight = curved / len(rows)
        found: NDArray[np.float64] = (full * weight[:, None]).T @ full
        found[np.diag_indices(len(theta))] += np.append(np.full(len(theta) - 1, self.ridge), 1e-9)
        found[np.diag_indices(len(theta))] += 1e-9
        return found

    def _objective(
        self, rows: NDArray[np.float64], signs: NDArray[np.float64], theta: NDArray[np.float64]
    ) -> float:
        mean = self.loss(signs * score(rows, theta)).mean()
        return float(mean + self.ridge / 2 * (theta[:-1] @ theta[:-1]))


def score(rows: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return w·x + b."""
    found: NDArray[np.float64] = rows @ theta[:-1] + theta[-1]
    return found
