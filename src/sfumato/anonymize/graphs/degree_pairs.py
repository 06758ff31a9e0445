"""Pairs of degrees, arcs in and arcs out, of which every pair is shared by k nodes of a graph.

In two dimensions the cheapest grouping is out of reach (it is microaggregation, NP-hard), so what
is proved for single degrees becomes a heuristic here: along an order of the pairs the cheapest cut
into runs of k to 2k − 1 nodes is found by dynamic programming, each run taking its median in both
coordinates; the best of several orders is then mended by moving nodes between runs. Arcs in and
arcs out must have the same sum, or no graph has the pairs: in a small graph whole runs are moved to
another pair, such that the sums are equal at least cost; in a large one the realisation sees to it,
by letting nodes of crowded pairs move to the pair next door.

A pair that 5k and more nodes have enters with 4k of them: a run never needs more than 2k − 1 from
either side, so the others keep their pair, and memory does not grow with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.graphs.degree_sequence import ADD, REMOVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

CELLS = 1 << 21
"""Numbers held at once while runs or moves are priced."""

ROUNDS = 6
"""How often nodes are moved to a run that suits them better."""

SMALL = 300
"""Up to so many nodes the sums of pairs are made equal, and more orders are tried."""

FAR = 1 << 40
"""The price of what is not allowed."""


def anonymous_pairs(
    pairs: NDArray[np.int64], k: int, *, balance: float = 0.5, order: int | None = None
) -> NDArray[np.int64]:
    """Return cheap pairs, one row per node, each shared by k nodes; there must be k nodes.

    At the balances `ADD` and `REMOVE` degrees only rise or only fall. `order` names one of `ORDERS`
    ways to put pairs in a line; without it the cheapest of the first three is taken.
    """
    inside = _entering(pairs, k)
    few = pairs[inside]
    best: NDArray[np.int64] | None = None
    for chosen in range(3) if order is None else (order,):
        line = _line(few, chosen)
        run = np.empty(len(few), dtype=np.int64)
        run[line] = _cut(few[line], k, balance)
        found = _mend(few, run, k, balance)
        if best is None or np.abs(found - few).sum() < np.abs(best - few).sum():
            best = found
    assert best is not None
    target = pairs.copy()
    target[inside] = best
    return _evened(pairs, target, balance) if len(pairs) <= SMALL else target


ORDERS = 9
"""In how many ways pairs are put in a line: by either side, their sum, and what lies between."""


def _line(pairs: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Put pairs in one of the lines from which runs are cut."""
    into, out = pairs[:, 0], pairs[:, 1]
    keys = (
        (out, into), (into, out), (into, into + out), (out - into, into * out),
        (into, pairs.max(axis=1)), (into, pairs.min(axis=1)), (into, into + 2 * out),
        (out, 2 * into + out), (into, out - into),
    )  # fmt: skip
    return np.lexsort(keys[order])


def _evened(
    pairs: NDArray[np.int64], target: NDArray[np.int64], balance: float
) -> NDArray[np.int64]:
    """Move whole groups to other pairs, such that as many arcs come in as go out, at least cost.

    A group of s nodes that takes one arc more on a side changes the difference of the sums by s.
    The table holds the least cost of every difference that groups so far can make.
    """
    most = len(pairs) - 1
    gap = int(target[:, 0].sum() - target[:, 1].sum())
    if not gap:
        return target
    kinds, group = np.unique(target, axis=0, return_inverse=True)
    group = group.reshape(-1)
    reach = abs(gap) + 2 * len(pairs)
    price = np.full(2 * reach + 1, FAR, dtype=np.int64)
    price[reach + gap] = 0
    steps = [
        t for t in (-2, -1, 0, 1, 2) if (balance != ADD or t >= 0) and (balance != REMOVE or t <= 0)
    ]
    taken = []
    for kind, side in np.ndindex(len(kinds), 2):
        rows = pairs[group == kind, side]
        best, chosen = np.full_like(price, FAR), np.zeros(len(price), dtype=np.int64)
        for t in steps:
            if not 0 <= kinds[kind, side] + t <= most:
                continue
            cost = (
                np.abs(rows - kinds[kind, side] - t).sum() - np.abs(rows - kinds[kind, side]).sum()
            )
            moved = _shifted(price, t * len(rows) * (1 if side == 0 else -1)) + cost
            chosen = np.where(moved < best, t, chosen)
            best = np.minimum(moved, best)
        taken.append(chosen)
        price = best
    if price[reach] >= FAR:
        return target
    moves, at = np.zeros_like(kinds), reach
    for place in range(2 * len(kinds) - 1, -1, -1):
        kind, side = divmod(place, 2)
        moves[kind, side] = taken[place][at]
        at -= int(moves[kind, side]) * int((group == kind).sum()) * (1 if side == 0 else -1)
    found: NDArray[np.int64] = target + moves[group]
    return found


