"""One round of improvement: try disjoint changes together, keep those that pay.

A change is a set of transfers of records between classes. Changes proposed for one
round touch different classes, so they can be judged in one call of the definition,
whatever it is, and priced exactly; each is kept only if every class it touches holds
and together they pay less than before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.space import (
    Shares,
    Space,
    Summary,
    gather,
    summarize,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge

EPSILON = 1e-9
"""Gains below this are rounding."""


@dataclass(frozen=True, eq=False)
class Transfers:
    """Each, as part of a change, takes `count` records of `tuple_` from `source` to `target`."""

    change: NDArray[np.int64]
    tuple_: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    count: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> Transfers:
        """Return some of them."""
        return Transfers(
            self.change[chosen], self.tuple_[chosen], self.source[chosen], self.target[chosen],
            self.count[chosen],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class State:
    """Shares, what they pay, and which classes the last round changed."""

    shares: Shares
    classes: Summary
    changed: NDArray[np.bool_]
    kept: int = 0


def attempt(space: Space, judge: Judge, state: State, transfers: Transfers, classes: int) -> State:
    """Apply the changes that pay and keep every class holding; `classes` counts new ones too."""
    trial = _apply(state.shares, transfers, classes)
    priced = summarize(space, trial)
    before = np.zeros(classes)
    before[: len(state.classes.paid)] = state.classes.paid
    owner = np.full(classes, -1)
    owner[transfers.source] = transfers.change
    owner[transfers.target] = transfers.change
    touched = np.flatnonzero(owner >= 0)
    n = int(transfers.change.max(initial=-1)) + 1
    saved = np.bincount(owner[touched], (before - priced.paid)[touched], minlength=n)
    fails = ~judge.holds(trial.take(touched))
    saved[owner[touched[fails]]] = -np.inf
    good = saved > EPSILON
    if not good[owner[touched]].all():
        trial = _apply(state.shares, transfers.where(good[transfers.change]), classes)
        priced = summarize(space, trial)
    changed = np.zeros(classes, dtype=np.bool_)
    changed[touched] = good[owner[touched]]
    kept = int(good[np.unique(transfers.change)].sum())
    return State(trial, priced, changed, kept)


def _apply(shares: Shares, transfers: Transfers, classes: int) -> Shares:
    tuple_ = np.concatenate([shares.tuple_, transfers.tuple_, transfers.tuple_])
    class_ = np.concatenate([shares.class_, transfers.source, transfers.target])
    count = np.concatenate([shares.count, -transfers.count, transfers.count])
    return gather(tuple_, class_, count, classes)
