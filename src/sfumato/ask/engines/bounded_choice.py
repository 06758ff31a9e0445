"""Each person's few groups and rows, chosen and added up by compiled loops.

Contract: :func:`bound` walks over people whose rows :mod:`sfumato.ask.engines.bounded_kernels` has
laid together, keeps of each what :mod:`sfumato.ask.plan.choice` says, and adds it up: people, rows
and sums per outcome (the group, or the group and a grid point).

Of a person's ranks, which are spread evenly, only those below a limit are sorted, a few more than
groups are kept; where they belong to too few groups, the limit is raised and she is looked at
again. So the limit decides about time and about nothing else. Sums are kept as two halves of 32
bits, which cannot overflow below 2³¹ rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.ask.engines.bounded_kernels import HALF, P, mixed, modulo, most_rows
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BINS = 64  # bins by which a few numbers are sorted
_FEW = 256  # more than so many are sorted by Shell's method
_SPARE = 8  # ranks looked at beyond a quarter more than groups are kept


class PeopleRows(NamedTuple):
    """Rows laid together by blocks of 2^``shift`` people, whose rows begin at ``starts``.

    ``pairs`` are people and groups as :func:`sfumato.ask.engines.bounded_kernels.scatter` packs
    them; ``z`` are the cells to add up, of which ``columns`` tell rows apart; ``outcomes`` is empty
    where they are the groups.
    """

    pairs: NDArray[np.int64]
    starts: NDArray[np.int64]
    shift: int
    outcomes: NDArray[np.int64]
    z: NDArray[np.int64]
    columns: NDArray[np.int64]


class Hashes(NamedTuple):
    """The random numbers of people, and those of groups with the order of their keys last."""

    u: NDArray[np.int64]
    g: NDArray[np.int64]


class Totals(NamedTuple):
    """What is left of each outcome: people, rows, and sums in two halves."""

    people: NDArray[np.int64]
    rows: NDArray[np.int64]
    sums: NDArray[np.int64]


class Scratch(NamedTuple):
    """Room for the rows of a block, ordered by person, and for those of one person.

    ``groups``, ``outcomes`` and ``cells`` are of the block; ``packed`` holds rank and place of the
    rows of a person that are looked at, group by group up to ``ends``.
    """

    groups: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    cells: NDArray[np.int64]
    packed: NDArray[np.int64]
    spare: NDArray[np.int64]
    bins: NDArray[np.int64]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]
    heap: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _group_before(person: int, a: int, b: int, hashes: Hashes) -> Any:
    """Order two groups whose first ranks are equal: by the second rank, then by their keys."""
    u, g = hashes
    first = mixed(u[person, 1], g[1, a], u[person, 2], u[person, 3])
    second = mixed(u[person, 1], g[1, b], u[person, 2], u[person, 3])
    return g[3, a] < g[3, b] if first == second else first < second


@njit(cache=True, nogil=True)
def _sort_many(packed: NDArray[np.int64], count: int) -> None:
    """Sort numbers by Shell's method with Knuth's gaps."""
    gap = 1
    while 9 * gap < count:
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
def _sort(
    packed: NDArray[np.int64],
    count: int,
    below: int,
    spare: NDArray[np.int64],
    bins: NDArray[np.int64],
) -> None:
    """Sort numbers whose upper halves lie evenly below a limit: by bins, then by insertion."""
    if count > _FEW:
        _sort_many(packed, count)
        return
    shift = 0
    while below >> shift > _BINS:
        shift += 1
    shift += 32
    bins[:] = 0
    for i in range(count):
        bins[(packed[i] >> shift) + 1] += 1
    for i in range(_BINS + 1):
        bins[i + 1] += bins[i]
    for i in range(count):
        value = packed[i]
        at = bins[value >> shift]
        bins[value >> shift] = at + 1
        spare[at] = value
    for i in range(count):
        value = spare[i]
        at = i
        while at > 0 and packed[at - 1] > value:
            packed[at] = packed[at - 1]
            at -= 1
        packed[at] = value


@njit(cache=True, nogil=True)
def _order_ties(
    person: int, base: int, begin: int, end: int, desk: Scratch, hashes: Hashes
) -> None:
    """Order rows of different groups whose first ranks are equal."""
    packed, groups = desk.packed, desk.groups
    for i in range(begin + 1, end):
        value = packed[i]
        at = i
        while at > begin and _group_before(
            person, groups[base + (value & HALF)], groups[base + (packed[at - 1] & HALF)], hashes
        ):
            packed[at] = packed[at - 1]
            at -= 1
        packed[at] = value


@njit(cache=True, nogil=True)
def _split(person: int, base: int, count: int, desk: Scratch, hashes: Hashes) -> Any:
    """Find where each group ends among sorted rows; return how many groups there are."""
    packed, groups, ends = desk.packed, desk.groups, desk.ends
    cells = at = 0
    while at < count and cells < len(ends):
        rank, group = packed[at] >> 32, groups[base + (packed[at] & HALF)]
        end = at + 1
        alike = True
        while end < count and packed[end] >> 32 == rank:
            alike = alike and groups[base + (packed[end] & HALF)] == group
            end += 1
        if not alike:
            _order_ties(person, base, at, end, desk, hashes)
        while at < end and cells < len(ends):
            if alike:
                at = end
            else:
                group = groups[base + (packed[at] & HALF)]
                while at < end and groups[base + (packed[at] & HALF)] == group:
                    at += 1
            ends[cells] = at
            cells += 1
    return cells


@njit(cache=True, nogil=True)
def _kept_groups(
    person: int, base: int, size: int, wanted: int, desk: Scratch, hashes: Hashes
) -> Any:
    """Leave the rows of a person's groups with the smallest ranks, one group after the other.

    Return how many groups these are, and whether as many rows as ``wanted`` were enough.
    """
    packed, groups, u, g = desk.packed, desk.groups, hashes.u, hashes.g
    a, b, c = u[person, 0], u[person, 1], u[person, 2]
    below = P if 2 * wanted >= size else P // size * wanted
    first = below
    while True:
        count = 0
        for i in range(size):
            rank = mixed(a, g[0, groups[base + i]], b, c)
            packed[count] = (rank << 32) | i
            count += rank < below
        _sort(packed, count, below, desk.spare, desk.bins)
        cells = _split(person, base, count, desk, hashes)
        if cells == len(desk.ends) or below == P:
            return cells, below == first
        below = min(P, 4 * below)


@njit(cache=True, nogil=True)
def _row_number(
    person: int, place: int, v: int, desk: Scratch, hashes: Hashes, columns: NDArray[np.int64]
) -> Any:
    u = hashes.u
    for column in columns:
        value = 1 if column < 0 else desk.cells[place, column]
        v = modulo(v * 48271 + (value % P))
    return mixed(u[person, 0], v, u[person, 3], u[person, 1])


@njit(cache=True, nogil=True)
def _row_before(
    a: int, b: int, base: int, desk: Scratch, order: NDArray[np.int64], columns: NDArray[np.int64]
) -> Any:
    """Order two rows of a person by their numbers, then by their keys and values."""
    numbers, groups, cells = desk.numbers, desk.groups, desk.cells
    if numbers[a] != numbers[b]:
        return numbers[a] < numbers[b]
    a += base
    b += base
    if groups[a] != groups[b]:
        return order[groups[a]] < order[groups[b]]
    for column in columns:
        if column >= 0 and cells[a, column] != cells[b, column]:
            return cells[a, column] < cells[b, column]
    return False


@njit(cache=True, nogil=True)
def _smallest_rows(
    begin: int,
    end: int,
    base: int,
    desk: Scratch,
    order: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> None:
    """Leave in the heap as many of a person's rows as it holds: those that come first."""
    heap = desk.heap
    limit = len(heap)
    for count in range(end - begin):
        new = desk.packed[begin + count] & HALF
        if count < limit:
            at = count
            while at > 0:
                above = (at - 1) >> 1
                if not _row_before(heap[above], new, base, desk, order, columns):
                    break
                heap[at] = heap[above]
                at = above
        else:
            if not _row_before(new, heap[0], base, desk, order, columns):
                continue
            at = 0
            while True:
                below = 2 * at + 1
                if below >= limit:
                    break
                if below + 1 < limit and _row_before(
                    heap[below], heap[below + 1], base, desk, order, columns
                ):
                    below += 1
                if not _row_before(new, heap[below], base, desk, order, columns):
                    break
                heap[at] = heap[below]
                at = below
        heap[at] = new


