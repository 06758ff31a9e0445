"""Verify a disassociated release: that k sets may hold whatever is known of one of them.

From the file alone, in formulas of its own. Four things must be true of clusters and chunks; that
they suffice is proved here again, for it is what the verdict rests on.

1. *Supports*: in every chunk, each itemset of up to m items that is in a row is in at least k rows.
2. *Places*: in every cluster an item has one place, in one of its chunks or among its terms. So
   known items of a set of the cluster fall into the parts of its chunks and terms in one way.
3. *Room*: every cluster has at least k sets, and a chunk at most as many rows as its clusters have
   sets. So the k rows of each part can be given to the same k sets, and all other rows to others.
4. *No empty set*: a cluster without terms has enough rows in chunks of its own to reach the sets
   that are left: at least |P| + k·(min(m, own chunks) − 1). Terms, of which nobody knows how
   many sets hold them, fill them otherwise.

Then there is an original that fits the release, in which k sets of the cluster hold what is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.itemsets import KmAnonymity
from sfumato.audit.verification.findings import FileFinding
from sfumato.audit.verification.itemset_counts import find_rarest
from sfumato.audit.verification.rows import Bottleneck, FigureRow
from sfumato.audit.verification.verify import Verification
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.promise import StatedPromise
    from sfumato.released.chunks import ChunksView


def verify_chunks(view: ChunksView, stated: StatedPromise) -> Verification:
    """Hold k^m-anonymity against clusters and chunks."""
    parts = () if stated.definition is None else stated.definition.parts
    rows, findings = [], list(_misplaced(view))
    for part in parts:
        if not isinstance(part, KmAnonymity):
            raise ParameterError(
                f"{part} cannot be told from a disassociated release; it keeps k^m-anonymity."
            )
        rows.append(_supports(view, part))
        findings += [*_no_room(view, part), *_empty_sets(view, part)]
    sizes = [cluster.size for cluster in view.chunked.clusters]
    smallest = int(np.argmin(sizes)) if sizes else 0
    measured = (
        FigureRow("smallest cluster", "", float(sizes[smallest]),
            Bottleneck(view.describe(smallest), sizes[smallest])),
    ) if sizes else ()  # fmt: skip
    return Verification(
        source=view.source,
        records=view.records,
        classes=len(sizes),
        promises=tuple(rows),
        measured=measured,
        findings=tuple(findings),
        unchecked=stated.own,
        unit="set",
    )


def _supports(view: ChunksView, part: KmAnonymity) -> FigureRow:
    """Find the rarest itemset of any chunk; an item of another chunk is another item."""
    starts, items, chunk = view.flat
    name = f"support of {part.m} items"
    if not len(items):
        return FigureRow(name, "", None, None, str(part), holds=True)
    width = len(view.labels)
    keys = np.repeat(chunk, np.diff(starts)) * width + items
    used, codes = np.unique(keys, return_inverse=True)
    weights = np.ones(len(starts) - 1, dtype=np.int64)
    support, witness = find_rarest(
        starts, codes.reshape(-1).astype(np.int64), weights, len(used), part.m
    )
    names = [view.labels[int(used[a]) % width] for a in witness if a >= 0]
    worst = Bottleneck({"itemset": "{" + ", ".join(names) + "}"}, int(support))
    return FigureRow(name, "", float(support), worst, str(part), holds=support >= part.k)


def _misplaced(view: ChunksView) -> Iterator[FileFinding]:
    """Find clusters in which an item has two places, and rows that hold one twice or nothing."""
    starts, items, chunk = view.flat
    if (np.diff(starts) == 0).any():
        yield FileFinding("rows", "", "a chunk has an empty row", serious=True)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    width = max(len(view.labels), 1)
    if len(np.unique(rows * width + items)) < len(items):
        yield FileFinding("rows", "", "a row holds an item twice", serious=True)
    held = np.unique(chunk[rows] * width + items)
    bounds = np.searchsorted(held, np.arange(len(view.chunked.chunks) + 1) * width)
    own: list[set[int]] = [{view.codes[term] for term in c.terms} for c in view.chunked.clusters]
    twice = sum(len(cluster.terms) for cluster in view.chunked.clusters) != sum(map(len, own))
    for number, part in enumerate(view.chunked.chunks):
        mine = set((held[bounds[number] : bounds[number + 1]] % width).tolist())
        for place in set(part.clusters):
            twice = twice or not own[place].isdisjoint(mine)
            own[place] |= mine
        twice = twice or len(set(part.clusters)) < len(part.clusters) or not part.clusters
    if twice:
        text = "an item has two places in a cluster, so chunks may be joined by it"
        yield FileFinding("places", "", text, serious=True)


def _no_room(view: ChunksView, part: KmAnonymity) -> Iterator[FileFinding]:
    clusters = view.chunked.clusters
    small = sum(cluster.size < part.k for cluster in clusters)
    if small:
        text = f"{small} cluster(s) have fewer than {part.k} sets"
        yield FileFinding("clusters", "", text, serious=True)
    crowded = sum(
        len(chunk.rows) > sum(clusters[place].size for place in chunk.clusters)
        for chunk in view.chunked.chunks
    )
    if crowded:
        text = f"{crowded} chunk(s) have more rows than their clusters have sets"
        yield FileFinding("chunks", "", text, serious=True)


def _empty_sets(view: ChunksView, part: KmAnonymity) -> Iterator[FileFinding]:
    """Find clusters without terms whose own rows do not reach every set."""
    clusters = view.chunked.clusters
    rows, own = np.zeros(len(clusters), np.int64), np.zeros(len(clusters), np.int64)
    for chunk in view.chunked.chunks:
        if len(chunk.clusters) == 1:
            rows[chunk.clusters[0]] += len(chunk.rows)
            own[chunk.clusters[0]] += 1
    short = sum(
        not cluster.terms and r < cluster.size + part.k * (max(min(part.m, c), 1) - 1)
        for cluster, r, c in zip(clusters, rows.tolist(), own.tolist(), strict=True)
    )
    if short:
        text = (
            f"{short} cluster(s) have neither a term nor enough rows, so known items of two chunks "
            "would leave a set empty"
        )
        yield FileFinding("clusters", "", text, serious=True)
