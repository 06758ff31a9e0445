"""Merge clusters of hybrid records until their sets lose little, or their rows too much.

Every cluster's sets are made k^m-anonymous by themselves, so small clusters lose much of their
sets, and large ones much of their rows. Clusters whose sets lose most are merged, by one of three
strategies (Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, ECML PKDD 2013):

* ``rows`` (Rmerge): with the cluster whose rows are closest;
* ``sets`` (Tmerge): with the one whose sets hold the most similar items;
* ``both`` (RTmerge): with the one that is closest in the mean of the two.

`row_bound` is the most that rows may lose: what sets lose is then made small. `set_bound` is what
sets may lose: merging ends as soon as they lose no more. Every step is kept, so that the
trade-off can be drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.hybrid.clusters import Columns, as_nodes
from sfumato.anonymize.sets.descent import Descent
from sfumato.data.sets.sets import Sets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.itemsets import KmAnonymity

STRATEGIES = ("both", "rows", "sets")
BUCKETS = 512
"""Items are compared by at most so many counts."""
PARTNERS = 3
"""How many partners a cluster tries before it is left as it is."""


@dataclass
class Cluster:
    """Records that look alike, and their sets as shown: nodes per attribute, and what they lose."""

    members: NDArray[np.int64]
    shown: dict[str, NDArray[np.int32]]
    loss: float
    items: int


@dataclass
class MergedClusters:
    """The clusters, and the trade-off so far: (loss of rows, loss of sets) after each step."""

    columns: Columns
    sets: Mapping[str, Sets]
    wanted: Mapping[str, KmAnonymity]
    strategy: str
    row_bound: float
    set_bound: float
    clusters: list[Cluster] = field(default_factory=list)
    steps: list[tuple[float, float]] = field(default_factory=list)

    def start(self, groups: list[NDArray[np.int64]]) -> None:
        """Make the sets of every group anonymous by themselves."""
        self.clusters = [self._recode(members) for members in groups]
        self.nodes = as_nodes(groups, self.columns)
        self.sketch = np.array([self._sketch(c.members) for c in self.clusters])
        self.steps.append((self.row_loss, self.set_loss))

    @property
    def row_loss(self) -> float:
        """Mean NCP of rows."""
        sizes = np.array([len(c.members) for c in self.clusters])
        prices = [self.columns.price(self.nodes[:, i]) for i in range(len(self.clusters))]
        return float(np.dot(sizes, prices) / max(sizes.sum(), 1))

    @property
    def set_loss(self) -> float:
        """Mean NCP of items."""
        items = sum(c.items for c in self.clusters)
        return sum(c.loss for c in self.clusters) / max(items, 1)

    def join(self, needed: Callable[[NDArray[np.int64]], bool]) -> None:
        """Merge clusters that break another part of the promise with the closest."""
        waiting = [i for i, c in enumerate(self.clusters) if not needed(c.members)]
        while waiting and len(self.clusters) > 1:
            self._merge(waiting[0], self._partners(waiting[0], "rows")[0])
            waiting = [i for i, c in enumerate(self.clusters) if not needed(c.members)]

    def run(self, progress: Any = None) -> None:
        """Merge while the bounds allow it."""
        settled: set[int] = set()  # by the first member, which stays while a cluster is not merged
        while len(self.clusters) > 1 and self.set_loss > self.set_bound:
            rank = np.argsort([-c.loss / max(c.items, 1) for c in self.clusters])
            worst = next(
                (int(i) for i in rank if self.clusters[i].loss > 0
                 and int(self.clusters[i].members[0]) not in settled), None)  # fmt: skip
            if worst is None:
                return
            head = int(self.clusters[worst].members[0])
            if not self._improve(worst):
                settled.add(head)
            elif progress is not None:
                merged = len(self.steps) - 1
                done = merged / (merged + len(self.clusters) - 1)
                progress(done, self.set_loss, f"{len(self.clusters):,} clusters left")

    def _improve(self, worst: int) -> bool:
        """Merge a cluster with the first of its best partners that helps within the bound."""
        for partner in self._partners(worst, self.strategy)[:PARTNERS]:
            if self._row_loss_with(worst, partner) > self.row_bound:
                continue
            kept, joined = self.clusters[worst], self.clusters[partner]
            made = self._recode(np.concatenate([kept.members, joined.members]))
            if made.loss < kept.loss + joined.loss - 1e-9:
                self._merge(worst, partner, made)
                self.steps.append((self.row_loss, self.set_loss))
                return True
        return False

    def _row_loss_with(self, kept: int, joined: int) -> float:
        sizes = len(self.clusters[kept].members), len(self.clusters[joined].members)
        total = sum(len(c.members) for c in self.clusters)
        both = float(self.columns.joined(self.nodes[:, kept], self.nodes[:, [joined]])[0])
        now = [self.columns.price(self.nodes[:, i]) for i in (kept, joined)]
        extra = sum(sizes) * both - sizes[0] * now[0] - sizes[1] * now[1]
        return self.row_loss + extra / total

    def _partners(self, i: int, strategy: str) -> list[int]:
        """Return the other clusters, the best first."""
        sizes = np.array([len(c.members) for c in self.clusters])
        prices = np.array([self.columns.price(self.nodes[:, j]) for j in range(len(sizes))])
        joint = self.columns.joined(self.nodes[:, i], self.nodes)
        apart = (sizes + sizes[i]) * joint - sizes * prices - sizes[i] * prices[i]
        alike = (
            self.sketch
            @ self.sketch[i]
            / np.maximum(
                np.linalg.norm(self.sketch, axis=1) * np.linalg.norm(self.sketch[i]), 1e-12
            )
        )
        near = apart / max(float(apart.max()), 1e-12)
        score = {"rows": near, "sets": 1 - alike, "both": (near + 1 - alike) / 2}[strategy]
        score[i] = np.inf
        order: list[int] = np.argsort(score, kind="stable")[:-1].tolist()
        return order

    def _merge(self, kept: int, joined: int, made: Cluster | None = None) -> None:
        members = np.concatenate([self.clusters[kept].members, self.clusters[joined].members])
        self.clusters[kept] = made or self._recode(members)
        self.nodes[:, kept] = self.columns.nodes(members)
        self.sketch[kept] += self.sketch[joined]
        del self.clusters[joined]
        self.nodes = np.delete(self.nodes, joined, axis=1)
        self.sketch = np.delete(self.sketch, joined, axis=0)

    def _recode(self, members: NDArray[np.int64]) -> Cluster:
        """Make the sets of a cluster anonymous."""
        shown: dict[str, NDArray[np.int32]] = {}
        loss, items = 0.0, 0
        for name, promise in self.wanted.items():
            part = subset(self.sets[name], members)
            nodes = recode_within(part, promise.k, promise.m)
            shown[name] = nodes
            loss += float(np.where(nodes < 0, 1.0, part.tree.price[nodes]).sum())
            items += part.occurrences
        return Cluster(members, shown, loss, items)

    def _sketch(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = np.zeros(BUCKETS)
        for name in self.wanted:
            codes = subset(self.sets[name], members).items
            counts += np.bincount(codes % BUCKETS, minlength=BUCKETS)
        return counts


def subset(sets: Sets, members: NDArray[np.int64]) -> Sets:
    """Return some of the sets, in the order given."""
    sizes = sets.sizes[members]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.repeat(sets.starts[members] - starts[:-1], sizes) + np.arange(starts[-1])
    return Sets(sets.name, starts, sets.items[places], sets.tree, sets.kind, sets.given)


def recode_within(sets: Sets, k: int, m: int) -> NDArray[np.int32]:
    """Return the node of every item so that the sets are k^m-anonymous among themselves."""
    if int((sets.sizes > 0).sum()) < k:  # not even "something" may be told
        return np.full(sets.occurrences, -1, dtype=np.int32)
    search = Descent(sets, k, m)
    search.run()
    return search.shown
