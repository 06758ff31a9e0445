"""The default algorithm of k-means: a private summary of the rows, then clipped Lloyd steps.

Promise: the whole purse, exactly. Up to two columns the summary is a grid of noisy counts, up to
ten the leaves of a PrivTree; they give centres and radii, and clipped steps follow
(:mod:`~sfumato.dp.publish.kmeans.lloyd`): one, or where noise lets it be seen a first one to more
centres than are wanted, which are joined, and a last one. Beyond that the tree is grown in eight
random directions, because it cannot halve so many sides. Where noise would hide so many clusters,
fewer are released, down to a single mean, which is then better than many centres of noise
(:func:`_told_apart`). Every branch is chosen from the number of columns and from noisy numbers
alone.

Proof. Each ``purse`` entry is private for a row added or removed: the noisy number of rows and the
cells of a grid, since a row is in one cell (Δ₁ = 1); the tree and its leaves (:mod:`.tree`); the
steps; distances, of each row from centres that are released, as a histogram with a row in one bin.
In many columns: labels come from projected rows, one by one; a row adds at most ½ to each of
d coordinates of one sum, in units of 2⁻²⁰ at most d·2¹⁹ in L1 and √d·2¹⁹ in L2. The projection is
drawn without looking at the rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.publish.kmeans import kernels, lloyd
from sfumato.dp.publish.kmeans.clusters import Clusters
from sfumato.dp.publish.kmeans.tree import Leaves, grow
from sfumato.dp.publish.kmeans.weighted import cluster, uniforms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.publish.purse import NoisyNumbers, Purse

FEW, MANY = 2, 10
"""Up to so many columns a grid; above so many a projection."""

_SIDE = 512
_STANDS_OUT = 2.5
_LEAST_RADIUS = 2.0**-16
_DIRECTIONS = 8
_REACH = 3 / math.sqrt(12)
_RINGS = 33
_TOTAL = Fraction(1, 100)
_FIRST_SIZES, _SUMS, _DISTANCES = Fraction(3, 100), Fraction(27, 100), Fraction(5, 100)
_SEEN = 0.15
_TREE, _FIRST = Fraction(35, 100), Fraction(30, 100)
_LARGER = {3: 5.0, 2: 3.5}  # how much larger than noise so many pieces are, at least

_GRID_CELLS = Fraction(48, 100)
_CELLS = 4.0
"""So many times the noise of a cell of the grid a cluster has to have in rows."""
_BLURRED, _CLEAR = 0.3, 0.15
"""How large the noise of a coordinate of a first mean may be, in sides of the box: for all clusters
that are wanted, and for fewer of them."""

ALONE = Fraction(396, 1000)
"""The tree's part of the budget where one step follows it."""


def best_clusters(rows: NDArray[np.float64], count: int, purse: Purse) -> Clusters:
    """Release centres and sizes with the algorithm that suits the number of columns."""
    width = rows.shape[1]
    if width <= FEW:
        return _on_grid(rows, count, purse)
    return _on_tree(rows, count, purse) if width <= MANY else _projected(rows, count, purse)


def first_noise(size: float, width: int, purse: Purse) -> float:
    """Tell the standard deviation of one coordinate of the first mean of so many rows."""
    epsilon = float(purse.epsilon(_SUMS * purse.price.amount))
    return 0.5 * (math.sqrt(2) * width if purse.pure else math.sqrt(width)) / epsilon / max(size, 1)


def _told_apart(rows: float, noise: float, count: int) -> int:
    """Choose how many clusters are released; 0 stands for the mean of all rows alone.

    As many as are wanted, unless noise hides them: each has to have so many rows that noise may
    amount to. A mean of everything is then better than centres of noise.
    """
    fewer = int(min(rows / noise, count))
    return fewer if fewer >= min(count, 2) else 0


def _alone(rows: NDArray[np.float64], purse: Purse, share: Fraction) -> Clusters:
    """Release the mean of all rows, as far from the middle of the box as noise lets be told."""
    # A wrong size moves the mean by at most half a diagonal, and a row moves the sums by d halves:
    # the error is least where the size gets the part d^(−2/3) of what the sums get.
    part = share / (1 + math.ceil(rows.shape[1] ** (2 / 3)))
    size = purse.measure("sizes", part, np.array([rows.shape[0]]))
    sums = _box_sums(rows, np.zeros(rows.shape[0], dtype=np.int64), 1, purse, share - part)
    total = max(float(size.values[0]), math.sqrt(2) * size.deviation)
    noise = np.array([sums.deviation / lloyd.ONE / total])
    away = np.clip(sums.values.astype(np.float64) / lloyd.ONE / total, -0.5, 0.5)
    return Clusters(
        0.5 + lloyd.shrunk(away, noise),
        size.values.astype(np.float64),
        np.array([size.deviation]),
        noise,
    )


def total_of(rows: NDArray[np.float64], purse: Purse, share: Fraction) -> float:
    """Release the number of rows, at least 1."""
    noisy = purse.measure("number of rows", share, np.array([rows.shape[0]]))
    return max(float(noisy.values[0]), 1.0)


