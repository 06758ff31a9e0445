"""From scores to probabilities, where residuals were clamped.

Clamping residuals moves the fixed point of learning: where a share q of the rows has label 1, the
score p = σ(f) settles where (1 − q)·min(p, c) = q·min(1 − p, c). The q that belongs to p is
returned, so that clamping does not make a model too sure of itself. Of more than two classes the
softmax is returned as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def probabilities(scores: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
    """Turn scores into probabilities; of two classes, those that clamping made of others."""
    if scores.ndim == 1:
        likely = 1 / (1 + np.exp(-np.clip(scores, -50, 50)))
        yes, no = np.minimum(likely, clip), np.minimum(1 - likely, clip)
        return np.column_stack([no / (yes + no), yes / (yes + no)])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return chances
