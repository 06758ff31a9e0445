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
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.released.structure import class_sizes, structural_classes
from sfumato.report.section import Fact, Page, TemplateSection
from sfumato.report.svg import Series, histogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph

DEPTHS = (1, 2, 3)
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
        "chart": _chart(len(before), alone),
        "first": _picture(before, before, "before"),
        "second": _picture(after, before, "after"),
        "losses": page.release.loss,
    }


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


SECTIONS = (
    TemplateSection("structure", "Who stands out", "graphs/structure.html", _gather, _facts),
)
