"""Colluding neighbours: people who find themselves in a graph find their friends, and more.

Backstrom, Dwork, Kleinberg: Wherefore art thou R3579X?, WWW 2007. Some people know their own nodes.
They also know who their friends are, and so look for each among the nodes they are joined to: by
which of them a friend is joined to, and by how many neighbours she has. Two friends who are found
show whether they know each other, although neither of them took part.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import SHOWN, Finding, Outcome, checked_count
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.errors import ParameterError
from sfumato.released.view import see

if TYPE_CHECKING:
    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.released.graphs import GraphView

NAME = "colluding neighbours"


def colluding_neighbours(release: Any, *, colluders: int | list[Any] = 2) -> Outcome:
    """Let people find their friends; `colluders` are nodes, or how many of the highest degree.

    Nodes are numbers, or names where the graph has them. Counted are friends of colluders who are
    found; the figures say how many edges between two of
    them are then known.
    """
    view: GraphView = see(release, shape="graph")
    if view.graph is None:
        raise ParameterError("A release by grouping shows no node in which one could find oneself.")
    graph = view.graph
    who = _nodes(graph, colluders)
    friends = sorted({int(v) for u in who for v in graph.around(u)} - set(who))
    seen = {v: _signature(graph, v, who) for v in friends}
    shared = Counter(seen.values())
    found = [v for v in friends if shared[seen[v]] == 1]
    edges = _edges_among(graph, found)
    smallest = min((shared[seen[v]] for v in friends), default=0)
    return Outcome(
        attack=NAME,
        knows=f"which nodes {len(who)} people are who work together, and who their friends are",
        measure="confidence",
        people=len(friends),
        exposed=len(found),
        prior=1.0 / max(len(graph), 1),
        posterior=1.0 / smallest if smallest else 0.0,
        threshold=1.0,
        findings=tuple(_finding(graph, u, v) for u, v in edges[:SHOWN]),
        remedy="groups of nodes: algorithm='group'",
        figures={"edges disclosed between others": float(len(edges))},
    )


def _nodes(graph: AnyGraph, colluders: int | list[Any]) -> list[int]:
    if isinstance(colluders, list):
        if graph.labels is not None and all(u in graph.labels for u in colluders):
            place = {name: node for node, name in enumerate(graph.labels)}
            return list(dict.fromkeys(place[str(u)] for u in colluders))
        whole = all(isinstance(u, int | np.integer) and not isinstance(u, bool) for u in colluders)
        if not whole or any(not 0 <= node < len(graph) for node in colluders):
            raise ParameterError(
                f"colluders must be how many there are, or a list of nodes: whole numbers from 0 "
                f"to {len(graph) - 1}, or names where the graph has them; a release has none."
            )
        return list(dict.fromkeys(colluders))
    checked_count("colluders", colluders, low=1)
    return [int(u) for u in np.argsort(-graph.degrees, kind="stable")[:colluders]]


def _signature(graph: AnyGraph, node: int, who: list[int]) -> tuple[object, ...]:
    if isinstance(graph, DirectedGraph):
        going, coming = set(graph.successors(node).tolist()), set(graph.predecessors(node).tolist())
        return tuple((u in going, u in coming) for u in who), len(coming), len(going)
    around = set(graph.around(node).tolist())
    return tuple(u in around for u in who), len(around)


def _edges_among(graph: AnyGraph, found: list[int]) -> list[tuple[int, int]]:
    known = np.zeros(len(graph), dtype=np.bool_)
    known[found] = True
    chosen = graph.edges[known[graph.edges].all(axis=1)]
    return [(int(u), int(v)) for u, v in chosen]


def _finding(graph: AnyGraph, u: int, v: int) -> Finding:
    pairs = len(graph) * (len(graph) - 1) / (1 if isinstance(graph, DirectedGraph) else 2)
    return Finding(
        attack=NAME,
        who="two people who took no part",
        people=2,
        learnt="that they know each other",
        prior=len(graph.edges) / pairs,
        posterior=1.0,
        evidence={"nodes": (u, v)},
    )
