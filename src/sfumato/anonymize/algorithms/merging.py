"""Join clusters that do not hold yet where joining costs least, until all hold.

Agglomeration in rounds. Each cluster that does not hold looks for partners among its
neighbours in several sorted orders of the generalised tuples (a sorted neighbourhood, as in
record linkage: Hernández and Stolfo, SIGMOD 1995), so a round costs n·log n and not n²; the
fewer clusters still seek, the wider they look. The cheapest joins of the round are made,
each cluster taking part in one.

Where the definition counts records only, a partner that can spare records lends just as
many as are missing, so a few outliers do not coarsen a large class. For other definitions the
partner is the one that buys most for its price: the rise in loss per shortfall removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.clusters import Clusters
    from sfumato.anonymize.algorithms.verdicts import Judge

WINDOW = 12
"""Neighbours looked at on each side, in each order, while many clusters seek."""

COMPARISONS = 3_000_000
"""Comparisons per round that are always affordable; few seekers look at everybody."""

CANDIDATES = 16
"""Partners tried per cluster where the definition looks at more than sizes."""

SHARE_PER_ROUND = 0.3
"""Share of the seekers' joins made per round: the cheapest, before looking again."""


def agglomerate(clusters: Clusters, judge: Judge, *, spare: int = 0) -> NDArray[np.int64]:
    """Join clusters until all living ones hold, or one is left; return those suppressed.

    `spare` is the number of records that may be suppressed; a cluster is, when every join
    would cost more than leaving it out.
    """
    width = 1 if judge.counts_only else CANDIDATES
    dropped: list[int] = []
    _update(clusters, judge, np.flatnonzero(clusters.alive))
    while True:
        seekers = np.flatnonzero(clusters.alive & ~clusters.holds)
        if not len(seekers) or int(clusters.alive.sum()) == 1:
            return np.array(dropped, dtype=np.int64)
        best, cost = _propose(clusters, judge, seekers, width)
        partner, price = _choose(clusters, judge, seekers, best[seekers], cost[seekers])
        if spare:
            gone = _unaffordable(clusters, judge, seekers, price, spare)
            clusters.alive[gone] = False
            spare -= int(clusters.size[gone].sum())
            dropped += gone.tolist()
            still = clusters.alive[seekers] & clusters.alive[partner]
            seekers, partner, price = seekers[still], partner[still], price[still]
        cheapest = np.argsort(price, kind="stable")
        quota = max(int(len(seekers) * SHARE_PER_ROUND), 1)
        touched = _join(
            seekers[cheapest], partner[cheapest], quota, _lending(judge), clusters.alive,
            clusters.holds, *clusters.lists, *clusters.tuples, *clusters.tree,
        )  # fmt: skip
        _update(clusters, judge, touched)


def sorted_orders(clusters: Clusters) -> list[NDArray[np.int64]]:
    """Return the attribute orders to sort by: every attribute comes last in two of them."""
    sizes = np.array([len(rank) for rank in clusters.encoding.rank])
    base = np.argsort(sizes, kind="stable")
    turns = [np.roll(base, turn) for turn in range(len(base))]
    if len(base) > 2:
        turns += [np.roll(base[::-1], turn) for turn in range(len(base))]
    return turns


def _lending(judge: Judge) -> int:
    """Return the size up to which clusters borrow, or 0 where they may not."""
    return judge.problem.definition.minimum_size if judge.counts_only else 0


def _update(clusters: Clusters, judge: Judge, touched: NDArray[np.int64]) -> None:
    living = touched[clusters.alive[touched]]
    clusters.holds[living] = judge.holds(*clusters.bags(living))


