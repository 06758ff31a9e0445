"""What is given away of a graph: edges between nodes with new numbers, or groups of nodes.

Names of nodes are never released, nor is their order: the new numbers are a random permutation,
since the position in a file, or a smaller number for an older account, would tell who is who.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.graphs.plan import EditPlan, GroupPlan
from sfumato.anonymize.graphs.sampling import sample_graph
from sfumato.data.graphs.directed import DirectedGraph, ordered_arcs
from sfumato.data.graphs.edge_files import write_edge_file
from sfumato.data.graphs.graph import Graph, ordered_edges
from sfumato.data.graphs.graphml import write_graphml
from sfumato.data.graphs.group_files import NodeGroups, write_group_file
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.decision import Decision

FORMATS = {"edges": write_edge_file, "graphml": write_graphml}


@dataclass(frozen=True, eq=False, repr=False)
class GraphArtefact:
    """The released graph; `left_out` names attributes that stay in the house."""

    graph: AnyGraph
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.graph)

    @cached_property
    def data(self) -> Any:
        """The graph in the kind it came in: networkx, a sparse matrix, or pairs of numbers."""
        if self.graph.kind == "networkx":
            return _to_networkx(self.graph)
        if self.graph.kind == "scipy":
            return to_sparse(self.graph)
        return [(int(u), int(v)) for u, v in self.graph.edges]

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `release.edges`, or `release.graphml` where nodes keep attributes."""
        form = file_format or ("graphml" if self.graph.attributes else "edges")
        if form not in FORMATS:
            raise DataError(f"A graph is written as 'edges' or 'graphml', not '{form}'.")
        if form == "edges" and self.graph.attributes:
            raise DataError("A file of edges holds no attributes of nodes; write 'graphml'.")
        path = folder / f"release.{form}"
        FORMATS[form](path, self.graph)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return numbers of nodes and edges, and which attributes are there."""
        return {
            "nodes": len(self.graph),
            "directed": isinstance(self.graph, DirectedGraph),
            "edges": len(self.graph.edges),
            "attributes": list(self.graph.attributes),
            "attributes_left_out": list(self.left_out),
        }


@dataclass(frozen=True, eq=False, repr=False)
class GroupArtefact:
    """Groups of nodes with the numbers of edges within and between them."""

    groups: NodeGroups

    def __len__(self) -> int:
        return int(self.groups.sizes.sum())

    @property
    def data(self) -> NodeGroups:
        """The groups."""
        return self.groups

    def sample(self, *, seed: int | None = None) -> Graph:
        """Draw a graph that fits the groups, all such graphs being equally likely."""
        return sample_graph(self.groups, seed=seed)

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `groups.json`."""
        if file_format not in {None, "json"}:
            raise DataError(f"Groups of nodes are written as 'json', not '{file_format}'.")
        path = folder / "groups.json"
        write_group_file(path, self.groups)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return numbers of nodes, groups and edges."""
        groups = self.groups
        return {"nodes": len(self), "groups": len(groups.sizes), "edges": groups.edges}


def apply(data: AnyGraph, decision: Decision) -> GraphArtefact | GroupArtefact:
    """Make the released graph, or the released groups, in an order that tells nothing."""
    plan: EditPlan | GroupPlan = decision.content
    order = np.arange(len(data) if isinstance(plan, EditPlan) else len(plan.sizes))
    shuffle(order, RandomWords(plan.seed))
    if isinstance(plan, GroupPlan):
        assert isinstance(data, Graph)
        return GroupArtefact(_count_edges(data, order[plan.group_of], len(order)))
    back = np.argsort(order)
    kept = {name: tuple(_shown(data, plan, name)[back]) for name in plan.keep}
    arrange = ordered_arcs if isinstance(data, DirectedGraph) else ordered_edges
    edges = arrange(order[plan.edges])
    graph = type(data)(len(data), edges, None, kept, data.name, data.kind)
    return GraphArtefact(graph, tuple(name for name in data.attributes if name not in plan.keep))


def _shown(data: AnyGraph, plan: EditPlan, name: str) -> Any:
    """Return an attribute as it is shown, a star where it is withheld."""
    values = np.array(data.attributes[name], dtype=object)
    hidden = plan.withheld.get(name)
    return values if hidden is None else np.where(hidden, ROOT, values)


def _count_edges(graph: Graph, group_of: Any, groups: int) -> NodeGroups:
    ends = np.sort(group_of[graph.edges], axis=1)
    inside = ends[:, 0] == ends[:, 1]
    within = np.bincount(ends[inside, 0], minlength=groups)
    pairs, counts = np.unique(ends[~inside], axis=0, return_counts=True)
    between = np.column_stack([pairs.reshape(-1, 2), counts]).astype(np.int64)
    return NodeGroups(np.bincount(group_of, minlength=groups), within, between.reshape(-1, 3))


def _to_networkx(graph: AnyGraph) -> Any:
    import networkx as nx  # noqa: PLC0415 - loaded when used: the data came from there

    made: Any = nx.DiGraph() if isinstance(graph, DirectedGraph) else nx.Graph()
    made.add_nodes_from(
        (node, {name: values[node] for name, values in graph.attributes.items()})
        for node in range(len(graph))
    )
    made.add_edges_from(graph.edges.tolist())
    return made


def to_sparse(graph: AnyGraph) -> Any:
    """Return the graph as a sparse matrix of zeros and ones; an arc is in the row of its tail."""
    try:
        from scipy.sparse import csr_array  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("SciPy", "graphs", "What a release of a graph cost") from None

    n = len(graph)
    if isinstance(graph, DirectedGraph):
        ones = np.ones(len(graph.edges), dtype=np.int64)
        return csr_array((ones, (graph.edges[:, 0], graph.edges[:, 1])), shape=(n, n))
    ones = np.ones(len(graph.neighbours), dtype=np.int64)
    return csr_array((ones, graph.neighbours, graph.starts), shape=(n, n))
