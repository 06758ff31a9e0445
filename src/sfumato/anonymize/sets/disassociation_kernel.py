"""Kernels of disassociation: sets into clusters, items of a cluster into chunks.

Terrovitis, Mamoulis, Liagouris, Skiadopoulos: Privacy preservation by disassociation, VLDB 2012.
"""

from __future__ import annotations

import numpy as np

from sfumato.anonymize.sets.supports import blame
from sfumato.compiler import njit


@njit(cache=True)
def gather_clusters(starts, items, width, k, most):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return sets in an order in which neighbours are alike, and where clusters begin in it.

    Sets with the most frequent item that not all have are parted from the rest, again and again,
    until at most `most` are left; no part has fewer than k. Counts of the rest follow from those of
    the part, so a set is counted once for every item that parts it from others.
    """
    n = len(starts) - 1
    order = np.arange(n)
    begins = np.zeros(n // max(k, 1) + 2, np.int64)
    made = 0
    count = np.zeros(width, np.int64)
    touched = np.empty(width, np.int64)
    part, rest = np.empty(n, np.int64), np.empty(n, np.int64)
    stack = [(0, n)]
    while len(stack) > 0:
        b, e = stack.pop()
        met = 0
        if e - b > most:
            for x in range(b, e):
                for p in range(starts[order[x]], starts[order[x] + 1]):
                    if count[items[p]] == 0:
                        touched[met] = items[p]
                        met += 1
                    count[items[p]] += 1
        pieces = [(b, b)]  # parts of this node, to be looked at from left to right
        while e - b > most:
            best = -1
            for i in range(met):
                c = count[touched[i]]
                if k <= c <= e - b - k and (best < 0 or c > count[best]):
                    best = touched[i]
            if best < 0:
                break
            inside = outside = 0
            for x in range(b, e):
                t = order[x]
                row = items[starts[t] : starts[t + 1]]
                place = np.searchsorted(row, best)
                if place < len(row) and row[place] == best:
                    part[inside] = t
                    inside += 1
                else:
                    rest[outside] = t
                    outside += 1
            order[b : b + inside] = part[:inside]
            order[b + inside : e] = rest[:outside]
            for x in range(inside):
                for p in range(starts[part[x]], starts[part[x] + 1]):
                    count[items[p]] -= 1
            pieces.append((b, b + inside))
            b += inside
        for i in range(met):
            count[touched[i]] = 0
        whole = e - b
        if len(pieces) > 1:  # what is left is like its own cluster, parts are looked at again
            stack.append((b, e))
            for i in range(len(pieces) - 1, 0, -1):
                stack.append(pieces[i])  # noqa: PERF401 - compiled
            continue
        parts = max(whole // most + (whole % most > 0), 1)
        while parts > 1 and whole // parts < k:
            parts -= 1
        for i in range(parts):
            begins[made] = b + whole * i // parts
            made += 1
    begins[made] = n
    return order, begins[: made + 1]


@njit(cache=True)
def gather_chunks(starts, items, width, member, own, k, m, tries):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Return the chunk of every item, −1 for those in fewer than k rows.

    `member[t]` is the cluster of row t, and `own[c, a]` tells that cluster c has item a in another
    chunk already; a chunk never holds an item that a cluster of its rows has elsewhere. Items take
    their turn from the commonest; each joins the open chunk if every itemset of up to m items
    stays in k rows or in none. A chunk closes after so many `tries` in a row that fail.
    """
    n, clusters = len(starts) - 1, len(own)
    begin = np.zeros(width + 1, np.int64)
    for p in range(len(items)):
        begin[items[p] + 1] += 1
    support = begin[1:].copy()
    begin = np.cumsum(begin)
    fill, index = begin.copy(), np.empty(len(items), np.int64)
    for t in range(n):
        for p in range(starts[t], starts[t + 1]):
            index[fill[items[p]]] = t
            fill[items[p]] += 1
    chunk = np.full(width, -1, np.int64)
    rest = np.argsort(-support)
    left = 0
    while left < width and support[rest[left]] >= k:
        left += 1
    rest = rest[:left].copy()
    made = 0
    inside = np.zeros(width, np.bool_)
    belongs, blocked = np.zeros(clusters, np.bool_), np.zeros(clusters, np.bool_)
    count = np.zeros(width, np.int64)
    while left > 0:
        inside[:] = False
        belongs[:] = False
        blocked[:] = False
        kept, failed, size = 0, 0, 0
        for i in range(left):
            a = rest[i]
            good = size == 0 or failed < tries
            if good and size > 0:
                for q in range(begin[a], begin[a + 1]):
                    if blocked[member[index[q]]]:
                        good = False
                        break
                if good:
                    for c in range(clusters):
                        if belongs[c] and own[c, a]:
                            good = False
                            break
                good = good and _stays(starts, items, index[begin[a] : begin[a + 1]], inside,
                                       count, k, m)  # fmt: skip
            if not good:
                failed += 1
                rest[kept] = a
                kept += 1
                continue
            failed = 0
            size += 1
            inside[a] = True
            chunk[a] = made
            for q in range(begin[a], begin[a + 1]):
                belongs[member[index[q]]] = True
            for c in range(clusters):
                blocked[c] = blocked[c] or own[c, a]
        left = kept
        made += 1
    return chunk


@njit(cache=True)
def _stays(starts, items, rows, inside, count, k, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, C901, PLR0912
    """Tell whether items of the open chunk that rows with a new item hold stay frequent with it."""
    if m == 1:
        return True
    good = True
    total = 0
    for t in rows:
        for p in range(starts[t], starts[t + 1]):
            if inside[items[p]]:
                count[items[p]] += 1
                total += 1
    for t in rows:
        for p in range(starts[t], starts[t + 1]):
            if inside[items[p]]:
                good = good and count[items[p]] >= k
    for t in rows:
        for p in range(starts[t], starts[t + 1]):
            count[items[p]] = 0
    if not good or m == 2 or total == 0:
        return good
    inner, nodes = np.zeros(len(rows) + 1, np.int64), np.empty(total, np.int64)
    filled = 0
    for i in range(len(rows)):
        for p in range(starts[rows[i]], starts[rows[i] + 1]):
            if inside[items[p]]:
                nodes[filled] = items[p]
                filled += 1
        inner[i + 1] = filled
    return blame(inner, nodes, len(inside), k, m - 1, True)[0] == 0
