"""The kernel of local recoding for k^m: what a split of one node would do to each set.

Every set that shows node v goes one of three ways: SPLIT (its items below v are shown as children
of v), STAY (they are still shown as v), DROP (they are deleted). Sets only ever move down this
list, so the loops end; they end when no itemset of up to m nodes with v or a child of v is rare.
Itemsets without them are untouched, so if nothing was rare before, nothing is afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.sets.supports import count_rare
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPLIT, STAY, DROP = 0, 1, 2


class Shown(NamedTuple):
    """What every set shows now: `node[starts[t]:starts[t + 1]]` for set t, −1 where deleted."""

    starts: NDArray[np.int64]
    node: NDArray[np.int32]


class Rows(NamedTuple):
    """The sets that show the node: row i is set `set_[i]`.

    Its children of the node are `child[first[i]:first[i + 1]]`, and `occurrences[i]` counts its
    items below the node.
    """

    set_: NDArray[np.int64]
    first: NDArray[np.int64]
    child: NDArray[np.int64]
    occurrences: NDArray[np.int64]


class Split(NamedTuple):
    """A node and its children: `members[group[g]:group[g + 1]]` are the rows with `children[g]`."""

    node: int
    children: NDArray[np.int64]
    group: NDArray[np.int64]
    members: NDArray[np.int64]


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
def gather(chosen, shown, rows, v, child, mark):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what the chosen rows show beside v, as compressed sets.

    With a `child` (not −1) the rows are split: they show their other children of v as well.
    `mark` is scratch, −1 per node before and after: it keeps a row from listing a node twice.
    """
    starts = shown.starts
    size = 0
    for i in chosen:
        size += starts[rows.set_[i] + 1] - starts[rows.set_[i]]
    inner = np.zeros(len(chosen) + 1, np.int64)
    nodes = np.empty(size + 1, np.int64)
    filled = 0
    for x in range(len(chosen)):
        i = chosen[x]
        t = rows.set_[i]
        begun = filled
        for p in range(starts[t], starts[t + 1]):
            node = shown.node[p]
            if node >= 0 and node != v and mark[node] != t:
                mark[node] = t
                nodes[filled] = node
                filled += 1
        for q in range(begun, filled):
            mark[nodes[q]] = -1
        if child >= 0:
            for e in range(rows.first[i], rows.first[i + 1]):
                if rows.child[e] != child:
                    nodes[filled] = rows.child[e]
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
def weigh_split(shown, rows, split, k, m, tolerance, staying, width):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912
    """Return the state of each row (a set that shows the node) after splitting it.

    A row that stays and holds more than `tolerance` rare itemsets per occurrence is dropped;
    without `staying` none stays. There are `width` nodes in all.
    """
    v, children, group, members = split
    n = len(rows.set_)
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
                inner, nodes = gather(chosen, shown, rows, v, children[g], mark)
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
        inner, nodes = gather(chosen, shown, rows, v, -1, mark)
        guilty = judge_rows(inner, nodes, k, m, count)
        for x in range(len(chosen)):
            if guilty[x] > tolerance * rows.occurrences[chosen[x]] or (m > 2 and guilty[x] > 0):
                state[chosen[x]] = DROP
                moved = True
            elif m == 2:
                for q in range(inner[x], inner[x + 1]):
                    count[nodes[q]] += 1
        if call_in(everybody, shown, rows, v, state, count, mark, k):
            moved = True
        if not moved:  # nobody is left to keep them company: what is rare still, goes
            for x in range(len(chosen)):
                if guilty[x] > 0:
                    state[chosen[x]] = DROP
                    moved = True
        count[:] = 0
    return state


@njit(cache=True)
def call_in(everybody, shown, rows, v, state, count, mark, k):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Let split rows stay with those that lack company; tell whether any row moved.

    `count[b]` is how many staying rows show b; whoever shows a node that has too few joins them.
    """
    moved = False
    staying = len(choose(everybody, state, STAY))
    split = choose(everybody, state, SPLIT)
    inner, nodes = gather(split, shown, rows, v, -1, mark)
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
