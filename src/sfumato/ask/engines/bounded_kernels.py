"""Each person's few groups and rows, chosen and added up by compiled loops.

Contract: rows come as numbers: a person, a group, an outcome (the group, or the group and a grid
point) and what the row adds to each total. :func:`scatter` lays them by person, block after block,
and :func:`bound` keeps, of each person, what :mod:`sfumato.ask.choosing` says, and adds it up.

Nothing is sorted. A person's rows stand together, so her list of the smallest ranks, the search
in it and the choice of rows all stay in the nearest cache; the price is one pass that lays
the rows by person, in two steps because memory likes a few hundred open ends better than a
hundred thousand.

Numbers are residues modulo P = 2³¹ − 1, so that a product fits 64 bits with its remainder taken by
shifts. Totals are kept as two halves of 32 bits, which cannot overflow below 2³¹ rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = 2**31 - 1
HALF = 0xFFFFFFFF


@njit(cache=True, nogil=True)
def _modulo(x: Any) -> Any:
    """Reduce 0 ≤ x < 2⁶³ modulo P."""
    x = (x & P) + (x >> 31)
    x = (x & P) + (x >> 31)
    return x - P if x >= P else x


@njit(cache=True, nogil=True)
def _mixed(a: Any, x: Any, b: Any, c: Any) -> Any:
    """Give t² + c·t for t = a·x + b."""
    t = _modulo(a * x + b)
    return _modulo(_modulo(t * t) + c * t)


@njit(cache=True, nogil=True)
def tally(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Count how often each code occurs."""
    for code in codes:
        counts[code] += 1


