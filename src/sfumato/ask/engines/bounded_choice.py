"""Each person's few groups and rows, chosen and added up by compiled loops.

Contract: :func:`bound` walks over people whose rows :mod:`sfumato.ask.engines.bounded_kernels` has
laid together, keeps of each what :mod:`sfumato.ask.plan.choice` says, and adds it up: people, rows
and sums per outcome (the group, or the group and a grid point).

A person's ranks are counted in bins first; only the rows of the lowest bins, a little more than
those of the groups that are kept, are sorted. Sums are kept as two halves of 32 bits, which cannot
overflow below 2³¹ rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.ask.engines.bounded_kernels import HALF, P, gather, mixed, modulo, most_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS, _BIN = 128, 24  # bins of ranks, and by how many bits a rank is shifted to its bin
_FEW = 48  # up to so many rows are sorted by insertion alone


class PeopleRows(NamedTuple):
    """Rows laid together by blocks of 2^``shift`` people, whose rows begin at ``starts``.

    ``pairs`` are what :func:`sfumato.ask.engines.bounded_kernels.gather` unpacks, block by block.
    """

    pairs: NDArray[np.int64]
    starts: NDArray[np.int64]
    shift: int


class Totals(NamedTuple):
    """What is left of each outcome: people, rows, and sums in two halves."""

    people: NDArray[np.int64]
    rows: NDArray[np.int64]
    sums: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _group_before(a: int, b: int, u: NDArray[np.int64], g: NDArray[np.int64]) -> Any:
    """Order two groups whose first ranks are equal: by the second rank, then by their keys."""
    first = mixed(u[1], g[1, a], u[2], u[3])
    second = mixed(u[1], g[1, b], u[2], u[3])
    return g[3, a] < g[3, b] if first == second else first < second


@njit(cache=True, nogil=True)
def _sort(packed: NDArray[np.int64], count: int) -> None:
    """Sort a few numbers, by Shell's method with Knuth's gaps where they are more."""
    gap = 1
    while count > _FEW and 9 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = packed[i]
            at = i
            while at >= gap and packed[at - gap] > value:
                packed[at] = packed[at - gap]
                at -= gap
            packed[at] = value
        gap //= 3


@njit(cache=True, nogil=True)
def _order_ties(
    packed: NDArray[np.int64],
    begin: int,
    end: int,
    groups: NDArray[np.int64],
    u: NDArray[np.int64],
    g: NDArray[np.int64],
) -> None:
    """Order rows of different groups whose first ranks are equal."""
    for i in range(begin + 1, end):
        value = packed[i]
        at = i
        while at > begin and _group_before(
            groups[value & HALF], groups[packed[at - 1] & HALF], u, g
        ):
            packed[at] = packed[at - 1]
            at -= 1
        packed[at] = value


@njit(cache=True, nogil=True)
def _split(
    packed: NDArray[np.int64],
    count: int,
    groups: NDArray[np.int64],
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Any:
    """Find where each group ends among sorted rows; return how many groups there are."""
    cells = at = 0
    while at < count and cells < len(ends):
        end = at + 1
        alike = True
        while end < count and packed[end] >> 32 == packed[at] >> 32:
            alike = alike and groups[packed[end] & HALF] == groups[packed[at] & HALF]
            end += 1
        if not alike:
            _order_ties(packed, at, end, groups, u, g)
        while at < end and cells < len(ends):
            group = groups[packed[at] & HALF]
            while at < end and groups[packed[at] & HALF] == group:
                at += 1
            ends[cells] = at
            cells += 1
    return cells


@njit(cache=True, nogil=True)
def _kept_groups(
    groups: NDArray[np.int64],
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    bins: NDArray[np.int64],
    ranks: NDArray[np.int64],
    packed: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> Any:
    """Leave the rows of a person's groups with the smallest ranks, one group after the other.

    The lowest bins are taken that have as many rows as groups are kept, and more as long as these
    belong to too few groups.
    """
    for i in range(_BINS):
        bins[i] = 0
    for i in range(len(groups)):
        rank = mixed(u[0], g[0, groups[i]], u[1], u[2])
        ranks[i] = rank
        bins[rank >> _BIN] += 1
    last, below, wanted = -1, 0, len(ends)
    while True:
        while last < _BINS - 1 and below < wanted:
            last += 1
            below += bins[last]
        count = 0
        for i in range(len(groups)):
            packed[count] = (ranks[i] << 32) | i
            count += (ranks[i] >> _BIN) <= last
        _sort(packed, count)
        cells = _split(packed, count, groups, u, g, ends)
        if cells == len(ends) or below == len(groups):
            return cells
        wanted = below + len(ends) - cells


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
        v = modulo(v * 48271 + (value % P))
    return mixed(u[0], v, u[3], u[1])


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
        return g[3, groups[a]] < g[3, groups[b]]
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
        new = members[count] & HALF
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
    members: NDArray[np.int64],
    rows: NDArray[np.int64],
    groups: NDArray[np.int64],
    person: int,
    outcomes: NDArray[np.int64],
    z: NDArray[np.int64],
    seen: NDArray[np.int64],
    totals: Totals,
) -> None:
    """Add kept rows to their outcomes; ``seen[outcome]`` is the last person counted there."""
    people, kept, sums = totals
    for member in members:
        place = member & HALF
        row = rows[place]
        outcome = outcomes[row] if len(outcomes) else groups[place]
        if seen[outcome] != person:
            seen[outcome] = person
            people[outcome] += 1
        kept[outcome] += 1
        for column in range(z.shape[0]):
            sums[outcome, column, 0] += z[column, row] >> 32
            sums[outcome, column, 1] += z[column, row] & HALF


@njit(cache=True, nogil=True)
def bound(
    limit_groups: int,
    limit_rows: int,
    laid: PeopleRows,
    outcomes: NDArray[np.int64],
    z: NDArray[np.int64],
    columns: NDArray[np.int64],
    u: NDArray[np.int64],
    g: NDArray[np.int64],
    totals: Totals,
) -> None:
    """Keep each person's groups (all, if ``limit_groups`` is 0) and rows, and add them up.

    ``outcomes`` is empty where they are the groups; ``u`` holds the random numbers of people, ``g``
    those of groups, and ``g[3]`` the order of the keys; ``z`` the cells to add up, of which
    ``columns`` tell rows apart. Every row is in the list of exactly one person, and a person's list
    is cut before any of it is added: so nobody adds more than the limits.
    """
    pairs, starts, shift = laid
    total, width = len(starts) - 1, 1 << shift
    longest, widest = most_rows(starts, 1), most_rows(starts, width)
    cursor, bins = np.empty(width, np.int64), np.empty(_BINS, np.int64)
    order, what = np.empty(widest, np.int64), np.empty(widest, np.int64)
    numbers, packed = np.empty(longest, np.int64), np.empty(longest + 1, np.int64)
    ends = np.empty(max(1, min(limit_groups, longest)), np.int64)
    heap = np.empty(min(limit_rows, longest), np.int64)
    seen = np.full(len(totals.people), -1, np.int64)
    for person in range(total):
        first = person & -width
        if person == first:
            gather(first, min(first + width, total), pairs, starts, cursor, order, what)
        begin, end = starts[person] - starts[first], starts[person + 1] - starts[first]
        rows, groups, who = order[begin:end], what[begin:end], u[person]
        if limit_groups:
            cells = _kept_groups(groups, who, g, bins, numbers, packed, ends)
        else:
            cells, ends[0] = 1, end - begin
            for i in range(end - begin):
                packed[i] = i
        begin = 0
        for cell in range(cells):
            members = packed[begin : ends[cell]]
            begin = ends[cell]
            if len(members) > limit_rows:
                for member in members:
                    place = member & HALF
                    v = 1 if limit_groups else g[2, groups[place]]
                    numbers[place] = _row_number(rows[place], v, who, z, columns)
                _smallest_rows(members, heap, numbers, rows, groups, g, z)
                members = heap
            _add(members, rows, groups, person, outcomes, z, seen, totals)
