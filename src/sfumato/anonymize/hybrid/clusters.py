"""Clusters of records alike in their quasi-identifiers, and what it costs to show them alike.

A cluster shows for every quasi-identifier the lowest node above all its members. Its cost is the
sum of the nodes' prices (NCP, the share of values that a node may stand for) over members and
attributes. k-member clusters (Byun, Kamra, Bertino, Li, DASFAA 2007): a seed far from the last
cluster, then one after the other the record that adds least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.data.hybrid.records import HybridRecords, QuasiColumn
    from sfumato.data.sets.item_tree import ItemTree

BLOCK = 3000
"""Most records among which a cluster looks for members; more are parted first, in tree order."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The quasi-identifiers of hybrid records as arrays."""

    trees: tuple[ItemTree, ...]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, data: HybridRecords) -> Columns:
        """Gather them; with none, every record looks alike."""
        quasi: tuple[QuasiColumn, ...] = data.quasi
        codes = np.array([column.codes for column in quasi], dtype=np.int64)
        weights = np.array([column.weight for column in quasi], dtype=np.float64)
        return cls(
            tuple(column.tree for column in quasi),
            codes.reshape(len(quasi), len(data)),
            weights / max(weights.sum(), 1e-300),
        )

    def nodes(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lowest node above all members, for each attribute."""
        return np.array(
            [
                lowest_above(tree, int(codes[members].min()), int(codes[members].max()))
                for tree, codes in zip(self.trees, self.codes, strict=True)
            ],
            dtype=np.int64,
        )

    def price(self, nodes: NDArray[np.int64]) -> float:
        """Return the weighted mean price of a node per attribute: the loss of one member."""
        prices = [tree.price[node] for tree, node in zip(self.trees, nodes, strict=True)]
        return float(np.dot(prices, self.weights)) if prices else 0.0

    def joined(self, nodes: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the loss per member of a cluster joined with others; `others[a]` are their nodes.

        Nodes of leaves are leaves, so records can be given as well.
        """
        total = np.zeros(others.shape[1])
        for a, tree in enumerate(self.trees):
            price = np.full(others.shape[1], -1.0)
            for node in tree.above(int(nodes[a])):
                covered = (tree.first[node] <= tree.first[others[a]]) & (
                    tree.last[node] >= tree.last[others[a]]
                )
                price = np.where((price < 0) & covered, tree.price[node], price)
            total += self.weights[a] * price
        return total


def lowest_above(tree: ItemTree, low: int, high: int) -> int:
    """Return the lowest node that covers the leaves from low to high."""
    node = low
    while not tree.first[node] <= low <= high < tree.last[node]:
        node = int(tree.parent[node])
    return node


def gather(columns: Columns, size: int, k: int) -> list[NDArray[np.int64]]:
    """Return clusters of at least k of `size` records."""
    everybody = np.arange(size, dtype=np.int64)
    if not len(columns.trees):
        return [everybody]
    order = np.lexsort(columns.codes) if size > BLOCK else everybody
    blocks = max(size // BLOCK, 1)
    found: list[NDArray[np.int64]] = []
    for b in range(blocks):
        found += _gather_block(columns, order[size * b // blocks : size * (b + 1) // blocks], k)
    return found


def _gather_block(columns: Columns, members: NDArray[np.int64], k: int) -> list[NDArray[np.int64]]:
    left = members.copy()
    found: list[list[int]] = []
    nodes = columns.codes[:, left[0]]
    while len(left) >= k:
        seed = int(np.argmax(columns.joined(nodes, columns.codes[:, left])))
        cluster = [int(left[seed])]
        left = np.delete(left, seed)
        nodes = columns.codes[:, cluster[0]]
        while len(cluster) < k:
            best = int(np.argmin(columns.joined(nodes, columns.codes[:, left])))
            cluster.append(int(left[best]))
            left = np.delete(left, best)
            nodes = columns.nodes(np.array(cluster))
        alike = np.flatnonzero(columns.joined(nodes, columns.codes[:, left]) == 0)
        if len(alike) < k:  # too few to be a cluster of their own, and they cost nothing here
            cluster += left[alike].tolist()
            left = np.delete(left, alike)
        found.append(cluster)
    shown = np.array([columns.nodes(np.array(cluster)) for cluster in found]).T
    for record in left.tolist():
        sizes = np.array([len(cluster) for cluster in found])
        now = np.array([columns.price(shown[:, c]) for c in range(len(found))])
        extra = (sizes + 1) * columns.joined(columns.codes[:, record], shown) - sizes * now
        best = int(np.argmin(extra))
        found[best].append(record)
        shown[:, best] = columns.nodes(np.array(found[best]))
    return [np.array(cluster, dtype=np.int64) for cluster in found]


def as_nodes(clusters: Sequence[NDArray[np.int64]], columns: Columns) -> NDArray[np.int64]:
    """Return the nodes of all clusters, one column each."""
    shown = np.array([columns.nodes(cluster) for cluster in clusters], dtype=np.int64)
    return shown.reshape(len(clusters), len(columns.trees)).T
