"""Kernels that divide sets from the root down, label by label, with a look ahead.

All sets of a class show the same nodes, each item as the lowest of them above it. Nodes shown may
lie above one another: ``{A1, A}`` is an item of A1 and another one of A that is not told more
closely. How a class is split is said in `split_kernel`. The best few splits of a small class are
played out to the end before one is taken. Fewer than k others are put aside, at a price, to be
divided among themselves.
"""

from __future__ import annotations

import numpy as np

from sfumato.anonymize.sets.divide.split_kernel import FREE, find_splits, make_room, part, show
from sfumato.anonymize.sets.divide.tally_kernel import count, discount, forget, rise, set_up
from sfumato.compiler import njit, njit_inner

UNKNOWN = -1.0
"""What a class comes to pay that was not played out."""


@njit_inner
def price_of(order, b, e, shown, ground):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what the sets of a class pay."""
    cost = 0.0
    for x in range(b, e):
        t = order[x]
        for p in range(ground.starts[t], ground.starts[t + 1]):
            cost += ground.price[shown[p]]
    return cost


@njit_inner
def leave_others(met, total, order, cuts, shown, ground, tally):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Make what was counted of a class that of the others; return nodes left, and the total.

    Where most sets leave, the others are counted afresh: that is less work.
    """
    if cuts[3] - cuts[1] > cuts[1] - cuts[0]:
        forget(met, tally)
        return count(order, cuts[0], cuts[1], shown, ground, tally)
    return met, total - discount(order, cuts[1], cuts[3], shown, ground, tally)


@njit(cache=True)
def play_out(order, b, e, shown, ground, tally, splits, cuts, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Split a class always by the best split; return what it then pays, if less than `limit`."""
    k, spare = ground.k, min(ground.aside, 1.0)
    paid = 0.0
    stack = [(b, e)]
    while len(stack) > 0 and paid < limit:
        b, e = stack.pop()
        met, total = count(order, b, e, shown, ground, tally)
        while True:
            found, met = find_splits(met, e - b, total, ground, tally, splits, 1)
            if found == 0:
                paid += total / spare
                break
            part(order, b, e, shown, ground, splits, 0, cuts)
            e = cuts[1]
            if e - b >= k:
                met, total = leave_others(met, total, order, cuts, shown, ground, tally)
            show(order, cuts[1], cuts[3], shown, ground, splits, 0)
            for i in range(3):
                size = cuts[i + 1] - cuts[i]
                if 0 < size < k:
                    paid += price_of(order, cuts[i], cuts[i + 1], shown, ground) * (1 + spare)
                elif i > 0 and size > 0:
                    stack.append((cuts[i], cuts[i + 1]))
            if e - b < k:
                break
        forget(met, tally)
    return paid


@njit(cache=True)
def try_out(members, shown, ground, tally, rooms, choice, cuts, parts, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return what a class would pay if it were split so, and then always by the best split.

    Writes what each of its parts would pay; stops where that is more than `limit`.
    """
    order = members.copy()
    part(order, 0, len(order), shown, ground, rooms[0], choice, cuts)
    show(order, cuts[1], cuts[3], shown, ground, rooms[0], choice)
    inner = np.zeros(4, np.int64)
    paid = 0.0
    for i in range(3):
        b, e = cuts[i], cuts[i + 1]
        parts[i] = 0.0
        if 0 < e - b < ground.k:
            parts[i] = price_of(order, b, e, shown, ground) * (1 + min(ground.aside, 1.0))
        elif e > b:
            parts[i] = play_out(order, b, e, shown, ground, tally, rooms[1], inner, limit - paid)
        paid += parts[i]
        if paid >= limit:
            break
    return paid


@njit(cache=True)
def choose_split(members, shown, ground, tally, rooms, found, cuts, known, parts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Try every split out, and return the one after which the class pays least.

    `known` is what it would pay after the first, if that is known; what its parts then pay is
    written to `parts`, as far as it is known.
    """
    size = 0
    for t in members:
        size += ground.starts[t + 1] - ground.starts[t]
    before = np.empty(size, np.int32)
    place = 0
    for t in members:
        for p in range(ground.starts[t], ground.starts[t + 1]):
            before[place] = shown[p]
            place += 1
    best, choice = (known, 0) if known >= 0.0 else (np.inf, 0)
    parts[:] = UNKNOWN
    trial = np.empty(3)
    for i in range(1 if known >= 0.0 else 0, found):
        cost = try_out(members, shown, ground, tally, rooms, i, cuts, trial, best - 1e-12)
        if cost < best - 1e-12:
            best, choice = cost, i
            parts[:] = trial
        place = 0
        for t in members:
            for p in range(ground.starts[t], ground.starts[t + 1]):
                shown[p] = before[place]
                place += 1
    return choice


@njit(cache=True)
def divide_deeply(order, begins, ends, shown, ground, tries, small):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Divide classes of `order`, which is permuted in place, as far as that saves.

    `shown`, the node of every item, is kept up to date. Up to `tries` splits are tried out in
    classes of at most `small` sets. Returns the class of every place of `order`, −1 for sets that
    were put aside.
    """
    k, width, low = ground.k, len(ground.parent), ground.items.copy()
    tally, trial = set_up(width, low), set_up(width, low)
    rooms = (make_room(tries), make_room(1))
    splits = rooms[0]
    cuts, parts = np.zeros(4, np.int64), np.empty(3)
    class_at = np.full(len(order), -1, np.int64)
    made = 0
    stack = [(begins[c], ends[c], UNKNOWN) for c in range(len(begins))]
    while len(stack) > 0:
        b, e, known = stack.pop()
        met, total = count(order, b, e, shown, ground, tally)
        rise(order, b, e, shown, ground, tally)
        while True:
            most = tries if e - b <= small else 1
            found, met = find_splits(met, e - b, total, ground, tally, splits, most)
            if found == 0:
                class_at[b:e] = made
                made += 1
                break
            choice = 0
            parts[:] = known if splits.score[0] >= FREE else UNKNOWN
            if found > 1 and splits.score[0] < FREE:
                choice = choose_split(
                    order[b:e], shown, ground, trial, rooms, found, cuts, known, parts
                )
            part(order, b, e, shown, ground, splits, choice, cuts)
            e, known = cuts[1], parts[0]
            if e - b >= k:
                met, total = leave_others(met, total, order, cuts, shown, ground, tally)
            show(order, cuts[1], cuts[3], shown, ground, splits, choice)
            for i in range(1, 3):
                if cuts[i + 1] - cuts[i] >= k:
                    stack.append((cuts[i], cuts[i + 1], parts[i]))  # noqa: PERF401 - compiled
            if e - b < k:
                break
        forget(met, tally)
    return class_at
