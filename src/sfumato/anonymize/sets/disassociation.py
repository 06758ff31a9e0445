"""Disassociation: no item is changed or deleted; which items belong together is hidden.

Sets are gathered into clusters of like ones; within a cluster, items go into chunks whose rows are
k^m-anonymous, and rows of different chunks cannot be joined again. Items of fewer than k sets of a
cluster become *terms*: it is told that some set of the cluster holds them. Refinement then takes
terms of neighbouring clusters together, level by level: those that k of their sets share make
chunks that belong to several clusters.

*Why it is k^m-anonymous.* Take up to m items of a set of cluster P. Each is a term of P or in a
chunk of P. Those in one chunk are in at least k rows of it, or in none. Put the first k of these
rows, for each chunk concerned, to the same k sets of P (P has at least k; rows of a chunk go to any
sets of its clusters), and the terms concerned to the same sets: how many sets hold a term is not
said. This is a possible original in which k sets hold all the items. Its other sets must not be
empty, since everybody knows that baskets are not: where P has terms, they fill the others; where it
has none,
the rows of its own chunks must suffice, r ≥ |P| + k·(min(m, chunks) − 1), or the algorithm keeps
one item as a term (Terrovitis, Mamoulis, Liagouris, Skiadopoulos, VLDB 2012, lemma 2).

*What it does not promise.* There is one such original, not that all originals are equally likely:
whoever knows how many sets hold a term learns more, and an item in all rows of two chunks
links them (Awad, Al Bouna, Bou Tannous, Angelidakis 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.disassociation_kernel import gather_chunks, gather_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.sets.chunk_artefact import ChunksArtefact
    from sfumato.data.sets.sets import Sets

TERM = -1
FANOUT = 4
"""How many groups of clusters are refined together on the next level."""
SIZE = 12
"""Most sets of a cluster, in multiples of k."""
TRIES, FEW_TRIES = 400, 40
"""Items that may fail to join a chunk before it closes: in a cluster, and in larger groups."""
CELLS = 500_000_000
"""Most cells of the table of clusters by items."""


@dataclass(frozen=True, eq=False, repr=False)
class Disassociated:
    """What was decided: the cluster of every set, the chunk of every item of every set.

    `chunk_of` is `TERM` where the item is a term of its cluster. Sets without items have the
    cluster −1: they are not released.
    """

    data: Sets
    cluster_of: NDArray[np.int64]
    chunk_of: NDArray[np.int64]
    k: int
    m: int
    seed: int | None = field(default=None)

    @property
    def kept(self) -> float:
        """Share of items that are in a chunk, so that how often they occur is known."""
        return float((self.chunk_of != TERM).mean()) if len(self.chunk_of) else 1.0

    @cached_property
    def set_of(self) -> NDArray[np.int64]:
        """The set of every item."""
        return np.repeat(np.arange(len(self.data)), self.data.sizes)

    def artefact(self) -> ChunksArtefact:
        """Return what is given away."""
        from sfumato.anonymize.sets.chunk_artefact import show_chunks  # noqa: PLC0415 - uses this

        return show_chunks(self)

    def losses(self) -> Mapping[str, float]:
        """Return what was cut."""
        from sfumato.anonymize.sets.chunk_loss import measure_chunks  # noqa: PLC0415 - uses this

        return measure_chunks(self)


def disassociate(data: Sets, k: int, m: int, size: int | None = None) -> Disassociated:
    """Gather clusters, make chunks in each, then refine terms across clusters."""
    most = max(size or SIZE * k, 2 * k, -(-len(data) * data.tree.items // CELLS))
    full = np.flatnonzero(data.sizes > 0)
    starts = np.concatenate([[0], np.cumsum(data.sizes[full])]).astype(np.int64)
    order, begins = gather_clusters(starts, data.items, data.tree.items, k, most)
    cluster_of = np.full(len(data), -1, dtype=np.int64)
    cluster_of[full[order]] = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    search = _Chunks(data, cluster_of, k, m)
    search.make_chunks()
    search.keep_terms()
    search.refine()
    return Disassociated(data, cluster_of, search.chunk_of, k, m)


@dataclass
class _Chunks:
    """The search for chunks: `own[c, a]` tells that cluster c has item a in a chunk."""

    data: Sets
    cluster_of: NDArray[np.int64]
    k: int
    m: int

    def __post_init__(self) -> None:
        self.clusters = int(self.cluster_of.max()) + 1
        self.own = np.zeros((self.clusters, self.data.tree.items), dtype=np.bool_)
        self.chunk_of = np.full(self.data.occurrences, TERM, dtype=np.int64)
        self.set_of = np.repeat(np.arange(len(self.data)), self.data.sizes)
        order = np.argsort(self.cluster_of[self.set_of], kind="stable")
        self.places = order  # items of all sets, cluster by cluster, sets in their order
        self.bounds = np.searchsorted(
            self.cluster_of[self.set_of][order], np.arange(self.clusters + 1)
        )
        self.made = 0

    def make_chunks(self) -> None:
        """Make the chunks of every cluster by itself."""
        for c in range(self.clusters):
            self._make(self.places[self.bounds[c] : self.bounds[c + 1]], TRIES)

    def refine(self) -> None:
        """Make chunks of terms of ever larger groups of neighbouring clusters."""
        span = 1
        while span < self.clusters:
            span *= FANOUT
            for low in range(0, self.clusters, span):
                high = min(low + span, self.clusters)
                here = self.places[self.bounds[low] : self.bounds[high]]
                free = here[self.chunk_of[here] == TERM]
                own = self.own[self.cluster_of[self.set_of[free]], self.data.items[free]]
                self._make(free[~own], FEW_TRIES)

    def _make(self, places: NDArray[np.int64], tries: int) -> None:
        """Make chunks of items at some places, those in k sets."""
        codes = self.data.items[places]
        often = np.bincount(codes, minlength=self.data.tree.items)
        places = places[often[codes] >= self.k]
        if not len(places):
            return
        used, local = np.unique(self.data.items[places], return_inverse=True)
        rows, row = np.unique(self.set_of[places], return_inverse=True)
        order = np.lexsort([local.reshape(-1), row.reshape(-1)])
        places, local, row = places[order], local.reshape(-1)[order], row.reshape(-1)[order]
        starts = np.searchsorted(row, np.arange(len(rows) + 1)).astype(np.int64)
        groups, member = np.unique(self.cluster_of[rows], return_inverse=True)
        own = self.own[np.ix_(groups, used)]
        known = min(self.m, self.data.longest)
        chunk = gather_chunks(
            starts, local, len(used), member.reshape(-1), own, self.k, known, tries
        )
        self._take(places, chunk[local], groups, member.reshape(-1)[row], used, chunk)

    def _take(
        self,
        places: NDArray[np.int64],
        chunk: NDArray[np.int64],
        groups: NDArray[np.int64],
        group: NDArray[np.int64],
        used: NDArray[np.int32],
        chunk_of_item: NDArray[np.int64],
    ) -> None:
        """Write chunks down, and that their clusters have all their items in them."""
        inside = chunk >= 0
        self.chunk_of[places[inside]] = chunk[inside] + self.made
        count = int(chunk.max(initial=-1)) + 1
        pairs = np.unique(group[inside] * count + chunk[inside])
        order = np.argsort(chunk_of_item, kind="stable")
        bounds = np.searchsorted(chunk_of_item[order], np.arange(count + 1))
        for pair in pairs.tolist():
            number = pair % count
            mine = used[order[bounds[number] : bounds[number + 1]]]
            self.own[groups[pair // count], mine] = True
        self.made += count

    def keep_terms(self) -> None:
        """Keep one term where rows would not suffice without it; make one where there is none."""
        frequency = self.data.frequency
        for c in range(self.clusters):
            here = self.places[self.bounds[c] : self.bounds[c + 1]]
            if self._suffices(c, here):
                continue
            free = here[self.chunk_of[here] == TERM]
            if len(free):
                items, counts = np.unique(self.data.items[free], return_counts=True)
                rarest = items[np.lexsort([frequency[items], counts])[0]]
                self.own[c, rarest] = True  # stays a term: refinement leaves it alone
            else:
                items, counts = np.unique(self.data.items[here], return_counts=True)
                rarest = items[np.argmin(counts)]
                self.chunk_of[here[self.data.items[here] == rarest]] = TERM

    def _suffices(self, c: int, here: NDArray[np.int64]) -> bool:
        """Tell whether the rows of the chunks of a cluster fill it without any term."""
        inside = here[self.chunk_of[here] != TERM]
        size = len(np.unique(self.set_of[here]))
        chunks = len(np.unique(self.chunk_of[inside]))
        rows = len(np.unique(self.set_of[inside] * (self.made + 1) + self.chunk_of[inside]))
        del c
        return rows >= size + self.k * (min(self.m, chunks) - 1) and chunks > 0
