"""The search for a box in which a request may leave.

A box for request m is searched nearest first: for every size that a neighbour's or m's own k asks
for, the nearest of different users are taken that are compatible with all taken so far. While m can
wait, the smallest such box is tried. At its deadline, the box is taken that rescues most of those
who have few others to meet and may need more users than m does: who asks for few must not use up
whom others need. Where that finds nobody, every window of the tolerance's size around m is tried
(`_any_window`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.places.stream_kernel import (
    LARGEST,
    Requests,
    Rules,
    State,
    cells_around,
    compatible,
    gather,
    remembers,
    sides_of,
    suits,
)
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SPARE = 3
"""Who could meet fewer users than this beyond those she asks for has few others to meet."""
PRICE = 0.5
"""Tolerated areas, added over the members of a box, that rescuing one request may cost."""


@njit(cache=True)
def enough(  # noqa: C901 - one loop, compiled
    q: Requests, state: State, rules: Rules, taken: Ints, size: int
) -> Any:
    """Tell whether every member has as many users as it asks for, also those it remembers."""
    if rules.diversity > 1:
        kinds = 0
        for a in range(size):
            new = q.place[taken[a]] >= 0
            for b in range(a):
                new = new and q.place[taken[b]] != q.place[taken[a]]
            kinds += new
        if kinds < rules.diversity:
            return False
    for a in range(size):
        if q.k[taken[a]] > size:
            return False
        if rules.remember and state.known[q.user[taken[a]]] >= 0:
            common = 1
            for b in range(size):
                if b != a and remembers(state, q.user[taken[a]], q.user[taken[b]]):
                    common += 1
            if common < q.k[taken[a]]:
                return False
    return True


@njit(cache=True)
def _nearest_first(
    q: Requests,
    state: State,
    rules: Rules,
    m: int,
    near: Ints,
    count: int,
    most_k: int,
    taken: Ints,
) -> Any:
    """Take the nearest with k up to `most_k` until everybody has enough; return the number or 0."""
    taken[0] = m
    size = 1
    if enough(q, state, rules, taken, size):
        return size
    for p in range(count):
        j = near[p]
        if q.k[j] > most_k or size == LARGEST:
            continue
        if not suits(q, taken, 1, size, j):
            continue
        taken[size] = j
        size += 1
        if size >= q.k[m] and enough(q, state, rules, taken, size):
            return size
    return 0


@njit(cache=True)
def area_of(q: Requests, taken: Ints, size: int) -> Any:
    """Return the area of the box around some requests."""
    low_x, high_x, low_y, high_y = sides_of(q, taken, size)
    return (high_x - low_x) * (high_y - low_y)


@njit(cache=True)
def _kinds_enough(q: Requests, rules: Rules, m: int, near: Ints, few: int) -> Any:
    """Tell whether m and its neighbours are at places of enough kinds for any box at all."""
    kinds = int(q.place[m] >= 0)
    for p in range(few):
        new = q.place[near[p]] >= 0 and q.place[near[p]] != q.place[m]
        for other in range(p):
            new = new and q.place[near[other]] != q.place[near[p]]
        kinds += new
    return rules.diversity <= 1 or kinds >= rules.diversity


@njit(cache=True)
def _any_window(  # noqa: C901 - one loop, compiled
    q: Requests, state: State, rules: Rules, m: int, near: Ints, count: int, taken: Ints
) -> Any:
    """Try every window of m's reach that begins at neighbours, and return the number found."""
    few = min(count, LARGEST)
    if not _kinds_enough(q, rules, m, near, few):
        return 0
    for a in range(-1, few):
        left = q.x[m] if a < 0 else q.x[near[a]]
        if left > q.x[m]:
            continue
        for b in range(-1, few):
            low = q.y[m] if b < 0 else q.y[near[b]]
            if low > q.y[m]:
                continue
            size = 1
            taken[0] = m
            for p in range(few):
                if size == LARGEST:
                    break
                j = near[p]
                if not (left <= q.x[j] <= left + q.reach[m] and low <= q.y[j] <= low + q.reach[m]):
                    continue
                if suits(q, taken, 0, size, j):
                    taken[size] = j
                    size += 1
                    if size >= q.k[m] and enough(q, state, rules, taken, size):
                        return size
    return 0


