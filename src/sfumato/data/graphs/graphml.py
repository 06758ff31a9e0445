"""GraphML, in and out: nodes with attributes, edges or arcs as `edgedefault` says."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.graphs.raw import RawGraph
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.data.graphs.directed import AnyGraph

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def read_graphml(path: Path) -> RawGraph:
    """Read the first graph of a GraphML file; data of edges are not looked at."""
    root = _root(path)
    graph = next((child for child in root if _tag(child) == "graph"), None)
    if graph is None:
        raise DataError(f"{path} holds no graph.")
    keys = {
        child.get("id", ""): child.get("attr.name", child.get("id", ""))
        for child in root
        if _tag(child) == "key"
    }
    attributes: dict[str, dict[str, str]] = {}
    pairs = []
    for child in graph:
        if _tag(child) == "node":
            attributes[child.get("id", "")] = {
                keys.get(data.get("key", ""), data.get("key", "")): data.text or ""
                for data in child
                if _tag(data) == "data"
            }
        elif _tag(child) == "edge":
            pairs.append((child.get("source", ""), child.get("target", "")))
    if any(u not in attributes or v not in attributes for u, v in pairs):
        raise DataError(f"{path} has an edge to a node that it does not list.")
    directed = graph.get("edgedefault") == "directed"
    _check_listing(graph, path, directed=directed)
    return RawGraph(pairs, list(attributes), attributes, directed=directed, source=str(path),
                    name=path.name.split(".")[0], kind="graphml")  # fmt: skip


def _check_listing(graph: ET.Element, path: Path, *, directed: bool) -> None:
    """Refuse nodes without a name or with another's, and edges of the other kind."""
    names = [child.get("id") for child in graph if _tag(child) == "node"]
    if None in names or len(set(names)) < len(names):
        raise DataError(f"{path} has nodes without an id, or two with the same.")
    other = "false" if directed else "true"
    if any(child.get("directed") == other for child in graph if _tag(child) == "edge"):
        raise DataError(f"{path} mixes directed and undirected edges; use one kind.")
    if any(_tag(part) in {"hyperedge", "graph"} for child in graph for part in child.iter()):
        raise DataError(
            f"{path} has edges of more than two nodes, or a graph within a node; write every edge "
            "between two nodes of one graph."
        )


def _root(path: Path) -> ET.Element:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError):
        raise DataError(f"{path} cannot be read as GraphML.") from None
    if b"<!ENTITY" in content or b"<!DOCTYPE" in content:
        raise DataError(
            f"{path} declares a document type or entities, which GraphML does not need."
        )
    try:
        return ET.fromstring(content)  # noqa: S314 - without entities there is nothing to expand
    except ET.ParseError:
        raise DataError(f"{path} is not well-formed XML.") from None


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def write_graphml(path: Path, graph: AnyGraph) -> None:
    """Write nodes by their numbers with their attributes, edges in sorted order."""
    names = list(graph.attributes)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(_HEAD)
        file.writelines(
            f'<key id="d{i}" for="node" attr.name={quoteattr(key)} attr.type="string"/>\n'
            for i, key in enumerate(names)
        )
        kind = "directed" if isinstance(graph, DirectedGraph) else "undirected"
        file.write(f'<graph edgedefault="{kind}">\n')
        for node in range(len(graph)):
            data = "".join(
                f'<data key="d{i}">{escape(graph.attributes[key][node])}</data>'
                for i, key in enumerate(names)
            )
            file.write(f'<node id="{node}">{data}</node>\n')
        file.writelines(f'<edge source="{u}" target="{v}"/>\n' for u, v in graph.edges.tolist())
        file.write("</graph>\n</graphml>\n")
