"""Text files with one edge per line, in and out.

`# nodes 12` in such a file says that its nodes are the numbers 0 to 11: nodes without an edge would
otherwise be lost, and with them how many people there are. `# directed` says that a line is an arc
from its first node to its second. A first line such as `source,target` names the columns.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.graphs.directed import DirectedGraph
from sfumato.data.graphs.raw import RawGraph
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.data.graphs.directed import AnyGraph

_NODES = re.compile(rb"^#\s*nodes\s+(\d+)\s*$", re.MULTILINE)
_DIRECTED = re.compile(rb"^#\s*directed\s*$", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*[#%][^\n]*$", re.MULTILINE)
_NUMBERS = re.compile(rb"[0-9\s]*")
HEADERS = {("source", "target"), ("from", "to"), ("src", "dst"), ("u", "v"), ("node1", "node2")}
"""What a first line may say that names the columns."""
MOST_NODES = 10**9
"""The largest number of nodes that a file may claim."""


def read_edge_file(path: Path) -> RawGraph:
    """Read a file of edges; whole numbers are read as an array."""
    content = _content(path)
    claimed = _NODES.search(content[:4096])
    nodes = range(int(claimed[1])) if claimed else range(0)
    if len(claimed[1] if claimed else b"") > len(str(MOST_NODES)):
        raise DataError(f"{path} claims more nodes than can be held.")
    text = _COMMENT.sub(b"", content).replace(b"\r", b"\n").replace(b",", b" ")
    name = path.name.split(".")[0]
    pairs = _pairs(text, path)
    directed = True if _DIRECTED.search(content[:4096]) else None
    if claimed is None:
        return RawGraph(pairs, directed=directed, source=str(path), name=name)
    if not isinstance(pairs, np.ndarray) or pairs.max(initial=-1) >= len(nodes):
        raise DataError(f"{path} says it has the nodes 0 to {len(nodes) - 1}, but has others.")
    return RawGraph(pairs, nodes, directed=directed, source=str(path), name=name)


def _content(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                return file.read()
        return path.read_bytes()
    except (OSError, EOFError):
        raise DataError(f"{path} cannot be read as a file of edges.") from None


def _pairs(text: bytes, path: Path) -> NDArray[np.int64] | list[tuple[str, str]]:
    lines = [line.split() for line in text.split(b"\n")]
    wrong = next((n for n, line in enumerate(lines, 1) if len(line) not in {0, 2}), None)
    if wrong is not None:
        raise DataError(
            f"{path}, line {wrong}: an edge is two names with blanks or a comma between them, and "
            "nothing else."
        )
    if _NUMBERS.fullmatch(text):
        try:
            numbers = np.array(text.split(), dtype=np.int64).reshape(-1, 2)
        except (ValueError, OverflowError):
            raise DataError(f"{path} has numbers of more than 18 digits as nodes.") from None
        return numbers
    try:
        pairs = [(line[0].decode(), line[1].decode()) for line in lines if line]
        return pairs[1:] if _is_header(pairs) else pairs
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text.") from None


def _is_header(pairs: list[tuple[str, str]]) -> bool:
    """Tell a first line that names the columns; its words are nowhere else in the file."""
    if not pairs or tuple(word.strip('"').lower() for word in pairs[0]) not in HEADERS:
        return False
    first = set(pairs[0])
    return not any(first & set(pair) for pair in pairs[1:])


def write_edge_file(path: Path, graph: AnyGraph) -> None:
    """Write nodes by their numbers, edges in sorted order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# nodes {len(graph)}\n")
        file.write("# directed\n" if isinstance(graph, DirectedGraph) else "")
        file.writelines(f"{u} {v}\n" for u, v in graph.edges.tolist())