@njit(cache=True, nogil=True)
def _first_rows(
    person: int,
    base: int,
    begin: int,
    end: int,
    v: int,
    desk: Scratch,
    hashes: Hashes,
    columns: Any,
) -> None:
    """Leave in the heap the rows of a cell that come first."""
    for member in range(begin, end):
        place = desk.packed[member] & HALF
        start = v or hashes.g[2, desk.groups[base + place]]
        desk.numbers[place] = _row_number(person, base + place, start, desk, hashes, columns)
    _smallest_rows(begin, end, base, desk, hashes.g[3], columns)


@njit(cache=True, nogil=True)
def _kept_rows(
    person: int, base: int, cells: int, v: int, desk: Scratch, hashes: Hashes, columns: Any
) -> Any:
    """Cut each cell of a person to the rows that are kept; return how many are left in all.

    ``v`` is what the numbers of rows begin with: 0 where their groups tell them apart.
    """
    packed, ends, limit = desk.packed, desk.ends, len(desk.heap)
    begin = left = 0
    for cell in range(cells):
        end = ends[cell]
        if end - begin > limit:
            _first_rows(person, base, begin, end, v, desk, hashes, columns)
            for i in range(limit):
                packed[left + i] = desk.heap[i]
            left += limit
        else:
            for member in range(begin, end):
                packed[left] = packed[member]
                left += 1
        begin = end
    return left


