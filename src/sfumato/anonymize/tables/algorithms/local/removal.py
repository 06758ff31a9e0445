"""What a class would be without one of its shares.

`removals` gives for every share the levels its class could fall to without it and what
the class would save; `held_back` says which shares the definition cannot spare.
"""

# ruff: noqa: ANN001, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.space import INNER, OUTER
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space, Summary


def removals(
    space: Space, shares: Shares, classes: Summary, active: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return levels without each share and the price saved, for the active classes."""
    without = np.zeros((len(shares.tuple_), classes.level.shape[1]), dtype=np.int64)
    gain = np.zeros(len(shares.tuple_))
    _removals(space.ancestors, shares.members, classes, active, without, gain)
    return without, gain


def held_back(
    judge: Judge, shares: Shares, classes: Summary, active: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which shares of active classes cannot leave, as far as the size allows, and hold.

    A definition that sees sizes alone needs no asking: its minimum size is checked where
    moves are proposed, and every change is judged before it is kept.
    """
    held = np.zeros(len(shares.tuple_), dtype=np.bool_)
    definition = judge.problem.definition
    if not definition.sensitive:
        return held
    spare = (shares.size - definition.minimum_size)[shares.class_]
    asked = np.flatnonzero(active[shares.class_] & (spare > 0) & (classes.paid > 0)[shares.class_])
    taken = np.minimum(shares.count[asked], spare[asked])
    held[asked] = ~judge.changed(shares, shares.class_[asked], shares.tuple_[asked], -taken)
    return held


@njit(**INNER)
def _common(start, node, rep, level, other, result):  # type: ignore[no-untyped-def]
    for a in range(len(level)):
        column = start[a] + level[a]
        while node[rep, column] != node[other, column]:
            column += 1
        result[a] = column - start[a]


@njit(**OUTER)
def _removals(ancestors, members, classes, active, without, gain):  # type: ignore[no-untyped-def]  # noqa: C901 - one pass
    """Join the shares from the left and from the right; what lies between is left out.

    `before` holds the levels on which all shares before j agree, `after[j - lo]` those from j on.
    Without share j the class needs the higher of both, and where the two sides meet.
    """
    start, node, price = ancestors
    tuple_, count, first = members
    sums, paid = classes.sums, classes.paid
    attributes = without.shape[1]
    most = 1
    for c in range(len(paid)):
        most = max(most, first[c + 1] - first[c])
    after = np.zeros((most + 1, attributes), dtype=np.int64)
    before = np.zeros(attributes, dtype=np.int64)
    for c in range(len(paid)):
        lo, hi = first[c], first[c + 1]
        if hi == lo or not active[c]:
            continue
        for a in range(attributes):
            after[hi - lo - 1, a] = before[a] = 0
        for j in range(hi - 2, lo - 1, -1):
            _common(start, node, tuple_[hi - 1], after[j + 1 - lo], tuple_[j], after[j - lo])
        for j in range(lo, hi):
            for a in range(attributes):
                without[j, a] = before[a]
                if j < hi - 1:
                    without[j, a] = max(before[a], after[j + 1 - lo, a])
            if lo < j < hi - 1:
                _common(start, node, tuple_[lo], without[j], tuple_[hi - 1], without[j])
            _common(start, node, tuple_[lo], before, tuple_[j], before)
            gain[j] = paid[c]
            if hi - lo > 1:
                for a in range(attributes):
                    column = start[a] + without[j, a]
                    gain[j] -= sums[c, column] - count[j] * price[tuple_[j], column]
