"""Sets taken apart: clusters of sets, and chunks of rows that nobody can put together again.

A cluster says how many sets it has. A chunk belongs to one cluster or to several; each of its rows
is a part of one set of those clusters, and no two chunks of a cluster have an item in common. The
*terms* of a cluster are items that are in some of its sets; which and how many is not said.

On disk this is one JSON file: ``{"clusters": [{"size", "terms"}, …], "chunks": [{"clusters",
"rows"}, …]}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAME = "chunks.json"


@dataclass(frozen=True)
class Cluster:
    """How many sets there are, and items that some of them hold."""

    size: int
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chunk:
    """Parts of sets of some clusters, given by their places; every row holds at least one item."""

    clusters: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ChunkedSets:
    """Clusters and chunks."""

    clusters: tuple[Cluster, ...]
    chunks: tuple[Chunk, ...]

    def __len__(self) -> int:
        return sum(cluster.size for cluster in self.clusters)

    def write(self, path: Path) -> None:
        """Write it as JSON, a line per cluster and chunk."""
        clusters = [{"size": c.size, "terms": list(c.terms)} for c in self.clusters]
        chunks = [{"clusters": list(c.clusters), "rows": [*map(list, c.rows)]} for c in self.chunks]
        with path.open("w", encoding="utf-8") as file:
            file.write('{"clusters": [\n')
            file.write(",\n".join(json.dumps(entry, ensure_ascii=False) for entry in clusters))
            file.write('\n],\n"chunks": [\n')
            file.write(",\n".join(json.dumps(entry, ensure_ascii=False) for entry in chunks))
            file.write("\n]}\n")


def read_chunks(path: str | Path) -> ChunkedSets:
    """Read what `ChunkedSets.write` wrote."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        clusters = tuple(
            Cluster(_size(entry["size"]), _texts(entry["terms"])) for entry in found["clusters"]
        )
        chunks = tuple(
            Chunk(_places(entry["clusters"], len(clusters)), tuple(map(_texts, entry["rows"])))
            for entry in found["chunks"]
        )
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise DataError(
            f"{path} does not hold clusters and chunks, as a disassociated release does."
        ) from None
    return ChunkedSets(clusters, chunks)


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError
    return tuple(value)


def _places(value: Any, count: int) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(isinstance(p, int) and 0 <= p < count for p in value):
        raise ValueError
    return tuple(value)


def reconstruct(chunked: ChunkedSets, *, seed: int | None = None) -> list[list[str]]:
    """Return sets that may have been the original: rows of chunks joined at random.

    A term goes to one set of its cluster, and to every one that would be empty without it; where
    there is none, rows are given on. Without a `seed` every call gives other sets; whatever is
    counted is best averaged over several.
    """
    words = RandomWords(seed)
    first, total = [], 0
    for cluster in chunked.clusters:
        first.append(total)
        total += cluster.size
    sets: list[list[tuple[str, ...]]] = [[] for _ in range(total)]
    for chunk in chunked.chunks:
        slots = [
            slot
            for place in chunk.clusters
            for slot in range(first[place], first[place] + chunked.clusters[place].size)
        ]
        for slot, row in zip(_shuffled(slots, words), chunk.rows, strict=False):
            sets[slot].append(row)
    for begin, cluster in zip(first, chunked.clusters, strict=True):
        _fill(sets, _shuffled(range(begin, begin + cluster.size), words), cluster.terms)
    return [[item for row in sets[slot] for item in row] for slot in _shuffled(range(total), words)]


def _fill(sets: list[list[tuple[str, ...]]], slots: list[int], terms: tuple[str, ...]) -> None:
    """Give every term to a set, empty ones first, and leave none empty where that can be."""
    empty = [slot for slot in slots if not sets[slot]]
    others = [slot for slot in slots if sets[slot]]
    for number, term in enumerate(terms):
        slot = empty[number] if number < len(empty) else slots[number % len(slots)]
        sets[slot].append((term,))
    rich = (slot for slot in others if len(sets[slot]) > 1)
    for number, slot in enumerate(empty[len(terms) :]):
        if terms:
            sets[slot].append((terms[number % len(terms)],))
        elif (giver := next(rich, None)) is not None:
            sets[slot].append(sets[giver].pop())


def _shuffled(places: Iterable[int], words: RandomWords) -> list[int]:
    order = np.fromiter(places, np.int64)
    shuffle(order, words)
    found: list[int] = order.tolist()
    return found


def items_of(rows: Sequence[Sequence[str]]) -> set[str]:
    """Return the items of all rows."""
    return {item for row in rows for item in row}
