"""The algorithms for graphs by name: edges edited, or nodes grouped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.structure import DEGREE, StructuralDefinition
from sfumato.anonymize.graphs.degree_edits import find_edits
from sfumato.anonymize.graphs.grouping import group_nodes
from sfumato.anonymize.graphs.plan import EditPlan, GroupPlan
from sfumato.data.wording import did_you_mean, listed
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.graphs.graph import Graph

EDITS = ("both", "add", "remove")


def check_promise(graph: Graph, promise: Definition) -> None:
    """Refuse a promise that says nothing certain about a graph, or needs more nodes."""
    for part in promise.parts:
        if not isinstance(part, StructuralDefinition):
            raise ParameterError(
                f"{part} does not say what somebody knows of a person's place in a graph; promise "
                "sf.KDegreeAnonymity(k), or sf.NodeKAnonymity(k, query=…)."
            )
        if part.k > len(graph):
            raise Unsatisfiable(
                f"{part} needs at least {part.k} nodes, and the graph has {len(graph)}."
            )


def edit(
    data: Graph,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes a second
    edits: str = "both",
    keep: tuple[str, ...] | list[str] = (),
    seed: int | None = None,
) -> Decision:
    """Add and remove as few edges as it finds, until every degree is shared by k nodes.

    `edits` is "both", "add" or "remove"; `keep` names attributes of nodes to release.
    """
    if edits not in EDITS:
        raise ParameterError(f"edits must be 'both', 'add' or 'remove', not {edits!r}.")
    _check_kept(data, keep)
    beyond = [part for part in _structural(promise) if part.knowledge != DEGREE]
    if beyond:
        raise ParameterError(
            f"Editing gives nodes equal degrees, which is not enough for {beyond[0]}; use "
            "algorithm='group', under which nothing tells the nodes of a group apart."
        )
    editor = find_edits(data, _largest_k(promise), edits=edits)
    added, removed = len(editor.added), len(editor.removed)
    plan = EditPlan(data, editor.edges(), added, removed, tuple(keep), seed)
    return Decision(
        record=SearchRecord("edit", facts={"edges added": added, "edges removed": removed}),
        content=plan,
        settings={"edits": edits, "keep": list(keep)},
        untruthful=_done(added, removed),
    )


def group(
    data: Graph,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes seconds
    seed: int | None = None,
) -> Decision:
    """Put nodes with common neighbours into groups of k; single nodes are not shown at all."""
    group_of = group_nodes(data, _largest_k(promise))
    record = SearchRecord("group", facts={"groups": int(group_of.max()) + 1})
    return Decision(record=record, content=GroupPlan(data, group_of, seed))


def _done(added: int, removed: int) -> tuple[str, ...]:
    """Name what was done to edges, without saying how often."""
    return (*(("edges added",) if added else ()), *(("edges removed",) if removed else ()))


def _structural(promise: Definition) -> list[StructuralDefinition]:
    return [part for part in promise.parts if isinstance(part, StructuralDefinition)]


def _largest_k(promise: Definition) -> int:
    return max(part.k for part in _structural(promise))


def _check_kept(graph: Graph, keep: Any) -> None:
    if isinstance(keep, str):
        raise ParameterError(f"keep must be a list of attributes; write keep=['{keep}'].")
    for name in keep:
        if name not in graph.attributes:
            raise ParameterError(
                f"Nodes have no attribute '{name}'; they have {listed(graph.attributes)}."
                f"{did_you_mean(name, graph.attributes)}"
            )


ALGORITHMS: Mapping[str, Callable[..., Decision]] = {"edit": edit, "group": group}
