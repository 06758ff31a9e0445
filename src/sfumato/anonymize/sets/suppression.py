"""Deletion of items until every part of a promise holds: an item deleted leaves no trace.

Serves every definition about sets, alone or behind another algorithm. An item is taken out of all
sets at once, so sets that were alike stay alike, and a support that was large enough stays so:
k-anonymity, k^m-anonymity and coherence are kept by deletion. What breaks a promise are itemsets,
and one item of each has to go, so this is a problem of hitting sets: the item in most breaches
per set that would lose it goes first. Where a secret is too frequent among sets that look alike,
only some of those sets lose it, whichever come first in their random order.

Parts are mended in turn until all hold; every step deletes something, so it ends. Which sets hold
what is asked of the released labels, through the same eyes as a stranger.
"""

from __future__ import annotations

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
from sfumato.anonymize.sets.breaches import Breach, project, tally
from sfumato.anonymize.sets.closed_rules import surest_known
from sfumato.anonymize.sets.likeness import number_alike, release_rare
from sfumato.anonymize.sets.recoding import DELETED, SetRecoding
from sfumato.anonymize.sets.supports import invert
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def suppress(recoding: SetRecoding, promise: Definition) -> SetRecoding:
    """Delete items (as they are shown) until every part of the promise holds."""
    current = recoding
    while True:
        before = current
        for part in promise.parts:
            current = _mend(part, current, promise)
        if current is before:
            return current


def _mend(part: Definition, recoding: SetRecoding, promise: Definition) -> SetRecoding:
    """Delete until a part holds; the same recoding where it does already."""
    hidden = _codes(recoding, _secrets(promise))
    if isinstance(part, KmAnonymity):
        return _mend_rare(recoding, part.k, part.m, ())
    if isinstance(part, Coherence):
        private = _codes(recoding, part.private)
        recoding = _mend_rare(recoding, part.k, part.p, private)
        return _mend_rules(recoding, private, part.h, part.p, barred=private)
    if isinstance(part, RhoUncertainty):
        private = _codes(recoding, part.sensitive_items)
        return _mend_rules(recoding, private, part.rho, part.m, barred=())
    if isinstance(part, ItemConstraints):
        return _mend_constraints(recoding, part)
    if isinstance(part, ItemDiversity):
        return _mend_diversity(recoding, part, hidden)
    if isinstance(part, KAnonymity):
        return release_rare(recoding, part.k, hidden)
    raise ParameterError(f"{part} says nothing about sets of items.")


# -- itemsets that must not be rare, or tell too much --------------------------------------


def _mend_rare(recoding: SetRecoding, k: int, m: int, private: tuple[int, ...]) -> SetRecoding:
    """Delete until no itemset of up to m items is rare; smaller itemsets first.

    When those of size − 1 are frequent, every rare one of a size is least: each counts once.
    """
    starts, shown = _distinct(recoding)
    starts, shown = _leave_out(starts, shown, recoding, private)
    gone: list[int] = []
    for size in range(1, min(m, recoding.data.longest) + 1):
        starts, shown = _leave_out(starts, shown, recoding, gone)
        unmarked = np.zeros(len(starts) - 1, dtype=np.bool_)
        gone += _hit(starts, shown, unmarked, Breach(k, 1.0, size, size), _weights(recoding))
    return _delete(recoding, gone)


def _mend_rules(
    recoding: SetRecoding,
    private: tuple[int, ...],
    share: float,
    m: int | None,
    *,
    barred: tuple[int, ...],
) -> SetRecoding:
    """Delete until no secret follows from up to m known items (any number where m is None)."""
    for secret in private:
        starts, shown = _distinct(recoding)
        filled = np.diff(starts) > 0  # what is empty is not released, so nobody counts it
        held = _holding(starts, shown, secret)
        if not held.any():
            continue
        known = tuple({secret, *barred})
        starts, shown = _leave_out(starts, shown, recoding, known)
        rows = np.flatnonzero(filled)
        starts, shown = project(starts, shown, rows, _flags(recoding, ()))
        marked = held[rows]
        limit = share + TOLERANCE
        if marked.sum() > limit * len(rows):
            recoding = _delete(recoding, [secret])
            continue
        weights = _weights(recoding)
        bound = 2 if m is None else min(m, recoding.data.longest)
        breach = Breach(0, limit, 1, bound)
        gone = _hit(starts, shown, marked, breach, weights, secret)
        if m is None and secret not in gone:
            gone += _hit_closed(
                *_leave_out(starts, shown, recoding, gone), marked, limit, weights, secret
            )
        recoding = _delete(recoding, gone)
    return recoding


