"""Kernels that find patterns: items that many sets have together.

Division shows one node after another, each because many sets have it; five items that few sets
have, but together, are never found so. They are looked for depth first, rare items first, over the
lists of sets that have them. Sets that have a pattern are of use to one another only if what they
have beside it lies under the same nodes of the crown: otherwise those items would be shown by the
root. So a candidate is a pattern together with the *profile* of what is left.

A pattern of s sets saves what its items would pay at the crown, and spends ``log(n / s)`` of what
division could save elsewhere: its worth is what it saves plus `rate` times log s.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEEPEST = 14
"""Most items of a pattern: fewer than a field can hold, so that a full field never looks empty."""
FIELD = 4
"""Bits of a word that hold how many items of a set are under one crown node."""
LOWEST = np.uint64(0x1111111111111111)
"""The lowest bit of every field."""


class Baskets(NamedTuple):
    """Sets as rows of ranks, rarest items first, and what is known of each rank and each set.

    `saves` is what showing an item saves, `unit` one item in the field of its crown node, `held`
    the items of every set in all fields, `rest` what showing an item of a set and all behind it
    saves.
    """

    starts: NDArray[np.int64]
    ranks: NDArray[np.int32]
    saves: NDArray[np.float64]
    unit: NDArray[np.uint64]
    held: NDArray[np.uint64]
    rest: NDArray[np.float64]


class Terms(NamedTuple):
    """On what terms a pattern is worth taking."""

    k: int
    least: int
    """Fewest sets a pattern must have to be extended."""
    rate: float
    floor: float
    effort: int
    """How many sets may be listed, for every set that has the first item of patterns."""


class Candidates(NamedTuple):
    """Patterns found: what each saves, its items and its sets, as compressed rows."""

    saved: NDArray[np.float64]
    length: NDArray[np.int64]
    items: NDArray[np.int32]
    starts: NDArray[np.int64]
    sets: NDArray[np.int32]
    tally: NDArray[np.int64]


@njit(cache=True)
def list_sets(baskets, ranks):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return for every rank the sets that have it, and where it stands in them."""
    begins = np.zeros(ranks + 1, np.int64)
    for r in baskets.ranks:
        begins[r + 1] += 1
    begins = np.cumsum(begins)
    place = begins.copy()
    sets, at = np.empty(len(baskets.ranks), np.int32), np.empty(len(baskets.ranks), np.int64)
    for t in range(len(baskets.starts) - 1):
        for p in range(baskets.starts[t], baskets.starts[t + 1]):
            r = baskets.ranks[p]
            sets[place[r]], at[place[r]] = t, p
            place[r] += 1
    return begins, sets, at


@njit(cache=True)
def extend(sets, at, baskets, terms, saved, count, found, begins):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901
    """Find the later items that at least `least` of these sets have, and who has them.

    Writes the items to `found` and where the sets of each begin to `begins`; returns how many there
    are, their sets, and where the items stand in them. `count` is clear before and after. Items are
    left out where they and all behind them are not worth taking: no pattern of the set has them.
    """
    starts, ranks, rest, least = baskets.starts, baskets.ranks, baskets.rest, terms.least
    lacks = terms.floor - saved - terms.rate * np.log(len(sets)) - 1e-9
    met = 0
    for x in range(len(sets)):
        for p in range(at[x] + 1, starts[sets[x] + 1]):
            if rest[p] < lacks:
                break
            if count[ranks[p]] == 0:
                found[met] = ranks[p]
                met += 1
            count[ranks[p]] += 1
    kept = total = 0
    for j in range(met):
        r = found[j]
        many = count[r]
        count[r] = 0
        if many >= least:
            found[kept], begins[kept] = r, total
            kept += 1
            count[r] = -kept
            total += many
    begins[kept] = total
    who, where = np.empty(total, np.int32), np.empty(total, np.int64)
    if kept > 0:
        place = begins[:kept].copy()
        for x in range(len(sets)):
            for p in range(at[x] + 1, starts[sets[x] + 1]):
                if rest[p] < lacks:
                    break
                j = -count[ranks[p]] - 1
                if j >= 0:
                    who[place[j]], where[place[j]] = sets[x], p
                    place[j] += 1
        for j in range(kept):
            count[found[j]] = 0
    return kept, who, where


