"""What a released label stands for: the values of the hierarchy below it.

A label is a node of the hierarchy on any level, `*` for any value, or a range `[low,high]`
of leaves that stand in order, both ends included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.formulas import unguarded
from sfumato.data.hierarchies.hierarchy import ROOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Labels:
    """Resolves released texts of one attribute to the leaves they may stand for."""

    hierarchy: Hierarchy

    @cached_property
    def _nodes(self) -> dict[str, set[tuple[int, int]]]:
        nodes: dict[str, set[tuple[int, int]]] = {}
        for level, labels in enumerate(self.hierarchy.labels):
            for node, label in enumerate(labels):
                nodes.setdefault(label, set()).add((level, node))
        return nodes

    def leaves(self, label: str) -> NDArray[np.bool_] | None:
        """Return which leaves the label may stand for, or None if it is no label of ours."""
        mask = np.zeros(self.hierarchy.size, dtype=np.bool_)
        label = label if label in self._nodes else unguarded(label)
        for level, node in self._nodes.get(label, ()):
            mask |= self.hierarchy.levels[:, level] == node
        if label == ROOT:
            mask[:] = True
        if mask.any():
            return mask
        ends = self._ends(label)
        if ends is None:
            return None
        mask[ends[0] : ends[1] + 1] = True
        return mask

    def _ends(self, label: str) -> tuple[int, int] | None:
        """Return the leaf codes of a range label; a leaf may itself contain commas."""
        if not (label.startswith("[") and label.endswith("]")):
            return None
        inner, codes = label[1:-1], self.hierarchy.codes
        for at, character in enumerate(inner):
            if character == "," and inner[:at] in codes and inner[at + 1 :] in codes:
                low, high = codes[inner[:at]], codes[inner[at + 1 :]]
                return (low, high) if low <= high else None
        return None
