"""Kernels that count itemsets for the algorithms.

Sets are compressed rows: `starts`, and `items` ascending within a set. An itemset is *rare* where
it occurs in at least one and fewer than k sets; rare itemsets are what k^m-anonymity forbids.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiler import njit


@njit(cache=True)
def recode(starts, items, cut, width):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the sets under a cut (`cut[item]` is its node, −1 for none), each node once."""
    out = np.empty(len(items), np.int32)
    begins = np.zeros(len(starts), np.int64)
    stamp = np.full(width, -1, np.int64)
    filled = 0
    for t in range(len(starts) - 1):
        first = filled
        for p in range(starts[t], starts[t + 1]):
            node = cut[items[p]]
            if node >= 0 and stamp[node] != t:
                stamp[node] = t
                out[filled] = node
                filled += 1
        out[first:filled].sort()
        begins[t + 1] = filled
    return begins, out[:filled]


@njit(cache=True)
def invert(starts, items, width):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return for each item the sets that hold it, as compressed rows."""
    begin = np.zeros(width + 1, np.int64)
    for p in range(len(items)):
        begin[items[p] + 1] += 1
    begin = np.cumsum(begin)
    fill = begin.copy()
    sets = np.empty(len(items), np.int64)
    for t in range(len(starts) - 1):
        for p in range(starts[t], starts[t + 1]):
            sets[fill[items[p]]] = t
            fill[items[p]] += 1
    return begin, sets


@njit(cache=True)
def blame(starts, items, width, k, m, stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return the number of least rare itemsets of up to m items, and in how many each item is.

    Least: no itemset of an earlier prefix is rare already. With `stop` the first one ends the walk.
    The walk goes depth first over items in ascending order; `sets[d]`, `places[d]` hold for
    every candidate of depth d the sets with the prefix and it, and where to go on in each.
    """
    total = len(items)
    guilt = np.zeros(width, np.int64)
    rare = 0
    count = np.zeros((m, width), np.int64)
    end = np.zeros((m, width), np.int64)
    sets = np.empty((m, total if m > 1 else 1), np.int64)
    places = np.empty((m, total if m > 1 else 1), np.int64)
    candidates = np.empty((m, width), np.int64)
    found = np.zeros(m, np.int64)
    turn = np.zeros(m, np.int64)
    prefix = np.zeros(m, np.int64)
    depth, low, high, opening = 0, 0, len(starts) - 1, True
    while True:
        if opening:
            found[depth] = turn[depth] = 0
            for i in range(low, high):
                t = i if depth == 0 else sets[depth - 1, i]
                for q in range(starts[t] if depth == 0 else places[depth - 1, i], starts[t + 1]):
                    a = items[q]
                    if count[depth, a] == 0:
                        candidates[depth, found[depth]] = a
                        found[depth] += 1
                    count[depth, a] += 1
            place = 0
            for i in range(found[depth]):
                a = candidates[depth, i]
                if count[depth, a] < k:
                    rare += 1
                    guilt[a] += 1
                    for d in range(depth):
                        guilt[prefix[d]] += 1
                    if stop:
                        return rare, guilt
                end[depth, a] = place
                place += count[depth, a]
            if depth < m - 1:
                for i in range(low, high):
                    t = i if depth == 0 else sets[depth - 1, i]
                    first = starts[t] if depth == 0 else places[depth - 1, i]
                    for q in range(first, starts[t + 1]):
                        a = items[q]
                        sets[depth, end[depth, a]] = t
                        places[depth, end[depth, a]] = q + 1
                        end[depth, a] += 1
            opening = False
        moved = False
        if depth < m - 1:
            while turn[depth] < found[depth]:
                a = candidates[depth, turn[depth]]
                turn[depth] += 1
                if count[depth, a] < k:
                    continue
                high = end[depth, a]
                low = high - count[depth, a]
                prefix[depth] = a
                depth += 1
                opening = moved = True
                break
        if moved:
            continue
        for i in range(found[depth]):
            count[depth, candidates[depth, i]] = 0
        if depth == 0:
            return rare, guilt
        depth -= 1


