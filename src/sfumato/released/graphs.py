"""A released graph as a stranger sees it: nodes without names, told apart by structure alone.

A release by grouping shows no single node: only groups, how many nodes each has, and how many edges
run within and between them. Nodes of a group can be exchanged without changing anything that is
shown, so whatever somebody knows of a person's place in the graph, all nodes of the group fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.anonymize.definitions.structure import DEGREE, StructuralDefinition
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.graphs.group_files import NodeGroups, is_group_file, read_group_file
from sfumato.data.graphs.sources import read_graph
from sfumato.released.structure import class_sizes, classes_by
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.graphs.directed import AnyGraph


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphView(View):
    """A released graph, or groups of its nodes; exactly one of the two is there."""

    shape: ClassVar[str] = "graph"
    unit: ClassVar[str] = "node"

    graph: AnyGraph | None = None
    node_groups: NodeGroups | None = None

    @property
    def records(self) -> int:
        """Number of nodes."""
        if self.node_groups is not None:
            return int(self.node_groups.sizes.sum())
        return 0 if self.graph is None else len(self.graph)

    def classes(self, query: str | Callable[..., Any] = DEGREE) -> NDArray[np.int64]:
        """Return for each node the number of its class under a query."""
        if self.graph is None:
            return np.repeat(np.arange(len(self.sizes_of_groups)), self.sizes_of_groups)
        return classes_by(self.graph, query)

    @cached_property
    def sizes_of_groups(self) -> NDArray[np.int64]:
        """How many nodes each group has; none where single nodes are shown."""
        return np.zeros(0, np.int64) if self.node_groups is None else self.node_groups.sizes

    def groups(self, definition: Definition | None = None) -> Classes:
        """Return the classes of a structural query; of the degree without one."""
        query = definition.knowledge if isinstance(definition, StructuralDefinition) else DEGREE
        return Classes(class_sizes(self.classes(query)))

    def describe(self, group: int) -> Mapping[str, str]:
        """Show a class by the degree (in and out) of its nodes, or a group by its number."""
        if self.graph is None:
            return {"group": str(group)}
        node = int(np.argmax(self.classes() == group))
        if isinstance(self.graph, DirectedGraph):
            coming, going = self.graph.degree_pairs[node].tolist()
            return {"arcs in": str(coming), "arcs out": str(going)}
        return {"degree": str(int(self.graph.degrees[node]))}


def see_graph(
    source: Any,
    *,
    called: str | None = None,
    promise: Any = None,
    schema: Any = None,  # noqa: ARG001 - a graph has none
    manifest: Any = None,  # noqa: ARG001 - the file tells everything
    **options: Any,
) -> GraphView:
    """Look at a released file, or at a graph as it came."""
    if isinstance(source, NodeGroups):
        return GraphView(source=called or "the groups", promise=promise, node_groups=source)
    title = called or (str(source) if isinstance(source, str | Path) else "the graph")
    if isinstance(source, str | Path) and is_group_file(Path(source)):
        groups = read_group_file(Path(source))
        return GraphView(source=title, promise=promise, node_groups=groups)
    return GraphView(source=title, promise=promise, graph=read_graph(source, **options))