@njit(cache=True, nogil=True)
def _add(
    person: int, base: int, count: int, desk: Scratch, seen: NDArray[np.int64], totals: Totals
) -> None:
    """Add kept rows to their outcomes; ``seen[outcome]`` is the last person counted there."""
    people, kept, sums = totals
    packed, groups, outcomes, cells = desk.packed, desk.groups, desk.outcomes, desk.cells
    for member in range(count):
        place = base + (packed[member] & HALF)
        outcome = outcomes[place] if len(outcomes) else groups[place]
        if seen[outcome] != person:
            seen[outcome] = person
            people[outcome] += 1
        kept[outcome] += 1
        for column in range(cells.shape[1]):
            sums[outcome, column, 0] += cells[place, column] >> 32
            sums[outcome, column, 1] += cells[place, column] & HALF


@njit(cache=True, nogil=True)
def _take_block(
    first: int, last: int, laid: PeopleRows, cursor: NDArray[np.int64], desk: Scratch
) -> None:
    """Order the rows of a block by person: the second, nearby step of the laying out."""
    pairs, starts = laid.pairs, laid.starts
    for person in range(first, last):
        cursor[person - first] = starts[person] - starts[first]
    for row in range(starts[first], starts[last]):
        person = (pairs[row] >> 32) - first
        place = cursor[person]
        cursor[person] = place + 1
        desk.groups[place] = pairs[row] & HALF
        if len(laid.outcomes):
            desk.outcomes[place] = laid.outcomes[row]
        for column in range(laid.z.shape[0]):
            desk.cells[place, column] = laid.z[column, row]


@njit(cache=True, nogil=True)
def bound(
    limit_groups: int, limit_rows: int, laid: PeopleRows, hashes: Hashes, totals: Totals
) -> None:
    """Keep each person's groups (all, if ``limit_groups`` is 0) and rows, and add them up.

    Every row is in the list of exactly one person, and a person's list is cut before any of it is
    added: so nobody adds more than the limits.
    """
    starts, width = laid.starts, 1 << laid.shift
    total = len(starts) - 1
    longest, widest = most_rows(starts, 1), most_rows(starts, width)
    cursor, seen = np.empty(width, np.int64), np.full(len(totals.people), -1, np.int64)
    desk = Scratch(
        np.empty(widest, np.int64),
        np.empty(widest if len(laid.outcomes) else 0, np.int64),
        np.empty((widest, laid.z.shape[0]), np.int64),
        np.empty(longest + 1, np.int64),
        np.empty(_FEW, np.int64),
        np.empty(_BINS + 2, np.int64),
        np.empty(max(1, min(limit_groups, longest)), np.int64),
        np.empty(longest, np.int64),
        np.empty(min(limit_rows, longest), np.int64),
    )
    least = len(desk.ends) + len(desk.ends) // 4 + _SPARE
    wanted = least
    for person in range(total):
        first = person & -width
        if person == first:
            _take_block(first, min(first + width, total), laid, cursor, desk)
        base, size = starts[person] - starts[first], starts[person + 1] - starts[person]
        if limit_groups:
            cells, enough = _kept_groups(person, base, size, wanted, desk, hashes)
            wanted = max(least, wanted - wanted // 16) if enough else 2 * wanted
        else:
            cells, desk.ends[0] = 1, size
            for i in range(size):
                desk.packed[i] = i
        v = 1 if limit_groups else 0
        count = _kept_rows(person, base, cells, v, desk, hashes, laid.columns)
        _add(person, base, count, desk, seen, totals)