def _hit(
    starts: NDArray[np.int64],
    shown: NDArray[np.int32],
    marked: NDArray[np.bool_],
    breach: Breach,
    weights: NDArray[np.int64],
    secret: int = -1,
) -> list[int]:
    """Return items that together are in every breach; the secret itself may be one."""
    guilt = np.zeros(len(weights), dtype=np.int64)
    left = tally(starts, shown, marked, breach, guilt, 1)
    if breach.largest == 1 and secret < 0:
        return [int(a) for a in np.flatnonzero(guilt)]
    begin, sets = invert(starts, shown, len(weights))
    gone = np.zeros(len(weights), dtype=np.bool_)
    inner = breach._replace(smallest=breach.smallest - 1, largest=breach.largest - 1)
    while left:
        worst = int(np.argmax(guilt / weights))
        if secret >= 0 and left * weights[worst] >= guilt[worst] * weights[secret]:
            return [secret]  # to delete it alone is cheaper by what it mends
        gone[worst] = True
        rows = sets[begin[worst] : begin[worst + 1]]
        around = project(starts, shown, rows, gone)
        left -= tally(*around, marked[rows], inner, guilt, -1)
        guilt[worst] = 0
    if secret >= 0 and weights[gone].sum() >= weights[secret]:
        return [secret]
    return [int(a) for a in np.flatnonzero(gone)]


def _hit_closed(
    starts: NDArray[np.int64],
    shown: NDArray[np.int32],
    marked: NDArray[np.bool_],
    limit: float,
    weights: NDArray[np.int64],
    secret: int,
) -> list[int]:
    """Return items to delete so that no itemset of any size tells the secret."""
    gone: list[int] = []
    while (known := surest_known(starts, shown, marked, limit, gone)) is not None:
        cheapest = min({*known, secret}, key=lambda a: (weights[a], a))
        if cheapest == secret:
            return [secret]
        gone.append(cheapest)
    return gone


# -- named itemsets, and secrets among sets that look alike --------------------------------


def _mend_constraints(recoding: SetRecoding, part: ItemConstraints) -> SetRecoding:
    """Delete, of every named itemset that is rare, the way to show it that costs least."""
    tree = recoding.data.tree
    for wanted in part.itemsets:
        if not all(item in tree.codes for item in wanted):
            continue
        ways = [tuple(tree.above(tree.codes[item])) for item in wanted]
        starts, shown = _distinct(recoding)
        holders = [_holding(starts, shown, *way) for way in ways]
        matching = int(np.logical_and.reduce(holders).sum())
        if 0 < matching < part.k:
            cheapest = min(range(len(ways)), key=lambda i: int(holders[i].sum()))
            recoding = _delete(recoding, ways[cheapest])
    return recoding


def _mend_diversity(
    recoding: SetRecoding, part: ItemDiversity, hidden: tuple[int, ...]
) -> SetRecoding:
    """Delete a secret from as many of the sets that look alike as hold it too often.

    Sets that show nothing but secrets are alike in that; they lose it altogether.
    """
    hidden = tuple({*hidden, *_codes(recoding, part.sensitive_items)})
    group, public = number_alike(recoding, hidden)
    starts, shown = _distinct(recoding)
    sizes = np.bincount(group[np.diff(starts) > 0], minlength=group.max(initial=0) + 1)
    nodes = recoding.nodes.copy()
    rows = np.repeat(np.arange(len(recoding.data)), recoding.data.sizes)
    for secret in _codes(recoding, part.sensitive_items):
        holders = np.flatnonzero(_holding(starts, shown, secret))
        order = holders[np.argsort(group[holders], kind="stable")]
        first = np.searchsorted(group[order], group[order])
        allowed = np.floor(sizes[group[order]] / part.l * (1 + TOLERANCE))
        allowed[~public[order] & (part.l > 1)] = 0
        many = np.bincount(group[holders], minlength=len(sizes))[group[order]]
        spare = (many > allowed) & (np.arange(len(order)) - first >= allowed)
        nodes[(nodes == secret) & np.isin(rows, order[spare])] = DELETED
    return _renewed(recoding, nodes)


