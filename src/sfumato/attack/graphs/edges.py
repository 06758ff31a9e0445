"""Edge disclosure: two people can hide among others and still be known to know each other.

Somebody knows two people's degrees (for a release by grouping: their groups). If all nodes of the
one degree are joined to all of the other, it does not matter which nodes are theirs. The share of
possible edges between two classes that are there is how sure one can be (Zheleva, Getoor:
Preserving the privacy of sensitive relationships in graph data, PinKDD 2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.finding import NEARLY, SHOWN, Finding, Outcome
from sfumato.data.graphs.directed import DirectedGraph
from sfumato.released.view import see

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.released.graphs import GraphView

NAME = "edge disclosure"


def edge_disclosure(release: Any, *, confidence: float = 0.9) -> Outcome:
    """Find the edges that follow from the classes of their ends."""
    view: GraphView = see(release, shape="graph")
    pairs, counts, sizes = _between(view)
    same = pairs[:, 0] == pairs[:, 1]
    first, second = sizes[pairs[:, 0]], sizes[pairs[:, 1]]
    twice = 1 if isinstance(view.graph, DirectedGraph) else 2  # a pair of nodes has two arcs
    possible = np.where(same, first * (first - 1) // twice, first * second)
    share = counts / np.maximum(possible, 1)
    sure = np.flatnonzero(share >= confidence - NEARLY)
    edges, nodes = int(counts.sum()), view.records
    prior = edges / max(nodes * (nodes - 1) / twice, 1)
    shown = sure[np.argsort(-counts[sure], kind="stable")][:SHOWN]
    return Outcome(
        attack=NAME,
        knows="to which classes two people belong",
        measure="confidence",
        people=edges,
        exposed=int(counts[sure].sum()),
        prior=prior,
        posterior=float(share.max(initial=0.0)),
        threshold=confidence,
        findings=tuple(
            _finding(view, pairs[i], int(counts[i]), float(share[i]), prior) for i in shown
        ),
        remedy="larger classes (a larger k), between which fewer of the possible edges are there",
        unit="edges",
    )


def _between(
    view: GraphView,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of classes that are joined, by how many edges, and the sizes of all classes."""
    if view.graph is None:
        groups = view.node_groups
        assert groups is not None
        inside = np.flatnonzero(groups.within)
        own = np.column_stack([inside, inside])
        pairs = np.concatenate([own, groups.between[:, :2]])
        return pairs, np.concatenate([groups.within[inside], groups.between[:, 2]]), groups.sizes
    classes = view.classes()
    ends = classes[view.graph.edges]
    ends = ends if isinstance(view.graph, DirectedGraph) else np.sort(ends, axis=1)
    pairs, counts = np.unique(ends, axis=0, return_counts=True)
    return pairs.reshape(-1, 2), counts, np.bincount(classes)


def _finding(
    view: GraphView, pair: NDArray[np.int64], edges: int, share: float, prior: float
) -> Finding:
    shown = [view.describe(int(end)) for end in pair]
    texts = [", ".join(f"{k} {v}" for k, v in cells.items()) for cells in shown]
    return Finding(
        attack=NAME,
        who=f"a person in {texts[0]} and one in {texts[1]}",
        people=2 * edges,
        learnt="that they know each other",
        prior=prior,
        posterior=share,
        evidence={"classes": tuple(texts), "edges": edges},
    )