def _surely(total: float, share: Fraction, purse: Purse) -> float:
    """Give the noisy number of rows less its standard deviation: hardly more than there are."""
    return max(total - math.sqrt(2) / float(purse.epsilon(share * purse.price.amount)), 1.0)


# -- one or two columns -----------------------------------------------------------------


def _on_grid(rows: NDArray[np.float64], count: int, purse: Purse) -> Clusters:
    width = rows.shape[1]
    part = Fraction(4, 100)
    total = total_of(rows, purse, part)
    expected = math.sqrt(2) / float(purse.epsilon(_GRID_CELLS * purse.price.amount))
    if not _told_apart(_surely(total, part, purse), _CELLS * expected, count):
        return _alone(rows, purse, 1 - part)
    per_side = cells_per_side(total, count, 0.5 * purse.price.epsilon, width)
    places = np.minimum((rows * per_side).astype(np.int64), per_side - 1)
    flat = places @ (per_side ** np.arange(width))
    exact = np.bincount(flat, minlength=per_side**width)
    noisy = purse.measure("cells", _GRID_CELLS, exact)
    inside = np.indices((per_side,) * width)[::-1].reshape(width, -1).T
    counts = noisy.values.astype(np.float64)
    # Noise of empty cells would draw every centre to the middle of the box.
    counts[counts < _STANDS_OUT * noisy.deviation] = 0.0
    share = Fraction(48, 100)
    count = _told_apart(counts.sum(), _CELLS * noisy.deviation, count)
    if not count:
        return _alone(rows, purse, share)
    cells = Leaves((inside + 0.5) / per_side, np.full(inside.shape, 1 / per_side), counts)
    centres = cluster(cells.centres, cells.counts, count)
    wider = reach(total / count, width, purse, share)
    return lloyd.step(rows, centres, radii_of(cells, centres) * wider, purse, share)


def cells_per_side(total: float, count: int, epsilon: float, width: int) -> int:
    """Choose a grid in which a full cell stands out of the noise (Su et al., CODASPY 2016).

    Where that is too coarse to tell the clusters apart, a finer one is taken.
    """
    power = 2 / (2 + width)
    full, least = (max(epsilon * total / rows, 1.0) ** power for rows in (5.0, 1.5))
    return int(min(max(math.ceil(max(full, min(3 * count ** (1 / width), least))), 2), _SIDE))


# -- three to ten columns ---------------------------------------------------------------


def _on_tree(rows: NDArray[np.float64], count: int, purse: Purse) -> Clusters:
    total = total_of(rows, purse, Fraction(1, 100))
    times = pieces(total, count, purse)
    if times == 1:
        return _in_one_step(rows, count, purse, total)
    leaves = grow(rows, purse, _TREE)
    first = cluster(leaves.centres, leaves.counts, times * count)
    found = lloyd.step(rows, first, radii_of(leaves, first), purse, _FIRST)
    centres = cluster(np.ascontiguousarray(found.centres), found.sizes, count)
    return _last_step(rows, centres, purse, Fraction(34, 100))


def pieces(total: float, count: int, purse: Purse) -> int:
    """Choose of how many pieces each cluster is first made, from noisy numbers.

    Leaves of a tree in many columns are wide, and two clusters may share them. Three times as many
    centres tell them apart, and pieces of one cluster are joined again by where their means
    are; as long as pieces are larger than the noise of their sizes. 1 is the other way: one step.
    """
    noise = math.sqrt(2) / float(purse.epsilon(_FIRST * lloyd.COUNTS * purse.price.amount))
    return next((n for n, larger in _LARGER.items() if total / (count * n) >= larger * noise), 1)


def _in_one_step(rows: NDArray[np.float64], count: int, purse: Purse, total: float) -> Clusters:
    """Take a single step from the tree, which gets the more of a budget that is small."""
    leaves = grow(rows, purse, ALONE)
    share = Fraction(99, 100) - ALONE
    seen = leaves.counts[leaves.counts >= _STANDS_OUT * leaves.deviation].sum()
    count = _told_apart(seen, leaves.deviation, count)
    if not count:
        return _alone(rows, purse, share)
    centres = cluster(leaves.centres, leaves.counts, count)
    wider = reach(total / count, rows.shape[1], purse, share)
    return lloyd.step(rows, centres, radii_of(leaves, centres) * wider, purse, share)


def reach(size: float, width: int, purse: Purse, share: Fraction) -> float:
    """Choose how many radii a step may be long: 1 where noise is large, 3 where it hardly is.

    Short steps let in less noise, long ones bend the means of lopsided clusters less.
    """
    epsilon = float(purse.epsilon(share * purse.price.amount))
    noise = math.sqrt(2) * width / (0.85 * epsilon * size)
    return min(max(0.03 / noise, 1.0), 3.0)


