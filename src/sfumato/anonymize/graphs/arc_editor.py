"""A directed graph being edited: arcs out of and into the nodes that are touched, and the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.graphs.editor import note_edit, sorted_pairs
from sfumato.data.graphs.directed import ordered_arcs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import DirectedGraph

IN, OUT = 0, 1
"""The two sides of a node, as columns of its pair of degrees."""


class ArcEditor:
    """Adds and removes arcs of a graph; an arc added and removed again is no edit."""

    def __init__(self, graph: DirectedGraph) -> None:
        self.nodes = len(graph)
        self.added: set[tuple[int, int]] = set()
        self.removed: set[tuple[int, int]] = set()
        self._graph = graph
        self._around: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})

    @property
    def edits(self) -> int:
        """How many arcs differ from the graph as it came."""
        return len(self.added) + len(self.removed)

    def degrees(self) -> NDArray[np.int64]:
        """Return the pairs of degrees nodes have now."""
        found = self._graph.degree_pairs.copy()
        for arcs, change in ((self.added, 1), (self.removed, -1)):
            rows = sorted_pairs(arcs)
            np.add.at(found[:, OUT], rows[:, 0], change)
            np.add.at(found[:, IN], rows[:, 1], change)
        return found

    def edges(self) -> NDArray[np.int64]:
        """Return the arcs there are now, sorted."""
        came, n = self._graph.edges, self.nodes
        gone = sorted_pairs(self.removed)
        kept = ~np.isin(came[:, 0] * n + came[:, 1], gone[:, 0] * n + gone[:, 1])
        return ordered_arcs(np.concatenate([came[kept], sorted_pairs(self.added)]))

    def around(self, side: int, node: int) -> set[int]:
        """Return whom arcs of a node lead to (OUT) or come from (IN); not to be changed."""
        found = self._around[side].get(node)
        if found is None:
            others = self._graph.successors(node) if side == OUT else self._graph.predecessors(node)
            found = self._around[side][node] = set(others.tolist())
        return found

    def add(self, tail: int, head: int) -> None:
        """Put an arc where there is none."""
        self.around(OUT, tail).add(head)
        self.around(IN, head).add(tail)
        note_edit((tail, head), self.removed, self.added)

    def remove(self, tail: int, head: int) -> None:
        """Take an arc away."""
        self.around(OUT, tail).discard(head)
        self.around(IN, head).discard(tail)
        note_edit((tail, head), self.added, self.removed)
