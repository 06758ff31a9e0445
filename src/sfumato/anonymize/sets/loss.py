"""What a release of sets cost: NCP, deletions, and what became of counts of items and of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.sets.pairs import count_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.sets.recoding import SetRecoding
    from sfumato.data.sets.sets import Sets
    from sfumato.decision import Decision

TOP = 1000
"""How many of the most frequent pairs are looked for again."""


def measure(data: Sets, decision: Decision, artefact: Any) -> Mapping[str, float]:  # noqa: ARG001 - a decision tells
    """Return every loss in [0, 1]: NCP first."""
    content = decision.content
    if hasattr(content, "losses"):
        found: Mapping[str, float] = content.losses()
        return found
    return {
        "NCP": content.ncp,
        "deleted": content.deleted / max(data.occurrences, 1),
        "pairs lost": lost_pairs(content),
        "pair error": pair_error(content),
    }


def lost_pairs(recoding: SetRecoding) -> float:
    """Return the share of the most frequent pairs of items that no released set shows."""
    before, support = top_pairs(recoding.data)
    if not len(before):
        return 0.0
    starts, nodes = recoding.released
    after = count_pairs(starts, nodes.astype(np.int64), before)
    del support
    return float((after == 0).mean())


def pair_error(recoding: SetRecoding) -> float:
    """Return the mean relative error of the count of a frequent pair, at most 1 each.

    The reader spreads a group evenly over its items, as there is nothing else to go by.
    """
    before, support = top_pairs(recoding.data)
    if not len(before):
        return 0.0
    starts, nodes = recoding.released
    tree = recoding.data.tree
    expected = np.zeros(len(before))
    ways = [tree.above(int(v)) for v in range(tree.items)]
    share = (1.0 / (tree.last - tree.first)).tolist()
    wanted: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for q, (a, b) in enumerate(before.tolist()):
        for u in ways[a]:
            for v in ways[b]:
                if u != v:
                    wanted.setdefault((min(u, v), max(u, v)), []).append((q, share[u] * share[v]))
    pairs = np.array(sorted(wanted), dtype=np.int64).reshape(-1, 2)
    counts = count_pairs(starts, nodes.astype(np.int64), pairs)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        if count:
            for q, weight in wanted[pair[0], pair[1]]:
                expected[q] += weight * count
    return float(np.minimum(np.abs(expected - support) / support, 1.0).mean())


def top_pairs(data: Sets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most frequent pairs of items and their supports."""
    from sfumato.anonymize.sets.pairs import frequent_pairs  # noqa: PLC0415 - loads the compiler

    return frequent_pairs(data.starts, data.items.astype(np.int64), data.tree.items, TOP)
