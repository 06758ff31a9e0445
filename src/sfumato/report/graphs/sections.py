"""The section of a graph's report: who stands out, before and after, and a picture of it.

The picture shows the few people of the highest degree with the edges among them, on a circle: in a
graph, those are the ones who are found first. The page compares with the original graph, so it
stays in the house; it shows numbers of neighbours, never a name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sfumato.anonymize.graphs.plan import EditPlan
from sfumato.attack.graphs.collusion import colluding_neighbours
from sfumato.attack.graphs.edges import edge_disclosure
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.wording import some
from sfumato.released.structure import class_sizes, structural_classes
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph

DEPTHS = (1, 2, 3, 4)
DRAWN = 40
"""Nodes in the picture."""


def _gather(page: Page) -> dict[str, Any]:
    plan = getattr(page.release.decision, "content", None)
    if not isinstance(plan, EditPlan):
        return {"edited": False, "groups": getattr(page.release.artefact, "groups", None)}
    before, after = plan.graph, type(plan.graph)(len(plan.graph), plan.edges)
    alone = [[_alone(graph, depth) for depth in DEPTHS] for graph in (before, after)]
    return {
        "edited": True,
        "directed": isinstance(before, DirectedGraph),
        "added": plan.added,
        "removed": plan.removed,
        "came": len(before.edges),
        "rows": [
            (f"H{depth}", first, second)
            for depth, first, second in zip(DEPTHS, *alone, strict=True)
        ],
        "edges": [
            (attack, *(attack_on(graph) for graph in (before, after)))
            for attack, attack_on in EDGES_LEARNT.items()
        ],
        "chart": _chart(len(before), alone),
        "first": _picture(before, before, "before"),
        "second": _picture(after, before, "after"),
        "losses": page.release.loss,
    }


def _disclosed(graph: AnyGraph) -> int:
    return edge_disclosure(graph).exposed


def _by_colluders(graph: AnyGraph) -> int:
    return int(colluding_neighbours(graph).figures["edges disclosed between others"])


EDGES_LEARNT = {
    "between people of two degrees, nearly all of whom know each other": _disclosed,
    "between friends of two people who find themselves": _by_colluders,
}
"""What is learnt about who knows whom without being found oneself, by who learns it."""


def _alone(graph: AnyGraph, depth: int) -> int:
    """Count the nodes that nothing else looks like."""
    return int((class_sizes(structural_classes(graph, depth)) == 1).sum())


def _chart(nodes: int, alone: list[list[int]]) -> Markup:
    series = [
        Series(
            name,
            name,
            tuple(100 * count / nodes for count in counts),
            tuple(f"{100 * count / nodes:.1f}" for count in counts),
        )
        for name, counts in zip(("before", "after"), alone, strict=True)
    ]
    told = "Nodes that stand alone, in per cent, by how far somebody knows their surroundings"
    return histogram([f"H{depth}" for depth in DEPTHS], series, label=told)


def _picture(graph: AnyGraph, ranked: AnyGraph, when: str) -> Markup:
    """Draw the nodes of the highest degree on a circle; those whose degree is unique stand out."""
    chosen = np.argsort(-ranked.degrees, kind="stable")[:DRAWN]
    place = np.full(len(graph), -1)
    place[chosen] = np.arange(len(chosen))
    edges = place[graph.edges]
    edges = edges[(edges >= 0).all(axis=1)]
    where = _circle_places(len(chosen))
    classes = structural_classes(graph, 1)
    unique = class_sizes(classes)[classes[chosen]] == 1
    lines = Markup().join(
        Markup('<line class="edge" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
            *where[u], *where[v]
        )
        for u, v in edges.tolist()
    )
    dots = Markup().join(_dot(where[i], _degree(graph, u), bool(unique[i]))
                         for i, u in enumerate(chosen.tolist()))  # fmt: skip
    told = f"The {len(chosen)} nodes of the highest degree {when}; {int(unique.sum())} stand out"
    return Markup(
        '<svg class="chart" viewBox="0 0 200 200" width="100%" role="img" '
        'aria-label="{}">{}{}</svg>'
    ).format(told, lines, dots)


def _circle_places(n: int) -> NDArray[np.float64]:
    angles = 2 * math.pi * np.arange(n) / max(n, 1)
    return np.column_stack([100 + 90 * np.sin(angles), 100 - 90 * np.cos(angles)])


def _degree(graph: AnyGraph, node: int) -> str:
    if isinstance(graph, DirectedGraph):
        return "{} arcs in, {} out".format(*graph.degree_pairs[node].tolist())
    return f"{int(graph.degrees[node])} neighbours"


def _dot(place: NDArray[np.float64], degree: str, unique: bool) -> Markup:
    return Markup(
        '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}{}</title></circle>'
    ).format(
        "chosen" if unique else "after", place[0], place[1], 4.5 if unique else 3, degree,
        ": nobody else has as many" if unique else "",
    )  # fmt: skip


def _facts(page: Page) -> list[Fact]:
    plan = getattr(page.release.decision, "content", None)
    if not isinstance(plan, EditPlan):
        return []
    return [Fact("Edits", f"{plan.added + plan.removed:,}", f"of {len(plan.graph.edges):,} edges")]


def _remarks(page: Page) -> list[str | Markup]:
    """Say how many people those who know more than the promise is about still single out."""
    plan = getattr(page.release.decision, "content", None)
    if not isinstance(plan, EditPlan):
        return []
    alone = _alone(type(plan.graph)(len(plan.graph), plan.edges), 2)
    said = Markup(
        "<b>Who knows more.</b> {} of {} still stand alone for somebody who knows how many "
        "neighbours each of their neighbours has."
    )
    return [said.format(f"{alone:,}", some(len(plan.graph), "node"))]


SECTIONS = (
    TemplateSection(
        "structure", "Who stands out", "graphs/structure.html", _gather, _facts, _remarks
    ),
)