def radii_of(leaves: Leaves, centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the root mean squared distance of each cluster, as the leaves tell it."""
    count = centres.shape[0]
    labels = kernels.nearest(leaves.centres, centres)
    weights = np.maximum(leaves.counts, 0.0)
    apart = kernels.distances(leaves.centres, centres, labels) ** 2 + leaves.spread
    mass = np.bincount(labels, weights=weights, minlength=count)
    squares = np.bincount(labels, weights=weights * apart, minlength=count)
    overall = squares.sum() / max(mass.sum(), 1e-9) or 1.0
    mean = np.where(mass > 0, squares / np.maximum(mass, 1e-9), overall)
    return np.sqrt(np.maximum(mean, _LEAST_RADIUS**2))


# -- more columns -----------------------------------------------------------------------


def _projected(rows: NDArray[np.float64], count: int, purse: Purse) -> Clusters:
    width = rows.shape[1]
    sure = _surely(total_of(rows, purse, _TOTAL), _TOTAL, purse)
    noise = first_noise(1.0, width, purse)  # of one row
    if noise * count > _BLURRED * sure:
        count = _told_apart(_CLEAR * sure, noise, count)
    if not count:
        return _alone(rows, purse, 1 - _TOTAL)
    axes = _directions(width)
    shadow = np.clip((rows - 0.5) @ axes, -_REACH, _REACH) / (2 * _REACH) + 0.5
    leaves = grow(shadow, purse, Fraction(34, 100))
    counts = np.where(leaves.counts < _STANDS_OUT * leaves.deviation, 0.0, leaves.counts)
    many = count * surplus(counts.sum() / count, width, purse)
    labels = kernels.nearest(shadow, cluster(leaves.centres, counts, many))
    means, sizes = _means(rows, labels, many, purse)
    centres = np.ascontiguousarray(cluster(means, sizes, count)) if many > count else means
    return _last_step(rows, centres, purse, Fraction(35, 100))


def surplus(size: float, width: int, purse: Purse) -> int:
    """Choose how many times as many clusters are looked for in the shadow as are wanted.

    There two clusters may lie upon each other, and one too few be found; several too many are
    joined again where they are near in all columns, as long as noise lets that be seen.
    """
    noise = first_noise(size, width, purse)
    return next((times for times in (3, 2) if times * noise < _SEEN), 1)


def _directions(width: int) -> NDArray[np.float64]:
    """Draw orthonormal directions, evenly; that is a public choice and needs no exactness."""
    first, second = uniforms(2 * width * _DIRECTIONS).reshape(2, width, _DIRECTIONS)
    normal = np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second)
    return np.ascontiguousarray(np.linalg.qr(normal)[0])


def _means(
    rows: NDArray[np.float64], labels: NDArray[np.int64], count: int, purse: Purse
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Release the means of labelled rows, and about how many there are of each.

    Means are moved toward the mean of all as far as noise alone would explain how far they are
    from it.
    """
    exact = np.bincount(labels, minlength=count)
    sizes = purse.measure("first sizes", _FIRST_SIZES, exact)
    sums = _box_sums(rows, labels, count, purse, _SUMS)
    size = np.maximum(sizes.values.astype(np.float64), math.sqrt(2) * sizes.deviation)
    away = sums.values.astype(np.float64) / lloyd.ONE
    middle = away.sum(axis=0) / size.sum()
    apart = lloyd.shrunk(away / size[:, None] - middle, sums.deviation / lloyd.ONE / size)
    return np.ascontiguousarray(np.clip(0.5 + middle + apart, 0.0, 1.0)), size


def _box_sums(
    rows: NDArray[np.float64],
    labels: NDArray[np.int64],
    count: int,
    purse: Purse,
    share: Fraction,
) -> NoisyNumbers:
    """Release the sums of labelled rows about the middle of the box."""
    width, scale = rows.shape[1], lloyd.ONE
    exact = kernels.box_sums(rows, labels, count, scale)
    return purse.measure(
        "first sums", share, exact, l1=width * scale // 2, l2_squared=width * scale**2 // 4
    )


def _last_step(
    rows: NDArray[np.float64], centres: NDArray[np.float64], purse: Purse, share: Fraction
) -> Clusters:
    """Take a step as long as most rows are away from centres that are nearly right.

    The share pays for the distances too.
    """
    labels = kernels.nearest(rows, centres)
    radius = _radius(kernels.distances(rows, centres, labels), rows.shape[1], purse)
    return lloyd.step(rows, centres, np.full(centres.shape[0], radius), purse, share - _DISTANCES)


def _radius(far: NDArray[np.float64], width: int, purse: Purse) -> float:
    """Release a distance within which about nine tenths of the rows lie."""
    ends = math.sqrt(width) * 2.0 ** (-np.arange(_RINGS)[::-1] / 4)
    ring = np.minimum(np.searchsorted(ends, far), _RINGS - 1)
    noisy = purse.measure("distances", _DISTANCES, np.bincount(ring, minlength=_RINGS))
    rising = np.cumsum(np.maximum(noisy.values.astype(np.float64), 0.0))
    return 1.1 * float(ends[int(np.searchsorted(rising, 0.9 * rising[-1]))])