def _propose(
    clusters: Clusters, judge: Judge, seekers: NDArray[np.int64], width: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cheapest partners found for each seeker, and what each join would cost."""
    n = len(clusters.alive)
    best = np.full((n, width), -1, dtype=np.int64)
    cost = np.full((n, width), np.inf)
    living = np.flatnonzero(clusters.alive)
    orders = sorted_orders(clusters)
    window = max(COMPARISONS // (2 * len(seekers) * len(orders)), WINDOW)
    if window * len(orders) >= len(living):
        window, orders = len(living), orders[:1]
    seeks = clusters.alive & ~clusters.holds
    low = clusters.low[living]
    for order in orders:
        line = living[np.argsort(clusters.encoding.keys(low, order), kind="stable")]
        _look(
            line, seeks, window, _lending(judge), clusters.holds, best, cost,
            *clusters.tuples, *clusters.tree,
        )  # fmt: skip
    return best, cost


def _choose(
    clusters: Clusters,
    judge: Judge,
    seekers: NDArray[np.int64],
    best: NDArray[np.int64],
    cost: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Pick one partner per seeker: the cheapest, or the one that buys most for its price."""
    if best.shape[1] == 1:
        return best[:, 0], cost[:, 0]
    rows, columns = np.nonzero(best >= 0)
    now = judge.shortfall(*clusters.bags(seekers))
    then = judge.shortfall(*clusters.bags(seekers[rows], best[rows, columns]))
    removed = np.maximum(now[rows] - then, 0.0)
    score = np.full(best.shape, np.inf)
    # A join that removes nothing still counts as a little progress, or none would be made.
    score[rows, columns] = cost[rows, columns] / np.maximum(removed, 1e-3)
    chosen = score.argmin(axis=1)
    at = np.arange(len(seekers))
    return best[at, chosen], cost[at, chosen]


def _unaffordable(
    clusters: Clusters,
    judge: Judge,
    seekers: NDArray[np.int64],
    price: NDArray[np.float64],
    spare: int,
) -> NDArray[np.int64]:
    """Return the seekers to suppress: leaving them out costs less than joining anybody."""
    problem = judge.problem
    low = clusters.low[seekers]
    out = sum(problem.suppressed[a][low[:, a]] for a in range(problem.attributes))
    saved = price - clusters.size[seekers] * (out - clusters.price[seekers])
    order = np.argsort(-saved, kind="stable")
    order = order[saved[order] > 0]
    order = order[np.cumsum(clusters.size[seekers[order]]) <= spare]
    return seekers[order[: max(int(clusters.alive.sum()) - 1, 0)]]


@njit(cache=True)
def _look(
    line,
    seeks,
    window,
    lending,
    holds,
    best,
    cost,
    low,
    level,
    size,
    price_of,
    leaves,
    start,
    height,
    node,
    price,
):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E501
    """Keep for each seeker the cheapest partners among its neighbours in one order."""
    attributes = low.shape[1]
    width = best.shape[1]
    for i in range(len(line)):
        c = line[i]
        if not seeks[c]:
            continue
        for j in range(max(0, i - window), min(len(line), i + window + 1)):
            d = line[j]
            if d == c:
                continue
            taken = size[d]
            need = lending - size[c]
            if need > 0 and holds[d] and size[d] - need >= lending:
                taken = need
            total = size[c] + taken
            paid = size[c] * price_of[c] + taken * price_of[d]
            limit = cost[c, width - 1]
            rise = 0.0
            p = 0.0
            for a in range(attributes):
                x = start[a] + low[c, a] * height[a]
                y = start[a] + low[d, a] * height[a]
                h = max(level[c, a], level[d, a])
                while node[x + h] != node[y + h]:
                    h += 1
                p += price[x + h]
                rise = total * p - paid
                if rise >= limit:
                    break
            if rise < limit:
                _insert(best[c], cost[c], d, rise)


@njit(cache=True)
def _insert(best, cost, d, rise):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Insert a partner into a list sorted by cost, unless it is there already."""
    for m in range(len(best)):
        if best[m] == d:
            return
    m = len(best) - 1
    while m > 0 and cost[m - 1] > rise:
        best[m] = best[m - 1]
        cost[m] = cost[m - 1]
        m -= 1
    best[m] = d
    cost[m] = rise


@njit(cache=True)
def widen(low, level, price_of, c, leaf_of, level_of, start, height, node, price):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Widen the generalised tuple of cluster `c` to cover another one."""
    p = 0.0
    for a in range(low.shape[1]):
        x = start[a] + low[c, a] * height[a]
        y = start[a] + leaf_of[a] * height[a]
        h = max(level[c, a], level_of[a])
        while node[x + h] != node[y + h]:
            h += 1
        level[c, a] = h
        low[c, a] = min(low[c, a], leaf_of[a])
        p += price[x + h]
    price_of[c] = p


@njit(cache=True)
def _join(
    first,
    second,
    quota,
    lending,
    alive,
    holds,
    tuple_,
    count,
    next_,
    head,
    tail,
    used,
    low,
    level,
    size,
    price_of,
    leaves,
    start,
    height,
    node,
    price,
):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E501
    """Make the joins in order, each cluster in one at most; return the clusters touched."""
    busy = np.zeros(len(alive), dtype=np.bool_)
    touched = np.empty(2 * len(first), dtype=np.int64)
    n = 0
    joins = 0
    for i in range(len(first)):
        c, d = first[i], second[i]
        if d < 0 or busy[c] or busy[d]:
            continue
        need = lending - size[c]
        busy[c] = True
        if need > 0 and holds[d] and size[d] - need >= lending:
            _borrow(
                c,
                d,
                need,
                tuple_,
                count,
                next_,
                head,
                tail,
                used,
                low,
                level,
                size,
                price_of,
                leaves,
                start,
                height,
                node,
                price,
            )  # noqa: E501
            touched[n] = c
            n += 1
        else:
            busy[d] = True
            widen(low, level, price_of, d, low[c], level[c], start, height, node, price)
            size[d] += size[c]
            size[c] = 0
            next_[tail[d]] = head[c]
            tail[d] = tail[c]
            head[c] = -1
            alive[c] = False
        touched[n] = d
        n += 1
        joins += 1
        if joins >= quota:
            break
    return touched[:n].copy()


@njit(cache=True)
def _borrow(
    c,
    d,
    need,
    tuple_,
    count,
    next_,
    head,
    tail,
    used,
    low,
    level,
    size,
    price_of,
    leaves,
    start,
    height,
    node,
    price,
):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E501
    """Move `need` records from `d` to `c`, nearest members first; `d` keeps the rest."""
    zero = np.zeros(low.shape[1], dtype=np.int64)
    size[c] += need
    size[d] -= need
    while need > 0:
        chosen, before, cheapest = -1, -1, np.inf
        previous, j = -1, head[d]
        while j >= 0:
            p = 0.0
            for a in range(low.shape[1]):
                x = start[a] + low[c, a] * height[a]
                y = start[a] + leaves[tuple_[j], a] * height[a]
                h = level[c, a]
                while node[x + h] != node[y + h]:
                    h += 1
                p += price[x + h]
            if p < cheapest:
                chosen, before, cheapest = j, previous, p
            previous, j = j, next_[j]
        leaf_of = leaves[tuple_[chosen]].astype(np.int64)
        widen(low, level, price_of, c, leaf_of, zero, start, height, node, price)
        moved = min(need, count[chosen])
        need -= moved
        if moved < count[chosen]:
            new = used[0]
            used[0] += 1
            tuple_[new] = tuple_[chosen]
            count[new] = moved
            count[chosen] -= moved
        else:
            new = chosen
            if before < 0:
                head[d] = next_[chosen]
            else:
                next_[before] = next_[chosen]
            if tail[d] == chosen:
                tail[d] = before
        next_[new] = -1
        next_[tail[c]] = new
        tail[c] = new
    narrow(d, tuple_, next_, head, low, level, price_of, leaves, start, height, node, price)


@njit(cache=True)
def narrow(c, tuple_, next_, head, low, level, price_of, leaves, start, height, node, price):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, E501
    """Recompute the generalised tuple of a cluster from its members."""
    zero = np.zeros(low.shape[1], dtype=np.int64)
    j = head[c]
    for a in range(low.shape[1]):
        low[c, a] = leaves[tuple_[j], a]
        level[c, a] = 0
    while j >= 0:
        leaf_of = leaves[tuple_[j]].astype(np.int64)
        widen(low, level, price_of, c, leaf_of, zero, start, height, node, price)
        j = next_[j]
