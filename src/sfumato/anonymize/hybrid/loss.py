"""What a release of hybrid records cost: in sets, in rows, and in counts that mix both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.hybrid.artefact import shown_sets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.anonymize.hybrid.algorithms import HybridRecoding
    from sfumato.decision import Decision

QUERIES = 500
LEAST = 0.005
"""Errors are told relative to the count, or to this share of all records where that is more."""


def measure(data: Any, decision: Decision, artefact: Any) -> Mapping[str, float]:  # noqa: ARG001 - a decision tells
    """Return every loss in [0, 1]: that of sets first."""
    recoding: HybridRecoding = decision.content
    rows, sets = recoding.steps[-1]
    gone = sum(int((c.shown[name] < 0).sum()) for c in recoding.clusters for name in c.shown)
    items = sum(len(c.shown[name]) for c in recoding.clusters for name in c.shown)
    return {
        "set NCP": sets,
        "row NCP": rows,
        "deleted": gone / max(items, 1),
        "query error": query_error(recoding),
    }


def query_error(recoding: HybridRecoding, *, queries: int = QUERIES, seed: int = 0) -> float:
    """Return the mean relative error of counts such as "age 30, and has seen Fargo".

    Value and item are those of a random record, so every count is at least one. The reader
    spreads a label evenly over what it may stand for. Errors above 1 count as 1.
    """
    records = recoding.data
    n = len(records)
    rng = np.random.default_rng(seed)  # chooses what is counted, nothing that is released
    names = [name for name, sets in records.sets.items() if sets.occurrences]
    if not names or not records.quasi:
        return 0.0
    group = np.zeros(n, dtype=np.int64)
    for c, cluster in enumerate(recoding.clusters):
        group[cluster.members] = c
    holders = {name: _holders(recoding, name) for name in names}
    errors = []
    for _ in range(queries):
        name = names[int(rng.integers(len(names)))]
        sets = records.sets[name]
        place = int(rng.integers(sets.occurrences))
        record = int(np.searchsorted(sets.starts, place, "right")) - 1
        item = int(sets.items[place])
        a = int(rng.integers(len(records.quasi)))
        column, value = records.quasi[a], int(records.quasi[a].codes[record])
        having = np.zeros(n)
        for node in sets.tree.above(item):
            rows = holders[name].get(node)
            if rows is not None:
                having[rows] += 1 / (sets.tree.last[node] - sets.tree.first[node])
        shown = recoding.nodes[a][group]
        tree = column.tree
        covers = (tree.first[shown] <= value) & (value < tree.last[shown])
        guess = float(
            (np.minimum(having, 1) * covers / (tree.last[shown] - tree.first[shown])).sum()
        )
        owners = np.searchsorted(sets.starts, np.flatnonzero(sets.items == item), "right") - 1
        true = int((column.codes[owners] == value).sum())
        errors.append(min(abs(guess - true) / max(true, LEAST * n), 1.0))
    return float(np.mean(errors))


def _holders(recoding: HybridRecoding, name: str) -> dict[int, list[int]]:
    """Return for each node the records that show it."""
    found: dict[int, list[int]] = {}
    for record, row in enumerate(shown_sets(recoding, name)):
        for node in row:
            found.setdefault(node, []).append(record)
    return found
