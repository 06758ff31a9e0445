"""The algorithms for graphs by name: edges edited, or nodes grouped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram, histogram
from sfumato.anonymize.definitions.definition import SensitiveDefinition
from sfumato.anonymize.definitions.structure import DEGREE, StructuralDefinition
from sfumato.anonymize.graphs.degree_edits import find_edits
from sfumato.anonymize.graphs.grouping import group_nodes
from sfumato.anonymize.graphs.plan import EditPlan, GroupPlan
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.wording import did_you_mean, listed
from sfumato.decision import Decision, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.graphs.directed import AnyGraph

EDITS = ("both", "add", "remove")


def check_promise(graph: AnyGraph, promise: Definition) -> None:
    """Refuse a promise that says nothing certain about a graph, or needs more nodes."""
    for part in promise.parts:
        if isinstance(part, SensitiveDefinition):
            _check_kept(graph, part.sensitive)
            continue
        if not isinstance(part, StructuralDefinition):
            raise ParameterError(
                f"{part} does not say what somebody knows of a person's place in a graph; promise "
                "sf.KDegreeAnonymity(k), or sf.NodeKAnonymity(k, query=…)."
            )
        if part.k > len(graph):
            raise Unsatisfiable(
                f"{part} needs at least {part.k} nodes, and the graph has {len(graph)}."
            )
    if not _structural(promise):
        raise ParameterError(
            f"{promise} says nothing of who is found; join it with sf.KDegreeAnonymity(k)."
        )


def edit(
    data: AnyGraph,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes a second
    edits: str = "both",
    keep: tuple[str, ...] | list[str] = (),
    seed: int | None = None,
) -> Decision:
    """Add and remove as few edges as it finds, until every degree is shared by k nodes.

    Of a directed graph arcs are edited, until every pair of degrees (in, out) is shared.
    `edits` is "both", "add" or "remove"; `keep` names attributes of nodes to release. An attribute
    that the promise judges is released, too, and withheld from all nodes of a degree where too few
    of its values meet.
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
    judged = [part for part in promise.parts if isinstance(part, SensitiveDefinition)]
    editor = find_edits(data, _largest_k(promise), edits=edits)
    added, removed = len(editor.added), len(editor.removed)
    shown = tuple(dict.fromkeys([*keep, *(part.attribute for part in judged)]))
    withheld = _withhold(data, editor.degrees(), judged)
    plan = EditPlan(data, editor.edges(), added, removed, shown, seed, withheld)
    return Decision(
        record=SearchRecord("edit", facts={"edges added": added, "edges removed": removed}),
        content=plan,
        settings={"edits": edits, "keep": list(keep)},
        untruthful=_done(added, removed),
    )


def group(
    data: AnyGraph,
    promise: Definition,
    *,
    progress: Any = None,  # noqa: ARG001 - it takes seconds
    seed: int | None = None,
) -> Decision:
    """Put nodes with common neighbours into groups of k; single nodes are not shown at all."""
    if isinstance(data, DirectedGraph):
        raise ParameterError(
            "Groups count edges without a direction; read the graph with direction='ignore', or "
            "use algorithm='edit'."
        )
    judged = [part for part in promise.parts if isinstance(part, SensitiveDefinition)]
    if judged:
        raise ParameterError(
            f"Groups show no attributes of nodes, so {judged[0]} has nothing to hold; leave it out."
        )
    group_of = group_nodes(data, _largest_k(promise))
    record = SearchRecord("group", facts={"groups": int(group_of.max()) + 1})
    return Decision(record=record, content=GroupPlan(data, group_of, seed))


def _withhold(
    data: AnyGraph, degrees: NDArray[np.int64], judged: list[SensitiveDefinition]
) -> dict[str, NDArray[np.bool_]]:
    """Return of which nodes each judged attribute must not be shown."""
    _, group = np.unique(degrees, axis=0, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    found: dict[str, NDArray[np.bool_]] = {}
    for part in judged:
        values, codes = np.unique(np.array(data.attributes[part.attribute]), return_inverse=True)
        ones = np.ones(len(group), dtype=np.int64)
        counts = histogram(group, int(group.max()) + 1, codes.reshape(-1), len(values), ones)
        spread = SensitiveHistogram(counts, counts.sum(axis=0), tuple(values.tolist()))
        holds = part.judge(Classes(counts.sum(axis=1), {part.attribute: spread}))
        before = found.get(part.attribute, np.zeros(len(group), dtype=np.bool_))
        found[part.attribute] = before | ~holds[group]
    return found


def _done(added: int, removed: int) -> tuple[str, ...]:
    """Name what was done to edges, without saying how often."""
    return (*(("edges added",) if added else ()), *(("edges removed",) if removed else ()))


def _structural(promise: Definition) -> list[StructuralDefinition]:
    return [part for part in promise.parts if isinstance(part, StructuralDefinition)]


def _largest_k(promise: Definition) -> int:
    return max(part.k for part in _structural(promise))


def _check_kept(graph: AnyGraph, keep: Any) -> None:
    if isinstance(keep, str):
        raise ParameterError(f"keep must be a list of attributes; write keep=['{keep}'].")
    for name in keep:
        if name not in graph.attributes:
            raise ParameterError(
                f"Nodes have no attribute '{name}'; they have {listed(graph.attributes)}."
                f"{did_you_mean(name, graph.attributes)}"
            )


ALGORITHMS: Mapping[str, Callable[..., Decision]] = {"edit": edit, "group": group}
