"""Kernels that count what breaks a promise about known items, and in how many breaches an item is.

Sets are compressed rows: `starts`, and `items` ascending and distinct within a set. A breach is an
itemset that occurs, and in fewer than k sets; or one from which a secret follows too surely: more
than a share of the sets that hold it are `marked` as holders of the secret.

To delete an item from all sets changes neither the support of an itemset without it nor how surely
a secret follows from that. So after a deletion the breaches are those of before without the ones
with the item, and these lie in the sets that held it: `project` gives them, `tally` counts them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.compiler import njit


class Breach(NamedTuple):
    """What breaks the promise: support below `k`, or a share of marked sets above `share`.

    Itemsets of `smallest` to `largest` items are looked at. `k` is 0 where marks alone count;
    then a branch ends where no set is marked.
    """

    k: int
    share: float
    smallest: int
    largest: int


@njit(cache=True)
def project(starts, items, rows, without):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the given rows, `without` some items, as compressed sets."""
    size = 0
    for t in rows:
        size += starts[t + 1] - starts[t]
    begins = np.zeros(len(rows) + 1, np.int64)
    kept = np.empty(size, items.dtype)
    filled = 0
    for i in range(len(rows)):
        for p in range(starts[rows[i]], starts[rows[i] + 1]):
            if not without[items[p]]:
                kept[filled] = items[p]
                filled += 1
        begins[i + 1] = filled
    return begins, kept[:filled]


@njit(cache=True)
def tally(starts, items, marked, breach, guilt, sign):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return the number of breaches; add `sign` to the guilt of an item for each it is in.

    The walk goes depth first over items in ascending order; `sets[d]`, `places[d]` hold for
    every candidate of depth d the sets with the prefix and it, and where to go on in each.
    """
    k, share, smallest, m = breach
    width, total, everybody = len(guilt), len(items), len(starts) - 1
    breaches = 0
    if smallest <= 0:
        holders = 0
        for t in range(everybody):
            holders += marked[t]
        if (0 < everybody < k) or holders > share * everybody:
            breaches += 1
    if m <= 0:
        return breaches
    count, held = np.zeros((m, width), np.int64), np.zeros((m, width), np.int64)
    end = np.zeros((m, width), np.int64)
    sets = np.empty((max(m - 1, 1), total if m > 1 else 1), np.int64)
    places = np.empty((max(m - 1, 1), total if m > 1 else 1), np.int64)
    candidates = np.empty((m, min(width, total)), np.int64)
    found, turn, prefix = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    depth, low, high, opening = 0, 0, everybody, True
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
                    held[depth, a] += marked[t]
            place = 0
            for i in range(found[depth]):
                a = candidates[depth, i]
                if depth + 1 >= smallest and (
                    count[depth, a] < k or held[depth, a] > share * count[depth, a]
                ):
                    breaches += 1
                    guilt[a] += sign
                    for d in range(depth):
                        guilt[prefix[d]] += sign
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
                if k == 0 and held[depth, a] == 0:
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
            held[depth, candidates[depth, i]] = 0
        if depth == 0:
            return breaches
        depth -= 1
