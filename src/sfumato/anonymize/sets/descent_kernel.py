"""The kernel of local recoding for k^m: what a split of one node would do to each set.

Every set that shows node v goes one of three ways: SPLIT (its items below v are shown as children
of v), STAY (they are still shown as v), DROP (they are deleted). Sets only ever move down this
list, so the loops end; they end when no itemset of up to m nodes with v or a child of v is rare.
Itemsets without them are untouched, so if nothing was rare before, nothing is afterwards.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.anonymize.sets.supports import count_rare

SPLIT, STAY, DROP = 0, 1, 2


@njit(cache=True)
def choose(among, state, wanted):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return the rows among the given ones that are in a state."""
    chosen = np.empty(len(among), np.int64)
    n = 0
    for i in among:
        if state[i] == wanted:
            chosen[n] = i
            n += 1
    return chosen[:n]


@njit(cache=True)
def gather(chosen, rows, starts, shown, v, r_first, e_child, child, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what the chosen rows show beside v, as compressed sets.

    With a `child` (not −1) the rows are split: they show their other children of v as well.
    """
    size = 0
    for i in chosen:
        size += starts[rows[i] + 1] - starts[rows[i]]
    inner = np.zeros(len(chosen) + 1, np.int64)
    nodes = np.empty(size + 1, np.int64)
    filled = 0
    for x in range(len(chosen)):
        i = chosen[x]
        t = rows[i]
        begun = filled
        for p in range(starts[t], starts[t + 1]):
            node = shown[p]
            if node >= 0 and node != v and mark[node] != t:
                mark[node] = t
                nodes[filled] = node
                filled += 1
        for q in range(begun, filled):
            mark[nodes[q]] = -1
        if child >= 0:
            for e in range(r_first[i], r_first[i + 1]):
                if e_child[e] != child:
                    nodes[filled] = e_child[e]
                    filled += 1
        inner[x + 1] = filled
    return inner, nodes[:filled]


@njit(cache=True)
def judge_rows(inner, nodes, k, m, count):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return how many rare itemsets of up to m − 1 nodes each row holds; `count` is scratch."""
    n = len(inner) - 1
    guilty = np.zeros(n, np.int64)
    if m > 2:
        for x in range(n):
            nodes[inner[x] : inner[x + 1]].sort()
        return count_rare(inner, nodes, len(count), k, m - 1)
    if m == 2:
        for a in nodes:
            count[a] += 1
        for x in range(n):
            for q in range(inner[x], inner[x + 1]):
                guilty[x] += count[nodes[q]] < k
        for a in nodes:
            count[a] = 0
    return guilty


@njit(cache=True)
def weigh_split(  # type: ignore[no-untyped-def]  # noqa: ANN201, C901, PLR0912
    v, starts, shown, rows, r_first, e_child, occurrences, children, group,  # noqa: ANN001
    members, k, m, tolerance, staying, width,  # noqa: ANN001
):  # fmt: skip
    """Return the state of each row (a set that shows v) after splitting v.

    `rows[i]` is the set of row i; its children of v are `e_child[r_first[i]:r_first[i + 1]]`, and
    `occurrences[i]` counts its items below v. `members[group[g]:group[g + 1]]` are the rows with
    `children[g]`. A row that stays and holds more than `tolerance` rare itemsets per occurrence
    is dropped; without `staying` none stays.
    """
    n = len(rows)
    everybody = np.arange(n)
    state = np.zeros(n, np.int64)
    mark = np.full(width, -1, np.int64)
    count = np.zeros(width, np.int64)
    moved = True
    while moved:
        moved = False
        for g in range(len(children)):
            while True:  # a row with a rare itemset around a child does not show children
                chosen = choose(members[group[g] : group[g + 1]], state, SPLIT)
                if len(chosen) == 0:
                    break
                inner, nodes = gather(
                    chosen, rows, starts, shown, v, r_first, e_child, children[g], mark
                )
                guilty = judge_rows(inner, nodes, k, m, count)
                out = 0
                for x in range(len(chosen)):
                    if guilty[x] > 0 or len(chosen) < k:
                        state[chosen[x]] = STAY if staying else DROP
                        out += 1
                if out == 0:
                    break
                moved = True
        chosen = choose(everybody, state, STAY)
        if len(chosen) == 0:
            continue
        inner, nodes = gather(chosen, rows, starts, shown, v, r_first, e_child, -1, mark)
        guilty = judge_rows(inner, nodes, k, m, count)
        for x in range(len(chosen)):
            if guilty[x] > tolerance * occurrences[chosen[x]] or (m > 2 and guilty[x] > 0):
                state[chosen[x]] = DROP
                moved = True
            elif m == 2:
                for q in range(inner[x], inner[x + 1]):
                    count[nodes[q]] += 1
        if call_in(everybody, rows, starts, shown, v, r_first, e_child, state, count, mark, k):
            moved = True
        if not moved:  # nobody is left to keep them company: what is rare still, goes
            for x in range(len(chosen)):
                if guilty[x] > 0:
                    state[chosen[x]] = DROP
                    moved = True
        count[:] = 0
    return state


@njit(cache=True)
def call_in(everybody, rows, starts, shown, v, r_first, e_child, state, count, mark, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Let split rows stay with those that lack company; tell whether any row moved.

    `count[b]` is how many staying rows show b; whoever shows a node that has too few joins them.
    """
    moved = False
    staying = len(choose(everybody, state, STAY))
    split = choose(everybody, state, SPLIT)
    inner, nodes = gather(split, rows, starts, shown, v, r_first, e_child, -1, mark)
    for x in range(len(split)):
        short = 0 < staying < k
        for q in range(inner[x], inner[x + 1]):
            short = short or 0 < count[nodes[q]] < k
        if short:
            state[split[x]] = STAY
            staying += 1
            moved = True
            for q in range(inner[x], inner[x + 1]):
                if count[nodes[q]] > 0:
                    count[nodes[q]] += 1
    if 0 < staying < k:
        for i in choose(everybody, state, STAY):
            state[i] = DROP
            moved = True
    return moved
