"""What a released graph lost, each figure between 0 (nothing) and 1.

* edits: edges that are in only one of the two graphs, of those in either;
* degrees: how far the distributions of degrees are apart (total variation);
* clustering: the change in the share of open triads that are closed;
* distances: the relative change of the mean distance from a few nodes to those they reach;
* communities: the change in modularity of the communities of the graph as it came, which are found
  by label propagation (Raghavan, Albert and Kumara 2007);
* connection: the change in the share of nodes in the largest connected part;
* spectrum: the relative change of the largest eigenvalue of the adjacency matrix.

Of a directed graph, `degrees` compares pairs (in, out), `reciprocity` is the change in the share of
arcs that are answered, distances follow arcs, and the others are those of the graph without
directions.

For groups of nodes: how uncertain the places of the edges are, Σ e·(1 − e/possible) / Σ e
(structural information loss, Campan and Truta 2008, as a share of its largest value).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.graphs.artefact import GraphArtefact, to_sparse
from sfumato.data.graphs.directed import DirectedGraph, undirected

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.graphs.artefact import GroupArtefact
    from sfumato.anonymize.graphs.plan import EditPlan
    from sfumato.data.graphs.directed import AnyGraph
    from sfumato.data.graphs.graph import Graph
    from sfumato.data.graphs.group_files import NodeGroups
    from sfumato.decision import Decision

FROM_NODES = 16
"""Nodes from which distances are measured: those of the highest degree."""


def measure(
    data: AnyGraph, decision: Decision, artefact: GraphArtefact | GroupArtefact
) -> dict[str, float]:
    """Return the losses of a release, the one that was minimised first."""
    if not isinstance(artefact, GraphArtefact):
        return {"edges": _uncertainty(artefact.groups)}
    plan: EditPlan = decision.content
    after = type(data)(len(data), plan.edges)
    either = len(data.edges) + plan.added
    steps = to_sparse(data), to_sparse(after)
    flat = undirected(data)
    first, second = to_sparse(flat), to_sparse(undirected(after))
    few = np.argsort(-data.degrees, kind="stable")[:FROM_NODES]
    losses = {
        "edits": (plan.added + plan.removed) / max(either, 1),
        "degrees": _degrees(data, after),
        "clustering": abs(_clustering(first) - _clustering(second)),
        "distances": _relative(_distance(steps[0], few), _distance(steps[1], few)),
        "communities": _communities(flat, first, second),
        "connection": abs(_largest_part(first) - _largest_part(second)),
        "spectrum": _relative(_eigenvalue(first), _eigenvalue(second)),
    }
    if isinstance(data, DirectedGraph):
        losses["reciprocity"] = abs(_answered(steps[0]) - _answered(steps[1]))
    return losses


def _uncertainty(groups: NodeGroups) -> float:
    sizes, (a, b, count) = groups.sizes, groups.between.T
    inside = np.maximum(sizes * (sizes - 1) / 2, 1)
    edges = np.concatenate([groups.within, count])
    possible = np.concatenate([inside, sizes[a] * sizes[b]])
    return float((edges * (1 - edges / possible)).sum() / max(int(edges.sum()), 1))


def _degrees(first: AnyGraph, second: AnyGraph) -> float:
    """Return how far apart the distributions of degrees (of pairs, for arcs) are."""
    kinds = [g.degree_pairs if isinstance(g, DirectedGraph) else g.degrees[:, None]
             for g in (first, second)]  # fmt: skip
    _, kind = np.unique(np.concatenate(kinds), axis=0, return_inverse=True)
    change = np.where(np.arange(2 * len(first)) < len(first), 1.0, -1.0)
    return float(np.abs(np.bincount(kind.reshape(-1), weights=change)).sum() / 2 / len(first))


def _answered(matrix: Any) -> float:
    """Return the share of arcs that an arc in the other direction answers."""
    arcs = int(matrix.sum())
    return float(matrix.multiply(matrix.T).sum()) / arcs if arcs else 0.0


def _clustering(matrix: Any) -> float:
    """Return the share of triads with two edges that have the third."""
    degrees = matrix.sum(axis=1)
    triads = float((degrees * (degrees - 1)).sum())
    return float((matrix @ matrix).multiply(matrix).sum()) / triads if triads else 0.0


def _distance(matrix: Any, few: NDArray[np.int64]) -> float:
    """Return the mean number of steps from a few nodes to those they reach."""
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415 - loaded when used

    steps = dijkstra(matrix, unweighted=True, indices=few)
    reached = steps[np.isfinite(steps) & (steps > 0)]
    return float(reached.mean()) if len(reached) else 0.0


def _communities(data: Graph, first: Any, second: Any) -> float:
    """Return how much less (or more) the communities of the first graph hold together."""
    member = _label_nodes(data)
    return min(abs(_modularity(first, member) - _modularity(second, member)), 1.0)


def _label_nodes(graph: Graph, rounds: int = 10) -> NDArray[np.int64]:
    """Let every node take the label that most of its neighbours have, the smallest of several."""
    label = np.arange(len(graph))
    tail = np.repeat(np.arange(len(graph)), graph.degrees)
    n = len(graph)
    for _ in range(rounds):
        pairs, counts = np.unique(tail * n + label[graph.neighbours], return_counts=True)
        order = np.lexsort((pairs, -counts, pairs // n))
        nodes, first = np.unique(pairs[order] // n, return_index=True)
        before = label.copy()
        label[nodes] = pairs[order][first] % n
        if (label == before).all():
            break
    return label


def _modularity(matrix: Any, member: NDArray[np.int64]) -> float:
    """Return the share of edges within communities beyond what degrees alone would give."""
    cells = matrix.tocoo()
    total = float(cells.data.sum())
    if not total:
        return 0.0
    within = float(cells.data[member[cells.row] == member[cells.col]].sum()) / total
    degrees = np.bincount(member, weights=np.asarray(matrix.sum(axis=1)).ravel())
    return within - float(((degrees / total) ** 2).sum())


def _largest_part(matrix: Any) -> float:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - loaded when used

    _, parts = connected_components(matrix, directed=False)
    return float(np.bincount(parts).max()) / len(parts)


def _eigenvalue(matrix: Any, rounds: int = 60) -> float:
    """Return the largest eigenvalue, by iteration of the squared matrix (so −λ does not matter)."""
    vector = np.ones(matrix.shape[0])
    value = 0.0
    for _ in range(rounds):
        vector = matrix @ vector + vector  # λ + 1: positive, and larger than any other in size
        value = float(np.linalg.norm(vector))
        vector /= value
    return value - 1.0


def _relative(first: float, second: float) -> float:
    largest = max(abs(first), abs(second))
    return abs(first - second) / largest if largest else 0.0
