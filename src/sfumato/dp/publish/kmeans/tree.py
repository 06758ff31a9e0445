"""PrivTree: halve the places where many rows are, and tell which were halved.

Contract: the unit cube is halved along its sides in turn, to a depth of at most 40; a node with
count c at depth t is halved if max(c − t·δ, −δ) + X > 0, X discrete Laplace noise of scale λ. The
shape of the tree is released, its counts are not (Zhang, Xiao and Xie, "PrivTree", SIGMOD 2016).

Proof that the shape is 3/λ-DP for a row added or removed, with whole numbers and whole δ ≥ λ·ln 2.
Let q = e^(−1/λ). A node with biased count b is halved with probability P(b) = q^(1−b)/(1+q) for
b ≤ 0 and 1 − q^b/(1+q) for b ≥ 1. The row changes b only along one path, and there by 1 or, at the
floor −δ, not at all. Without it each halving on the path becomes less likely, the one leaf more
likely. In the direction that favours the smaller data set only the leaf counts: at most 1/λ. In the
other direction the loss is at most the sum of r(b) = ln P(b)/P(b−1) over halved nodes above
the floor. r(b) = 1/λ for b ≤ 1, and r falls. From the deepest node upward the counts b are at
least 1−δ, 1, 1+δ, 1+2δ, …, since b falls by δ at every level. For b = 1+jδ, j ≥ 1, with
q^(jδ) ≤ 2^(−j): r(b) ≤ q^(jδ)(1−q)/(1+q−q^(jδ)) ≤ 2^(−j)·(1−q)/(½+q) ≤ 2^(−j)/λ, because
g(q) = −ln q − (1−q)/(½+q) has g(1) = 0 and g′(q) = −(q² − q/2 + ¼)/(q·(½+q)²) < 0. Together
1/λ + 1/λ + Σ 2^(−j)/λ = 3/λ.

Rows are seen as codes: bit t tells in which half of the cut at depth t a row lies, so a node is
a range of sorted codes and its count two searches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.publish.kmeans import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.publish.purse import Purse

DEPTH = 40
_LN2_UP = Fraction(693_147_181, 10**9)


@dataclass(frozen=True, eq=False)
class Leaves:
    """The boxes that were not halved, with noisy counts; all of it is released.

    ``centres`` and ``sides`` have a row per leaf, in the unit cube; ``deviation`` is that of the
    noise of each count.
    """

    centres: NDArray[np.float64]
    sides: NDArray[np.float64]
    counts: NDArray[np.float64]
    deviation: float = 0.0

    @property
    def spread(self) -> NDArray[np.float64]:
        """The mean squared distance of an evenly filled leaf from its own centre."""
        return np.asarray((self.sides**2).sum(axis=1) / 12)


def grow(points: NDArray[np.float64], purse: Purse, share: Fraction) -> Leaves:
    """Release a tree of the points, half of the share for its shape and half for its leaves."""
    width = points.shape[1]
    codes = np.sort(kernels.codes(np.ascontiguousarray(points), DEPTH))
    epsilon = purse.epsilon(purse.enter("tree", share / 2))
    prefixes, depths = _shape(codes, 3 / epsilon, purse)
    exact = _count(codes, prefixes, depths)
    noisy = purse.measure("leaf counts", share / 2, exact)
    centres, sides = _boxes(prefixes, depths, width)
    return Leaves(centres, sides, noisy.values.astype(np.float64), noisy.deviation)


def _shape(
    codes: NDArray[np.int64], scale: Fraction, purse: Purse
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Halve level by level; returns the leading bits and the depth of every leaf."""
    decay = max(math.ceil(scale * _LN2_UP), 1)
    level = np.zeros(1, dtype=np.int64)
    leaves: list[NDArray[np.int64]] = []
    depths: list[NDArray[np.int64]] = []
    for depth in range(DEPTH + 1):
        halved = np.zeros(level.size, dtype=np.bool_)
        if depth < DEPTH:
            counts = _count(codes, level, np.full(level.size, depth))
            biased = np.maximum(counts - depth * decay, -decay)
            halved = np.asarray(purse.laplace(biased, scale) > 0)
        leaves.append(level[~halved])
        depths.append(np.full(leaves[-1].size, depth))
        level = (level[halved][:, None] * 2 + np.arange(2)).ravel()
        if not level.size:
            break
    return np.concatenate(leaves), np.concatenate(depths)


def _count(
    codes: NDArray[np.int64], prefixes: NDArray[np.int64], depths: NDArray[np.int64]
) -> NDArray[np.int64]:
    first = prefixes << (DEPTH - depths)
    past = (prefixes + 1) << (DEPTH - depths)
    return np.searchsorted(codes, past) - np.searchsorted(codes, first)


def _boxes(
    prefixes: NDArray[np.int64], depths: NDArray[np.int64], width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give centre and sides of leaves from their bits."""
    low = np.zeros((prefixes.size, width))
    sides = np.ones((prefixes.size, width))
    for cut in range(DEPTH):
        inside = depths > cut
        axis = cut % width
        bit = (prefixes[inside] >> (depths[inside] - 1 - cut)) & 1
        sides[inside, axis] /= 2
        low[inside, axis] += bit * sides[inside, axis]
    return low + sides / 2, sides
