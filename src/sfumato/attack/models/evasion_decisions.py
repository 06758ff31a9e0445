"""Evasion of a black box that answers with a label and nothing else.

From a row of another class, walk along the border of the classes: bisect to the border, estimate
its normal from the labels of points around (how many fall on which side), step along it, bisect
again (Chen, Jordan and Wainwright, "HopSkipJumpAttack", S&P 2020). The randomness only chooses
where to look; nothing is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.attack.models.evasion_gradient import halve
from sfumato.attack.models.projection import length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.attack.models.features import Features


def walk_along_the_border(
    misled: Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.bool_]],
    origin: NDArray[np.float64],
    starts: NDArray[np.float64],
    features: Features,
    *,
    rounds: int = 20,
    looks: int = 60,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return misled rows nearer and nearer to the origin; rows whose start is not misled stay."""
    generator = np.random.Generator(np.random.PCG64(seed))  # where to look, not what to release
    everybody = np.arange(len(origin))
    who = everybody[misled(starts, everybody)]
    best = origin.copy()
    best[who] = halve(misled, starts[who], origin[who], who)
    for turn in range(rounds if len(who) else 0):
        here, base = best[who], origin[who]
        size = length(here - base)
        many = int(looks * np.sqrt(turn + 1))
        normal = _normal(misled, here, who, features, size, many, generator)
        step = size / np.sqrt(turn + 1)
        for _ in range(8):  # halve the step until it stays on the misled side
            new = np.clip(here + step[:, None] * normal, features.low, features.high)
            new = np.where(features.free, new, base)
            good = misled(new, who)
            if good.all():
                break
            step = np.where(good, step, step / 2)
        new = halve(misled, np.where(good[:, None], new, here), base, who)
        nearer = length(new - base) < size
        best[who[nearer]] = new[nearer]
    return best


def _normal(
    misled: Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.bool_]],
    here: NDArray[np.float64],
    who: NDArray[np.int64],
    features: Features,
    size: NDArray[np.float64],
    many: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Estimate the direction in which more points are misled."""
    rows, columns = here.shape
    ways = generator.standard_normal((many, rows, columns)) * features.free
    ways /= np.maximum(np.linalg.norm(ways, axis=2, keepdims=True), 1e-12)
    reach = np.maximum(size, 1e-6) / np.sqrt(max(int(features.free.sum()), 1))
    points = np.clip(here + reach[:, None] * ways, features.low, features.high)
    answers = misled(points.reshape(-1, columns), np.tile(who, many)).reshape(many, rows)
    vote = np.where(answers, 1.0, -1.0)
    mean = vote.mean(axis=0)
    vote = np.where(np.abs(mean) < 1, vote - mean, vote)
    found = np.einsum("mr,mrc->rc", vote, ways)
    size_found = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    normal: NDArray[np.float64] = found / size_found
    return normal
