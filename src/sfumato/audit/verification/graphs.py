"""Verify a released graph: nodes with the same structural answer, counted from the file alone.

In a directed graph the degree of a node is a pair, arcs in and arcs out; its neighbours' degrees
are those of whom arcs come from, and of whom they lead to.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sfumato.anonymize.definitions.structure import StructuralDefinition
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.value_formulas import FORMULAS, NAMES, worst_of
from sfumato.audit.verification.verify import Verification
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.hierarchies.hierarchy import ROOT
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.promise import StatedPromise
    from sfumato.released.graphs import GraphView


def verify_graph(view: GraphView, stated: StatedPromise) -> Verification:
    """Hold a promise against a released graph, and measure what is not promised, too."""
    parts = () if stated.definition is None else stated.definition.parts
    degree = _smallest(view, "degree")
    stronger = _smallest(view, "neighbour-degrees")
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(view.groups()),
        promises=tuple(_check(part, view) for part in parts),
        measured=(degree, stronger),
        findings=_attributes(view),
        unchecked=stated.own,
        unit="node",
    )


def _check(part: Definition, view: GraphView) -> FigureRow:
    if isinstance(part, StructuralDefinition):
        row = _smallest(view, part.knowledge)
        kept = row.found is not None and row.found >= part.k
        return FigureRow(row.measure, "", row.found, row.bottleneck, str(part), holds=kept)
    if type(part) in FORMULAS:
        return _check_values(part, view)
    holds = part.judge(view.groups(part))
    broken = float((~holds).sum())
    return FigureRow("groups that break it", "", broken, None, str(part), holds=not broken)


def _check_values(part: Any, view: GraphView) -> FigureRow:
    """Count the values of an attribute among nodes of a degree; withheld ones tell nothing."""
    name = NAMES[type(part)]
    values = None if view.graph is None else view.graph.attributes.get(part.attribute)
    if values is None:
        return FigureRow(name, part.attribute, None, None, str(part), holds=True)
    counted: dict[Any, Counter[str]] = {}
    for degree, value in zip(_answers(view, "degree"), values, strict=True):
        if value != ROOT:
            counted.setdefault(degree, Counter())[value] += 1
    if not counted:
        return FigureRow(name, part.attribute, None, None, str(part), holds=True)
    worst, figure, holds = worst_of(part, counted)
    shown = Bottleneck({"degree": str(worst)}, sum(counted[worst].values()))
    return FigureRow(name, part.attribute, figure, shown, str(part), holds=holds)


def _smallest(view: GraphView, query: str | Callable[..., Any]) -> FigureRow:
    """Measure the smallest set of nodes with the same answer."""
    name = "k for " + (query if isinstance(query, str) else getattr(query, "__name__", "the query"))
    counted = Counter(_answers(view, query))
    if not counted:
        return FigureRow(name, "", None, None)
    answer, size = min(counted.items(), key=lambda item: item[1])
    told = "group" if view.graph is None else "degree" if query == "degree" else "answer"
    shown = {told: _short(str(answer))}
    return FigureRow(name, "", float(size), Bottleneck(shown, size))


def _answers(view: GraphView, query: str | Callable[..., Any]) -> list[Any]:
    """Return the answer of every node, found by walking over the edges of the file."""
    if view.graph is None:
        return [n for n, size in enumerate(view.sizes_of_groups.tolist()) for _ in range(size)]
    graph = view.graph
    if not isinstance(query, str):
        return _ask(query, graph)
    coming: list[list[int]] = [[] for _ in range(len(graph))]
    going = [[] for _ in range(len(graph))] if isinstance(graph, DirectedGraph) else coming
    for u, v in graph.edges.tolist():
        going[u].append(v)
        coming[v].append(u)
    sides = [coming, going] if isinstance(graph, DirectedGraph) else [coming]
    pairs = [tuple(len(side[node]) for side in sides) for node in range(len(graph))]
    if query == "degree":
        return pairs if isinstance(graph, DirectedGraph) else [pair[0] for pair in pairs]
    return [
        tuple(tuple(sorted(pairs[v] for v in side[node])) for side in sides)
        for node in range(len(graph))
    ]


def _ask(query: Callable[..., Any], graph: Any) -> list[Any]:
    """Return a user's own answers; what goes wrong in their code is said to be theirs."""
    try:
        answers = [query(graph, node) for node in range(len(graph))]
        Counter(answers)
    except Exception as error:
        raise ParameterError(
            f"The query of NodeKAnonymity raised {type(error).__name__}; it is called as "
            "query(graph, node) for every node, and its answers are compared, so they must be "
            "hashable."
        ) from error
    return answers


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _attributes(view: GraphView) -> tuple[FileFinding, ...]:
    """Warn of attributes of nodes: they may be known, and then tell nodes of one class apart."""
    names = () if view.graph is None else tuple(view.graph.attributes)
    if not names:
        return ()
    text = (
        f"Nodes carry {', '.join(names)}; the promise is about structure alone, so whoever knows "
        "one of these as well may be left with fewer nodes."
    )
    return (FileFinding("attributes", "", text, serious=False),)
