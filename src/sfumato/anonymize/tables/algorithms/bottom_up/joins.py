"""The steps of agglomeration: look for partners, join two clusters, lend records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Clusters, State
    from sfumato.anonymize.tables.algorithms.encoding import ValueTree


def look(
    clusters: Clusters,
    order: NDArray[np.int64],
    line: NDArray[np.int64],
    row: NDArray[np.int64],
    window: int,
    lending: int,
    best: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> None:
    """Keep for each seeker the cheapest partners among its neighbours in one order.

    Seeker `c` has its list in row `row[c]` of `best` and `cost`; others have row −1.
    """
    state, tree = clusters.state, clusters.encoding.tree
    at, level = in_line(tree, order, state.low[line], state.level[line])
    _look(at, level, line, row, window, lending, state, tree, best, cost)


def in_line(
    tree: ValueTree, order: NDArray[np.int64], low: NDArray[np.int64], level: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each generalised tuple's branches begin, and its levels.

    The attributes that sorting counted least, which differ most between neighbours, come
    first, so that comparing can stop early.
    """
    back = order[::-1]
    at = tree.start[back] + low[:, back] * tree.height[back]
    return np.ascontiguousarray(at), np.ascontiguousarray(level[:, back])


@njit(cache=True)
def _look(
    at: NDArray[np.int64],
    level: NDArray[np.int64],
    line: NDArray[np.int64],
    row: NDArray[np.int64],
    window: int,
    lending: int,
    state: State,
    tree: ValueTree,
    best: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> None:
    """Do what `look` says, on rows gathered in sorted order.

    Row i of `at` and `level` is cluster `line[i]`: `at[i, a] + h` is where the branch of attribute
    a is on level h. The union is priced attribute by attribute, and given up as soon as it cannot
    beat the last of the list: prices are not negative, so it would only grow.
    """
    size, price_of, holds = state.size, state.price, state.holds
    node, price = tree.node, tree.price
    for i in range(len(line)):
        c = line[i]
        r = row[c]
        if r < 0:
            continue
        need = lending - size[c]
        for j in range(max(0, i - window), min(len(line), i + window + 1)):
            d = line[j]
            if d == c:
                continue
            given = size[d]
            if need > 0 and holds[d] and size[d] - need >= lending:
                given = need
            total = size[c] + given
            paid = size[c] * price_of[c] + given * price_of[d]
            limit = (cost[r, -1] + paid) / total
            union = 0.0
            for a in range(at.shape[1]):
                h = max(level[i, a], level[j, a])
                while node[at[i, a] + h] != node[at[j, a] + h]:
                    h += 1
                union += price[at[i, a] + h]
                if union >= limit:
                    break
            if union < limit:
                insert(best, cost, r, d, total * union - paid)


@njit(cache=True)
def insert(best: NDArray[np.int64], cost: NDArray[np.float64], r: int, d: int, rise: float) -> None:
    """Insert a partner into a list sorted by cost, unless it is there already."""
    width = best.shape[1]
    for m in range(width):
        if best[r, m] == d:
            return
    m = width - 1
    while m > 0 and cost[r, m - 1] > rise:
        best[r, m] = best[r, m - 1]
        cost[r, m] = cost[r, m - 1]
        m -= 1
    best[r, m] = d
    cost[r, m] = rise


def join(
    clusters: Clusters,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    quota: int,
    lending: int,
) -> NDArray[np.int64]:
    """Make the joins in order, up to a quota; return the clusters touched.

    A cluster takes part in one join, but may lend to several.
    """
    state = clusters.state
    given = _match(first, second, state.size, state.holds, quota, lending)
    whole = given < 0
    _absorb(clusters, first[whole], second[whole])
    lent = given > 0
    if lent.any():
        _borrow(state, clusters.encoding.tree, first[lent], second[lent], given[lent])
        clusters.refresh(np.unique(np.concatenate([first[lent], second[lent]])))
    return np.unique(np.concatenate([first[lent], second[lent], second[whole]]))


@njit(cache=True)
def _match(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    size: NDArray[np.int64],
    holds: NDArray[np.bool_],
    quota: int,
    lending: int,
) -> NDArray[np.int64]:
    """Decide in order which joins are made: −1 for the whole, n for n records lent, 0 for none."""
    left = size.copy()
    busy = np.zeros(len(size), dtype=np.bool_)
    given = np.zeros(len(first), dtype=np.int64)
    joins = 0
    for i in range(len(first)):
        c, d = first[i], second[i]
        if d < 0 or busy[c] or busy[d] or joins >= quota:
            continue
        need = lending - size[c]
        if need > 0 and holds[d] and size[d] - need >= lending:
            if left[d] - need < lending:
                continue
            left[d] -= need
            given[i] = need
        elif left[d] < size[d]:
            continue
        else:
            given[i] = -1
            busy[d] = True
        busy[c] = True
        joins += 1
    return given


def _absorb(clusters: Clusters, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    """Put all members of each first cluster into the second; the first are dead."""
    state, tree = clusters.state, clusters.encoding.tree
    level = np.maximum(state.level[first], state.level[second])
    mine, theirs = state.low[first], state.low[second]
    at = clusters.encoding.at
    while (differ := tree.node[at(level, mine)] != tree.node[at(level, theirs)]).any():
        level += differ
    state.level[second] = level
    state.low[second] = np.minimum(mine, theirs)
    state.price[second] = tree.price[at(level, mine)].sum(axis=1)
    state.size[second] += state.size[first]
    state.size[first] = 0
    state.next_[state.tail[second]] = state.head[first]
    state.tail[second] = state.tail[first]
    state.head[first] = -1
    state.alive[first] = False


@njit(cache=True)
def _borrow(
    state: State,
    tree: ValueTree,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    given: NDArray[np.int64],
) -> None:
    """Move records to each first cluster from the second, members nearest to it first.

    The shares of a cluster are a linked list (`head`, `next_`, `tail`). Nearest is the share that
    raises the borrower's price least; it is unlinked from the lender and appended to the borrower,
    or, if it has more records than are needed, split in two. Generalised tuples are left for the
    caller to recompute.
    """
    tuple_, count, next_ = state.tuple_, state.count, state.next_
    head, tail, low, level = state.head, state.tail, state.low, state.level
    start, height, node = tree.start, tree.height, tree.node
    for i in range(len(first)):
        c, d, need = first[i], second[i], given[i]
        state.size[c] += need
        state.size[d] -= need
        while need > 0:
            chosen, before, cheapest = -1, -1, np.inf
            previous, j = -1, head[d]
            while j >= 0:
                total = 0.0
                for a in range(low.shape[1]):
                    x = start[a] + low[c, a] * height[a]
                    y = start[a] + tree.leaves[tuple_[j], a] * height[a]
                    h = level[c, a]
                    while node[x + h] != node[y + h]:
                        h += 1
                    total += tree.price[x + h]
                if total < cheapest:
                    chosen, before, cheapest = j, previous, total
                previous, j = j, next_[j]
            new = chosen
            moved = min(need, count[chosen])
            need -= moved
            if moved < count[chosen]:
                new = state.used[0]
                state.used[0] += 1
                tuple_[new] = tuple_[chosen]
                count[new] = moved
                count[chosen] -= moved
            else:
                if before < 0:
                    head[d] = next_[chosen]
                else:
                    next_[before] = next_[chosen]
                if tail[d] == chosen:
                    tail[d] = before
            next_[new] = -1
            next_[tail[c]] = new
            tail[c] = new
