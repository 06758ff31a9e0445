"""What suppressing records adds at least to the price of every node below, level by level.

Let `r(C)` records of each class `C` of a node N be suppressed in every node below (`removal`). In
a node M below, such a record costs what its suppression costs instead of what its cells cost on
the levels of M; the difference for attribute a on level h is its *gain* there,
`suppressed[a][leaf] − costs[a][leaf, h]`. Costs never fall as the level rises, so gains are largest
at the bottom. Of the records of `C` it is not known which ones M suppresses, but all have their
leaf below the label that `C` has on the level of N, so each gains at least the least gain on level
h among the leaves below that label that occur in the table, `least(C, a, h)`. Hence the price of M
with its suppression is at least its price without any, plus

    Σ_a added_a(h_a)   with   added_a(h) = Σ_C r(C) · least(C, a, h),

a sum of one number for each attribute and level. On N's own levels it is what suppressing them adds
there, wherever a gain depends on the label alone; further down it is more.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem


class Gains:
    """The least gains below every label, found for a level when it is first asked for."""

    def __init__(self, problem: Problem, quasi: NDArray[np.int32]) -> None:
        self._problem = problem
        self._quasi = quasi
        sizes = [h.size for h in problem.hierarchies]
        self._begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._known: dict[tuple[int, int], NDArray[np.float64]] = {}

    def added(
        self,
        node: tuple[int, ...],
        representatives: NDArray[np.int64],
        removed: NDArray[np.int64],
    ) -> tuple[NDArray[np.float64], ...]:
        """Return for each attribute what every level up to the node's adds at least."""
        counts = _count_removed(self._quasi, self._begins, representatives, removed)
        found = []
        for a, (level, tree) in enumerate(zip(node, self._problem.hierarchies, strict=True)):
            leaves = counts[self._begins[a] : self._begins[a + 1]]
            labels = np.bincount(tree.levels[:, level], leaves, len(tree.labels[level]))
            found.append((self._least(a, level) * labels).sum(axis=1))
        return tuple(found)

    def _least(self, a: int, level: int) -> NDArray[np.float64]:
        """Return the least gain on each level up to this one (rows) below each of its labels."""
        if (a, level) not in self._known:
            problem, tree = self._problem, self._problem.hierarchies[a]
            there = np.unique(problem.table.quasi[:, a])
            least = np.full((level + 1, len(tree.labels[level])), np.inf)
            for h, row in enumerate(least):
                gains = problem.suppressed[a][there] - problem.costs[a][there, h]
                np.minimum.at(row, tree.levels[there, level], gains)
            self._known[a, level] = np.where(np.isinf(least), 0.0, least)
        return self._known[a, level]


def _plain_count_removed(
    quasi: NDArray[np.int32],
    begins: NDArray[np.int64],
    representatives: NDArray[np.int64],
    removed: NDArray[np.int64],
) -> NDArray[np.float64]:
    which = np.flatnonzero(removed)
    chosen, weights = quasi[representatives[which]], removed[which]
    found = np.zeros(int(begins[-1]))
    for a, (begin, end) in enumerate(pairwise(begins)):
        found[begin:end] = np.bincount(chosen[:, a], weights, int(end - begin))
    return found


@kernel(_plain_count_removed, loss=lambda *a: 3e-5 + 1e-8 * len(a[0][0]) * len(a[2]))
def _count_removed(quasi, begins, representatives, removed):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count the removed records by the leaf of their class's representative, per attribute."""
    found = np.zeros(begins[-1])
    for c in range(len(removed)):
        if removed[c] > 0:
            for a in range(len(begins) - 1):
                found[begins[a] + quasi[representatives[c], a]] += removed[c]
    return found