# -- what they share -----------------------------------------------------------------------


def _renewed(recoding: SetRecoding, nodes: NDArray[np.int32]) -> SetRecoding:
    """Return a recoding with these nodes; the same one where nothing changed."""
    if np.array_equal(nodes, recoding.nodes):
        return recoding
    return SetRecoding(recoding.data, nodes, recoding.bag)


def _delete(recoding: SetRecoding, gone: Iterable[int]) -> SetRecoding:
    """Delete nodes from all sets; where one copy of a label has to go, all of them go."""
    lost = np.zeros(recoding.data.tree.nodes, dtype=np.bool_)
    lost[[code % recoding.data.tree.nodes for code in gone]] = True
    nodes = np.where((recoding.nodes >= 0) & lost[recoding.nodes], DELETED, recoding.nodes)
    return _renewed(recoding, nodes.astype(np.int32))


def _distinct(recoding: SetRecoding) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the released sets; the second copy of a label in a bag is an item of its own.

    Copy c of a label, from 0, has the number of the label and c times as many as there are nodes.
    """
    starts, shown = recoding.released
    if not recoding.bag:
        return starts, shown
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    codes = shown + _copy_numbers(recoding) * recoding.data.tree.nodes
    return starts, codes[np.lexsort([codes, rows])].astype(np.int32)


def _copy_numbers(recoding: SetRecoding) -> NDArray[np.int64]:
    """Return for every released label how many of the same stand before it in its set."""
    starts, shown = recoding.released
    fresh = np.append(True, np.diff(shown) != 0)[: len(shown)]
    fresh[starts[:-1][np.diff(starts) > 0]] = True
    first = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
    return np.asarray(np.arange(len(shown)) - first, dtype=np.int64)


def _leave_out(
    starts: NDArray[np.int64],
    shown: NDArray[np.int32],
    recoding: SetRecoding,
    gone: Iterable[int],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return all sets without some labels."""
    everybody = np.arange(len(starts) - 1)
    found: tuple[NDArray[np.int64], NDArray[np.int32]] = project(
        starts, shown, everybody, _flags(recoding, gone)
    )
    return found


def _holding(
    starts: NDArray[np.int64], shown: NDArray[np.int32], *labels: int
) -> NDArray[np.bool_]:
    """Tell of every set whether it shows one of the labels."""
    hits = np.concatenate([[0], np.cumsum(np.isin(shown, labels))])
    held: NDArray[np.bool_] = hits[starts[1:]] > hits[starts[:-1]]
    return held


def _weights(recoding: SetRecoding) -> NDArray[np.int64]:
    """Return what deleting a label costs: the items shown by it, at least 1."""
    nodes = recoding.nodes[recoding.nodes >= 0]
    often = np.maximum(np.bincount(nodes, minlength=recoding.data.tree.nodes), 1)
    return np.tile(often, _copies(recoding))


def _flags(recoding: SetRecoding, labels: Iterable[int]) -> NDArray[np.bool_]:
    flags = np.zeros(recoding.data.tree.nodes * _copies(recoding), dtype=np.bool_)
    flags[list(labels)] = True
    return flags


def _copies(recoding: SetRecoding) -> int:
    """Return how often a label can stand in a set."""
    return int(_copy_numbers(recoding).max(initial=0)) + 1 if recoding.bag else 1


def _codes(recoding: SetRecoding, items: tuple[str, ...]) -> tuple[int, ...]:
    codes = recoding.data.tree.codes
    return tuple(codes[item] for item in items if item in codes)


def _secrets(promise: Definition) -> tuple[str, ...]:
    return tuple({item for part in promise.parts for item in getattr(part, "secret", ())})
