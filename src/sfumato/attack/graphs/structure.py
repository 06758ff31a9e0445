"""Find people in a graph by what is known of their surroundings: H1 to H4.

Hay, Miklau, Jensen, Towsley, Weis: Resisting structural re-identification, VLDB 2008. Somebody
knows of a person how many neighbours she has (H1), how many each of those has (H2), and so on, as
the release shows it; in a directed graph, of arcs in and arcs out. She is left with the nodes for
which that is true. On a release by grouping no depth of knowledge helps: all nodes of a group fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.structure import (
    NEIGHBOUR_DEGREES,
    KDegreeAnonymity,
    NodeKAnonymity,
)
from sfumato.attack.finding import NEARLY, SHOWN, Finding, Outcome
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.errors import ParameterError
from sfumato.released.structure import class_sizes, structural_classes
from sfumato.released.view import see

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.released.graphs import GraphView

KNOWS = {
    1: "how many neighbours a person has",
    2: "how many neighbours each neighbour of a person has",
    3: "the degrees within two steps of a person's neighbours",
    4: "the degrees within three steps of a person's neighbours",
}


def structural_knowledge(release: Any, *, depth: int = 1, confidence: float = 0.9) -> Outcome:
    """Find the people left with so few nodes that one is `confidence` sure which is theirs."""
    if depth not in KNOWS:
        raise ParameterError(f"depth must be 1, 2, 3 or 4, not {depth!r}.")
    view: GraphView = see(release, shape="graph")
    classes = view.classes() if view.graph is None else structural_classes(view.graph, depth)
    sizes = class_sizes(classes)
    sure = 1.0 / np.maximum(sizes, 1)
    alone = sure[classes] >= confidence - NEARLY
    wanted = int(1 / confidence) + 1
    stop = KDegreeAnonymity(wanted) if depth == 1 else NodeKAnonymity(wanted, NEIGHBOUR_DEGREES)
    return Outcome(
        attack=attack_name(depth),
        knows=KNOWS[depth],
        measure="confidence",
        people=view.records,
        exposed=int(alone.sum()),
        prior=1.0 / max(view.records, 1),
        posterior=float(sure[classes].max(initial=0.0)),
        threshold=confidence,
        findings=_findings(view, depth, np.flatnonzero(alone), sizes[classes]),
        remedy=str(stop) if depth <= 2 else "groups of nodes: algorithm='group'",
        stopped_by=stop if depth <= 2 else None,
        figures={
            "share in classes below 5": float((sizes[classes] < 5).mean()) if len(classes) else 0.0
        },
    )


def attack_name(depth: int) -> str:
    """Return what the attack of a depth is called."""
    return {1: "degree (H1)", 2: "neighbours' degrees (H2)"}.get(
        depth, f"wider surroundings (H{depth})"
    )


def _findings(
    view: GraphView, depth: int, nodes: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Finding, ...]:
    if view.graph is None:
        return ()
    graph = view.graph
    degrees = graph.degrees
    first = nodes[np.argsort(-degrees[nodes], kind="stable")][:SHOWN]
    return tuple(
        Finding(
            attack=attack_name(depth),
            who=person_at(graph, int(node)),
            people=int(sizes[node]),
            learnt="which node is theirs, and so whom they know",
            prior=1.0 / view.records,
            posterior=1.0 / int(sizes[node]),
            evidence={"node": int(node), "degree": int(degrees[node]), "depth": depth},
        )
        for node in first
    )


def person_at(graph: AnyGraph, node: int) -> str:
    """Tell of a person what the degree of her node tells."""
    if isinstance(graph, DirectedGraph):
        coming, going = graph.degree_pairs[node].tolist()
        return f"a person with {coming} arcs in and {going} out"
    return f"a person with {int(graph.degrees[node])} neighbours"
