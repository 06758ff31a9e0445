"""Supports of pairs of items: the most frequent, and those asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.supports import invert
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def frequent_pairs(
    starts: NDArray[np.int64], items: NDArray[np.int64], width: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most frequent pairs (a, b) with a < b, and their supports."""
    begin, sets = invert(starts, items, width)
    first, second, support = _pairs(starts, items, begin, sets, width, most)
    order = np.argsort(-support, kind="stable")
    kept = order[support[order] > 0]
    return np.stack([first[kept], second[kept]], axis=1), support[kept]


@njit(cache=True)
def _pairs(starts, items, begin, sets, width, most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Keep the pairs of largest support seen so far, the least of them replaced."""
    first, second = np.zeros(most, np.int64), np.zeros(most, np.int64)
    support = np.zeros(most, np.int64)
    count = np.zeros(width, np.int64)
    least = 0
    for a in range(width):
        if begin[a + 1] - begin[a] <= support[least]:
            continue
        for q in range(begin[a], begin[a + 1]):
            t = sets[q]
            for p in range(starts[t], starts[t + 1]):
                if items[p] > a:
                    count[items[p]] += 1
        for q in range(begin[a], begin[a + 1]):
            t = sets[q]
            for p in range(starts[t], starts[t + 1]):
                b = items[p]
                if count[b] > support[least]:
                    first[least], second[least], support[least] = a, b, count[b]
                    least = int(np.argmin(support))
                count[b] = 0
    return first, second, support


def count_pairs(
    starts: NDArray[np.int64], items: NDArray[np.int64], pairs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the supports of given pairs (a, b), a < b, in sets whose items are sorted."""
    if not len(pairs) or not len(items):
        return np.zeros(len(pairs), dtype=np.int64)
    width = int(max(items.max(), pairs.max())) + 1
    begin, sets = invert(starts, items, width)
    return np.asarray(_count(starts, items, begin, sets, pairs))


@njit(cache=True)
def _count(starts, items, begin, sets, pairs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Walk the sets of the rarer item of each pair."""
    found = np.zeros(len(pairs), np.int64)
    for x in range(len(pairs)):
        a, b = pairs[x, 0], pairs[x, 1]
        if begin[b + 1] - begin[b] < begin[a + 1] - begin[a]:
            a, b = b, a
        for q in range(begin[a], begin[a + 1]):
            t = sets[q]
            row = items[starts[t] : starts[t + 1]]
            place = np.searchsorted(row, b)
            found[x] += place < len(row) and row[place] == b
    return found
