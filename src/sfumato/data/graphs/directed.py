"""DirectedGraph: who follows, cites or pays whom, as arrays.

Contract: arcs without loops, none twice. Nodes are numbered from 0; `edges` has a row (tail, head)
per arc, sorted. What somebody knows of a node is a *pair* of degrees: how many arcs come in and how
many go out. It is a type of its own beside :class:`~sfumato.data.graphs.graph.Graph`, so that
nothing which reads undirected edges takes an arc for one by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from sfumato.data.graphs.graph import Graph
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class DirectedGraph:
    """A directed graph without loops; its length is its number of nodes."""

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
        return f"<DirectedGraph {self.name}: {self.nodes:,} nodes, {len(self.edges):,} arcs>"

    @cached_property
    def degree_pairs(self) -> NDArray[np.int64]:
        """One row per node: how many arcs come in, and how many go out."""
        going, coming = (np.bincount(self.edges[:, end], minlength=self.nodes) for end in (0, 1))
        return np.column_stack([coming, going]).astype(np.int64)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """How many arcs each node has, in either direction."""
        found: NDArray[np.int64] = self.degree_pairs.sum(axis=1)
        return found

    @cached_property
    def underlying(self) -> Graph:
        """Who is joined to whom in any direction; attributes and names stay."""
        both = np.sort(self.edges, axis=1)
        edges = np.unique(both, axis=0) if len(both) else both
        return Graph(self.nodes, edges, self.labels, self.attributes, self.name, self.kind)

    @cached_property
    def _by_tail(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return _listed(self.edges[:, 0], self.edges[:, 1], self.nodes)

    @cached_property
    def _by_head(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return _listed(self.edges[:, 1], self.edges[:, 0], self.nodes)

    def successors(self, node: int) -> NDArray[np.int64]:
        """Return the nodes that arcs of a node lead to."""
        starts, others = self._by_tail
        return others[starts[node] : starts[node + 1]]

    def predecessors(self, node: int) -> NDArray[np.int64]:
        """Return the nodes from which arcs lead to a node."""
        starts, others = self._by_head
        return others[starts[node] : starts[node + 1]]

    def around(self, node: int) -> NDArray[np.int64]:
        """Return the nodes that a node is joined to in any direction."""
        return self.underlying.around(node)


AnyGraph: TypeAlias = Graph | DirectedGraph


def _listed(
    mine: NDArray[np.int64], other: NDArray[np.int64], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.concatenate([[0], np.cumsum(np.bincount(mine, minlength=nodes))])
    return starts, other[np.lexsort([other, mine])]


def ordered_arcs(arcs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return arcs in sorted order."""
    rows = arcs.reshape(-1, 2)
    return rows[np.lexsort([rows[:, 1], rows[:, 0]])]


def refuse_directions(graph: object, what: str) -> None:
    """Refuse a directed graph where only edges without a direction are understood."""
    if isinstance(graph, DirectedGraph):
        raise ParameterError(
            f"{what} for graphs whose edges have no direction; read the graph with "
            "direction='ignore'."
        )


def undirected(graph: AnyGraph) -> Graph:
    """Return the graph itself, or who is joined to whom under a directed one."""
    return graph.underlying if isinstance(graph, DirectedGraph) else graph
