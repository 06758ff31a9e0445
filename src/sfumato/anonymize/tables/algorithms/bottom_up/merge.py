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

from sfumato.anonymize.tables.algorithms.bottom_up.joins import join, look

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Clusters
    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import Encoding

WINDOW = 8
"""Neighbours looked at on each side, in each order, while many clusters seek."""

COMPARISONS = 2_000_000
"""Comparisons per round that are always affordable; few seekers look at everybody."""

CANDIDATES = 16
MOST_CANDIDATES = 128
TRIALS = 40_000
"""Partners tried per cluster where the definition looks at more than sizes: few while many
clusters seek, more as long as all trials of a round stay within this number."""

TRIAL_CELLS = 20_000_000
"""Histogram cells all trials of a round may fill; many sensitive values mean fewer trials."""

SHARE_PER_ROUND = 0.3
"""Share of the seekers' joins made per round: the cheapest, before looking again."""


def agglomerate(clusters: Clusters, judge: Judge, *, spare: int = 0) -> NDArray[np.int64]:
    """Join clusters until all living ones hold, or one is left; return those suppressed.

    `spare` is the number of records that may be suppressed; a cluster is, when every join
    would cost more than leaving it out.
    """
    state = clusters.state
    dropped: list[int] = []
    _update(clusters, judge, clusters.living)
    while True:
        seekers = np.flatnonzero(state.alive & ~state.holds)
        if not len(seekers) or len(clusters.living) == 1:
            return np.array(dropped, dtype=np.int64)
        if judge.clock.late:
            _update(clusters, judge, _lump(clusters, seekers))
            continue
        best, cost = _propose(clusters, judge, seekers)
        partner, price = _choose(clusters, judge, seekers, best, cost)
        if spare:
            gone = _unaffordable(clusters, judge, seekers, price, spare)
            state.alive[gone] = False
            spare -= int(state.size[gone].sum())
            dropped += gone.tolist()
            still = state.alive[seekers] & state.alive[partner]
            seekers, partner, price = seekers[still], partner[still], price[still]
        cheapest = np.argsort(price, kind="stable")
        quota = max(int(len(seekers) * SHARE_PER_ROUND), 1)
        touched = join(clusters, seekers[cheapest], partner[cheapest], quota, _lending(judge))
        _update(clusters, judge, touched)


def _lump(clusters: Clusters, seekers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put all that do not hold, and as many that do, together: for when the time is up."""
    state = clusters.state
    others = np.flatnonzero(state.alive & state.holds)
    dearest = others[np.argsort(-state.price[others], kind="stable")][: len(seekers)]
    together = np.concatenate([seekers, dearest])
    while (half := len(together) // 2) > 0:  # the first half joins the second, one by one
        join(clusters, together[:half], together[half : 2 * half], half, 0)
        together = together[half:]
    return together


def sorted_orders(encoding: Encoding) -> list[NDArray[np.int64]]:
    """Return the attribute orders to sort by: every attribute comes last in two of them."""
    base = np.argsort([len(rank) for rank in encoding.rank], kind="stable")
    turns = [np.roll(base, turn) for turn in range(len(base))]
    if len(base) > 2:
        turns += [np.roll(base[::-1], turn) for turn in range(len(base))]
    return turns


def _lending(judge: Judge) -> int:
    """Return the size up to which clusters borrow, or 0 where they may not."""
    return judge.problem.definition.minimum_size if judge.counts_only else 0


def _update(clusters: Clusters, judge: Judge, touched: NDArray[np.int64]) -> None:
    living = touched[clusters.state.alive[touched]]
    clusters.state.holds[living] = judge.holds(*clusters.bags(living))


def _propose(
    clusters: Clusters, judge: Judge, seekers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cheapest partners found for each seeker, and what each join would cost."""
    width = _trials(judge, len(seekers))
    best = np.full((len(seekers), width), -1, dtype=np.int64)
    cost = np.full((len(seekers), width), np.inf)
    living = clusters.living
    row = np.full(len(clusters.state.alive), -1, dtype=np.int64)
    row[seekers] = np.arange(len(seekers))
    orders = sorted_orders(clusters.encoding)
    window = max(COMPARISONS // (2 * len(seekers) * len(orders)), WINDOW)
    if window * len(orders) >= len(living):
        window, orders = len(living), orders[:1]
    low = clusters.state.low[living]
    for order in orders:
        line = living[np.argsort(clusters.encoding.keys(low, order), kind="stable")]
        look(clusters, order, line, row, window, _lending(judge), best, cost)
    return best, cost


def _trials(judge: Judge, seekers: int) -> int:
    """Return how many partners each seeker can try."""
    if judge.counts_only:
        return 1
    wanted = min(max(TRIALS // seekers, CANDIDATES), MOST_CANDIDATES)
    return max(min(wanted, TRIAL_CELLS // (seekers * judge.values)), 2)


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
    problem, state = judge.problem, clusters.state
    low = state.low[seekers]
    out = np.zeros(len(seekers))
    for a, suppressed in enumerate(problem.suppressed):
        out += suppressed[low[:, a]]
    saved = price - state.size[seekers] * (out - state.price[seekers])
    order = np.argsort(-saved, kind="stable")
    order = order[saved[order] > 0]
    order = order[np.cumsum(state.size[seekers[order]]) <= spare]
    gone: NDArray[np.int64] = seekers[order[: len(clusters.living) - 1]]
    return gone