@njit(cache=True)
def others_near(
    q: Requests, state: State, rules: Rules, j: int, most: int, taken: Ints, size: int
) -> Any:
    """Count the other users that wait compatibly with j, up to `most`; the first of `taken` not."""
    users = 0
    seen = np.empty(LARGEST, np.int64)
    most = min(most, LARGEST)
    c0, c1, r0, r1 = cells_around(rules, q.x[j], q.y[j], q.reach[j])
    for row in range(r0, r1 + 1):
        for column in range(c0, c1 + 1):
            i = state.head[row * rules.wide + column]
            while i >= 0 and users < most:
                if q.user[i] != q.user[j] and compatible(q, i, j):
                    new = True
                    for a in range(size):
                        new = new and taken[a] != i
                    for a in range(users):
                        new = new and seen[a] != q.user[i]
                    if new:
                        seen[users] = q.user[i]
                        users += 1
                i = state.after[i]
    return users


@njit(cache=True)
def _is_asked_for(q: Requests, m: int, near: Ints, count: int, wanted: int) -> Any:
    """Tell whether m or a neighbour asks for so many users."""
    asked = wanted == q.k[m]
    for p in range(count):
        asked = asked or q.k[near[p]] == wanted
    return asked


@njit(cache=True)
def _find_smallest(
    q: Requests, state: State, rules: Rules, m: int, near: Ints, count: int, taken: Ints
) -> Any:
    """Find the smallest box for m among the sizes asked for."""
    best, least = 0, np.inf
    trial = np.empty(LARGEST, np.int64)
    for wanted in range(q.k[m], min(count + 1, LARGEST) + 1):
        if not _is_asked_for(q, m, near, count, wanted):
            continue
        size = _nearest_first(q, state, rules, m, near, count, wanted, trial)
        if size > 0:
            area = area_of(q, trial, size)
            if area < least:
                best, least = size, area
                taken[:size] = trial[:size]
    return best


@njit(cache=True)
def _scarce_first(
    q: Requests, state: State, rules: Rules, near: Ints, count: int, order: Ints
) -> Any:
    """Put neighbours with few others to meet first, the nearest first; return their number."""
    nobody = np.empty(0, np.int64)
    scarce = np.zeros(count, np.bool_)
    few = 0
    for p in range(count):
        most = q.k[near[p]] - 1 + SPARE
        if others_near(q, state, rules, near[p], most, nobody, 0) < most:
            scarce[p] = True
            order[few] = near[p]
            few += 1
    place = few
    for p in range(count):
        if not scarce[p]:
            order[place] = near[p]
            place += 1
    return few


@njit(cache=True)
def _worth(q: Requests, trial: Ints, size: int, order: Ints, few: int) -> Any:
    """Return how many of the first `few` of `order` a box takes along, less what its area costs."""
    rescued = 0
    for a in range(1, size):
        for p in range(few):
            rescued += order[p] == trial[a]
    tolerated = 4 * q.reach[trial[0]] ** 2
    return rescued - size * area_of(q, trial, size) / tolerated / PRICE


@njit(cache=True)
def _find_fullest(
    q: Requests, state: State, rules: Rules, m: int, near: Ints, count: int, taken: Ints
) -> Any:
    """Find the box for m that takes along most of those who have few others to meet."""
    order = np.empty(count, np.int64)
    few = _scarce_first(q, state, rules, near, count, order)
    best, greatest = 0, -np.inf
    trial = np.empty(LARGEST, np.int64)
    for wanted in range(q.k[m], min(count + 1, LARGEST) + 1):
        if not _is_asked_for(q, m, near, count, wanted):
            continue
        for turn in range(2 if few else 1):
            size = _nearest_first(
                q, state, rules, m, near if turn == 0 else order, count, wanted, trial
            )
            if size > 0:
                worth = _worth(q, trial, size, order, few)
                if worth > greatest:
                    best, greatest = size, worth
                    taken[:size] = trial[:size]
    return best


@njit(cache=True)
def find_box(
    q: Requests,
    state: State,
    rules: Rules,
    m: int,
    near: Ints,
    away: Floats,
    taken: Ints,
    last: bool,
) -> Any:
    """Find a box for m; return the number of members or 0. At the `last` chance all is tried."""
    count = gather(q, state, rules, m, near, away)
    if not last:
        return _find_smallest(q, state, rules, m, near, count, taken)
    size = _find_fullest(q, state, rules, m, near, count, taken)
    return size if size > 0 else _any_window(q, state, rules, m, near, count, taken)
