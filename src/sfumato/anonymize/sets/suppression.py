"""Deletion of whole items until every part of a promise holds: an item deleted leaves no trace.

Serves every definition about sets, alone or behind another algorithm. An item is taken out of all
sets at once, so sets that were alike stay alike, and a support that was large enough stays so:
k-anonymity, k^m-anonymity and coherence are kept by deletion. Where a secret follows too surely
from what is known, the cheapest of the items in the rule goes; where a named itemset or an itemset
of public items is rare, the cheapest of its items. Every step deletes an item, so it ends.

Which sets hold what is asked of the released labels, through the same eyes as a stranger.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.anonymity import KAnonymity
from sfumato.anonymize.definitions.definition import TOLERANCE, Definition
from sfumato.anonymize.definitions.itemsets import (
    Coherence,
    ItemConstraints,
    ItemDiversity,
    KmAnonymity,
    RhoUncertainty,
)
from sfumato.anonymize.sets.recoding import DELETED, SetRecoding
from sfumato.anonymize.sets.supports import blame
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

Row = frozenset[int]


def suppress(recoding: SetRecoding, promise: Definition) -> SetRecoding:
    """Delete items (as they are shown) until every part of the promise holds."""
    nodes = recoding.nodes.copy()
    while True:
        current = SetRecoding(recoding.data, nodes, recoding.bag)
        guilty = _guilty(current, promise)
        if not len(guilty):
            return current
        weight = np.bincount(nodes[nodes >= 0], minlength=recoding.data.tree.nodes)
        score = guilty / np.maximum(weight, 1)
        nodes[nodes == int(np.argmax(score))] = DELETED


def _guilty(recoding: SetRecoding, promise: Definition) -> NDArray[np.float64]:
    """Return how many breaches each shown node takes part in; nothing where all holds."""
    total = np.zeros(recoding.data.tree.nodes)
    broken = False
    for part in promise.parts:
        for nodes in _breaches(part, recoding, promise):
            total[list(nodes)] += 1
            broken = True
    return total if broken else np.zeros(0)


def _breaches(part: Definition, recoding: SetRecoding, promise: Definition) -> Iterator[Row]:
    """Give the nodes of itemsets that break one part of a promise."""
    if isinstance(part, KmAnonymity):
        yield from _rare(recoding, part.k, part.m, frozenset())
    elif isinstance(part, Coherence):
        private = _codes(recoding, part.private)
        yield from _rare(recoding, part.k, part.p, private)
        yield from _sure(recoding, private, part.h, part.p, known_secrets=False)
    elif isinstance(part, RhoUncertainty):
        private = _codes(recoding, part.sensitive_items)
        yield from _sure(recoding, private, part.rho, part.m, known_secrets=True)
    elif isinstance(part, ItemConstraints):
        yield from _constrained(recoding, part)
    elif isinstance(part, ItemDiversity):
        yield from _uniform(recoding, part, promise)
    elif isinstance(part, KAnonymity):
        yield from _alone(recoding, part, promise)
    else:
        raise ParameterError(f"{part} says nothing about sets of items.")


def _sets(recoding: SetRecoding) -> list[Row]:
    starts, nodes = recoding.released
    flat = nodes.tolist()
    return [frozenset(flat[b:e]) for b, e in itertools.pairwise(starts) if e > b]


def _codes(recoding: SetRecoding, items: tuple[str, ...]) -> Row:
    codes = recoding.data.tree.codes
    return frozenset(codes[item] for item in items if item in codes)


def _rare(recoding: SetRecoding, k: int, m: int, private: Row) -> Iterator[Row]:
    """Give one breach per guilty node; how many itemsets it is in decides elsewhere."""
    starts, nodes = recoding.released
    if private:
        kept = ~np.isin(nodes, list(private))
        starts = np.concatenate([[0], np.cumsum(kept)])[starts].astype(np.int64)
        nodes = nodes[kept]
    rare, guilt = blame(starts, nodes, recoding.data.tree.nodes, k, m, False)
    if rare:
        for node in np.flatnonzero(guilt):
            for _ in range(min(int(guilt[node]), 1000)):
                yield frozenset({int(node)})


def _sure(
    recoding: SetRecoding, private: Row, share: float, m: int | None, *, known_secrets: bool
) -> Iterator[Row]:
    """Give rules by which a secret follows too surely: what is known, and the secret."""
    sets = _sets(recoding)
    for secret in private:
        holders = [members - {secret} for members in sets if secret in members]
        for known in _occurring(holders, m, frozenset() if known_secrets else private):
            support = sum(known <= members for members in sets)
            together = sum(known <= members for members in holders)
            if together > (share + TOLERANCE) * support:
                yield known | {secret}
                break


def _occurring(holders: list[Row], m: int | None, barred: Row) -> Iterator[Row]:
    """Give the itemsets of up to m items that occur; all intersections of sets without an m."""
    if not holders:
        return
    if m is None:
        found: set[Row] = {frozenset()}
        for members in {members - barred for members in holders}:
            found |= {members & other for other in found} | {members}
        yield from found
        return
    level: set[Row] = {frozenset()}
    for _ in range(m + 1):
        yield from level
        level = {
            known | {a} for known in level for members in holders if known <= members
            for a in members - known - barred
        }  # fmt: skip


def _constrained(recoding: SetRecoding, part: ItemConstraints) -> Iterator[Row]:
    tree, sets = recoding.data.tree, _sets(recoding)
    for wanted in part.itemsets:
        if not all(item in tree.codes for item in wanted):
            continue
        ways = [frozenset(tree.above(tree.codes[item])) for item in wanted]
        matching = [members for members in sets if all(members & way for way in ways)]
        if 0 < len(matching) < part.k:
            yield frozenset(node for way in ways for members in matching for node in members & way)


def _uniform(recoding: SetRecoding, part: ItemDiversity, promise: Definition) -> Iterator[Row]:
    hidden = _codes(recoding, _secrets(promise))
    groups: dict[Row, list[Row]] = {}
    for members in _sets(recoding):
        groups.setdefault(members - hidden, []).append(members)
    for group in groups.values():
        for secret in _codes(recoding, part.sensitive_items):
            if sum(secret in members for members in group) * part.l > len(group) * (1 + TOLERANCE):
                yield frozenset({secret})


def _alone(recoding: SetRecoding, part: KAnonymity, promise: Definition) -> Iterator[Row]:
    hidden = _codes(recoding, _secrets(promise))
    counts: dict[Row, int] = {}
    for members in _sets(recoding):
        counts[members - hidden] = counts.get(members - hidden, 0) + 1
    for members, count in counts.items():
        if count < part.k and members:
            yield members


def _secrets(promise: Definition) -> tuple[str, ...]:
    return tuple({item for part in promise.parts for item in getattr(part, "secret", ())})
