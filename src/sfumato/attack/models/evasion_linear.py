"""Evasion of linear models: the smallest step, exactly.

A row leaves its class y when some other class t scores higher. Each t is one half-space, so the
nearest point is the nearest over all t of one projection (:mod:`.projection`). For a wanted class
all half-spaces against the others hold at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.attack.models.projection import Norm, length, reach, reach_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.attack.models.features import Features
    from sfumato.attack.models.targets import ScoringTarget

MARGIN = 1e-6
"""By how much another class is made to win, relative to the size of the weights."""


def step_away(
    target: ScoringTarget,
    rows: NDArray[np.float64],
    origin: NDArray[np.float64],
    features: Features,
    own: NDArray[np.int64],
    norm: Norm = 2,
) -> NDArray[np.float64]:
    """Return the smallest step from `origin` out of class `own`, scores taken linear at `rows`."""
    scores, gradients = target.scores(rows), target.gradients(rows)
    down, up = features.room(origin)
    index = np.arange(len(rows))
    best = np.zeros_like(origin)
    shortest = np.full(len(rows), np.inf)
    for other in range(len(target.classes)):
        gradient = gradients[:, other] - gradients[index, own]
        gap = scores[index, own] - scores[:, other]
        need = gap + (gradient * (rows - origin)).sum(axis=1) + _margin(gradient)
        step, there = reach(gradient, need, down, up, norm)
        size = np.where(there & (own != other), length(step, norm), np.inf)
        better = size < shortest
        best[better], shortest[better] = step[better], size[better]
    return best


def step_towards(
    target: ScoringTarget,
    rows: NDArray[np.float64],
    origin: NDArray[np.float64],
    features: Features,
    wanted: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the smallest L2 step into class `wanted`, scores taken linear at `rows`."""
    scores, gradients = target.scores(rows), target.gradients(rows)
    down, up = features.room(origin)
    index = np.arange(len(rows))
    classes = len(target.classes)
    others = np.array([[c for c in range(classes) if c != want] for want in wanted.tolist()])
    slopes = gradients[index, wanted][:, None] - gradients[index[:, None], others]
    gaps = scores[index[:, None], others] - scores[index, wanted][:, None]
    needs = gaps + np.einsum("ijd,id->ij", slopes, rows - origin)
    needs += MARGIN * np.linalg.norm(slopes, axis=2) + 1e-9
    return reach_all(slopes, needs, down, up)


def _margin(gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = MARGIN * np.linalg.norm(gradient, axis=1) + 1e-9
    return found
