"""What disassociation cost: items cut off, links cut, and what pairs a reader still finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.loss import TOP
from sfumato.anonymize.sets.pairs import count_pairs, frequent_pairs
from sfumato.data.sets.chunks import reconstruct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.sets.disassociation import Disassociated
    from sfumato.data.sets.sets import Sets


def measure_chunks(decided: Disassociated) -> Mapping[str, float]:
    """Return every loss in [0, 1]: the share of items cut off first."""
    before, support = frequent_pairs(
        decided.data.starts, decided.data.items.astype(np.int64), decided.data.tree.items, TOP
    )
    found = {"cut off": 1 - decided.kept, "links cut": links_cut(decided)}
    if not len(before):
        return found
    starts, items = _rows(decided)
    seen = count_pairs(starts, items, before)
    after, _ = frequent_pairs(starts, items, decided.data.tree.items, TOP)
    kept = {*map(tuple, before.tolist())} & {*map(tuple, after.tolist())}
    guess = count_pairs(*_sample(decided), before)
    return {
        **found,
        "pair error": float(np.minimum(np.abs(guess - support) / support, 1.0).mean()),
        "pairs lost": float((seen == 0).mean()),
        "frequent pairs lost": 1 - len(kept) / len(before),
    }


def links_cut(decided: Disassociated) -> float:
    """Return the share of pairs of items of one set that are no longer in one row."""
    sizes = decided.data.sizes.astype(np.float64)
    came = float((sizes * (sizes - 1) / 2).sum())
    if not came:
        return 0.0
    starts, _ = _rows(decided)
    rows = np.diff(starts).astype(np.float64)
    return 1 - float((rows * (rows - 1) / 2).sum()) / came


def _rows(decided: Disassociated) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of all chunks as compressed sets."""
    inside = np.flatnonzero(decided.chunk_of >= 0)
    most = int(decided.chunk_of.max(initial=0)) + 1
    keys = decided.set_of[inside] * most + decided.chunk_of[inside]
    order = np.lexsort([decided.data.items[inside], keys])
    _, sizes = np.unique(keys, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts, decided.data.items[inside][order].astype(np.int64)


def _sample(decided: Disassociated) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one reconstruction as compressed sets."""
    data: Sets = decided.data
    sets = reconstruct(decided.artefact().chunked, seed=decided.seed)
    codes = data.tree.codes
    sizes = np.fromiter((len(members) for members in sets), np.int64, len(sets))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    items = np.array([codes[item] for members in sets for item in sorted(
        members, key=codes.__getitem__)], dtype=np.int64)  # fmt: skip
    return starts, items