@njit(cache=True)
def split_breaks(starts, items, begin, sets, cut, first, last, parts, k, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Tell whether some itemset with one of `parts` is rare under a cut that shows them.

    `first[v]`, `last[v]` bound the items of node v; `begin`, `sets` are the inverted items. Only
    itemsets with a new node can have become rare: the sets that hold the node are a database of
    their own, in which itemsets of up to m − 1 further nodes must not be rare.
    """
    width = len(first)
    stamp = np.full(len(starts) - 1, -1, np.int64)
    mark = np.full(width, -1, np.int64)
    count = np.zeros(width, np.int64)
    touched = np.empty(width, np.int64)
    here = np.empty(len(starts) - 1, np.int64)
    round_ = 0
    for c in parts:
        rows = 0
        size = 0
        for p in range(begin[first[c]], begin[last[c]]):
            t = sets[p]
            if stamp[t] != c:
                stamp[t] = c
                here[rows] = t
                rows += 1
                size += starts[t + 1] - starts[t]
        if 0 < rows < k:
            return True
        if m == 1 or rows == 0:
            continue
        inner = np.zeros(rows + 1, np.int64)
        nodes = np.empty(size, np.int32)
        filled = met = 0
        for i in range(rows):
            t = here[i]
            round_ += 1
            begun = filled
            for p in range(starts[t], starts[t + 1]):
                node = cut[items[p]]
                if node >= 0 and node != c and mark[node] != round_:
                    mark[node] = round_
                    nodes[filled] = node
                    filled += 1
                    if count[node] == 0:
                        touched[met] = node
                        met += 1
                    count[node] += 1
            if m > 2:
                nodes[begun:filled].sort()
            inner[i + 1] = filled
        bad = False
        for i in range(met):
            bad = bad or count[touched[i]] < k
            count[touched[i]] = 0
        if bad:
            return True
        if m > 2 and blame(inner, nodes[:filled], width, k, m - 1, True)[0] > 0:
            return True
    return False


@njit(cache=True)
def count_rare(starts, items, width, k, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return for each set how many rare itemsets of up to m items it holds, least ones only."""
    total = len(items)
    guilty = np.zeros(len(starts) - 1, np.int64)
    count = np.zeros((m, width), np.int64)
    end = np.zeros((m, width), np.int64)
    sets = np.empty((m, total if m > 1 else 1), np.int64)
    places = np.empty((m, total if m > 1 else 1), np.int64)
    candidates = np.empty((m, width), np.int64)
    found = np.zeros(m, np.int64)
    turn = np.zeros(m, np.int64)
    depth, low, high, opening = 0, 0, len(starts) - 1, True
    while True:
        if opening:
            found[depth] = turn[depth] = 0
            for i in range(low, high):
                t = i if depth == 0 else sets[depth - 1, i]
                for q in range(starts[t] if depth == 0 else places[depth - 1, i], starts[t + 1]):
                    a = items[q]
                    if count[depth, a] == 0:
                        candidates[depth, found[depth]] = a
                        found[depth] += 1
                    count[depth, a] += 1
            place = 0
            rare = False
            for i in range(found[depth]):
                a = candidates[depth, i]
                rare = rare or count[depth, a] < k
                end[depth, a] = place
                place += count[depth, a]
            if rare or depth < m - 1:
                for i in range(low, high):
                    t = i if depth == 0 else sets[depth - 1, i]
                    first = starts[t] if depth == 0 else places[depth - 1, i]
                    for q in range(first, starts[t + 1]):
                        a = items[q]
                        if count[depth, a] < k:
                            guilty[t] += 1
                        if depth < m - 1:
                            sets[depth, end[depth, a]] = t
                            places[depth, end[depth, a]] = q + 1
                            end[depth, a] += 1
            opening = False
        moved = False
        if depth < m - 1:
            while turn[depth] < found[depth]:
                a = candidates[depth, turn[depth]]
                turn[depth] += 1
                if count[depth, a] < k:
                    continue
                high = end[depth, a]
                low = high - count[depth, a]
                depth += 1
                opening = moved = True
                break
        if moved:
            continue
        for i in range(found[depth]):
            count[depth, candidates[depth, i]] = 0
        if depth == 0:
            return guilty
        depth -= 1
