"""The hierarchies of all quasi-identifying labels as one forest of nodes.

`parent[v]` is the node above v (itself at a root), `depth[v]` its distance from the root, `loss[v]`
what a vertex loses by showing v: its share of the leaves, times the weight of its label among those
of its vertex type, so that a vertex which shows nothing loses 1. Nodes with the same text have the
same `look`: whoever reads the release cannot tell them apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.trees.trees import Trees


@dataclass(frozen=True, eq=False)
class LabelNodes:
    """Nodes of all labels; `leaf[label]` has the node of every vertex of the label's type."""

    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    loss: NDArray[np.float64]
    look: NDArray[np.int32]
    texts: tuple[str, ...]
    label_of: NDArray[np.int32]
    leaf: dict[str, NDArray[np.int32]]

    def root(self, node: int) -> int:
        """Return the root above a node."""
        while self.parent[node] != node:
            node = int(self.parent[node])
        return node


class _Nodes:
    def __init__(self) -> None:
        self.parent: list[int] = []
        self.loss: list[float] = []
        self.texts: list[str] = []
        self.label_of: list[int] = []

    def grow(self, tree: Hierarchy, label: int, weight: float) -> NDArray[np.int32]:
        """Add a hierarchy from the root down; return the node of every leaf."""
        above: NDArray[np.int32] | None = None
        for h in range(tree.height - 1, -1, -1):
            level = tree.levels[:, h]
            share = (tree.leaf_counts[h] - 1) / max(tree.size - 1, 1)
            made = np.full(len(tree.labels[h]), -1, dtype=np.int32)
            first = np.full(len(made), -1, dtype=np.int64)
            first[level[::-1]] = np.arange(len(level) - 1, -1, -1)
            for node, leaf in enumerate(first.tolist()):
                up = -1 if above is None else int(above[leaf])
                text = tree.labels[h][node]
                alone = up >= 0 and self.texts[up] == text and self.loss[up] == weight * share[node]
                made[node] = up if alone else self._add(up, weight * share[node], text, label)
            above = made[level]
        assert above is not None
        return above

    def _add(self, up: int, loss: float, text: str, label: int) -> int:
        node = len(self.parent)
        self.parent.append(node if up < 0 else up)
        self.loss.append(float(loss))
        self.texts.append(text)
        self.label_of.append(label)
        return node


def join_hierarchies(trees: Trees) -> LabelNodes:
    """Bind the hierarchy of every quasi-identifying label and number all their nodes."""
    assert trees.schema is not None
    labels = trees.with_role("quasi")
    nodes = _Nodes()
    leaf: dict[str, NDArray[np.int32]] = {}
    for kind in trees.types:
        own = [label for label in kind.labels if label in labels]
        total = sum(trees.schema.attributes[label].weight for label in own)
        for label in own:
            values = trees.values[label]
            counts = Counter(values.tolist())
            tree = trees.schema.hierarchy_for(label, sorted(counts), counts)
            weight = trees.schema.attributes[label].weight / total
            at_leaf = nodes.grow(tree, labels.index(label), weight)
            codes = np.fromiter((tree.codes[v] for v in values), np.int64, len(values))
            leaf[label] = at_leaf[codes]
    parent = np.array(nodes.parent, dtype=np.int32)
    return LabelNodes(
        labels, parent, _depths(parent), np.array(nodes.loss), _looks(nodes), tuple(nodes.texts),
        np.array(nodes.label_of, dtype=np.int32), leaf,
    )  # fmt: skip


def _depths(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    depth = np.zeros(len(parent), dtype=np.int32)
    for v, up in enumerate(parent.tolist()):  # parents come first
        depth[v] = 0 if up == v else depth[up] + 1
    return depth


def _looks(nodes: Any) -> NDArray[np.int32]:
    seen: dict[tuple[int, str], int] = {}
    pairs = zip(nodes.label_of, nodes.texts, strict=True)
    return np.array([seen.setdefault(pair, len(seen)) for pair in pairs], dtype=np.int32)
