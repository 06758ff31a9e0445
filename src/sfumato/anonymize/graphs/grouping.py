"""Super-nodes: groups of at least k nodes that know the same people.

As Campan and Truta (SaNGreeA, PinKDD 2008) groups grow around the free node of the highest degree;
as partners it takes the free nodes that share most of their neighbours with it (Jaccard), which are
found by walking two steps instead of comparing all pairs. Where too few are left nearby, free
nodes of the closest degree fill the group. At most k − 1 nodes remain; each joins the group of a
neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.graph import Graph

MIDDLES = 200
"""Neighbours through which partners are sought; a hub has as many that say the same."""


def group_nodes(graph: Graph, k: int) -> NDArray[np.int64]:
    """Return the number of the group of every node; every group has at least k nodes."""
    n = len(graph)
    group_of = np.full(n, -1, dtype=np.int64)
    order = np.argsort(-graph.degrees, kind="stable")
    place, groups = 0, 0
    free = n
    while free >= k:
        while group_of[order[place]] >= 0:
            place += 1
        seed = int(order[place])
        group_of[seed] = groups
        chosen = _partners(graph, seed, group_of)[: k - 1]
        group_of[chosen] = groups
        if len(chosen) < k - 1:
            _fill(order, place, group_of, groups, k - 1 - len(chosen))
        groups, free = groups + 1, free - k
    for node in np.flatnonzero(group_of < 0).tolist():
        known = group_of[graph.around(node)]
        known = known[known >= 0]
        group_of[node] = int(known[0]) if len(known) else groups - 1
    return group_of


def _partners(graph: Graph, seed: int, group_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return free nodes within two steps, those with most neighbours in common first."""
    around = graph.around(seed)
    reached = [graph.around(int(middle)) for middle in around[:MIDDLES]]
    found = np.concatenate([around, *reached]) if len(around) else around
    nodes, common = np.unique(found[group_of[found] < 0], return_counts=True)
    share = common / (graph.degrees[nodes] + len(around) - np.minimum(common, len(around)) + 1)
    best: NDArray[np.int64] = nodes[np.argsort(-share, kind="stable")]
    return best


def _fill(
    order: NDArray[np.int64], place: int, group_of: NDArray[np.int64], number: int, wanted: int
) -> None:
    """Take the next free nodes in falling order of degree."""
    while wanted:
        place += 1
        node = order[place]
        if group_of[node] < 0:
            group_of[node] = number
            wanted -= 1
