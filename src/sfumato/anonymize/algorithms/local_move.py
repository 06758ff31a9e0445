"""Transfers that pay: a share goes to a nearer class, or two classes swap shares.

For each share of a class that pays, the nearest classes are looked up (`local_index`)
within what its removal would save. A move needs a class that can spare the share; a
swap needs a partner with the same sensitive values, so that no definition on sensitive
histograms can object. The best proposal of each share is kept in `Proposals`.
"""

# ruff: noqa: ANN001, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from sfumato.anonymize.algorithms.local_index import nearest
from sfumato.anonymize.algorithms.local_rounds import EPSILON, Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.local_index import Index
    from sfumato.anonymize.algorithms.local_judge import Judge
    from sfumato.anonymize.algorithms.local_space import Shares, Space, Summary


@dataclass(frozen=True, eq=False)
class Proposals:
    """Per share: how many records go where, in exchange for which share (−1: none), and the gain.

    `options` are the nearest classes that a share could move to and `worth` what each
    would gain; where the definition is not monotone, a class may not welcome a share.
    """

    moved: NDArray[np.int64]
    target: NDArray[np.int64]
    partner: NDArray[np.int64]
    gain: NDArray[np.float64]
    options: NDArray[np.int64]
    worth: NDArray[np.float64]

    @classmethod
    def none(cls, shares: int, options: int) -> Proposals:
        """Return no proposal for each of so many shares."""
        return cls(
            np.zeros(shares, dtype=np.int64), np.full(shares, -1), np.full(shares, -1),
            np.zeros(shares), np.full((shares, options), -1), np.zeros((shares, options)),
        )  # fmt: skip

    def carry(self, old: NDArray[np.bool_], new: NDArray[np.bool_]) -> Proposals:
        """Return the proposals of the old shares chosen, at the places of the new ones."""
        fresh = Proposals.none(len(new), self.options.shape[1])
        fresh.moved[new], fresh.target[new] = self.moved[old], self.target[old]
        fresh.gain[new] = self.gain[old]
        return fresh

    def settle(self, judge: Judge, shares: Shares, active: NDArray[np.bool_]) -> None:
        """Choose for each active share its best option, if that beats its swap."""
        open_ = np.flatnonzero(active[shares.class_] & (self.options[:, 0] >= 0))
        for k in range(self.options.shape[1]):
            open_ = open_[(self.options[open_, k] >= 0)]
            open_ = open_[self.worth[open_, k] > self.gain[open_]]
            welcome = open_
            if not judge.problem.definition.monotone:
                welcome = open_[
                    judge.changed(
                        shares, self.options[open_, k], shares.tuple_[open_], self.moved[open_]
                    )
                ]
            self.target[welcome] = self.options[welcome, k]
            self.gain[welcome], self.partner[welcome] = self.worth[welcome, k], -1
            open_ = np.setdiff1d(open_, welcome, assume_unique=True)


def propose(
    space: Space,
    shares: Shares,
    classes: Summary,
    index: Index,
    *,
    active: NDArray[np.bool_],
    minimum: int,
    without: NDArray[np.int64],
    gain: NDArray[np.float64],
    held: NDArray[np.bool_],
    kinds: NDArray[np.int64],
    swaps: int,
    proposals: Proposals,
) -> None:
    """Fill in the best transfer of every share of the active classes; `swaps` neighbours deep."""
    _propose(
        space.start, space.node, space.price, shares.tuple_, shares.count, shares.first,
        classes.rep, classes.level, classes.sums, classes.paid, classes.size,
        index.items, index.low, index.high, index.child, index.children, index.rep, index.level,
        index.least, active, minimum, without, gain, held, kinds, swaps,
        proposals.moved, proposals.target, proposals.partner, proposals.gain,
        proposals.options, proposals.worth,
    )  # fmt: skip


def disjoint(shares: Shares, proposals: Proposals) -> tuple[NDArray[np.int64], Transfers]:
    """Return the best proposals that touch different classes, as shares and as transfers."""
    order = np.flatnonzero(proposals.target >= 0)
    order = order[np.argsort(-proposals.gain[order], kind="stable")]
    class_ = shares.class_
    taken = np.zeros(shares.classes, dtype=np.bool_)
    chosen = order[_select(class_[order], proposals.target[order], taken)]
    swap = np.flatnonzero(proposals.partner[chosen] >= 0)
    back, target = proposals.partner[chosen[swap]], proposals.target[chosen]
    moved = np.where(proposals.partner[chosen] >= 0, shares.count[chosen], proposals.moved[chosen])
    return chosen, Transfers(
        change=np.concatenate([np.arange(len(chosen)), swap]),
        tuple_=np.concatenate([shares.tuple_[chosen], shares.tuple_[back]]),
        source=np.concatenate([class_[chosen], target[swap]]),
        target=np.concatenate([target, class_[chosen[swap]]]),
        count=np.concatenate([moved, shares.count[back]]),
    )


