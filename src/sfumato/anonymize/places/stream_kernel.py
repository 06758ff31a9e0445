"""The loop of streaming cloaking: requests wait, meet, and leave together in one box.

Waiting requests hang in cells of a grid, each a doubly linked list; `events` is a heap of the
moments at which something must be looked at: a deadline, or a moment at which a request tries
again. Whoever leaves, leaves with all others of the box at one moment, so that nothing tells them
apart.

Two requests are compatible if each lies within the other's tolerance in space and time. How a box
is searched is in `stream_search`, what happens when in `stream_loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST = 512
"""Neighbours that a search looks at: the nearest are enough."""
LARGEST = 64
"""Members that a box is searched for; more may join where they lie in it."""
HURRY = 6.0
"""Metres that a second of waiting counts for: of two as near, the older is taken."""
ATTEMPTS = 8
"""How often a request tries again while it waits, in the marginal mode."""
NOT_YET, RELEASED, DROPPED = 0, 1, 2
EAGER, DEADLINE, MARGINAL = 0, 1, 2


class Requests(NamedTuple):
    """Requests in the order of time; `place` labels where, −1 where nothing does."""

    user: Ints
    t: Floats
    x: Floats
    y: Floats
    k: Ints
    reach: Floats
    wait: Floats
    place: Ints


class State(NamedTuple):
    """What waits and what was remembered.

    `head` is the first request of each cell, `before` and `after` its neighbours in the list;
    `memory[u]` holds the users that every box of user u so far had in common (`known[u]` of them,
    −1 for anybody) and `since[u]` the moment of the first of them.
    """

    head: Ints
    before: Ints
    after: Ints
    memory: Ints
    known: Ints
    since: Floats
    heap_time: Floats
    heap_item: Ints
    heap_size: Ints


class Outcome(NamedTuple):
    """What became of each request: its state, moment, box number; the boxes themselves.

    `since` is when the session of its user began, at the moment at which it left.
    """

    status: Ints
    when: Floats
    box_of: Ints
    since: Floats
    boxes: Floats
    made: Ints


class Rules(NamedTuple):
    """How to choose: mode, rate (m² of area that a second of waiting is worth), grid, diversity."""

    mode: int
    rate: float
    step: float
    low_x: float
    low_y: float
    wide: int
    high: int
    diversity: int
    remember: bool
    session: float


@njit(cache=True)
def push(state: State, moment: float, item: int) -> None:
    """Put an event on the heap."""
    i = state.heap_size[0]
    state.heap_size[0] += 1
    while i > 0:
        up = (i - 1) >> 1
        if state.heap_time[up] <= moment:
            break
        state.heap_time[i] = state.heap_time[up]
        state.heap_item[i] = state.heap_item[up]
        i = up
    state.heap_time[i] = moment
    state.heap_item[i] = item


@njit(cache=True)
def pop(state: State) -> Any:
    """Take the first event off the heap."""
    item = state.heap_item[0]
    state.heap_size[0] -= 1
    n = state.heap_size[0]
    moment, last = state.heap_time[n], state.heap_item[n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and state.heap_time[child + 1] < state.heap_time[child]:
            child += 1
        if state.heap_time[child] >= moment:
            break
        state.heap_time[i] = state.heap_time[child]
        state.heap_item[i] = state.heap_item[child]
        i = child
    state.heap_time[i] = moment
    state.heap_item[i] = last
    return item


@njit(cache=True)
def cell_of(rules: Rules, x: float, y: float) -> Any:
    """Return the number of the cell of a place."""
    column = min(max(int((x - rules.low_x) / rules.step), 0), rules.wide - 1)
    row = min(max(int((y - rules.low_y) / rules.step), 0), rules.high - 1)
    return row * rules.wide + column


@njit(cache=True)
def cells_around(rules: Rules, x: float, y: float, reach: float) -> Any:
    """Return the first and last column and row of cells that a reach around a place touches."""
    low = cell_of(rules, x - reach, y - reach)
    high = cell_of(rules, x + reach, y + reach)
    return low % rules.wide, high % rules.wide, low // rules.wide, high // rules.wide


@njit(cache=True)
def hang(state: State, cell: int, i: int) -> None:
    """Let a request wait in a cell."""
    state.before[i] = -1 - cell
    state.after[i] = state.head[cell]
    if state.head[cell] >= 0:
        state.before[state.head[cell]] = i
    state.head[cell] = i


@njit(cache=True)
def unhang(state: State, i: int) -> None:
    """Take a request out of its cell."""
    left, right = state.before[i], state.after[i]
    if left < 0:
        state.head[-1 - left] = right
    else:
        state.after[left] = right
    if right >= 0:
        state.before[right] = left


@njit(cache=True)
def compatible(q: Requests, i: int, j: int) -> Any:
    """Tell whether two requests lie within each other's tolerance."""
    reach, wait = min(q.reach[i], q.reach[j]), min(q.wait[i], q.wait[j])
    return (
        abs(q.x[i] - q.x[j]) <= reach
        and abs(q.y[i] - q.y[j]) <= reach
        and abs(q.t[i] - q.t[j]) <= wait
    )


@njit(cache=True)
def suits(q: Requests, taken: Ints, begin: int, size: int, j: int) -> Any:
    """Tell whether j is of another user than members `begin` … `size` and compatible with them."""
    for a in range(begin, size):
        if q.user[taken[a]] == q.user[j] or not compatible(q, taken[a], j):
            return False
    return True


@njit(cache=True)
def sides_of(q: Requests, taken: Ints, size: int) -> Any:
    """Return low x, high x, low y and high y of the box around some requests."""
    low_x = high_x = q.x[taken[0]]
    low_y = high_y = q.y[taken[0]]
    for a in range(1, size):
        low_x, high_x = min(low_x, q.x[taken[a]]), max(high_x, q.x[taken[a]])
        low_y, high_y = min(low_y, q.y[taken[a]]), max(high_y, q.y[taken[a]])
    return low_x, high_x, low_y, high_y


@njit(cache=True)
def remembers(state: State, user: int, other: int) -> Any:
    """Tell whether a user's earlier boxes all had another user in them (or there were none)."""
    known = state.known[user]
    if known < 0:
        return True
    found = False
    for s in range(known):
        found = found or state.memory[user, s] == other
    return found


@njit(cache=True)
def _both_remember(state: State, user: int, other: int) -> Any:
    return remembers(state, user, other) and remembers(state, other, user)


@njit(cache=True)
def gather(q: Requests, state: State, rules: Rules, m: int, near: Ints, away: Floats) -> Any:
    """Collect waiting requests of others that are compatible with m, the nearest first."""
    count = 0
    reach = q.reach[m]
    c0, c1, r0, r1 = cells_around(rules, q.x[m], q.y[m], reach)
    for row in range(r0, r1 + 1):
        for column in range(c0, c1 + 1):
            j = state.head[row * rules.wide + column]
            while j >= 0:
                if (
                    count < MOST
                    and q.user[j] != q.user[m]
                    and compatible(q, m, j)
                    and (not rules.remember or _both_remember(state, q.user[m], q.user[j]))
                ):
                    near[count] = j
                    apart = max(abs(q.x[j] - q.x[m]), abs(q.y[j] - q.y[m]))
                    away[count] = apart + HURRY * q.t[j]
                    count += 1
                j = state.after[j]
    order = np.argsort(away[:count])
    near[:count] = near[:count][order]
    return count
