"""Groups of k like traces: greedy first, then exchanged until nothing gets better.

`group_greedily` is MDAV (Domingo-Ferrer, Mateo-Sanz 2002) with people told apart: take the trace
farthest from the middle and its nearest of k − 1 other people, then the same around the one
farthest from that, and so on. `exchange` is descent on what is released: the cost of a group is its
size times the sum of its ranges over all features, since every member is shown the whole box. Two
neighbouring groups exchange a pair of members, or one gives a member away, where that makes the sum
smaller; a group never falls below k people.

Both see features (one row per trace, scaled so that ranges add up) and the person of each trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Singles = NDArray[np.float32]
    Ints = NDArray[np.int64]


@njit(cache=True)
def _square(row: Singles, other: Singles, dims: int, most: float) -> Any:
    """Squared distance, given up where it passes `most`."""
    total = np.float32(0.0)
    for d in range(dims):
        gap = row[d] - other[d]
        total += gap * gap
        if total > most:
            break
    return total


@njit(cache=True)
def _nearest(
    features: Singles,
    person: Ints,
    free: Ints,
    count: int,
    centre: int,
    k: int,
    chosen: Ints,
    far: bool,
) -> tuple[Any, Any]:
    """Put the k nearest free traces of different people into `chosen`; return the farthest.

    Where `far` is false the farthest is not wanted, and distances beyond the k-th are given up.
    """
    dims = features.shape[1]
    best = np.full(k, np.float32(np.inf))
    farthest, most = -1, np.float32(-1.0)
    for p in range(count):
        i = free[p]
        away = _square(
            features[i], features[centre], dims, np.float32(np.inf) if far else best[k - 1]
        )
        if i == centre:
            away = np.float32(-1.0)
        if away > most:
            farthest, most = i, away
        if away >= best[k - 1]:
            continue
        place = k - 1
        for q in range(k):
            if best[q] < np.inf and person[chosen[q]] == person[i]:
                place = q
                break
        if away >= best[place]:
            continue
        while place > 0 and best[place - 1] > away:
            best[place] = best[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        best[place] = away
        chosen[place] = i
    return farthest, best[k - 1] < np.inf


@njit(cache=True)
def _take(free: Ints, count: int, slot: Ints, chosen: Ints, group_of: Ints, label: int) -> int:
    for i in chosen:
        group_of[i] = label
        count -= 1
        last = free[count]
        free[slot[i]] = last
        slot[last] = slot[i]
    return count


@njit(cache=True)
def group_greedily(  # noqa: C901 - one loop, compiled
    features: Singles, person: Ints, k: int
) -> Ints:
    """Return the group of each trace, each with at least k people; there must be k in all."""
    n, dims = features.shape
    group_of = np.full(n, -1, np.int64)
    free, slot = np.arange(n), np.arange(n)
    count, groups = n, 0
    total = np.zeros(dims)
    for i in range(n):
        total += features[i]
    chosen = np.empty(k, np.int64)
    centre = np.empty(dims, np.float32)
    while count >= k:
        for d in range(dims):
            centre[d] = total[d] / count
        start: Any = -1
        most = np.float32(-1.0)
        for p in range(count):
            away = _square(features[free[p]], centre, dims, np.float32(np.inf))
            if away > most:
                start, most = free[p], away
        for turn in range(2):
            far, enough = _nearest(features, person, free, count, start, k, chosen, turn == 0)
            if not enough:
                break
            for member in chosen:
                total -= features[member]
            count = _take(free, count, slot, chosen, group_of, groups)
            groups += 1
            start = far
            if far < 0 or group_of[far] >= 0 or count < k:
                break
        if not enough:
            break
    _join_rest(features, group_of, groups)
    return group_of


@njit(cache=True)
def _join_rest(features: Singles, group_of: Ints, groups: int) -> None:
    """Let traces without a group join the one whose middle is nearest."""
    middles = means(features, group_of, groups)
    dims = features.shape[1]
    for i in range(len(features)):
        if group_of[i] >= 0:
            continue
        best = np.float32(np.inf)
        for g in range(groups):
            away = _square(features[i], middles[g], dims, best)
            if away < best:
                best = away
                group_of[i] = g


@njit(cache=True)
def means(features: Singles, group_of: Ints, groups: int) -> Singles:
    """Return the middle of each group."""
    found = np.zeros((groups, features.shape[1]), np.float32)
    sizes = np.zeros(groups, np.int64)
    for i in range(len(features)):
        if group_of[i] >= 0:
            found[group_of[i]] += features[i]
            sizes[group_of[i]] += 1
    for g in range(groups):
        found[g] /= max(sizes[g], 1)
    return found


@njit(cache=True)
def _neighbours(middles: Singles, wanted: int) -> Ints:
    """Return for each group the groups with the nearest middles."""
    groups, dims = middles.shape
    most = min(wanted, groups - 1)
    found = np.empty((groups, most), np.int64)
    best = np.empty(most, np.float32)
    for g in range(groups):
        best[:] = np.inf
        for h in range(groups):
            if h == g or most == 0:
                continue
            away = _square(middles[g], middles[h], dims, best[most - 1])
            if away >= best[most - 1]:
                continue
            place = most - 1
            while place > 0 and best[place - 1] > away:
                best[place] = best[place - 1]
                found[g, place] = found[g, place - 1]
                place -= 1
            best[place] = away
            found[g, place] = h
    return found


@njit(cache=True)
def _measure(features: Singles, members: Ints, size: int, ends: Singles) -> None:
    """Fill the two lowest and the two highest values of every feature of a group."""
    dims = features.shape[1]
    ends[0, :] = np.inf
    ends[1, :] = np.inf
    ends[2, :] = -np.inf
    ends[3, :] = -np.inf
    for p in range(size):
        row = features[members[p]]
        for d in range(dims):
            v = row[d]
            if v < ends[0, d]:
                ends[1, d] = ends[0, d]
                ends[0, d] = v
            elif v < ends[1, d]:
                ends[1, d] = v
            if v > ends[2, d]:
                ends[3, d] = ends[2, d]
                ends[2, d] = v
            elif v > ends[3, d]:
                ends[3, d] = v


@njit(cache=True)
def _width(ends: Singles, out: Singles, into: Singles, most: float) -> Any:
    """Sum the ranges of a group without `out` and with `into` (either may be its own row)."""
    total = np.float32(0.0)
    for d in range(len(out)):
        low = ends[1, d] if out[d] == ends[0, d] else ends[0, d]
        high = ends[3, d] if out[d] == ends[2, d] else ends[2, d]
        low = min(low, into[d])
        high = max(high, into[d])
        total += high - low
        if total > most:
            break
    return total


@njit(cache=True)
def _people(person: Ints, members: Ints, size: int, without: int, extra: int) -> int:
    """Count the people of a group without one member and with another's person (or −1)."""
    seen = 0
    for p in range(size):
        if p == without:
            continue
        new = person[members[p]] != extra
        for q in range(p):
            if q != without and person[members[q]] == person[members[p]]:
                new = False
        seen += new
    return seen + (extra >= 0)


