"""Bring graphs in: edge lists, GraphML, networkx, SciPy sparse matrices, pairs.

`read_graph` takes

* a text file with one edge per line (`.edges`, `.txt`, `.tsv`, `.csv`, also `.gz`): two names with
  blanks or a comma between them; lines that begin with # or % say nothing, but `# nodes 12` says
  that the nodes are 0 to 11, so that nodes without an edge are not lost;
* a GraphML file, whose node data become attributes;
* a networkx graph, whose node data become attributes;
* a square SciPy sparse matrix: an entry that is not zero is an edge;
* any sequence of pairs.

`nodes` adds nodes that no edge mentions: their names, or a mapping from names to attributes. Under
differential privacy it must be known apart from the edges who is there: by `nodes`, by a source
that lists its nodes, or by `nodes="named"`, which says that the edges name everybody. Loops
and edges that are there twice are refused, since a reader should know about them: `loops="drop"`
and `duplicates="merge"` read on.

A source that says it is directed (GraphML with `edgedefault="directed"`, a networkx `DiGraph`, a
matrix that is not symmetric, a file with the line `# directed`) is read as a directed graph;
`direction="keep"` reads lines and pairs as arcs, from the first node to the second, and
`direction="ignore"` makes an edge of each arc.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.graphs.directed import AnyGraph, DirectedGraph, refuse_directions, undirected
from sfumato.data.graphs.edge_files import read_edge_file
from sfumato.data.graphs.graph import Graph
from sfumato.data.graphs.graphml import read_graphml
from sfumato.data.graphs.raw import RawGraph
from sfumato.data.wording import some
from sfumato.errors import DataError, ParameterError

NAMED = "named"
"""What `nodes` may say instead of a list: that the edges name everybody."""

CHOICES = {"loops": ("drop",), "duplicates": ("merge",), "direction": ("keep", "ignore")}
"""What may be said about how edges are read."""


@dataclass(frozen=True)
class _Care:
    loops: str | None = None
    duplicates: str | None = None
    direction: str | None = None

    def __post_init__(self) -> None:
        for name, words in CHOICES.items():
            if getattr(self, name) not in {None, *words}:
                allowed = " or ".join(f"'{word}'" for word in words)
                raise ParameterError(
                    f"{name} can be {allowed}, or left out, not {getattr(self, name)!r}."
                )

    def keeps_arcs(self, raw: RawGraph) -> bool:
        """Tell whether pairs are read as arcs; refuse to invent a direction."""
        if self.direction == "keep" and raw.directed is False:
            raise DataError(
                f"{raw.source} says that its edges have no direction; leave out direction='keep'."
            )
        return self.direction == "keep" or (self.direction is None and bool(raw.directed))


def read_graph(
    source: Any,
    *,
    nodes: Any = None,
    name: str | None = None,
    loops: str | None = None,
    duplicates: str | None = None,
    direction: str | None = None,
) -> AnyGraph:
    """Return the graph of a source, its nodes numbered in the order of their names."""
    care = _Care(loops, duplicates, direction)
    if isinstance(source, Graph | DirectedGraph):
        return undirected(source) if care.direction == "ignore" else source
    raw = _read_raw(source)
    directed = care.keeps_arcs(raw)
    listed = _more_nodes(nodes)
    labels, ends = _number(raw, listed)
    edges = _simple(ends, raw, care, directed=directed)
    if len(labels) < 2:
        raise DataError(
            f"{raw.source} has {some(len(labels), 'node')}; a graph of people needs at least 2."
        )
    given = dict(raw.attributes) | (_attributes_of(nodes) if isinstance(nodes, Mapping) else {})
    names = {key for known in given.values() for key in known}
    known = {key: tuple(given.get(u, {}).get(key, "") for u in labels) for key in sorted(names)}
    if directed:
        return DirectedGraph(len(labels), edges, tuple(labels), known, name or raw.name, raw.kind)
    everybody = nodes == NAMED if isinstance(nodes, str) else _count(raw, listed) == len(labels)
    return Graph(len(labels), edges, tuple(labels), known, name or raw.name, raw.kind, everybody)


def read_undirected(source: Any, what: str) -> Graph:
    """Return the graph of a source, or refuse one with directions; `what` says for what."""
    graph = read_graph(source)
    refuse_directions(graph, what)
    return undirected(graph)


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
                    source="The networkx graph", kind="networkx")  # fmt: skip


def _read_sparse(source: Any) -> RawGraph:
    if source.shape[0] != source.shape[1]:
        raise DataError("A matrix of a graph is square: one row and one column per node.")
    cells = source.tocoo()
    if np.isnan(cells.data.astype(np.float64)).any():
        raise DataError("A matrix of a graph has no number in some cell; 0 is no edge.")
    there = cells.data != 0
    rows, columns = cells.row[there].astype(np.int64), cells.col[there].astype(np.int64)
    n = int(source.shape[0])
    keys, back = np.unique(rows * n + columns), np.unique(columns * n + rows)
    symmetric = np.array_equal(keys, back)
    if symmetric:  # every edge is there from both sides
        rows, columns = keys // n, keys % n
        rows, columns = rows[rows <= columns], columns[rows <= columns]
    pairs = np.stack([rows, columns], axis=1)
    return RawGraph(pairs, range(n), directed=not symmetric, source="The matrix", kind="scipy")


def _read_pairs(source: Iterable[Any]) -> RawGraph:
    pairs = []
    for number, pair in enumerate(source, 1):
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(ends := list(pair)) != 2:
            raise DataError(f"Edge {number} is not a pair of nodes.")
        if any(end is None or str(end) in {"", "nan"} for end in ends):
            raise DataError(f"Edge {number} leaves out a node; remove it, or name both.")
        pairs.append((str(ends[0]), str(ends[1])))
    return RawGraph(pairs, source="The list of edges", kind="pairs")


# -- numbering and checking -------------------------------------------------------------


def _attributes_of(nodes: Mapping[Any, Any]) -> dict[str, dict[str, str]]:
    return {
        str(node): {str(key): str(value) for key, value in dict(data or {}).items()}
        for node, data in nodes.items()
    }


def _more_nodes(nodes: Any) -> list[str]:
    if isinstance(nodes, str):
        if nodes != NAMED:
            raise ParameterError("nodes must be a list of names, a mapping, or 'named'.")
        return []
    return [] if nodes is None else [str(node) for node in nodes]


def _count(raw: RawGraph, more: list[str]) -> int:
    """Count the nodes that are named apart from the edges."""
    if isinstance(raw.nodes, range) and not more:
        return len(raw.nodes)
    return len({*map(str, raw.nodes), *more})


def _number(
    raw: RawGraph, more: list[str]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the names of the nodes in natural order, and edges by their numbers."""
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


def _simple(ends: Any, raw: RawGraph, care: _Care, *, directed: bool) -> Any:
    """Return sorted edges (with the smaller end first) or arcs; refuse what was not allowed."""
    loops = ends[:, 0] == ends[:, 1]
    if loops.any() and care.loops is None:
        raise DataError(
            f"{raw.source} joins {some(int(loops.sum()), 'node to itself', 'nodes to themselves')};"
            " remove such edges, or give loops='drop' (--loops drop) to have them left out."
        )
    both = ends[~loops] if directed else np.sort(ends[~loops], axis=1)
    edges = np.unique(both, axis=0) if len(both) else both.reshape(-1, 2)
    again = len(both) - len(edges)
    if again and care.duplicates is None and (directed or not raw.directed):
        raise DataError(
            f"{raw.source} names {some(again, 'edge')} more than once"
            f"{'' if directed else ', perhaps in both directions'}; give duplicates='merge' "
            "(--duplicates merge) to count each once."
        )
    return edges.astype(np.int64)
