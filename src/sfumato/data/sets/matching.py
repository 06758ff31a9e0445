"""The kernel behind hierarchies from co-occurrence: match every group with a close one."""

from __future__ import annotations

import numpy as np

from sfumato.compiler import njit


@njit(cache=True)
def match_groups(count, starts, groups):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Return for every group the one it is matched with, itself where it stays alone.

    Sets hold each group once. Groups take their turn from the rarest to the commonest; each takes
    the free group with the largest cosine, shared sets over √(sets of one × sets of the other).
    Counting the sets that a group shares with others walks its own sets only, so a round costs the
    sum of squared sizes.
    """
    records = len(starts) - 1
    support = np.zeros(count, np.int64)
    for g in groups:
        support[g] += 1
    begin = np.zeros(count + 1, np.int64)
    begin[1:] = np.cumsum(support)
    where = np.empty(begin[count], np.int64)  # the sets of every group
    fill = begin[:-1].copy()
    for t in range(records):
        for p in range(starts[t], starts[t + 1]):
            where[fill[groups[p]]] = t
            fill[groups[p]] += 1
    partner = np.arange(count)
    free = np.ones(count, np.bool_)
    shared = np.zeros(count, np.int64)
    touched = np.empty(count, np.int64)
    for g in np.argsort(support):
        if not free[g]:
            continue
        met = 0
        for q in range(begin[g], begin[g + 1]):
            t = where[q]
            for p in range(starts[t], starts[t + 1]):
                h = groups[p]
                if h == g or not free[h]:
                    continue
                if shared[h] == 0:
                    touched[met] = h
                    met += 1
                shared[h] += 1
        best, found = 0.0, -1
        for i in range(met):
            h = touched[i]
            score = shared[h] / np.sqrt(float(support[h]))
            if score > best:
                best, found = score, h
            shared[h] = 0
        if found >= 0:
            free[g] = free[found] = False
            partner[g], partner[found] = found, g
    last = -1
    for g in np.argsort(support):  # what met nobody is joined with the next in frequency
        if not free[g]:
            continue
        if last < 0:
            last = g
        else:
            partner[g], partner[last] = last, g
            last = -1
    return partner
