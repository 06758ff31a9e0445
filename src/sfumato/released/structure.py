"""Who looks alike in a graph to somebody who knows part of its structure.

Candidate sets by growing knowledge (Hay, Miklau, Jensen, Towsley, Weis: Resisting structural
re-identification in anonymized social networks, VLDB 2008): H1 is the degree of a person, H2 the
degrees of her neighbours, H3 what H2 says of each of her neighbours, and so on. These are the
colours of Weisfeiler and Leman's refinement. Each round sorts the edges once. In a directed graph
H1 is the pair of degrees, and each round looks at those from whom arcs come and those to whom they
lead, apart.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.graphs.directed import DirectedGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph


def structural_classes(graph: AnyGraph, depth: int) -> NDArray[np.int64]:
    """Return for each node the number of its class under the knowledge H1, H2, … of a depth."""
    if isinstance(graph, DirectedGraph):
        return _directed_classes(graph, depth)
    tail = np.concatenate([graph.edges[:, 0], graph.edges[:, 1]])
    head = np.concatenate([graph.edges[:, 1], graph.edges[:, 0]])
    degree = np.bincount(tail, minlength=len(graph))
    colour = np.unique(degree, return_inverse=True)[1].reshape(-1).astype(np.int64)
    for _ in range(depth - 1):
        colour = _colours_seen(tail, head, colour)
    return colour


def _directed_classes(graph: DirectedGraph, depth: int) -> NDArray[np.int64]:
    tail, head = graph.edges[:, 0], graph.edges[:, 1]
    colour = _joint(graph.degree_pairs)
    for _ in range(depth - 1):
        sides = (_colours_seen(tail, head, colour), _colours_seen(head, tail, colour))
        colour = _joint(np.column_stack(sides))
    return colour


def _joint(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give rows numbers, equal ones the same."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _colours_seen(
    tail: NDArray[np.int64], head: NDArray[np.int64], colour: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give nodes numbers by the colours that their edges lead to, in any order."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=len(colour)))])
    order = np.lexsort([colour[head], tail])
    seen = colour[head][order].astype(np.int32).tobytes()
    numbers: dict[bytes, int] = {}
    bounds = (4 * starts).tolist()
    return np.fromiter(
        (numbers.setdefault(seen[b:e], len(numbers)) for b, e in itertools.pairwise(bounds)),
        np.int64,
        len(colour),
    )


def classes_by(graph: AnyGraph, query: str | Callable[..., Any]) -> NDArray[np.int64]:
    """Return for each node the number of its class under a structural query."""
    if not callable(query):
        return structural_classes(graph, {"degree": 1, "neighbour-degrees": 2}[query])
    numbers: dict[Any, int] = {}
    return np.array(
        [numbers.setdefault(query(graph, node), len(numbers)) for node in range(len(graph))],
        dtype=np.int64,
    )


def class_sizes(classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many nodes each class has."""
    return np.bincount(classes)
