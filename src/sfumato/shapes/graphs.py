"""Graphs: people who know each other, one node per person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, Field

from sfumato.data.reading_options import GraphReading as ReadingOptions
from sfumato.data.reading_options import check_reading
from sfumato.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sfumato.anonymize.graphs.artefact import GraphArtefact, GroupArtefact
    from sfumato.attack.attack import Attack, Knowledge
    from sfumato.audit.verification.verify import Verification
    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.decision import Decision
    from sfumato.promise import StatedPromise
    from sfumato.release import Release
    from sfumato.released.graphs import GraphView


EDITS_BY_TRACE: Mapping[tuple[str, ...], str] = {
    ("edges added",): "add",
    ("edges removed",): "remove",
}
"""Which edits were made, by what a release says is not true of it."""


class GraphOptions(BaseModel):
    """What `sfumato anonymize --shape graph` can be told beside the promise."""

    edits: str | None = Field(None, description="What may be done to edges: both, add or remove.")
    keep: list[str] | None = Field(
        None, description="An attribute of nodes to release; may be repeated."
    )
    seed: int | None = Field(
        None, description="Repeat the new numbers of nodes; not for what you publish."
    )


class EdgeFileOptions(BaseModel):
    """How a file of edges is read, where something in it would be refused."""

    loops: str | None = Field(None, description="'drop': leave out edges from a node to itself.")
    duplicates: str | None = Field(None, description="'merge': count an edge once.")
    nodes: str | None = Field(
        None, description="'named': the edges name everybody, friends or not."
    )
    direction: str | None = Field(
        None, description="'keep': lines are arcs, first to second; 'ignore': make edges of arcs."
    )


class GraphShape(Shape):
    """A graph, one node per person; directed where the source says so."""

    name: ClassVar[str] = "graph"
    unit: ClassVar[str] = "node"
    files: ClassVar[tuple[str, ...]] = ("release.edges", "release.graphml", "groups.json")

    options: ClassVar[Mapping[str, Any]] = {"anonymize": GraphOptions, "read": EdgeFileOptions}

    def read(self, source: Any, *, schema: Any = None, **options: Any) -> AnyGraph:  # noqa: ARG002 - a graph has no schema
        """Bring edges in."""
        from sfumato.data.graphs.sources import read_graph  # noqa: PLC0415 - loaded when used

        check_reading(ReadingOptions, options)
        return read_graph(source, **options)

    def algorithms(self) -> Mapping[str, Callable[..., Decision]]:
        """Return editing and grouping."""
        from sfumato.anonymize.graphs.algorithms import ALGORITHMS  # noqa: PLC0415 - loaded when used

        return ALGORITHMS

    def check(self, data: AnyGraph, promise: Any) -> None:
        """Refuse a promise that no release of the graph can keep."""
        from sfumato.anonymize.graphs.algorithms import check_promise  # noqa: PLC0415 - loaded when used

        check_promise(data, promise)

    def apply(self, data: AnyGraph, decision: Decision) -> GraphArtefact | GroupArtefact:
        """Make the released graph or groups."""
        from sfumato.anonymize.graphs.artefact import apply  # noqa: PLC0415 - loaded when used

        return apply(data, decision)

    def losses(self, data: AnyGraph, decision: Decision, artefact: Any) -> Mapping[str, float]:
        """Return what became of edges, degrees, clustering and distances."""
        from sfumato.anonymize.graphs.loss import measure  # noqa: PLC0415 - loaded when used

        return measure(data, decision, artefact)

    def view(self, source: Any, *, schema: Any = None, **options: Any) -> GraphView:
        """Look at a released file."""
        from sfumato.released.graphs import see_graph  # noqa: PLC0415 - loaded when used

        return see_graph(source, schema=schema, **options)

    def verify(self, view: GraphView, promise: StatedPromise, **options: Any) -> Verification:
        """Count nodes with the same answer by code of its own."""
        from sfumato.audit.verification.graphs import verify_graph  # noqa: PLC0415 - loaded when used

        return verify_graph(view, promise, **options)

    def original(self, release: Release) -> AnyGraph:
        """Return the graph as it came."""
        graph: AnyGraph = release.decision.content.graph
        return graph

    def attacks(self, view: GraphView, knowledge: Knowledge) -> Iterable[Attack]:
        """Return the attacks of people who know a part of the graph."""
        from sfumato.attack.graphs.attacks import graph_attacks  # noqa: PLC0415 - loaded when used

        return graph_attacks(view, knowledge, self._publishing(view))

    def _publishing(self, view: GraphView) -> Callable[..., Any] | None:
        """Return how graphs like this one are published, as far as the release tells."""
        from sfumato.anonymize.definitions.structure import (  # noqa: PLC0415 - loaded when used
            KDegreeAnonymity,
            StructuralDefinition,
        )

        parts = getattr(view.promise, "parts", ())
        most = max((part.k for part in parts if isinstance(part, StructuralDefinition)), default=0)
        if not most:
            return None
        name = "group" if view.graph is None else "edit"
        told = {} if view.graph is None else {"edits": EDITS_BY_TRACE.get(view.untruthful, "both")}

        def publish(graph: Any, *, seed: int) -> Any:
            decision = self.algorithms()[name](graph, KDegreeAnonymity(most), seed=seed, **told)
            made: Any = self.apply(graph, decision)
            return made.groups if name == "group" else made.graph

        return publish

    def sections(self) -> tuple[Any, ...]:
        """Return what the report says of degrees and of those who stand out."""
        from sfumato.report.graphs.sections import SECTIONS  # noqa: PLC0415 - loaded when used

        return SECTIONS


GRAPHS = GraphShape()
