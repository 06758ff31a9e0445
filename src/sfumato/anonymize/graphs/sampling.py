"""Graphs that fit released groups of nodes: edges placed at random within what the counts allow.

All graphs with these groups and counts are equally likely. It uses nothing but the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.perturb.random_draws import below
from sfumato.data.graphs.graph import Graph, ordered_edges
from sfumato.data.tables.permutation import RandomWords

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.graphs.group_files import NodeGroups


def sample_graph(groups: NodeGroups, *, seed: int | None = None) -> Graph:
    """Draw a graph that fits the groups; nodes of one group have numbers in a row."""
    words = RandomWords(seed)
    first = np.concatenate([[0], np.cumsum(groups.sizes)])
    edges = []
    for number, count in enumerate(groups.within.tolist()):
        size = int(groups.sizes[number])
        u, v = np.triu_indices(size, 1)
        taken = _distinct(len(u), count, words)
        edges.append(np.column_stack([u[taken], v[taken]]) + first[number])
    for a, b, count in groups.between.tolist():
        wide = int(groups.sizes[b])
        taken = _distinct(int(groups.sizes[a]) * wide, count, words)
        edges.append(np.column_stack([first[a] + taken // wide, first[b] + taken % wide]))
    every = np.concatenate(edges) if edges else np.zeros((0, 2), np.int64)
    return Graph(int(first[-1]), ordered_edges(every.astype(np.int64)), name="sample")


def _distinct(possible: int, count: int, words: RandomWords) -> NDArray[np.int64]:
    """Draw `count` different numbers below `possible` (Floyd's algorithm)."""
    tops = np.arange(possible - count, possible, dtype=np.int64)
    drawn = below(tops + 1, words).tolist() if count else []
    taken: set[int] = set()
    for top, number in zip(tops.tolist(), drawn, strict=True):
        taken.add(top if number in taken else number)
    return np.array(sorted(taken), dtype=np.int64)
