"""Leaving records out, where that costs less than generalising for them.

A suppressed record pays `Problem.suppressed` and burdens nobody. Two occasions:

* `withhold`: a record whose presence costs its class more than its suppression;
* `relieve`: everything is in one class and the definition still does not hold, so the
  records whose absence brings it nearest to holding go first.

Both stay within the problem's limit. Definitions that compare with the whole release see
its distribution change; `local` judges again with the released totals afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.removal import removals
from sfumato.anonymize.tables.algorithms.local.space import Shares, gather, summarize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Space
    from sfumato.anonymize.tables.problem import Problem

GAIN = 1e-9
STEPS = 64
"""`relieve` spends its budget in about this many steps."""


def suppression_price(problem: Problem) -> NDArray[np.float64]:
    """Return what one record of each tuple pays when it is suppressed."""
    quasi = problem.table.quasi
    price = np.zeros(len(quasi))
    for a, cells in enumerate(problem.suppressed):
        price += cells[quasi[:, a]]
    return price


def withhold(space: Space, judge: Judge, shares: Shares, budget: int) -> Shares:
    """Suppress the shares whose classes save more than their suppression costs."""
    price = suppression_price(judge.problem)
    while budget > 0:
        classes = summarize(space, shares)
        everywhere = np.ones(shares.classes, dtype=np.bool_)
        _, saved = removals(space, shares, classes, everywhere)
        gain = saved - price[shares.tuple_] * shares.count
        order = np.argsort(-gain / shares.count, kind="stable")
        order = order[(gain[order] > GAIN) & (shares.count[order] <= budget)]
        _, first = np.unique(shares.class_[order], return_index=True)
        order = order[np.sort(first)]
        order = order[np.cumsum(shares.count[order]) <= budget]
        left = _without(shares, order)
        fails = ~judge.holds(left) | (left.width == 0)
        order = order[~fails[shares.class_[order]]]
        if not len(order):
            return shares
        budget -= int(shares.count[order].sum())
        shares = _without(shares, order)
    return shares


def relieve(judge: Judge, shares: Shares, budget: int) -> Shares:
    """Take records out of the one class left, the most obstructive kind first."""
    step = max(budget // STEPS, 1)
    kinds, kind = np.unique(
        judge.problem.table.sensitive[shares.tuple_], axis=0, return_inverse=True
    )
    kind = kind.ravel()
    while budget > 0 and not judge.released(shares).holds(shares).all():
        trials = [_fewer(shares, kind == v, min(step, budget)) for v in range(len(kinds))]
        usable = [(i, t) for i, t in enumerate(trials) if t.sum()]
        if not usable:
            return shares
        short = []
        for _, taken in usable:
            trial = Shares(shares.tuple_, shares.count - taken, shares.first)
            short.append(float(judge.released(trial).shortfall(trial)[0]))
        taken = usable[int(np.argmin(short))][1]
        budget -= int(taken.sum())
        count = shares.count - taken
        kind = kind[count > 0]
        shares = gather(shares.tuple_, shares.class_, count, 1)
    return shares


def _fewer(shares: Shares, chosen: NDArray[np.bool_], wanted: int) -> NDArray[np.int64]:
    """Return how many records to take from each share: `wanted` in all, of the chosen ones."""
    there = np.where(chosen, shares.count, 0)
    taken: NDArray[np.int64] = np.clip(wanted - (np.cumsum(there) - there), 0, there)
    return taken


def _without(shares: Shares, gone: NDArray[np.int64]) -> Shares:
    count = shares.count.copy()
    count[gone] = 0
    return gather(shares.tuple_, shares.class_, count, shares.classes)
