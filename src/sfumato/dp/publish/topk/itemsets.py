"""Itemsets: the most frequent sets of one, two or three items, in two stages.

Promise: the two shares that are taken. Proof. Stage 1 releases candidate items, by the weighted
Gaussian or by peeling. Stage 2 peels among all sets of at most three of them: the support
of a set is a count of baskets, which one basket moves by 0 or 1 and all upward, so
:mod:`~sfumato.dp.publish.topk.peeling` applies whatever the number of sets is. Which items are
kept, and up to which size, is decided from what stage 1 released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.publish.topk import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.publish.topk.baskets import Baskets

MOST = 90
"""So many items are combined at most: 121,575 sets of up to three."""


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Sets of candidate items, each a rising tuple of places, with exact supports. Private."""

    places: NDArray[np.int64]
    supports: NDArray[np.int64]
    size: int

    def members(self, number: int) -> tuple[int, ...]:
        """Give the items of a set by its number: single ones, then pairs, then triples."""
        count = self.places.size
        for size in range(1, self.size + 1):
            among = math.comb(count, size)
            if number < among:
                return tuple(int(self.places[i]) for i in _unranked(number, count, size))
            number -= among
        raise IndexError(number)


def combine(baskets: Baskets, places: NDArray[np.int64], size: int) -> Itemsets:
    """Count all sets of at most ``size`` of some items."""
    places = np.sort(places)
    rows = np.full(len(baskets.names), -1, dtype=np.int64)
    rows[places] = np.arange(places.size)
    words = -(-(baskets.starts.size - 1) // 64) or 1
    bits = np.zeros((places.size, words), dtype=np.uint64)
    kernels.set_bits(baskets.starts, baskets.items, rows, bits)
    singles = np.bincount(rows[baskets.items][rows[baskets.items] >= 0], minlength=places.size)
    counted = [singles.astype(np.int64)]
    for many, kernel in ((2, kernels.supports_of_pairs), (3, kernels.supports_of_triples)):
        if many <= size:
            out = np.zeros(math.comb(places.size, many), dtype=np.int64)
            kernel(bits, out)
            counted.append(out)
    return Itemsets(places, np.concatenate(counted), size)


def _unranked(number: int, count: int, size: int) -> tuple[int, ...]:
    """Give the combination that has this number in the order of itertools."""
    out: list[int] = []
    first = 0
    while len(out) < size:
        behind = math.comb(count - first - 1, size - len(out) - 1)
        if number < behind:
            out.append(first)
        else:
            number -= behind
        first += 1
    return tuple(out)


def settle_supports(sets: list[tuple[Any, ...]], noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let no set have a larger support than its subsets: post-processing of released numbers."""
    out = np.maximum(noisy, 0.0)
    place = {frozenset(items): i for i, items in enumerate(sets)}
    for items in sorted(sets, key=len):
        own = place[frozenset(items)]
        for size in range(1, len(items)):
            for part in combinations(items, size):
                above = place.get(frozenset(part))
                if above is not None:
                    out[own] = min(out[own], out[above])
    return out
