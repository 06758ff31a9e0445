"""What tells a secret too surely, however much is known: a search among closed itemsets.

For any known items q, let q′ be what all holders of the secret with q have in common. As many
holders have q′ as q, and no more sets have it, so the secret follows from q′ at least as surely.
The q′ are intersections of holders' sets: those are tried, until there are too many.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MOST = 200_000
"""Most closed itemsets tried for one secret; verification gives up at the same number."""


def surest_known(
    starts: NDArray[np.int64],
    shown: NDArray[np.int32],
    marked: NDArray[np.bool_],
    limit: float,
    gone: Iterable[int],
) -> frozenset[int] | None:
    """Return known labels that tell whether a set is marked more surely than the limit."""
    left = frozenset(gone)
    flat = shown.tolist()
    sets = [frozenset(flat[b:e]) - left for b, e in itertools.pairwise(starts)]
    holders = {members for members, held in zip(sets, marked, strict=True) if held}
    everywhere = _bitmaps(sets, {item for members in holders for item in members})
    secret = int.from_bytes(np.packbits(marked).tobytes(), "big")
    for known in _closed(holders):
        if known:
            having = -1
            for item in known:
                having &= everywhere[item]
            if (having & secret).bit_count() > limit * having.bit_count():
                return known
    return None


def _bitmaps(sets: list[frozenset[int]], items: set[int]) -> dict[int, int]:
    """Return for every item the sets that hold it, a bit each, the first set highest."""
    rows: dict[int, list[int]] = {item: [] for item in items}
    for place, members in enumerate(sets):
        for item in members:
            if item in rows:
                rows[item].append(place)
    found = {}
    for item, places in rows.items():
        flags = np.zeros(len(sets), dtype=np.bool_)
        flags[places] = True
        found[item] = int.from_bytes(np.packbits(flags).tobytes(), "big")
    return found


def _closed(sets: set[frozenset[int]]) -> set[frozenset[int]]:
    """Return all intersections of the given sets."""
    found: set[frozenset[int]] = set()
    for members in sets:
        found |= {members & other for other in found} | {members}
        if len(found) > MOST:
            raise Unsatisfiable(
                "There are too many combinations of items to protect a secret against any number "
                "of known items; promise it against at most m, with RhoUncertainty(…, m=…)."
            )
    return found
