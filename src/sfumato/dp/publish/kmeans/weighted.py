"""k-means of weighted points that are already released: post-processing, no data are read.

Many starts by greedy k-means++ (Arthur and Vassilvitskii, SODA 2007) on a thinned copy of the
points, the best few refined on all of them. Coins come from the cryptographic stream.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.dp.publish.kmeans import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STARTS = (12, 200)
_WORK = 1e7  # distances that all starts together may compute, about
_FINALISTS = 3
_THINNED = 3_000
_ROUNDS = 60


def uniforms(count: int) -> NDArray[np.float64]:
    """Draw numbers in [0, 1), for what needs no exactness."""
    return (stream().uint64(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cluster(
    points: NDArray[np.float64], weights: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Give ``count`` centres of weighted points; without any weight they are drawn evenly."""
    heavy = weights > 0
    points, weights = np.ascontiguousarray(points[heavy]), weights[heavy]
    if not points.size:
        return uniforms(count * points.shape[1]).reshape(count, points.shape[1])
    few, mass = _thin(points, weights)
    starts = []
    tries = 2 + int(math.log(count))
    for _ in range(_number(few.size * count) if count > 1 else 1):
        coins = uniforms(count * tries).reshape(count, tries)
        centres = kernels.seed_centres(few, mass, coins)
        starts.append((kernels.refine(few, mass, centres, _ROUNDS), centres))
    starts.sort(key=lambda start: start[0])
    finals = []
    for _, centres in starts[: _FINALISTS if few.shape[0] < points.shape[0] else 1]:
        finals.append((kernels.refine(points, weights, centres, _ROUNDS), centres))
    found: NDArray[np.float64] = min(finals, key=lambda final: final[0])[1]
    return found


def _number(size: int) -> int:
    """Choose how many starts there are from the work that each is."""
    return int(min(max(_WORK / size, _STARTS[0]), _STARTS[1]))


def _thin(
    points: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw points in proportion to their weight, evenly spaced in their order."""
    if points.shape[0] <= _THINNED:
        return points, weights
    ends = np.cumsum(weights)
    spots = (np.arange(_THINNED) + uniforms(1)[0]) * (ends[-1] / _THINNED)
    found, mass = np.unique(np.searchsorted(ends, spots, side="right"), return_counts=True)
    found = np.minimum(found, points.shape[0] - 1)
    return np.ascontiguousarray(points[found]), mass.astype(np.float64)
