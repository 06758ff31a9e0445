"""Improve classes by moving members to where they cost less, and dissolving dear classes.

Each round, every share of a class looks for a better home among the classes of its
neighbours in sorted orders, at exact cost. Two kinds of change are proposed: a share leaves a
class that can spare it, or all shares of a class leave and the class is gone. Changes that
touch different classes are made together, after all classes they touch have been priced
and judged as they would be; a change that does not lower the loss, or leaves a class that
does not hold, is not made. So the loss only falls and what held still holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Shares
from sfumato.anonymize.tables.algorithms.bottom_up.joins import in_line
from sfumato.anonymize.tables.algorithms.bottom_up.merge import sorted_orders
from sfumato.anonymize.tables.algorithms.encoding import describe
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import ValueTree

ROUNDS = 30
WINDOW = 6
"""Neighbours looked at on each side, in each order."""

ENOUGH = 0.002
"""Stop when a round lowers the loss by less than this share of it."""

EPSILON = 1e-9


def improve(shares: Shares, judge: Judge, *, rounds: int = ROUNDS) -> Shares:
    """Return classes of lower loss, all of which hold if all of the given ones do."""
    memory = _Memory(judge.problem.table.distinct)
    out = shares.class_ < 0
    gone = shares.tuple_[out], shares.count[out]
    shares, n = shares.kept().compact()
    for _ in range(rounds if n > 1 else 0):
        if judge.clock.late:
            break
        now = PricedClasses(judge, shares, n)
        shares, saved = _round(now, memory)
        shares, n = _merged(shares).compact()
        if saved < ENOUGH * now.total or n < 2:
            break
    return shares.and_suppressed(*gone)


class Line(NamedTuple):
    """Shares in one sorted order: `share[i]` is the i-th, and `own[i]` its class.

    `mine[i, a]` is where the share's branch of attribute a begins in the tree's arrays, `at[i, a]`
    and `level[i, a]` where that of its class does, and the level it is generalised to.
    """

    share: NDArray[np.int64]
    own: NDArray[np.int64]
    mine: NDArray[np.int64]
    at: NDArray[np.int64]
    level: NDArray[np.int64]


class Homes(NamedTuple):
    """The best class found for each share, what joining it costs, and the price there."""

    home: NDArray[np.int64]
    cost: NDArray[np.float64]
    price: NDArray[np.float64]


class _Memory:
    """What is known of each tuple from earlier rounds.

    A refused tuple was in a change that turned out worse or did not hold. A tuple is awake
    when its class, or the best home of anybody in its class, has changed since it looked.
    """

    def __init__(self, n: int) -> None:
        self.refused = np.zeros(n, dtype=np.bool_)
        self.awake = np.ones(n, dtype=np.bool_)


class PricedClasses:
    """The classes at the beginning of a round, priced."""

    def __init__(self, judge: Judge, shares: Shares, n: int) -> None:
        self.judge = judge
        self.shares = shares
        self.n = n
        encoding = judge.encoding
        self.level, self.low, _ = describe(encoding.tree, shares.tuple_, shares.class_, n)
        self.price = encoding.tree.price[encoding.at(self.level, self.low)].sum(axis=1)
        sizes = np.bincount(shares.class_, weights=shares.count, minlength=n)
        self.size = sizes.astype(np.int64)

    @property
    def total(self) -> float:
        """What all records pay together."""
        return float(self.size @ self.price)


@dataclass(frozen=True, eq=False)
class _Changes:
    """Proposed changes: share `share[j]` gives `moved[j]` records to class `home[j]`.

    Entries are sorted by `change`, which numbers the changes in order of what they promise.
    """

    change: NDArray[np.int64]
    share: NDArray[np.int64]
    moved: NDArray[np.int64]
    home: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> _Changes:
        """Return the entries of the chosen changes."""
        here = chosen[self.change]
        return _Changes(self.change[here], self.share[here], self.moved[here], self.home[here])


def _round(now: PricedClasses, memory: _Memory) -> tuple[Shares, float]:
    """Make the changes of one round; return the new shares and the loss saved."""
    home, price = _homes(now, memory)
    changes = _propose(now, memory, home, price)
    if not len(changes.change):
        return now.shares, 0.0
    free = _without_conflict(changes.change, now.shares.class_[changes.share], changes.home, now.n)
    changes = changes.only(free)
    after = _apply(now.shares, changes)
    touched, owner = _touched(now, changes)
    place = np.full(now.n, -1, dtype=np.int64)
    place[touched] = np.arange(len(touched))
    bags = Shares(after.tuple_, place[after.class_], after.count).kept()
    order = np.argsort(bags.class_, kind="stable")
    bags = Shares(bags.tuple_[order], bags.class_[order], bags.count[order])
    then = PricedClasses(now.judge, bags, len(touched))
    holds = now.judge.holds(bags.tuple_, bags.count, bags.class_, len(touched))
    holds |= then.size == 0
    n = len(free)
    gain = np.bincount(owner, weights=(now.size * now.price)[touched], minlength=n)
    left = np.where(then.size > 0, then.size * then.price, 0.0)
    gain -= np.bincount(owner, weights=left, minlength=n)
    bad = np.bincount(owner, weights=~holds, minlength=n) > 0
    good = free & ~bad & (gain > EPSILON)
    memory.refused[now.shares.tuple_[changes.only(~good).share]] = True
    made = changes.only(good)
    _wake(now, memory, made, home)
    return _apply(now.shares, made), float(gain[good].sum())


def _wake(now: PricedClasses, memory: _Memory, made: _Changes, home: NDArray[np.int64]) -> None:
    """Let only those look again for whom something has changed."""
    class_ = now.shares.class_
    changed = np.zeros(now.n + 1, dtype=np.bool_)
    changed[class_[made.share]] = True
    changed[made.home] = True
    stirred = np.zeros(now.n, dtype=np.bool_)
    stirred[class_[changed[class_] | changed[home]]] = True
    memory.awake[:] = False
    memory.awake[now.shares.tuple_[stirred[class_]]] = True


def _touched(now: PricedClasses, changes: _Changes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes that changes touch, and the one change that touches each."""
    class_ = np.concatenate([now.shares.class_[changes.share], changes.home])
    touched, first = np.unique(class_, return_index=True)
    return touched, np.concatenate([changes.change, changes.change])[first]


