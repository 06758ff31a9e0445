"""Graph: who is joined to whom, as arrays.

Contract: undirected and simple. Nodes are numbered from 0; `edges` has one row (u, v) with u < v
per edge, sorted, none twice. `labels` names the nodes as they came and `attributes` says what else
is known of them; both stay in the house unless a release is told to keep an attribute. `listed`
tells whether the nodes are known apart from the edges. Where they are not, who has a single friend
comes and goes with an edge, and nothing can be promised about edges or nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Shown):
    """An undirected graph without loops; its length is its number of nodes."""

    nodes: int
    edges: NDArray[np.int64]
    labels: tuple[str, ...] | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "graph"
    kind: str = "edges"
    listed: bool = True
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


def require_listed(graph: Graph) -> None:
    """Refuse a graph whose nodes are known from its edges alone, before noise is promised."""
    if not graph.listed:
        raise ParameterError(
            "The nodes of this graph are known from its edges alone, so somebody with a single "
            "friend would come and go with an edge; read it with nodes=, the list of everybody, or "
            "with nodes='named' if everybody is known to be there, friends or not."
        )


def ordered_edges(edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return edges with the smaller node first, in sorted order."""
    both = np.sort(edges.reshape(-1, 2), axis=1)
    return both[np.lexsort([both[:, 1], both[:, 0]])]
