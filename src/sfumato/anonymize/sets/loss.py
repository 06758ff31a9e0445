"""What a release of sets cost: NCP, utility loss, deletions, errors of counts, lost pairs.

*NCP* is the share of all items that a label may stand for, *utility loss* (COAT: Loukides,
Gkoulalas-Divanis, Malin, KAIS 2011) the share of all itemsets, (2^|g| − 1)/(2^|I| − 1); both are
means over the items of all sets, 1 where an item was deleted. Counts are those a reader would
estimate, who spreads a group evenly over its items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.sets.pairs import count_pairs, frequent_pairs

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
        "utility loss": utility_loss(content),
        "deleted": content.deleted / max(data.occurrences, 1),
        "count error": count_error(content),
        "pair error": pair_error(content),
        "pairs lost": lost_pairs(content),
        "frequent pairs lost": lost_frequent_pairs(content),
    }


def utility_loss(recoding: SetRecoding) -> float:
    """Return the mean share of all itemsets that a released label may stand for."""
    tree, nodes = recoding.data.tree, recoding.nodes
    if not len(nodes):
        return 0.0
    covered = (tree.last - tree.first).astype(np.float64)
    whole = -np.expm1(-tree.items * np.log(2.0))  # (2^n − 1)/2^n, without computing 2^n
    share = (np.exp2(covered - tree.items) - np.exp2(-float(tree.items))) / whole
    share = np.where(np.arange(tree.nodes) < tree.items, 0.0, share)
    return float(np.where(nodes < 0, 1.0, share[nodes]).mean())


def count_error(recoding: SetRecoding) -> float:
    """Return the mean relative error of the count of a frequent item, at most 1 each."""
    data, tree = recoding.data, recoding.data.tree
    frequent = np.argsort(-data.frequency, kind="stable")[:TOP]
    frequent = frequent[data.frequency[frequent] > 0]
    _, nodes = recoding.released
    spread = np.bincount(nodes, minlength=tree.nodes) / (tree.last - tree.first)
    expected = np.array([spread[tree.above(int(item))].sum() for item in frequent])
    support = data.frequency[frequent]
    return float(np.minimum(np.abs(expected - support) / support, 1.0).mean())


def lost_frequent_pairs(recoding: SetRecoding) -> float:
    """Return the share of the most frequent pairs that are not among those of the release."""
    before, _ = top_pairs(recoding.data)
    if not len(before):
        return 0.0
    starts, nodes = recoding.released
    alone = nodes < recoding.data.tree.items
    starts = np.concatenate([[0], np.cumsum(alone)])[starts].astype(np.int64)
    items = nodes[alone].astype(np.int64)
    after, _ = frequent_pairs(starts, items, recoding.data.tree.items, TOP)
    kept = {*map(tuple, before.tolist())} & {*map(tuple, after.tolist())}
    return 1 - len(kept) / len(before)


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
    return frequent_pairs(data.starts, data.items.astype(np.int64), data.tree.items, TOP)