def _apply(shares: Shares, changes: _Changes) -> Shares:
    count = shares.count.copy()
    count[changes.share] -= changes.moved
    left = count > 0
    return Shares(
        np.concatenate([shares.tuple_[left], shares.tuple_[changes.share]]),
        np.concatenate([shares.class_[left], changes.home]),
        np.concatenate([count[left], changes.moved]),
    )


def _merged(shares: Shares) -> Shares:
    """Put the shares of one tuple in one class together."""
    order = np.lexsort((shares.tuple_, shares.class_))
    tuple_, class_ = shares.tuple_[order], shares.class_[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (tuple_[1:] != tuple_[:-1]) | (class_[1:] != class_[:-1])
    counts = np.add.reduceat(shares.count[order], np.flatnonzero(new))
    return Shares(tuple_[new], class_[new], counts)


# -- proposing -------------------------------------------------------------------------


def _propose(
    now: PricedClasses, memory: _Memory, home: NDArray[np.int64], price: NDArray[np.float64]
) -> _Changes:
    """Return all changes that promise to save loss, the best first."""
    shares, tree, refused = now.shares, now.judge.encoding.tree, memory.refused
    found = home >= 0
    c, d = shares.class_, np.maximum(home, 0)
    begin = np.searchsorted(c, np.arange(now.n + 1))
    without = np.zeros(len(c))
    _prices_without(*tree, shares.tuple_, begin, np.zeros(len(c) + 1, dtype=np.int64), without)
    spare = now.size[c] - now.judge.problem.definition.minimum_size
    moved = np.minimum(shares.count, np.maximum(spare, 0))
    if not now.judge.counts_only:
        moved = np.where(moved == shares.count, moved, 0)
    leaving = np.where(
        moved == shares.count,
        now.size[c] * now.price[c] - (now.size[c] - moved) * without,
        moved * now.price[c],
    )
    gain = leaving - ((now.size[d] + moved) * price - now.size[d] * now.price[d])
    gain[~found | (moved == 0) | (np.diff(begin)[c] < 2) | refused[shares.tuple_]] = -np.inf
    joining = (now.size[d] + shares.count) * price - now.size[d] * now.price[d]
    joining[~found | refused[shares.tuple_]] = np.inf
    dissolving = now.size * now.price - np.bincount(c, weights=joining, minlength=now.n)
    # A class does one thing at a time: its best move, or to dissolve.
    best = np.full(now.n, -np.inf)
    np.maximum.at(best, c, gain)
    dissolves = (dissolving > best) & (dissolving > EPSILON)
    moves = np.flatnonzero((gain > EPSILON) & ~dissolves[c])
    members = np.flatnonzero(dissolves[c])
    promise = np.concatenate([gain[moves], dissolving[c[members]]])
    key = np.concatenate([moves, len(c) + c[members]])
    share = np.concatenate([moves, members])
    amount = np.concatenate([moved[moves], shares.count[members]])
    order = np.lexsort((share, key, -promise))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = key[order][1:] != key[order][:-1]
    return _Changes(np.cumsum(new) - 1, share[order], amount[order], home[share[order]])


def _homes(now: PricedClasses, memory: _Memory) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each share the class it would cost least to join, and the price there."""
    encoding, shares = now.judge.encoding, now.shares
    n = len(shares.tuple_)
    homes = Homes(np.full(n, -1, dtype=np.int64), np.full(n, np.inf), np.full(n, 0.0))
    leaves = encoding.tree.leaves[shares.tuple_].astype(np.int64)
    awake = memory.awake[shares.tuple_]
    for order in sorted_orders(encoding):
        line = np.argsort(encoding.keys(leaves, order), kind="stable")
        own = shares.class_[line]
        mine, _ = in_line(encoding.tree, order, leaves[line], leaves[line])
        at, level = in_line(encoding.tree, order, now.low[own], now.level[own])
        _look_for_homes(
            Line(line, own, mine, at, level), encoding.tree, awake, shares.count, now.size,
            now.price, WINDOW, homes,
        )  # fmt: skip
    return homes.home, homes.price


@njit(cache=True)
def _look_for_homes(
    line: Line,
    tree: ValueTree,
    awake: NDArray[np.bool_],
    count: NDArray[np.int64],
    size: NDArray[np.int64],
    price_of: NDArray[np.float64],
    window: int,
    homes: Homes,
) -> None:
    """Keep for each share the cheapest class among those of its neighbours in one order.

    `awake` and `count` are per share, `size` and `price_of` (what a record pays) per class. A class
    costs what all its records pay with the share less what they paid without it; `limit` is that
    bound as a price per record, and adding up stops where it is passed, since prices only add.
    """
    share, own, mine, at, level = line
    node, prices = tree.node, tree.price
    home, cost, price = homes
    for i in range(len(share)):
        s = share[i]
        if not awake[s]:
            continue
        last = -1
        for j in range(max(0, i - window), min(len(share), i + window + 1)):
            d = own[j]
            if d == last or d == own[i] or d == home[s]:
                continue
            last = d
            paid = size[d] * price_of[d]
            total = size[d] + count[s]
            limit = (cost[s] + paid) / total
            joined = 0.0
            for a in range(at.shape[1]):
                h = level[j, a]
                while node[at[j, a] + h] != node[mine[i, a] + h]:
                    h += 1
                joined += prices[at[j, a] + h]
                if joined >= limit:
                    break
            if joined < limit:
                home[s] = d
                cost[s] = total * joined - paid
                price[s] = joined


@njit(cache=True)
def _prices_without(  # noqa: C901 - three nested walks
    leaves: NDArray[np.int32],
    start: NDArray[np.int64],
    height: NDArray[np.int64],
    node: NDArray[np.int32],
    price: NDArray[np.float64],
    tuple_: NDArray[np.int64],
    begin: NDArray[np.int64],
    after: NDArray[np.int64],
    result: NDArray[np.float64],
) -> None:
    """Add up for each share the price of its class without it, by ancestors from both ends."""
    for c in range(len(begin) - 1):
        first, last = begin[c], begin[c + 1]
        if last - first < 2:
            continue
        for a in range(len(start)):
            # after[i] is the level on which all shares from i on agree.
            after[last - 1] = 0
            for i in range(last - 2, first - 1, -1):
                h = after[i + 1]
                x = start[a] + leaves[tuple_[i], a] * height[a]
                y = start[a] + leaves[tuple_[i + 1], a] * height[a]
                while node[x + h] != node[y + h]:
                    h += 1
                after[i] = h
            before = 0
            for i in range(first, last):
                # One share before, one after: all others agree with them above these levels.
                neighbour = i - 1 if i > first else i + 1
                x = start[a] + leaves[tuple_[neighbour], a] * height[a]
                h = before
                if i + 1 < last:
                    h = max(h, after[i + 1])
                    y = start[a] + leaves[tuple_[i + 1], a] * height[a]
                    while node[x + h] != node[y + h]:
                        h += 1
                result[i] += price[x + h]
                if i > first:
                    y = start[a] + leaves[tuple_[i], a] * height[a]
                    while node[x + before] != node[y + before]:
                        before += 1


@njit(cache=True)
def _without_conflict(
    change: NDArray[np.int64], source: NDArray[np.int64], home: NDArray[np.int64], n: int
) -> NDArray[np.bool_]:
    """Choose changes in order, each class being touched by one of them at most."""
    free = np.zeros(change[-1] + 1, dtype=np.bool_)
    used = np.zeros(n, dtype=np.bool_)
    first = 0
    while first < len(change):
        last = first
        clear = not used[source[first]]
        while last < len(change) and change[last] == change[first]:
            clear = clear and not used[home[last]]
            last += 1
        if clear:
            free[change[first]] = True
            used[source[first]] = True
            for i in range(first, last):
                used[home[i]] = True
        first = last
    return free
