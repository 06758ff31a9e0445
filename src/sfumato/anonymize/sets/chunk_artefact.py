"""Clusters and chunks as they are given away: in random order, rows of every chunk too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.sets.chunks import NAME, Chunk, ChunkedSets, Cluster, reconstruct
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from sfumato.anonymize.sets.disassociation import Disassociated


@dataclass(frozen=True, eq=False, repr=False)
class ChunksArtefact:
    """The clusters and chunks of a release."""

    chunked: ChunkedSets

    def __len__(self) -> int:
        return len(self.chunked)

    @property
    def data(self) -> ChunkedSets:
        """The clusters and chunks."""
        return self.chunked

    def sample(self, *, seed: int | None = None) -> list[list[str]]:
        """Return sets that may have been the original, other ones on every call."""
        return reconstruct(self.chunked, seed=seed)

    def write(self, folder: Path, file_format: str | None = None) -> Path:
        """Write `chunks.json`."""
        if file_format not in {None, "json"}:
            raise DataError(f"Disassociated sets are written as 'json', not '{file_format}'.")
        path = folder / NAME
        self.chunked.write(path)
        return path

    def manifest(self) -> dict[str, Any]:
        """Return how many clusters and chunks there are, and what they mean."""
        shared = sum(len(chunk.clusters) > 1 for chunk in self.chunked.chunks)
        return {
            "clusters": len(self.chunked.clusters),
            "chunks": len(self.chunked.chunks),
            "chunks_of_several_clusters": shared,
            "meaning": "rows of different chunks cannot be joined; every row is a part of one set",
        }


def show_chunks(decided: Disassociated) -> ChunksArtefact:
    """Return clusters, chunks and their rows, each in random order."""
    words = RandomWords(decided.seed)
    data = decided.data
    sizes = np.bincount(decided.cluster_of[decided.cluster_of >= 0])
    order = _shuffled(len(sizes), words)
    place = np.empty(len(sizes), dtype=np.int64)
    place[order] = np.arange(len(sizes))
    cluster = decided.cluster_of[decided.set_of]
    free = decided.chunk_of < 0
    keys = np.unique(cluster[free] * data.tree.items + data.items[free])
    terms: list[list[str]] = [[] for _ in sizes]
    for key in keys.tolist():
        terms[key // data.tree.items].append(data.tree.labels[key % data.tree.items])
    clusters = tuple(Cluster(int(sizes[c]), tuple(terms[c])) for c in order.tolist())
    return ChunksArtefact(ChunkedSets(clusters, _chunks(decided, cluster, place, words)))


def _chunks(
    decided: Disassociated,
    cluster: NDArray[np.int64],
    place: NDArray[np.int64],
    words: RandomWords,
) -> tuple[Chunk, ...]:
    labels = decided.data.tree.labels
    inside = np.flatnonzero(decided.chunk_of >= 0)
    items: NDArray[np.int64] = decided.data.items[inside].astype(np.int64)
    inside = inside[np.lexsort([items, decided.set_of[inside], decided.chunk_of[inside]])]
    chunk, owner = decided.chunk_of[inside], decided.set_of[inside]
    new = np.flatnonzero(
        np.concatenate([[True], (chunk[1:] != chunk[:-1]) | (owner[1:] != owner[:-1])])
    )
    texts = [labels[item] for item in decided.data.items[inside].tolist()]
    ends = np.append(new[1:], len(inside)).tolist()
    rows = [tuple(texts[b:e]) for b, e in zip(new.tolist(), ends, strict=True)]
    heads = chunk[new]
    bounds = np.searchsorted(heads, np.arange(int(heads.max(initial=-1)) + 2))
    found = []
    for number in _shuffled(len(bounds) - 1, words).tolist():
        low, high = int(bounds[number]), int(bounds[number + 1])
        if low == high:
            continue
        members = np.unique(cluster[inside[new[low:high]]])
        mixed = [rows[low + i] for i in _shuffled(high - low, words).tolist()]
        found.append(Chunk(tuple(sorted(place[members].tolist())), tuple(mixed)))
    return tuple(found)


def _shuffled(n: int, words: RandomWords) -> NDArray[np.int64]:
    order = np.arange(n, dtype=np.int64)
    shuffle(order, words)
    return order