@njit(cache=True)
def note(pattern, saved, sets, baskets, terms, candidates):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Note a pattern once for every profile of what is left that makes it worth taking."""
    taken = np.uint64(0)
    for r in pattern:
        taken += baskets.unit[r]
    left = np.empty(len(sets), np.uint64)
    for x in range(len(sets)):
        field = baskets.held[sets[x]] - taken
        field |= field >> np.uint64(2)
        left[x] = (field | field >> np.uint64(1)) & LOWEST
    order = np.argsort(left)
    x = 0
    while x < len(order):
        y = x
        while y < len(order) and left[order[y]] == left[order[x]]:
            y += 1
        c, fill = candidates.tally[0], candidates.starts[candidates.tally[0]]
        room = c < len(candidates.saved) and fill + y - x <= len(candidates.sets)
        if room and y - x >= terms.k and saved + terms.rate * np.log(y - x) > terms.floor:
            candidates.saved[c], candidates.length[c] = saved, len(pattern)
            candidates.items[c, : len(pattern)] = pattern
            for z in range(x, y):
                candidates.sets[fill + z - x] = sets[order[z]]
            candidates.starts[c + 1] = fill + y - x
            candidates.tally[0] += 1
        x = y


@njit(cache=True)
def find_patterns(baskets, terms, candidates):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Find patterns worth taking, depth first, until there is no room for more of them."""
    ranks = len(baskets.saves)
    begins, all_sets, all_at = list_sets(baskets, ranks)
    count = np.zeros(ranks, np.int64)
    found, starts = np.empty((DEEPEST, ranks), np.int32), np.zeros((DEEPEST, ranks + 1), np.int64)
    many, turn = np.zeros(DEEPEST, np.int64), np.zeros(DEEPEST, np.int64)
    who = [all_sets[:0] for _ in range(DEEPEST)]
    where = [all_at[:0] for _ in range(DEEPEST)]
    pattern = np.zeros(DEEPEST, np.int32)
    for first in range(ranks):
        sets = all_sets[begins[first] : begins[first + 1]]
        at = all_at[begins[first] : begins[first + 1]]
        effort = terms.effort * len(sets)
        pattern[0], saved, depth = first, baskets.saves[first], 0
        many[0] = turn[0] = 0
        if len(sets) >= terms.least:
            many[0], who[0], where[0] = extend(
                sets, at, baskets, terms, saved, count, found[0], starts[0]
            )
        while depth >= 0:
            if turn[depth] == many[depth] or effort < 0:
                saved -= baskets.saves[pattern[depth]]
                depth -= 1
                continue
            j = turn[depth]
            turn[depth] += 1
            b, e = starts[depth, j], starts[depth, j + 1]
            sets, at, r = who[depth][b:e], where[depth][b:e], found[depth, j]
            depth += 1
            pattern[depth] = r
            saved += baskets.saves[r]
            effort -= len(sets)
            if saved + terms.rate * np.log(len(sets)) > terms.floor:
                note(pattern[: depth + 1], saved, sets, baskets, terms, candidates)
            many[depth] = turn[depth] = 0
            if depth < DEEPEST - 1:
                many[depth], who[depth], where[depth] = extend(
                    sets, at, baskets, terms, saved, count, found[depth], starts[depth]
                )


@njit(cache=True)
def choose_patterns(candidates, terms, sets):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Give every set at most one pattern, those worth most first; return which, −1 for none."""
    chosen = np.full(sets, -1, np.int64)
    heap = [(0.0, 0)]
    heap.pop()
    for c in range(candidates.tally[0]):
        size = candidates.starts[c + 1] - candidates.starts[c]
        heap.append((-candidates.saved[c] - terms.rate * np.log(size), c))
    heapq.heapify(heap)
    while len(heap) > 0:
        key, c = heapq.heappop(heap)
        members = candidates.sets[candidates.starts[c] : candidates.starts[c + 1]]
        size = 0
        for t in members:
            size += chosen[t] < 0
        if size < terms.k:
            continue
        worth = candidates.saved[c] + terms.rate * np.log(size)
        if worth < -key - 1e-12:  # others took some of its sets: it waits for its turn
            if worth > terms.floor:
                heapq.heappush(heap, (-worth, c))
            continue
        for t in members:
            if chosen[t] < 0:
                chosen[t] = c
    return chosen
