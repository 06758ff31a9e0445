"""k-means as the lecture has it: T rounds, ε/T each, half to the sizes and half to the sums.

Promise: ε-DP for a row added or removed. Proof. In each round a row is in one cluster. It moves one
size by 1, which gets Laplace noise of scale 2T/ε; and one sum by itself, which gets noise
of scale 2T·Dom/ε in every coordinate. For all d coordinates together this is private only if Dom is
the most that one point adds up to in L1: with coordinates in [0, 1] that is d, not 1, the length
of one side. So each half of each round is ε/(2T)-DP, and 2T of them are ε-DP. (With Dom = 1 a point
in the far corner would cost d times as much: the algorithm would be (1 + d)·ε/2-DP.)

For teaching: the noise of a sum is spread over the whole box, and every round pays again.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.publish.kmeans import kernels
from sfumato.dp.publish.kmeans.clusters import Clusters
from sfumato.dp.publish.kmeans.lloyd import ONE
from sfumato.dp.publish.kmeans.weighted import uniforms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.publish.purse import Purse


def lecture_clusters(
    rows: NDArray[np.float64], count: int, purse: Purse, rounds: int = 7
) -> Clusters:
    """Release centres and sizes by T rounds from a random start."""
    width = rows.shape[1]
    centres = uniforms(count * width).reshape(count, width)
    half = Fraction(1, 2 * rounds)
    for _ in range(rounds):
        labels = kernels.nearest(rows, centres)
        sizes = purse.measure("sizes", half, np.bincount(labels, minlength=count))
        exact = _sums(rows, labels, count)
        # Dom = d: a point of the unit cube adds at most 1 in each of d coordinates.
        sums = purse.measure("sums", half, exact, l1=width * ONE, l2_squared=width * ONE**2)
        size = np.maximum(sizes.values.astype(np.float64), 1.0)
        centres = np.clip(sums.values.astype(np.float64) / ONE / size[:, None], 0.0, 1.0)
        centres = np.ascontiguousarray(centres)
    noise = sums.deviation / ONE / size
    return Clusters(
        centres, sizes.values.astype(np.float64), np.full(count, sizes.deviation), noise
    )


def _sums(rows: NDArray[np.float64], labels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Add up the rows of each label, in units of 2⁻²⁰: row − ½, and ½ for each row."""
    halves = np.bincount(labels, minlength=count) * (ONE // 2)
    centred: NDArray[np.int64] = kernels.box_sums(rows, labels, count, ONE)
    return centred + halves[:, None]