@njit(cache=True)
def exchange(  # noqa: C901 - one loop, compiled
    features: Singles, person: Ints, group_of: Ints, groups: int, k: int, rounds: int, wanted: int
) -> None:
    """Exchange members of neighbouring groups while that makes boxes smaller."""
    n, dims = features.shape
    sizes = np.zeros(groups, np.int64)
    for i in range(n):
        sizes[group_of[i]] += 1
    room = int(sizes.max()) + k
    members = np.zeros((groups, room), np.int64)
    sizes[:] = 0
    for i in range(n):
        members[group_of[i], sizes[group_of[i]]] = i
        sizes[group_of[i]] += 1
    ends = np.empty((groups, 4, dims), np.float32)
    width = np.zeros(groups, np.float32)
    for g in range(groups):
        _measure(features, members[g], sizes[g], ends[g])
        width[g] = (ends[g, 2] - ends[g, 0]).sum()
    near = _neighbours(means(features, group_of, groups), wanted)
    alive = np.ones(groups, np.bool_)
    for _ in range(rounds):
        moved = False
        fresh = np.zeros(groups, np.bool_)
        for g in range(groups):
            for c in range(near.shape[1]):
                h = near[g, c]
                if not (alive[g] or alive[h]):
                    continue
                if _improve(features, person, members, sizes, ends, width, g, h, k):
                    fresh[g] = True
                    fresh[h] = True
                    moved = True
        alive = fresh
        if not moved:
            break
    for g in range(groups):
        for p in range(sizes[g]):
            group_of[members[g, p]] = g


@njit(cache=True)
def _improve(  # noqa: C901 - one loop, compiled
    features: Singles,
    person: Ints,
    members: Ints,
    sizes: Ints,
    ends: Singles,
    width: Singles,
    g: int,
    h: int,
    k: int,
) -> bool:
    """Make the best exchange or gift between two groups, where one makes the sum smaller."""
    before = sizes[g] * width[g] + sizes[h] * width[h]
    best, at, to = before * np.float32(0.99999), -1, -1
    for p in range(sizes[g]):
        i = features[members[g, p]]
        if sizes[g] > k and sizes[h] < members.shape[1]:  # a gift from g to h
            lighter = (sizes[g] - 1) * _width(
                ends[g], i, features[members[g, (p + 1) % sizes[g]]], np.float32(np.inf)
            )
            heavier = (sizes[h] + 1) * _wider(ends[h], i)
            if lighter + heavier < best and _people(person, members[g], sizes[g], p, -1) >= k:
                best, at, to = lighter + heavier, p, -1
        for q in range(sizes[h]):
            j = features[members[h, q]]
            first = sizes[g] * _width(ends[g], i, j, best / sizes[g])
            if first >= best:
                continue
            both = first + sizes[h] * _width(ends[h], j, i, (best - first) / sizes[h])
            if both >= best:
                continue
            if (
                _people(person, members[g], sizes[g], p, person[members[h, q]]) >= k
                and _people(person, members[h], sizes[h], q, person[members[g, p]]) >= k
            ):
                best, at, to = both, p, q
    if at < 0:
        return False
    if to < 0:
        members[h, sizes[h]] = members[g, at]
        sizes[h] += 1
        sizes[g] -= 1
        members[g, at] = members[g, sizes[g]]
    else:
        members[g, at], members[h, to] = members[h, to], members[g, at]
    for changed in (g, h):
        _measure(features, members[changed], sizes[changed], ends[changed])
        width[changed] = (ends[changed, 2] - ends[changed, 0]).sum()
    return True


@njit(cache=True)
def _wider(ends: Singles, into: Singles) -> Any:
    total = np.float32(0.0)
    for d in range(len(into)):
        total += max(ends[2, d], into[d]) - min(ends[0, d], into[d])
    return total


@njit(cache=True)
def disturb(group_of: Ints, seed: int) -> Ints:
    """Exchange every twentieth trace with another one, by a fixed sequence of numbers: a new start.

    All traces must be of different people. The sequence decides where a search begins, and nothing
    that a release shows of single people: no secret randomness is needed.
    """
    n = len(group_of)
    state = np.uint64(seed * 2 + 1)
    for i in range(0, n, 20):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = int((state >> np.uint64(33)) % np.uint64(n))
        group_of[i], group_of[j] = group_of[j], group_of[i]
    return group_of
