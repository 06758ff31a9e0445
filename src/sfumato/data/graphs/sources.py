"""Bring graphs in: edge lists, GraphML, networkx, SciPy sparse matrices, pairs.

`read_graph` takes

* a text file with one edge per line (`.edges`, `.txt`, `.tsv`, `.csv`, also `.gz`): two names with
  blanks or a comma between them; lines that begin with # or % say nothing, but `# nodes 12` says
  that the nodes are 0 to 11, so that nodes without an edge are not lost;
* a GraphML file, whose node data become attributes;
* a networkx graph, whose node data become attributes;
* a square SciPy sparse matrix: an entry that is not zero is an edge;
* any sequence of pairs.

`nodes` adds nodes that no edge mentions: their names, or a mapping from names to attributes. Loops
and edges that are there twice are refused, since a reader should know about them: `loops="drop"`
and `duplicates="merge"` read on. So are directed graphs; `direction="ignore"` makes an edge of each
arc.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.graphs.edge_files import read_edge_file
from sfumato.data.graphs.graph import Graph
from sfumato.data.graphs.graphml import read_graphml
from sfumato.data.graphs.raw import RawGraph
from sfumato.errors import DataError, ParameterError

CHOICES = {"loops": "drop", "duplicates": "merge", "direction": "ignore"}
"""What may be said about edges that are refused otherwise."""


@dataclass(frozen=True)
class _Care:
    loops: str | None = None
    duplicates: str | None = None
    direction: str | None = None

    def __post_init__(self) -> None:
        for name, word in CHOICES.items():
            if getattr(self, name) not in {None, word}:
                raise ParameterError(
                    f"{name} can be '{word}', or left out to refuse, not {getattr(self, name)!r}."
                )


def read_graph(
    source: Any,
    *,
    nodes: Any = None,
    name: str | None = None,
    loops: str | None = None,
    duplicates: str | None = None,
    direction: str | None = None,
) -> Graph:
    """Return the graph of a source, its nodes numbered in the order of their names."""
    care = _Care(loops, duplicates, direction)
    if isinstance(source, Graph):
        return source
    raw = _read_raw(source)
    if raw.directed and care.direction is None:
        raise DataError(
            f"{raw.source} is a directed graph; direction='ignore' makes an edge of each arc."
        )
    labels, ends = _number(raw, nodes)
    edges = _simple(ends, raw, care)
    if len(labels) < 2:
        raise DataError(
            f"{raw.source} has {len(labels)} nodes; a graph of people needs at least 2."
        )
    given = dict(raw.attributes) | (_attributes_of(nodes) if isinstance(nodes, Mapping) else {})
    names = {key for known in given.values() for key in known}
    return Graph(
        len(labels),
        edges,
        tuple(labels),
        {key: tuple(given.get(u, {}).get(key, "") for u in labels) for key in sorted(names)},
        name or raw.name,
        raw.kind,
    )


# -- sources ----------------------------------------------------------------------------


def _read_raw(source: Any) -> RawGraph:
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise DataError(f"{path} is not a file; give the path of a file of edges.")
        plain = path.name.removesuffix(".gz")
        return read_graphml(path) if plain.endswith(".graphml") else read_edge_file(path)
    if hasattr(source, "is_directed") and hasattr(source, "nodes") and hasattr(source, "edges"):
        return _read_networkx(source)
    if hasattr(source, "tocoo"):
        return _read_sparse(source)
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return _read_pairs(source)
    raise ParameterError(
        "A graph is read from a file of edges, GraphML, networkx, a SciPy sparse matrix or pairs, "
        f"not from {type(source).__name__}."
    )


def _read_networkx(source: Any) -> RawGraph:
    attributes = {
        str(node): {str(key): str(value) for key, value in data.items()}
        for node, data in source.nodes(data=True)
    }
    if len(attributes) != source.number_of_nodes():
        raise DataError("Two nodes of the graph have the same name when written as text.")
    pairs = [(str(u), str(v)) for u, v in source.edges()]
    return RawGraph(pairs, list(attributes), attributes, directed=source.is_directed(),
                    source="the networkx graph", kind="networkx")  # fmt: skip


def _read_sparse(source: Any) -> RawGraph:
    if source.shape[0] != source.shape[1]:
        raise DataError("A matrix of a graph is square: one row and one column per node.")
    cells = source.tocoo()
    there = cells.data != 0
    rows, columns = cells.row[there].astype(np.int64), cells.col[there].astype(np.int64)
    n = int(source.shape[0])
    keys, back = np.unique(rows * n + columns), np.unique(columns * n + rows)
    symmetric = np.array_equal(keys, back)
    if symmetric:  # every edge is there from both sides
        rows, columns = keys // n, keys % n
        rows, columns = rows[rows <= columns], columns[rows <= columns]
    pairs = np.stack([rows, columns], axis=1)
    return RawGraph(pairs, range(n), directed=not symmetric, source="the matrix", kind="scipy")


def _read_pairs(source: Iterable[Any]) -> RawGraph:
    pairs = []
    for number, pair in enumerate(source, 1):
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(ends := list(pair)) != 2:
            raise DataError(f"Edge {number} is not a pair of nodes.")
        pairs.append((str(ends[0]), str(ends[1])))
    return RawGraph(pairs, source="the edges", kind="pairs")


# -- numbering and checking -------------------------------------------------------------


def _attributes_of(nodes: Mapping[Any, Any]) -> dict[str, dict[str, str]]:
    return {
        str(node): {str(key): str(value) for key, value in dict(data or {}).items()}
        for node, data in nodes.items()
    }


def _number(raw: RawGraph, nodes: Any) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the names of the nodes in natural order, and edges by their numbers."""
    more = [] if nodes is None else [str(node) for node in nodes]
    if isinstance(raw.pairs, np.ndarray):
        if isinstance(raw.nodes, range) and not more:
            return [str(u) for u in raw.nodes], raw.pairs
        numbers = np.unique(raw.pairs)
        if not more and not len(raw.nodes):
            return [str(u) for u in numbers], np.searchsorted(numbers, raw.pairs)
        pairs = [(str(u), str(v)) for u, v in raw.pairs.tolist()]
    else:
        pairs = list(raw.pairs)
    known = {*map(str, raw.nodes), *more, *(end for pair in pairs for end in pair)}
    labels = sorted(known, key=_natural)
    place = {label: number for number, label in enumerate(labels)}
    ends = np.array([(place[u], place[v]) for u, v in pairs], dtype=np.int64).reshape(-1, 2)
    return labels, ends


def _natural(label: str) -> tuple[int, int, str]:
    return (0, int(label), "") if label.isascii() and label.isdigit() else (1, 0, label)


def _simple(ends: Any, raw: RawGraph, care: _Care) -> Any:
    """Return edges with the smaller end first, none twice; refuse what was not allowed."""
    loops = ends[:, 0] == ends[:, 1]
    if loops.any() and care.loops is None:
        raise DataError(
            f"{raw.source} joins {int(loops.sum())} node(s) to themselves; remove those lines, or "
            "give loops='drop' to leave them out."
        )
    both = np.sort(ends[~loops], axis=1)
    edges = np.unique(both, axis=0) if len(both) else both.reshape(-1, 2)
    again = len(both) - len(edges)
    if again and care.duplicates is None and not raw.directed:
        raise DataError(
            f"{raw.source} names {again} edge(s) more than once, perhaps in both directions; give "
            "duplicates='merge' to count each once."
        )
    return edges.astype(np.int64)
