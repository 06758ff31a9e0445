"""Supports of itemsets in released sets, counted exactly: kernels of the verifier alone.

Sets come as distinct ones with weights, items sorted within each. An itemset is reached by its
items in ascending order; its *projection* is the list of sets that hold it, each with the place
behind its last item, so every itemset that occurs is met once and no other.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiler import njit


@njit(cache=True)
def find_rarest(starts, items, weights, width, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return the smallest support of any itemset of 1 to m items that occurs, and the itemset.

    A branch is left out where every set of its projection alone weighs as much as the best support
    so far: an itemset is at least as frequent as any set that holds it.
    """
    m = min(m, max(1, np.max(np.diff(starts))))  # no set holds a larger itemset
    total = len(items)
    best = np.int64(2**62)
    witness = np.full(m, -1, np.int64)
    count = np.zeros((m, width), np.int64)
    lightest = np.zeros((m, width), np.int64)
    begin = np.zeros((m, width), np.int64)
    depth_sets = max(m - 1, 1)
    sets = np.empty((depth_sets, total), np.int64)  # projections of the candidates of each depth
    places = np.empty((depth_sets, total), np.int64)
    candidates = np.empty((m, width), np.int64)
    found = np.zeros(m, np.int64)
    turn = np.zeros(m, np.int64)
    prefix = np.full(m, -1, np.int64)
    depth = 0
    low = high = np.int64(0)
    opening = True
    while True:
        if opening:  # count what follows the prefix, and look at every support
            found[depth] = 0
            for i in range(len(weights) if depth == 0 else high - low):
                t = i if depth == 0 else sets[depth - 1, low + i]
                p = starts[t] if depth == 0 else places[depth - 1, low + i]
                for q in range(p, starts[t + 1]):
                    a = items[q]
                    if count[depth, a] == 0:
                        candidates[depth, found[depth]] = a
                        found[depth] += 1
                        lightest[depth, a] = weights[t]
                        begin[depth, a] = 0
                    count[depth, a] += weights[t]
                    begin[depth, a] += 1
                    lightest[depth, a] = min(lightest[depth, a], weights[t])
            place = np.int64(0)
            for i in range(found[depth]):
                a = candidates[depth, i]
                if count[depth, a] < best:
                    best = count[depth, a]
                    witness[:] = -1
                    witness[:depth] = prefix[:depth]
                    witness[depth] = a
                rows = begin[depth, a]
                begin[depth, a] = place
                place += rows
            turn[depth] = 0
            if depth < m - 1:
                for i in range(len(weights) if depth == 0 else high - low):
                    t = i if depth == 0 else sets[depth - 1, low + i]
                    p = starts[t] if depth == 0 else places[depth - 1, low + i]
                    for q in range(p, starts[t + 1]):
                        a = items[q]
                        sets[depth, begin[depth, a]] = t
                        places[depth, begin[depth, a]] = q + 1
                        begin[depth, a] += 1  # ends where the next candidate begins
            opening = False
        moved = False
        if depth < m - 1 and best > 1:
            while turn[depth] < found[depth]:
                i = turn[depth]
                turn[depth] += 1
                a = candidates[depth, i]
                if lightest[depth, a] >= best:
                    continue
                high = begin[depth, a]
                low = begin[depth, candidates[depth, i - 1]] if i > 0 else np.int64(0)
                prefix[depth] = a
                depth += 1
                opening = moved = True
                break
        if moved:
            continue
        for i in range(found[depth]):
            count[depth, candidates[depth, i]] = 0
        if depth == 0:
            return best, witness
        depth -= 1


@njit(cache=True)
def count_matches(starts, items, weights, covers, wanted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how many sets match an itemset.

    Row `covers[label]` has a bit for each item the label may be, in as many words as they take;
    `wanted` has the bits of all of them.
    """
    total = np.int64(0)
    seen = np.zeros_like(wanted)
    for t in range(len(weights)):
        seen[:] = 0
        for p in range(starts[t], starts[t + 1]):
            seen |= covers[items[p]]
        if np.all(seen == wanted):
            total += weights[t]
    return total