def _shifted(price: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """Return the table after all differences have changed by so much."""
    moved = np.full_like(price, FAR)
    if by >= 0:
        moved[by:] = price[: len(price) - by]
    else:
        moved[:by] = price[-by:]
    return moved


def _entering(pairs: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the nodes whose pair may change: all but most of those with a crowded pair."""
    _, kind, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    place = np.arange(len(pairs)) - np.searchsorted(kind[order], kind[order])
    kept = np.where(counts >= 5 * k, 4 * k, counts)
    return np.sort(order[place < kept[kind[order]]])


def _centre(rows: NDArray[np.int64], balance: float) -> NDArray[np.int64]:
    """Return the pair that rows (in the last axis) should take: most, least or median."""
    if balance == ADD:
        most: NDArray[np.int64] = rows.max(axis=-1)
        return most
    if balance == REMOVE:
        least: NDArray[np.int64] = rows.min(axis=-1)
        return least
    middle: NDArray[np.int64] = np.sort(rows, axis=-1)[..., rows.shape[-1] // 2]
    return middle


def _cut(rows: NDArray[np.int64], k: int, balance: float) -> NDArray[np.int64]:
    """Return the run of every row, in the order given, such that all together cost least."""
    n = len(rows)
    price = np.full(n + 1, FAR, dtype=np.int64)
    price[0] = 0
    length = np.zeros(n + 1, dtype=np.int64)
    costs = [_costs(rows, size, balance) for size in range(k, min(2 * k, n + 1))]
    for low in range(k, n + 1, k):  # the last runs of k neighbours begin before them all
        ends = np.arange(low, min(low + k, n + 1))
        for at, cost in enumerate(costs):
            begins = ends - (k + at)
            safe = np.maximum(begins, 0)
            whole = np.where(begins >= 0, price[safe] + cost[np.minimum(safe, len(cost) - 1)], FAR)
            better = whole < price[ends]
            price[ends] = np.where(better, whole, price[ends])
            length[ends] = np.where(better, k + at, length[ends])
    run, end, number = np.empty(n, dtype=np.int64), n, 0
    while end > 0:
        run[end - length[end] : end] = number
        end, number = end - int(length[end]), number + 1
    return run


def _costs(rows: NDArray[np.int64], size: int, balance: float) -> NDArray[np.int64]:
    """Return what each run of a size costs, by where it begins."""
    windows = np.lib.stride_tricks.sliding_window_view(rows, size, axis=0)
    step = max(1, CELLS // (2 * size))
    parts = []
    for low in range(0, len(windows), step):
        part = windows[low : low + step]
        parts.append(np.abs(part - _centre(part, balance)[..., None]).sum(axis=(1, 2)))
    found: NDArray[np.int64] = np.concatenate(parts)
    return found


def _mend(
    rows: NDArray[np.int64], run: NDArray[np.int64], k: int, balance: float
) -> NDArray[np.int64]:
    """Move nodes of runs with more than k to one that suits them better; return their pairs."""
    for _ in range(ROUNDS):
        centres = _centres(rows, run, balance)
        sizes = np.bincount(run)
        price = np.abs(rows - centres[run]).sum(axis=1)
        able = np.flatnonzero((price > 0) & (sizes[run] > k))
        goal, cost = _nearest(rows[able], centres, balance)
        gain = price[able] - cost
        moved = 0
        for at in np.argsort(-gain, kind="stable").tolist():
            node = able[at]
            if gain[at] <= 0 or sizes[run[node]] <= k:
                continue
            sizes[run[node]] -= 1
            sizes[goal[at]] += 1
            run[node] = goal[at]
            moved += 1
        if not moved:
            break
    found: NDArray[np.int64] = _centres(rows, run, balance)[run]
    return found


def _centres(rows: NDArray[np.int64], run: NDArray[np.int64], balance: float) -> NDArray[np.int64]:
    order = np.argsort(run, kind="stable")
    bounds = np.cumsum(np.bincount(run))[:-1]
    parts = np.split(rows[order], bounds)
    return np.array([_centre(part.T, balance) for part in parts], dtype=np.int64)


def _nearest(
    rows: NDArray[np.int64], centres: NDArray[np.int64], balance: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row the run whose pair it reaches at least cost, and that cost."""
    goal = np.zeros(len(rows), dtype=np.int64)
    cost = np.full(len(rows), FAR, dtype=np.int64)
    step = max(1, CELLS // max(len(centres), 1))
    for low in range(0, len(rows), step):
        change = centres[None, :, :] - rows[low : low + step, None, :]
        apart = np.abs(change).sum(axis=2)
        if balance == ADD:
            apart = np.where((change < 0).any(axis=2), FAR, apart)
        if balance == REMOVE:
            apart = np.where((change > 0).any(axis=2), FAR, apart)
        goal[low : low + step] = np.argmin(apart, axis=1)
        cost[low : low + step] = apart.min(axis=1)
    return goal, cost
