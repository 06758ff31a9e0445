"""Merging classes that do not hold yet, where it adds the least loss.

Rounds of agglomerative clustering: every class that does not hold finds the classes to
which joining adds least; the cheapest disjoint pairs are merged; what holds now is at
rest. Each round at least one pair goes, usually a third of all, so the search for
neighbours (see `index`) runs a few dozen times and never over all pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.index import Queries, build, search
from sfumato.anonymize.tables.algorithms.local.lend import lend
from sfumato.anonymize.tables.algorithms.local.space import gather, summarize, unite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space

NEIGHBOURS = 4
"""Nearest classes looked at, in case the very nearest are taken."""


def agglomerate(space: Space, judge: Judge, shares: Shares, *, lending: int = 0) -> Shares:
    """Merge until every class holds or one class is left.

    In the first `lending` rounds classes of equal records lend some. Every round merges at
    least one pair, so the rounds after that are bounded by the number of classes. Once the time
    is up, what does not hold is put together without looking for the nearest.
    """
    holds = judge.holds(shares)
    late = 0
    while not holds.all() and shares.classes > 1:
        if judge.clock.late:
            shares = _lump(space, shares, holds, 1 << late)
            holds = judge.holds(shares)
            late += 1
            continue
        if lending > 0:
            shares, holds = lend(judge, shares, holds)
            lending -= 1
        classes = summarize(space, shares)
        wanting = np.flatnonzero(~holds)
        index = build(space, classes, np.arange(shares.classes))
        found, added = search(
            space, classes, index, Queries.of(classes, wanting), np.inf, keep=NEIGHBOURS,
            clock=judge.clock,
        )  # fmt: skip
        added -= classes.paid[wanting, None]
        into = _pair(wanting, found, added, shares.classes)
        class_ = into[shares.class_]
        shares = gather(shares.tuple_, class_, shares.count, shares.classes).compact()
        holds = judge.holds(shares)
    return unite(space, shares)


def _lump(space: Space, shares: Shares, holds: NDArray[np.bool_], more: int) -> Shares:
    """Put all classes that do not hold together with the `more` that hold and pay most.

    For when the time is up: with twice as many each time, all are one class after a few rounds.
    """
    classes = summarize(space, shares)
    dearest = np.argsort(np.where(holds, -classes.paid / np.maximum(classes.size, 1), -np.inf))
    together = dearest[: int((~holds).sum()) + more]
    into = np.arange(shares.classes)
    into[together] = together[0]
    return gather(shares.tuple_, into[shares.class_], shares.count, shares.classes).compact()


def _pair(
    wanting: NDArray[np.int64], found: NDArray[np.int64], added: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Merge each class with its nearest, cheapest first, if neither was merged before.

    One short step per class, next to a search each: not worth the time of the compiler.
    """
    order = np.argsort(added[:, 0], kind="stable")
    near = (found >= 0) & (added <= added[:, :1] + 1e-9)
    into, taken = list(range(n)), bytearray(n)
    for q, there, fits in zip(
        wanting[order].tolist(), found[order].tolist(), near[order].tolist(), strict=True
    ):
        if taken[q]:
            continue
        for d, fit in zip(there, fits, strict=True):
            if not fit:
                break
            if not taken[d]:
                taken[q] = taken[d] = True
                into[q] = d
                break
    return np.array(into, dtype=np.int64)
