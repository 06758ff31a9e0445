"""A disassociated release as a stranger sees it: clusters, and chunks that cannot be joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.data.sets.chunks import ChunkedSets, read_chunks
from sfumato.released.sets import SetsView, see_sets
from sfumato.released.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunksView(View):
    """Clusters and chunks; the groups are the clusters, within which any row may be anybody's."""

    shape: ClassVar[str] = "sets"
    unit: ClassVar[str] = "set"

    chunked: ChunkedSets

    @property
    def records(self) -> int:
        """Number of sets."""
        return len(self.chunked)

    def groups(self, definition: Definition | None = None) -> Classes:  # noqa: ARG002 - clusters
        """Return the clusters."""
        return Classes(np.array([c.size for c in self.chunked.clusters], dtype=np.int64))

    def describe(self, group: int) -> Mapping[str, str]:
        """Call a cluster by its number."""
        return {"cluster": str(group + 1)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every item that is released, in a chunk or as a term."""
        found = {item for cluster in self.chunked.clusters for item in cluster.terms}
        found |= {item for chunk in self.chunked.chunks for row in chunk.rows for item in row}
        return tuple(sorted(found))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Item by its text."""
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def flat(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """All rows as compressed sets of item codes, ascending, and the chunk of each row."""
        rows = [
            sorted(self.codes[item] for item in row)
            for chunk in self.chunked.chunks
            for row in chunk.rows
        ]
        sizes = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        items = np.array([code for row in rows for code in row], dtype=np.int64)
        counts = [len(chunk.rows) for chunk in self.chunked.chunks]
        return starts, items, np.repeat(np.arange(len(counts)), counts)

    def rows(self) -> SetsView:
        """Return the rows of all chunks as sets: all that known items can be looked up in."""
        rows = [list(row) for chunk in self.chunked.chunks for row in chunk.rows]
        return see_sets(rows, called=self.source, promise=self.promise)


def see_chunks(
    source: Any, *, called: str | None = None, promise: Any = None, **_: Any
) -> ChunksView:
    """Look at `chunks.json`, or at clusters and chunks in memory."""
    chunked = source if isinstance(source, ChunkedSets) else read_chunks(source)
    name = str(source) if isinstance(source, str | Path) else "the chunks"
    return ChunksView(source=called or name, promise=promise, chunked=chunked)


def is_chunked(source: Any) -> bool:
    """Tell a disassociated release from others."""
    return isinstance(source, ChunkedSets) or (
        isinstance(source, str | Path) and Path(source).suffix == ".json"
    )