@njit(cache=True, nogil=True)
def scatter(
    people: NDArray[np.int32],
    groups: NDArray[np.int32],
    shift: int,
    ends: NDArray[np.int64],
    pairs: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Lay rows by block of people; ``places`` says where each row went, for its other columns."""
    for i in range(len(people)):
        block = people[i] >> shift
        place = ends[block]
        ends[block] = place + 1
        pairs[place] = (np.int64(people[i]) << 32) | groups[i]
        places[i] = place


@njit(cache=True, nogil=True)
def scatter_column(
    values: NDArray[np.int64], places: NDArray[np.int64], column: NDArray[np.int64]
) -> None:
    """Lay one more column as :func:`scatter` laid the rows."""
    for i in range(len(values)):
        column[places[i]] = values[i]


@njit(cache=True, nogil=True)
def _group_before(a: int, b: int, u: NDArray[np.int64], g: NDArray[np.int64]) -> Any:
    """Order two groups whose first ranks are equal: by the second rank, then by their keys."""
    first = _mixed(u[1], g[a, 1], u[2], u[3])
    second = _mixed(u[1], g[b, 1], u[2], u[3])
    return g[a, 3] < g[b, 3] if first == second else first < second


@njit(cache=True, nogil=True)
def _smallest_groups(
    ranks: NDArray[np.int64],
    groups: NDArray[np.int64],
    count: int,
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    best_ranks: NDArray[np.int64],
    best_groups: NDArray[np.int64],
) -> int:
    """List a person's groups with the smallest ranks, ascending; return how many there are."""
    limit = len(best_ranks)
    size = 0
    for i in range(count):
        rank = ranks[i]
        if size == limit and rank > best_ranks[limit - 1]:
            continue
        group = groups[i]
        at = size
        while at > 0 and best_ranks[at - 1] > rank:
            at -= 1
        if at > 0 and best_ranks[at - 1] == rank:
            known = False
            tied = at
            while tied > 0 and best_ranks[tied - 1] == rank:
                tied -= 1
                known = known or best_groups[tied] == group
            if known:
                continue
            while at > tied and _group_before(group, best_groups[at - 1], u, g):
                at -= 1
            if at == limit:
                continue
        size = min(size + 1, limit)
        for j in range(size - 1, at, -1):
            best_ranks[j] = best_ranks[j - 1]
            best_groups[j] = best_groups[j - 1]
        best_ranks[at] = rank
        best_groups[at] = group
    return size


@njit(cache=True, nogil=True)
def _slot(
    rank: int, group: int, ranks: NDArray[np.int64], groups: NDArray[np.int64], size: int
) -> int:
    """Find a group in the list by its rank, −1 if it is not there."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    while low < size and ranks[low] == rank:
        if groups[low] == group:
            return low
        low += 1
    return -1


@njit(cache=True, nogil=True)
def _row_number(
    row: int,
    v: int,
    u: NDArray[np.int64],
    z: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> Any:
    for column in columns:
        value = 1 if column < 0 else z[column, row]
        v = _modulo(v * 48271 + (value % P))
    return _mixed(u[0], v, u[3], u[1])


@njit(cache=True, nogil=True)
def _row_before(
    a: int,
    b: int,
    numbers: NDArray[np.int64],
    rows: NDArray[np.int64],
    groups: NDArray[np.int64],
    g: NDArray[np.int64],
    z: NDArray[np.int64],
) -> Any:
    """Order two rows of a person by their numbers, then by their keys and values."""
    if numbers[a] != numbers[b]:
        return numbers[a] < numbers[b]
    if groups[a] != groups[b]:
        return g[groups[a], 3] < g[groups[b], 3]
    for column in range(z.shape[0]):
        if z[column, rows[a]] != z[column, rows[b]]:
            return z[column, rows[a]] < z[column, rows[b]]
    return False


@njit(cache=True, nogil=True)
def _smallest_rows(
    members: NDArray[np.int64],
    heap: NDArray[np.int64],
    numbers: NDArray[np.int64],
    rows: NDArray[np.int64],
    groups: NDArray[np.int64],
    g: NDArray[np.int64],
    z: NDArray[np.int64],
) -> None:
    """Leave in ``heap`` as many of the members as it holds: those that come first."""
    limit = len(heap)
    for count in range(len(members)):
        new = members[count]
        if count < limit:
            at = count
            while at > 0:
                above = (at - 1) >> 1
                if not _row_before(heap[above], new, numbers, rows, groups, g, z):
                    break
                heap[at] = heap[above]
                at = above
        else:
            if not _row_before(new, heap[0], numbers, rows, groups, g, z):
                continue
            at = 0
            while True:
                below = 2 * at + 1
                if below >= limit:
                    break
                if below + 1 < limit and _row_before(
                    heap[below], heap[below + 1], numbers, rows, groups, g, z
                ):
                    below += 1
                if not _row_before(new, heap[below], numbers, rows, groups, g, z):
                    break
                heap[at] = heap[below]
                at = below
        heap[at] = new


@njit(cache=True, nogil=True)
def _add(
    row: int,
    outcome: int,
    person: int,
    z: NDArray[np.int64],
    seen: NDArray[np.int64],
    people: NDArray[np.int64],
    kept: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add a kept row to its outcome."""
    if seen[outcome] != person:
        seen[outcome] = person
        people[outcome] += 1
    kept[outcome] += 1
    for column in range(z.shape[0]):
        sums[outcome, column, 0] += z[column, row] >> 32
        sums[outcome, column, 1] += z[column, row] & HALF


@njit(cache=True, nogil=True)
def _gather(
    first: int,
    last: int,
    pairs: NDArray[np.int64],
    starts: NDArray[np.int64],
    cursor: NDArray[np.int64],
    order: NDArray[np.int64],
) -> None:
    """Order the rows of a block by person: the second, nearby step of the laying out."""
    for person in range(first, last):
        cursor[person - first] = starts[person] - starts[first]
    for row in range(starts[first], starts[last]):
        person = (pairs[row] >> 32) - first
        order[cursor[person]] = row
        cursor[person] += 1


@njit(cache=True, nogil=True)
def _slots_of_groups(
    rows: NDArray[np.int64],
    pairs: NDArray[np.int64],
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    groups: NDArray[np.int64],
    numbers: NDArray[np.int64],
    best_ranks: NDArray[np.int64],
    best_groups: NDArray[np.int64],
    slots: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> Any:
    """Give each row of a person the place of its group among those kept, −1 if it is not."""
    count = len(rows)
    for i in range(count):
        group = pairs[rows[i]] & HALF
        groups[i] = group
        numbers[i] = _mixed(u[0], g[group, 0], u[1], u[2])
    cells = _smallest_groups(numbers, groups, count, u, g, best_ranks, best_groups)
    for slot in range(cells):
        sizes[slot] = 0
    worst = best_ranks[cells - 1]
    for i in range(count):
        slot = -1
        if numbers[i] <= worst:
            slot = _slot(numbers[i], groups[i], best_ranks, best_groups, cells)
            if slot >= 0:
                sizes[slot] += 1
        slots[i] = slot
    return cells


@njit(cache=True, nogil=True)
def _members_of_slots(
    slots: NDArray[np.int64], sizes: NDArray[np.int64], members: NDArray[np.int64]
) -> None:
    """List the rows slot by slot; ``sizes`` becomes the ends of the lists."""
    begin = 0
    for slot in range(len(sizes)):
        begin, sizes[slot] = begin + sizes[slot], begin
    for i in range(len(slots)):
        slot = slots[i]
        if slot >= 0:
            members[sizes[slot]] = i
            sizes[slot] += 1


@njit(cache=True, nogil=True)
def _sizes(starts: NDArray[np.int64], width: int) -> Any:
    """Give the most rows that any ``width`` people, starting at a multiple of it, have."""
    most = 0
    last = len(starts) - 1
    for first in range(0, last, width):
        most = max(most, starts[min(first + width, last)] - starts[first])
    return most


@njit(cache=True, nogil=True)
def bound(
    limit_groups: int,
    limit_rows: int,
    pairs: NDArray[np.int64],
    outcomes: NDArray[np.int64],
    z: NDArray[np.int64],
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    shift: int,
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    people: NDArray[np.int64],
    kept: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Keep each person's groups (all, if ``limit_groups`` is 0) and rows, and add them up.

    ``outcomes`` is empty where they are the groups. ``g[:, 3]`` is the order of the keys.
    """
    total, width = len(starts) - 1, 1 << shift
    longest = _sizes(starts, 1)
    cursor, order = np.empty(width, np.int64), np.empty(_sizes(starts, width), np.int64)
    groups, numbers = np.empty(longest, np.int64), np.empty(longest, np.int64)
    slots, members = np.zeros(longest, np.int64), np.empty(longest, np.int64)
    limit = min(limit_groups, longest)
    best_ranks, best_groups = np.empty(limit, np.int64), np.empty(limit, np.int64)
    sizes, heap = np.empty(limit + 1, np.int64), np.empty(min(limit_rows, longest), np.int64)
    seen = np.full(len(people), -1, np.int64)
    for person in range(total):
        first = person & -width
        if person == first:
            _gather(first, min(first + width, total), pairs, starts, cursor, order)
        rows = order[starts[person] - starts[first] : starts[person + 1] - starts[first]]
        count = len(rows)
        if limit_groups:
            cells = _slots_of_groups(
                rows, pairs, u[person], g, groups, numbers, best_ranks, best_groups, slots, sizes
            )
        else:
            cells = 1
            sizes[0] = count
            for i in range(count):
                groups[i] = pairs[rows[i]] & HALF
        _members_of_slots(slots[:count], sizes[:cells], members)
        begin = 0
        for slot in range(cells):
            mine = members[begin : sizes[slot]]
            begin = sizes[slot]
            if len(mine) > limit_rows:
                for i in mine:
                    v = 1 if limit_groups else g[groups[i], 2]
                    numbers[i] = _row_number(rows[i], v, u[person], z, columns)
                _smallest_rows(mine, heap, numbers, rows, groups, g, z)
                mine = heap
            for i in mine:
                outcome = outcomes[rows[i]] if len(outcomes) else groups[i]
                _add(rows[i], outcome, person, z, seen, people, kept, sums)
