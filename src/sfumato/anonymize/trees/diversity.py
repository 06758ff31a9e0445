"""What a class must not show: sensitive values where interchangeable vertices have too few.

The groups are orbits of the representative's automorphisms, not positions: siblings that look alike
can be exchanged, so the values of all of them stand for each. A value that is withheld is shown as
`*` at every vertex of its orbit, for every member; a value that is written `*` in the data looks
like one that was withheld, and counts for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.data.trees.trees import type_of_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.trees.classes import TreeClass
    from sfumato.data.trees.trees import Trees


class SensitiveValues:
    """Values of the sensitive labels that a promise judges, as numbers per vertex."""

    def __init__(self, trees: Trees, promise: Definition) -> None:
        self.parts = [part for part in promise.parts if part.sensitive]
        names = dict.fromkeys(name for part in self.parts for name in part.sensitive)
        self.codes: dict[str, NDArray[np.int64]] = {}
        self.kind: dict[str, int] = {}
        for name in names:
            number = type_of_label(name, trees.types)
            values, codes = np.unique(trees.values[name].astype(str), return_inverse=True)
            spread = np.full(len(trees.type_of), -1, dtype=np.int64)
            spread[trees.of_type[number]] = np.where(values == ROOT, -1, np.arange(len(values)))[
                codes.reshape(-1)
            ]
            self.codes[name] = spread
            self.kind[name] = number

    def withheld(self, group: TreeClass) -> Mapping[str, NDArray[np.bool_]]:
        """Return for each label at which vertices of the representative it must not be shown."""
        if not self.parts:
            return {}
        orbits = group.orbits()
        found: dict[str, NDArray[np.bool_]] = {}
        for name, codes in self.codes.items():
            at = np.flatnonzero(group.kinds == group.forest.kept.index(self.kind[name]))
            hidden = np.zeros(len(group.kinds), dtype=np.bool_)
            if len(at):
                hidden[at] = ~self._hold(name, codes[group.vertices[at]], orbits[at])
            found[name] = hidden
        return found

    def _hold(
        self, name: str, codes: NDArray[np.int64], orbits: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Judge every orbit; return the verdict of each vertex."""
        _, orbit = np.unique(orbits, return_inverse=True)
        orbit = orbit.reshape(-1)
        n = int(orbit.max()) + 1
        there = codes.reshape(-1) >= 0
        values, value = np.unique(codes.reshape(-1)[there], return_inverse=True)
        cells = np.repeat(orbit, codes.shape[1])[there] * len(values) + value.reshape(-1)
        counts = np.bincount(cells, minlength=n * len(values)).reshape(n, len(values))
        histogram = SensitiveHistogram(counts, counts.sum(axis=0))
        classes = Classes(counts.sum(axis=1), {name: histogram})
        holds = np.ones(n, dtype=np.bool_)
        for part in self.parts:
            if part.sensitive == (name,):
                holds &= part.judge(classes)
        return holds[orbit]

    def price(self, group: TreeClass) -> float:
        """Return how many values the members lose."""
        hidden = self.withheld(group)
        return float(sum(int(mask.sum()) for mask in hidden.values()) * len(group))
