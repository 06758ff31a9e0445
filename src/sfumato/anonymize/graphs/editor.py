"""A graph being edited: neighbours of the nodes that are touched, and what was added and removed.

Only touched nodes get a set of neighbours, so a million nodes with a thousand edits stay an array.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.graphs.graph import ordered_edges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sfumato.data.graphs.graph import Graph


class EdgeEditor:
    """Adds and removes edges of a graph; an edge added and removed again is no edit."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = len(graph)
        self.added: set[tuple[int, int]] = set()
        self.removed: set[tuple[int, int]] = set()
        self._graph = graph
        self._around: dict[int, set[int]] = {}

    @property
    def edits(self) -> int:
        """How many edges differ from the graph as it came."""
        return len(self.added) + len(self.removed)

    def degrees(self) -> NDArray[np.int64]:
        """Return the degrees nodes have now."""
        found = self._graph.degrees.copy()
        for edges, change in ((self.added, 1), (self.removed, -1)):
            np.add.at(found, sorted_pairs(edges).ravel(), change)
        return found

    def edges(self) -> NDArray[np.int64]:
        """Return the edges there are now, sorted."""
        came, n = self._graph.edges, self.nodes
        gone = sorted_pairs(self.removed)
        kept = ~np.isin(came[:, 0] * n + came[:, 1], gone[:, 0] * n + gone[:, 1])
        return ordered_edges(np.concatenate([came[kept], sorted_pairs(self.added)]))

    def around(self, node: int) -> set[int]:
        """Return the neighbours a node has now; not to be changed."""
        found = self._around.get(node)
        if found is None:
            found = self._around[node] = set(self._graph.around(node).tolist())
        return found

    def linked_otherwise(self, u: int, v: int, most: int) -> bool:
        """Tell whether a way leads from u to v beside their edge; `most` nodes are looked at."""
        queue = [w for w in self.around(u) if w != v][:most]
        seen = {u, *queue}
        for node in queue:
            held = self._around.get(node)
            near = self._graph.around(node) if held is None else held
            if v in near:
                return True
            for other in islice(map(int, near), most - len(queue)):
                if other not in seen:
                    seen.add(other)
                    queue.append(other)
        return False

    def add(self, u: int, v: int) -> None:
        """Join two nodes that are not joined."""
        self.around(u).add(v)
        self.around(v).add(u)
        note_edit((u, v) if u < v else (v, u), self.removed, self.added)

    def remove(self, u: int, v: int) -> None:
        """Part two nodes that are joined."""
        self.around(u).discard(v)
        self.around(v).discard(u)
        note_edit((u, v) if u < v else (v, u), self.added, self.removed)


def note_edit(
    edge: tuple[int, int], undone: set[tuple[int, int]], done: set[tuple[int, int]]
) -> None:
    """Note an edit, or that it takes an earlier one back."""
    if edge in undone:
        undone.discard(edge)
    else:
        done.add(edge)


def sorted_pairs(edges: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return pairs as sorted rows."""
    return np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