@njit(cache=True)
def _select(source, target, taken):  # type: ignore[no-untyped-def]
    chosen = np.zeros(len(source), dtype=np.bool_)
    for j in range(len(source)):
        if not taken[source[j]] and not taken[target[j]]:
            taken[source[j]] = taken[target[j]] = chosen[j] = True
    return chosen


@njit(cache=True)
def _exchanged(start, node, price, sums, level, rep, out, n_out, into, n_into):  # type: ignore[no-untyped-def]
    """Return what a class pays when `out` has left (`level` is without it) and `into` has come."""
    total = 0.0
    for a in range(len(level)):
        column = start[a] + level[a]
        while node[rep, column] != node[into, column]:
            column += 1
        total += sums[column] - n_out * price[out, column] + n_into * price[into, column]
    return total


@njit(cache=True)
def _propose(start, node, price, tuple_, count, first, c_rep, c_level, c_sums, c_paid, c_size,  # type: ignore[no-untyped-def]  # noqa: C901, PLR0912 - one pass
             items, low, high, child, children, x_rep, x_level, x_least,
             active, minimum, without, gain, held, kinds, swaps,
             moved, target, partner, net, options, worth):  # fmt: skip
    attributes, width = c_level.shape[1], c_sums.shape[1]
    stack, bounds = np.empty(len(low), dtype=np.int64), np.empty(len(low))
    room = max(swaps, options.shape[1])
    found, added = np.empty(room, dtype=np.int64), np.empty(room)
    leaf, sums = np.zeros(attributes, dtype=np.int64), np.empty(width)
    for c in range(len(c_rep)):
        if not active[c] or c_paid[c] <= EPSILON:
            continue
        alone = first[c + 1] - first[c] == 1
        for j in range(first[c], first[c + 1]):
            moved[j], target[j], partner[j], net[j] = 0, -1, -1, 0.0
            options[j] = -1
            t, records, saved = tuple_[j], count[j], gain[j]
            free = 0 if held[j] else min(c_size[c] - minimum, count[j])
            if free > 0 and (free < count[j] or alone):
                # Part of a share leaves: the levels stay, only its own price is saved.
                records, saved = free, 0.0
                for a in range(attributes):
                    saved += free * price[t, start[a] + c_level[c, a]]
            if saved <= EPSILON or (free <= 0 and (swaps == 0 or alone)):
                continue
            for w in range(width):
                sums[w] = records * price[t, w]
            radius = saved * 1.5 if swaps > 0 else saved - EPSILON
            nearest(start, node, c_rep, c_level, c_sums, c_paid, items, low, high, child, children,
                    x_rep, x_level, x_least, t, leaf, sums, c, radius,
                    stack, bounds, found, added)  # fmt: skip
            best = EPSILON
            for k in range(options.shape[1]):
                if free > 0 and found[k] >= 0 and saved - added[k] > EPSILON:
                    moved[j], options[j, k], worth[j, k] = records, found[k], saved - added[k]
            if swaps == 0 or alone:
                continue
            rep = tuple_[first[c]] if j > first[c] else tuple_[j + 1]
            for d in found:
                if d < 0 or first[d + 1] - first[d] == 1:
                    continue
                for i in range(first[d], first[d + 1]):
                    if kinds[tuple_[i]] != kinds[t] or count[i] != count[j]:
                        continue
                    other = tuple_[first[d]] if i > first[d] else tuple_[i + 1]
                    rest = c_paid[c] + c_paid[d] - _exchanged(
                        start, node, price, c_sums[c], without[j], rep, t, count[j],
                        tuple_[i], count[i])  # fmt: skip
                    if rest > best:
                        rest -= _exchanged(
                            start, node, price, c_sums[d], without[i], other, tuple_[i], count[i],
                            t, count[j])  # fmt: skip
                    if rest > best:
                        best = rest
                        target[j], partner[j], net[j] = d, i, rest
