"""One private Lloyd step, clipped to radii that are already released.

Promise: the share that is taken. Proof. Given centres C and radii R, which were released before,
each row is in one cluster a, by itself. It adds 1 to the count of a, and to the sum of a its
step x − C_a, shortened to length R_a and counted in whole units of R_a/2²⁰
(:func:`~sfumato.dp.publish.kmeans.kernels.clipped_sums` refuses longer ones): at most 2²⁰ in L2,
and by Cauchy and Schwarz at most √d·2²⁰ in L1. Counts take .15 of the share, sums .85; radii differ
between clusters, and the noise, being the same in units of each radius, is larger where that is.

Why clip. With the whole box as bound, noise grows with the box; rows of a cluster lie within about
its own radius, which the tree has already told. The step is then shrunk toward 0 as far as noise
alone would explain it (James and Stein), which is post-processing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.publish.kmeans import kernels
from sfumato.dp.publish.kmeans.clusters import Clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.publish.purse import Purse

ONE = 1 << 20
"""How many units a radius has."""

COUNTS = Fraction(15, 100)
"""The part of a step that its sizes get."""


def step(
    rows: NDArray[np.float64],
    centres: NDArray[np.float64],
    radii: NDArray[np.float64],
    purse: Purse,
    share: Fraction,
) -> Clusters:
    """Move centres to the noisy means of their rows."""
    count, width = centres.shape
    labels = kernels.nearest(rows, centres)
    sizes = purse.measure("sizes", COUNTS * share, np.bincount(labels, minlength=count))
    limit = math.isqrt(width * ONE * ONE)
    exact = kernels.clipped_sums(rows, labels, centres, radii, ONE, limit)
    sums = purse.measure("sums", (1 - COUNTS) * share, exact, l1=limit, l2_squared=ONE * ONE)
    size = np.maximum(sizes.values.astype(np.float64), math.sqrt(2) * sizes.deviation)
    moved = sums.values.astype(np.float64) * (radii / ONE)[:, None] / size[:, None]
    noise = sums.deviation / ONE * radii / size
    return Clusters(
        np.clip(centres + shrunk(moved, noise), 0.0, 1.0),
        sizes.values.astype(np.float64),
        np.full(count, sizes.deviation),
        noise,
    )


def shrunk(moved: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shorten noisy steps as far as noise alone would explain their length (James and Stein).

    ``noise`` has the standard deviation of one coordinate of each step.
    """
    length = (moved**2).sum(axis=1)
    kept = np.maximum(0.0, 1.0 - moved.shape[1] * noise**2 / np.maximum(length, 1e-300))
    return np.asarray(kept[:, None] * moved)
