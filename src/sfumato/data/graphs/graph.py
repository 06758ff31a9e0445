"""Graph: who is joined to whom, as arrays.

Contract: undirected and simple. Nodes are numbered from 0; `edges` has one row (u, v) with u < v
per edge, sorted, none twice. `labels` names the nodes as they came and `attributes` says what else
is known of them; both stay in the house unless a release is told to keep an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph without loops; its length is its number of nodes."""

    nodes: int
    edges: NDArray[np.int64]
    labels: tuple[str, ...] | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "graph"
    kind: str = "edges"
    shape: ClassVar[str] = "graph"

    def __len__(self) -> int:
        return self.nodes

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {self.nodes:,} nodes, {len(self.edges):,} edges>"

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours per node."""
        return np.bincount(self.edges.ravel(), minlength=self.nodes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the neighbours of each node begin in `neighbours`; one more at the end."""
        return np.concatenate([[0], np.cumsum(self.degrees)])

    @cached_property
    def neighbours(self) -> NDArray[np.int64]:
        """The neighbours of all nodes, node after node, each list sorted."""
        tail = np.concatenate([self.edges[:, 0], self.edges[:, 1]])
        head = np.concatenate([self.edges[:, 1], self.edges[:, 0]])
        return head[np.lexsort([head, tail])]

    def around(self, node: int) -> NDArray[np.int64]:
        """Return the neighbours of a node."""
        return self.neighbours[self.starts[node] : self.starts[node + 1]]


def ordered_edges(edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return edges with the smaller node first, in sorted order."""
    both = np.sort(edges.reshape(-1, 2), axis=1)
    return both[np.lexsort([both[:, 1], both[:, 0]])]
