"""Kernels of attacks with known items: who is left, and what follows.

Sets come as distinct ones with weights, items ascending within each. An itemset is reached by its
items in ascending order; the sets that hold it are its projection. Branches with one distinct
set in their projection end: knowing more of it changes nothing.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiler import njit

BUDGET = 3_000_000_000
"""Steps after which no larger itemset is tried; one huge basket must not stop an attack."""


@njit(cache=True)
def fewest_candidates(starts, items, weights, width, m, budget):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return for each set the fewest sets that up to m of its items leave, and which items.

    `best[t]` counts sets by weight, `chosen[t]` holds the items, −1 behind them. The last value
    tells whether every itemset was tried.
    """
    n = len(weights)
    if n > 0:
        m = min(m, max(1, np.max(np.diff(starts))))  # no set holds more
    best = np.full(n, weights.sum(), np.int64)
    chosen = np.full((n, m), -1, np.int64)
    rows = np.empty((m, max(len(items), n)), np.int64)  # projections, one after the other by depth
    places = np.empty((m, max(len(items), n)), np.int64)
    count, often = np.zeros((m, width), np.int64), np.zeros((m, width), np.int64)
    end = np.zeros((m, width), np.int64)
    candidates = np.empty((m, width), np.int64)
    found, turn = np.zeros(m, np.int64), np.zeros(m, np.int64)
    prefix = np.full(m, -1, np.int64)
    depth, low, high, opening, steps = 0, 0, n, True, 0
    while True:
        if opening:
            found[depth] = turn[depth] = 0
            for i in range(low, high):
                t = i if depth == 0 else rows[depth - 1, i]
                for q in range(starts[t] if depth == 0 else places[depth - 1, i], starts[t + 1]):
                    a = items[q]
                    if often[depth, a] == 0:
                        candidates[depth, found[depth]] = a
                        found[depth] += 1
                    count[depth, a] += weights[t]
                    often[depth, a] += 1
                    steps += 1
            place = 0
            for i in range(found[depth]):
                a = candidates[depth, i]
                end[depth, a] = place
                place += often[depth, a]
            for i in range(low, high):
                t = i if depth == 0 else rows[depth - 1, i]
                for q in range(starts[t] if depth == 0 else places[depth - 1, i], starts[t + 1]):
                    a = items[q]
                    if count[depth, a] < best[t]:
                        best[t] = count[depth, a]
                        chosen[t, :] = -1
                        chosen[t, :depth] = prefix[:depth]
                        chosen[t, depth] = a
                    rows[depth, end[depth, a]] = t
                    places[depth, end[depth, a]] = q + 1
                    end[depth, a] += 1
            opening = False
        moved = False
        if depth < m - 1:
            while turn[depth] < found[depth] and steps < budget:
                a = candidates[depth, turn[depth]]
                turn[depth] += 1
                if often[depth, a] < 2:
                    continue
                high = end[depth, a]
                low = high - often[depth, a]
                prefix[depth] = a
                depth += 1
                opening = moved = True
                break
        if moved:
            continue
        for i in range(found[depth]):
            count[depth, candidates[depth, i]] = 0
            often[depth, candidates[depth, i]] = 0
        if depth == 0:
            return best, chosen, steps < budget
        depth -= 1


@njit(cache=True)
def surest_items(starts, items, weights, width, secret, m, budget):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return for each set how surely one of its secret items follows from up to m others of it.

    Gives the share, the item, and whether every itemset was tried. The known items are any of the
    set but the secret itself; `sets[d]` is the projection at depth d.
    """
    n = len(weights)
    if n > 0:
        m = min(m, max(1, np.max(np.diff(starts))))
    share, which = np.zeros(n, np.float64), np.full(n, -1, np.int64)
    begin = np.zeros(width + 1, np.int64)
    for p in range(len(items)):
        begin[items[p] + 1] += 1
    begin = np.cumsum(begin)
    fill, index = begin.copy(), np.empty(len(items), np.int64)
    for t in range(n):
        for p in range(starts[t], starts[t + 1]):
            index[fill[items[p]]] = t
            fill[items[p]] += 1
    sets = np.empty((m + 1, n), np.int64)
    size = np.zeros(m + 1, np.int64)
    follow = np.empty((m + 1, width), np.int64)
    follows, turn = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    count, often = np.zeros(width, np.int64), np.zeros(width, np.int64)
    touched = np.empty(width, np.int64)
    known = np.full(m + 1, -1, np.int64)
    size[0] = n
    sets[0] = np.arange(n)
    depth, opening, steps = 0, True, 0
    while True:
        if opening:
            everything, met = np.int64(0), 0
            for i in range(size[depth]):
                t = sets[depth, i]
                everything += weights[t]
                for p in range(starts[t], starts[t + 1]):
                    a = items[p]
                    if often[a] == 0:
                        touched[met] = a
                        met += 1
                    often[a] += 1
                    count[a] += weights[t]
                    steps += 1
            for d in range(depth):
                count[known[d]] = 0
            for i in range(size[depth]):
                t = sets[depth, i]
                for p in range(starts[t], starts[t + 1]):
                    a = items[p]
                    if secret[a] and count[a] > share[t] * everything:
                        share[t], which[t] = count[a] / everything, a
            follows[depth] = turn[depth] = 0
            last = known[depth - 1] if depth else -1
            for i in range(met):
                a = touched[i]
                if a > last and often[a] > 1 and depth < m:
                    follow[depth, follows[depth]] = a
                    follows[depth] += 1
                count[a] = often[a] = 0
            opening = False
        if turn[depth] < follows[depth] and steps < budget:
            a = follow[depth, turn[depth]]
            turn[depth] += 1
            filled = 0
            if depth == 0:
                for p in range(begin[a], begin[a + 1]):
                    sets[1, filled] = index[p]
                    filled += 1
            else:
                for i in range(size[depth]):
                    t = sets[depth, i]
                    row = items[starts[t] : starts[t + 1]]
                    place = np.searchsorted(row, a)
                    if place < len(row) and row[place] == a:
                        sets[depth + 1, filled] = t
                        filled += 1
            size[depth + 1] = filled
            known[depth] = a
            depth += 1
            opening = True
        elif depth == 0:
            return share, which, steps < budget
        else:
            depth -= 1


@njit(cache=True)
def rule_out(starts, items, weights, width, target, known, most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901
    """Return how many sets are left for a target, after items it lacks rule others out.

    The sets are those that hold the `known` items (−1 for none). One after the other, the item
    that most of the sets still left show, and the target does not, rules those out.
    """
    left = np.empty(len(weights), np.int64)
    n = 0
    for t in range(len(weights)):
        row = items[starts[t] : starts[t + 1]]
        fits = True
        for a in known:
            if a >= 0:
                place = np.searchsorted(row, a)
                fits = fits and place < len(row) and row[place] == a
        if fits:
            left[n] = t
            n += 1
    own = np.zeros(width, np.bool_)
    own[items[starts[target] : starts[target + 1]]] = True
    for _ in range(most):
        count = np.zeros(width, np.int64)
        for i in range(n):
            for p in range(starts[left[i]], starts[left[i] + 1]):
                if not own[items[p]]:
                    count[items[p]] += weights[left[i]]
        worst = np.argmax(count)
        if count[worst] == 0:
            break
        kept = 0
        for i in range(n):
            t = left[i]
            row = items[starts[t] : starts[t + 1]]
            place = np.searchsorted(row, worst)
            if not (place < len(row) and row[place] == worst):
                left[kept] = t
                kept += 1
        n = kept
    return weights[left[:n]].sum()
