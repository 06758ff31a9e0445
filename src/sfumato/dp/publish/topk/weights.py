"""The weighted Gaussian: every item's weight with noise, where large baskets count less per item.

Promise: ρ-zCDP for a basket added or removed. Proof. A basket of t items adds
w_t = min(1, √(ℓ/t)) to each of them, as a whole number of units of 2⁻²⁰, rounded down:
⌊√(ℓ·2⁴⁰/t)⌋, at most 2²⁰. Its square norm is at most t·ℓ·2⁴⁰/t = ℓ·2⁴⁰, whatever t is. Gaussian
noise of variance ℓ·2⁴⁰/(2ρ), drawn rounded to whole units, is post-processing of the
Gaussian mechanism. All numbers of a public domain are released; ranking is post-processing.

Unknown domain: numbers of items that nobody has cannot be released, because there is no list of
them; so only noisy weights above a threshold τ are. Proof of (ε, δ). Split the items of the larger
data set into those that the other one has too and the t ≤ m that only the added basket has. If
none of the latter is released, the outputs are those of the Gaussian mechanism on common items.
Each of them has weight at most w_t, and passes with probability 1 − Φ((τ − w_t)/σ), so with τ ≥
w_t + σ·Φ⁻¹(1 − δ/(2t)) for every t ≤ m any of them does with probability below δ/2. Together with
a noise that is (ε, δ/2)-DP that is (ε, δ)-DP. Baskets are cut to m items before, each by itself,
at random.

Weights are what is released, not counts: an item of large baskets is weighed below its count.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.stream import stream

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from sfumato.dp.publish.topk.baskets import Baskets

UNIT = 1 << 20
"""How many units a weight of 1 has."""


def weight_of(size: int, typical: int) -> int:
    """Give the weight of each item of a basket of so many, in units."""
    return UNIT if size <= typical else math.isqrt(typical * UNIT * UNIT // size)


def weigh(baskets: Baskets, typical: int) -> NDArray[np.int64]:
    """Add the weights of every item of the domain, in units."""
    sizes = baskets.sizes
    table = np.array(
        [weight_of(max(size, 1), typical) for size in range(int(sizes.max(initial=0)) + 1)],
        dtype=np.int64,
    )
    each = np.repeat(table[sizes], sizes)
    # Sums of whole numbers below 2⁵³ are exact in floats; beyond that they are added one by one.
    if each.sum(dtype=np.float64) < 2.0**52:
        summed = np.bincount(baskets.items, weights=each, minlength=len(baskets.names))
        return summed.astype(np.int64)
    out = np.zeros(len(baskets.names), dtype=np.int64)
    np.add.at(out, baskets.items, each)
    return out


def cut(baskets: Baskets, most: int) -> Baskets:
    """Keep at most ``most`` items of each basket, at random, each basket by itself."""
    if int(baskets.sizes.max(initial=0)) <= most:
        return baskets
    keys = stream().uint64(baskets.items.size)
    order = np.lexsort((keys, baskets.owners))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size) - np.repeat(baskets.starts[:-1], baskets.sizes)
    return baskets.kept(rank < most)


def threshold(deviation: float, most: int, typical: int, failure: Fraction) -> float:
    """Give the τ that items of one basket alone pass with probability below ``failure``.

    Noise and result are in units; the quantile is taken a little too high, never too low.
    """
    normal = NormalDist()
    needed = 0.0
    for size in range(1, most + 1):
        # Any of t items passes with probability below t times the tail of each.
        tail = float(failure) / size * (1 - 1e-9)
        needed = max(needed, weight_of(size, typical) - deviation * normal.inv_cdf(tail))
    return needed * (1 + 1e-9) + 1
