"""Counts of a tree of intervals made consistent, pruned and non-negative: post-processing only.

A tree of branching b has levels 1 to h (the cells) below a root that is not measured, since its
children tell it; level i has bⁱ noisy counts, all with noise of the same variance.
:func:`consistent` gives the counts of least squares that add up
(Hay, Rastogi, Miklau and Suciu, VLDB 2010): upward, each node is weighted with the sum of its
children by precision; downward, what a parent has more than its children is shared equally.

:func:`prune` then replaces children by equal parts of their parent where nothing below
stands out of the noise: Σ(c − mean)² of consistent siblings, which noise alone makes larger than
.9·σ²·χ²_{b−1}(.95) in about one case of twenty (the quantile as Wilson and Hilferty, 1931, have
it). Where something does, children are drawn toward
their mean, half as far as James and Stein would draw them (the whole way was better for
even data and worse for steps), and moved to the nearest non-negative numbers that add up to
the parent. So cells are non-negative and add up at
every level, and smooth parts of the data lose nearly all of their noise. They are not unbiased:
who needs that takes the consistent counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NORMAL = 1.6448536269514722  # its 95 % quantile
_FACTOR = 0.9
_HALF_WAY = 0.5


def consistent(noisy: Sequence[NDArray[np.float64]], branching: int) -> list[NDArray[np.float64]]:
    """Give counts that add up at every level, nearest to the noisy ones; first the root's."""
    height = len(noisy)
    up: list[NDArray[np.float64]] = [np.zeros(1), *(np.asarray(level, float) for level in noisy)]
    for level in range(height - 1, 0, -1):
        below = height - level  # levels under this one
        power = float(branching**below)
        own = (power * branching - power) / (power * branching - 1)
        children = up[level + 1].reshape(-1, branching).sum(axis=1)
        up[level] = own * up[level] + (1 - own) * children
    down = [up[1].sum(keepdims=True)]
    for level in range(1, height + 1):
        children = up[level].reshape(-1, branching)
        missing = down[level - 1] - children.sum(axis=1)
        down.append((children + missing[:, None] / branching).ravel())
    return down


def prune(
    levels: Sequence[NDArray[np.float64]], branching: int, variance: float
) -> NDArray[np.float64]:
    """Give cells that are non-negative and add up, flat where nothing stands out of the noise."""
    kept = _significant(levels, branching, variance)
    total = np.maximum(levels[0], 0.0)
    for level in range(1, len(levels)):
        children = levels[level].reshape(-1, branching)
        flat = np.repeat(total[:, None] / branching, branching, axis=1)
        spread = project(_drawn_together(children, variance), total)
        total = np.where(kept[level - 1][:, None], spread, flat).ravel()
    return total


def _drawn_together(children: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Draw siblings toward their mean, the more the less they are apart for their noise."""
    mean = children.mean(axis=1, keepdims=True)
    apart = ((children - mean) ** 2).sum(axis=1, keepdims=True)
    noise = _HALF_WAY * (children.shape[1] - 3) * _FACTOR * variance
    return np.asarray(mean + np.maximum(1 - noise / np.maximum(apart, 1e-9), 0) * (children - mean))


def _significant(
    levels: Sequence[NDArray[np.float64]], branching: int, variance: float
) -> list[NDArray[np.bool_]]:
    """Tell for each inner node whether its children, or anything below them, stand out."""
    free = branching - 1
    quantile = free * (1 - 2 / (9 * free) + _NORMAL * math.sqrt(2 / (9 * free))) ** 3
    bound = _FACTOR * variance * quantile
    kept: list[NDArray[np.bool_]] = []
    for level in range(len(levels) - 1, 0, -1):
        children = levels[level].reshape(-1, branching)
        apart = ((children - children.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        own = apart > bound
        if kept:
            own |= kept[-1].reshape(-1, branching).any(axis=1)
        kept.append(own)
    return kept[::-1]


def project(rows: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move each row to the nearest non-negative numbers that add up to its total."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - totals[:, None]
    rank = np.arange(1, rows.shape[1] + 1)
    positive = ordered * rank > sums
    last = np.maximum(positive.sum(axis=1) - 1, 0)
    shift = np.take_along_axis(sums / rank, last[:, None], axis=1)
    out = np.maximum(rows - shift, 0.0)
    return np.where(totals[:, None] > 0, out, 0.0)
