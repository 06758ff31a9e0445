"""The loop of streaming cloaking: arrivals, deadlines, attempts; who leaves, who is taken along.

Whoever lies in a box that leaves goes with it, where that suits everybody. Whoever has waited long
and would be left with too few to meet is taken along, too, even if the box grows. In the marginal
mode a box that would leave somebody with too few does not leave before a deadline: where people are
few it waits, and where they are many that costs nothing.

What is compiled is kept by the text of this file alone: touch it when `stream_search` or
`stream_kernel` changes, or the old search goes on being used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.places.stream_kernel import (
    ATTEMPTS,
    DEADLINE,
    DROPPED,
    LARGEST,
    MARGINAL,
    MOST,
    NOT_YET,
    RELEASED,
    Outcome,
    Requests,
    Rules,
    State,
    cell_of,
    gather,
    hang,
    pop,
    push,
    remembers,
    sides_of,
    suits,
    unhang,
)
from sfumato.anonymize.places.stream_search import area_of, enough, find_box, others_near
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


PATIENT = 0.5
"""Share of its wait after which a request is taken along rather than left with too few to meet."""


@njit(cache=True)
def _join(
    q: Requests, state: State, rules: Rules, taken: Ints, size: int, near: Ints, away: Floats
) -> Any:
    """Let others who lie in the box leave with it, where it is within their tolerance."""
    count = gather(q, state, rules, taken[0], near, away)
    low_x, high_x, low_y, high_y = sides_of(q, taken, size)
    for p in range(count):
        j = near[p]
        if size == LARGEST:
            break
        if not (low_x <= q.x[j] <= high_x and low_y <= q.y[j] <= high_y) or q.k[j] > size + 1:
            continue
        if suits(q, taken, 0, size, j):
            taken[size] = j
            if enough(q, state, rules, taken, size + 1):
                size += 1
    return size


@njit(cache=True)
def _has_others(q: Requests, state: State, rules: Rules, j: int, taken: Ints, size: int) -> Any:
    """Tell whether j could still meet enough users among the waiting when these have left."""
    most = q.k[j] - 1
    return others_near(q, state, rules, j, most, taken, size) >= min(most, LARGEST)


@njit(cache=True)
def _rescue(
    q: Requests,
    state: State,
    rules: Rules,
    taken: Ints,
    size: int,
    near: Ints,
    away: Floats,
    now: float,
) -> Any:
    """Take those along who would be left with too few to meet."""
    count = gather(q, state, rules, taken[0], near, away)
    for p in range(count):
        j = near[p]
        if size >= LARGEST or q.k[j] > size + 1:
            continue
        if now - q.t[j] < PATIENT * q.wait[j]:
            continue
        if suits(q, taken, 0, size, j) and not _has_others(q, state, rules, j, taken, size):
            taken[size] = j
            if enough(q, state, rules, taken, size + 1):
                size += 1
    return size


@njit(cache=True)
def _strands(
    q: Requests, state: State, rules: Rules, taken: Ints, size: int, near: Ints, away: Floats
) -> Any:
    """Tell whether somebody who could meet enough users now could not when these have left."""
    for c in range(size):
        count = gather(q, state, rules, taken[c], near, away)
        for p in range(count):
            leaves = False
            for a in range(size):
                leaves = leaves or taken[a] == near[p]
            if (
                not leaves
                and not _has_others(q, state, rules, near[p], taken, size)
                and _has_others(q, state, rules, near[p], taken, 0)
            ):
                return True
    return False


@njit(cache=True)
def _release(
    q: Requests, state: State, rules: Rules, out: Outcome, taken: Ints, size: int, now: float
) -> None:
    number = out.made[0]
    out.made[0] += 1
    first = last = q.t[taken[0]]
    for a in range(size):
        i = taken[a]
        first, last = min(first, q.t[i]), max(last, q.t[i])
        out.status[i] = RELEASED
        out.when[i] = now
        out.box_of[i] = number
        unhang(state, i)
    for side, end in enumerate(sides_of(q, taken, size)):
        out.boxes[number, side] = end
    out.boxes[number, 4] = first
    out.boxes[number, 5] = last
    if rules.remember:
        _remember(q, state, taken, size, now)
        for a in range(size):
            out.since[taken[a]] = state.since[q.user[taken[a]]]


@njit(cache=True)
def _remember(q: Requests, state: State, taken: Ints, size: int, now: float) -> None:
    """Keep, for every member, the users that all its boxes had in common."""
    kept = np.empty(LARGEST, np.int64)
    for a in range(size):
        user = q.user[taken[a]]
        count = 0
        for b in range(size):
            other = q.user[taken[b]]
            if other != user and remembers(state, user, other):
                kept[count] = other
                count += 1
        if state.known[user] < 0:
            state.since[user] = now
        state.known[user] = count
        state.memory[user, :count] = kept[:count]


@njit(cache=True)
def run(  # noqa: C901, PLR0912 - one loop, compiled
    q: Requests, state: State, rules: Rules, out: Outcome, begin: int, end: int, until: float
) -> None:
    """Let requests `begin` … `end` arrive, and everything due up to `until` happen."""
    near, away = np.empty(MOST, np.int64), np.empty(MOST)
    taken = np.empty(LARGEST, np.int64)
    m = begin
    while m < end or (state.heap_size[0] > 0 and state.heap_time[0] <= until):
        due = state.heap_size[0] > 0 and (m >= end or state.heap_time[0] <= q.t[m])
        if due:
            now = state.heap_time[0]
            i = pop(state)
            if out.status[i] != NOT_YET:
                continue
            last = now >= q.t[i] + q.wait[i] - 1e-9
        else:
            i, now = m, q.t[m]
            m += 1
            hang(state, cell_of(rules, q.x[i], q.y[i]), i)
            last = q.wait[i] <= 0
            if now - state.since[q.user[i]] > rules.session:
                state.known[q.user[i]] = -1  # another session, under another pseudonym
            if not last:
                push(state, now + q.wait[i], i)
                if rules.mode == MARGINAL:
                    for part in range(1, ATTEMPTS):
                        push(state, now + q.wait[i] * part / ATTEMPTS, i)
        if rules.mode == DEADLINE and not last:
            continue
        size = find_box(q, state, rules, i, near, away, taken, last)
        if size > 0 and rules.mode == MARGINAL and not last:
            oldest = now
            for a in range(size):
                oldest = min(oldest, q.t[taken[a]])
            if area_of(q, taken, size) > rules.rate * (now - oldest):
                size = 0
        if size > 0:
            size = _rescue(q, state, rules, taken, size, near, away, now)
            if (
                rules.mode == MARGINAL
                and not last
                and _strands(q, state, rules, taken, size, near, away)
            ):
                continue
            size = _join(q, state, rules, taken, size, near, away)
            _release(q, state, rules, out, taken, size, now)
        elif last:
            out.status[i] = DROPPED
            out.when[i] = now
            unhang(state, i)


@njit(cache=True)
def hang_again(q: Requests, state: State, rules: Rules, count: int, now: float) -> None:
    """Let the first `count` requests wait anew in empty lists, with the events still to come."""
    for i in range(count):
        hang(state, cell_of(rules, q.x[i], q.y[i]), i)
        push(state, q.t[i] + q.wait[i], i)
        if rules.mode == MARGINAL:
            for part in range(1, ATTEMPTS):
                moment = q.t[i] + q.wait[i] * part / ATTEMPTS
                if moment > now:
                    push(state, moment, i)
