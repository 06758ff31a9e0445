"""Transfers that pay: a share goes to a nearer class, or two classes swap shares.

For each share of a class that pays, the nearest classes are looked up (`index`)
within what its removal would save. A move needs a class that can spare the share; a
swap needs a partner with the same sensitive values, so that no definition on sensitive
histograms can object. The best proposal of each share is kept in `Proposals`.
"""

# ruff: noqa: ANN001, ANN202 - Numba infers the types of compiled kernels

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.tables.algorithms.local.index import Queries, build, search
from sfumato.anonymize.tables.algorithms.local.rounds import EPSILON, Transfers
from sfumato.anonymize.tables.algorithms.local.space import INNER, OUTER
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space, Summary

REACH = 1.5
"""How far beyond what its removal saves a share looks for a partner to swap with."""


class Exchanges(NamedTuple):
    """The best exchange of each share so far: with which share, of which class, for what gain."""

    target: NDArray[np.int64]
    partner: NDArray[np.int64]
    gain: NDArray[np.float64]


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


@dataclass(frozen=True, eq=False)
class Offer:
    """What proposals are made from: the state, and what each class would be without a share."""

    space: Space
    shares: Shares
    classes: Summary
    without: NDArray[np.int64]
    gain: NDArray[np.float64]
    held: NDArray[np.bool_]
    kinds: NDArray[np.int64]
    minimum: int


def propose(
    offer: Offer, active: NDArray[np.bool_], swaps: int, proposals: Proposals, clock: Clock
) -> None:
    """Fill in the transfers of every share of the active classes; `swaps` neighbours deep."""
    space, shares, classes = offer.space, offer.shares, offer.classes
    class_ = shares.class_
    asked = np.flatnonzero((active & (classes.paid > EPSILON))[class_])
    proposals.target[asked], proposals.partner[asked] = -1, -1
    proposals.options[asked], proposals.gain[asked] = -1, 0.0
    count, alone = shares.count[asked], (shares.width == 1)[class_[asked]]
    free = np.minimum(classes.size[class_[asked]] - offer.minimum, count)
    free[offer.held[asked]] = 0
    # Where part of a share leaves, the levels stay and only its own price is saved.
    part = (free > 0) & ((free < count) | alone)
    columns = space.start[:-1] + classes.level[class_[asked]]
    own = np.take_along_axis(space.price[shares.tuple_[asked]], columns, axis=1).sum(axis=1)
    saved = np.where(part, free * own, offer.gain[asked])
    worth = (saved > EPSILON) & ((free > 0) | (~alone & (swaps > 0)))
    asked, free, saved = asked[worth], free[worth], saved[worth]
    moved = np.where(part[worth], free, count[worth])
    index = build(space, classes, np.flatnonzero(shares.width))
    queries = Queries(
        shares.tuple_[asked], np.zeros((len(asked), classes.level.shape[1]), dtype=np.int64),
        space.price[shares.tuple_[asked]] * moved[:, None], class_[asked],
    )  # fmt: skip
    options = proposals.options.shape[1]
    found, added = search(
        space, classes, index, queries, saved * (REACH if swaps else 1.0),
        keep=max(options, swaps), clock=clock,
    )  # fmt: skip
    gains = saved[:, None] - added[:, :options]
    open_ = (found[:, :options] >= 0) & (gains > EPSILON) & (free > 0)[:, None]
    proposals.moved[asked] = moved
    proposals.options[asked] = np.where(open_, found[:, :options], -1)
    proposals.worth[asked] = gains
    if swaps:
        _swap(
            space.ancestors, shares.members, class_, classes, offer.without, offer.kinds, asked,
            found, Exchanges(proposals.target, proposals.partner, proposals.gain),
        )  # fmt: skip


def disjoint(shares: Shares, proposals: Proposals) -> tuple[NDArray[np.int64], Transfers]:
    """Return the best proposals that touch different classes, as shares and as transfers."""
    order = np.flatnonzero(proposals.target >= 0)
    order = order[np.argsort(-proposals.gain[order], kind="stable")]
    class_ = shares.class_
    chosen = order[_select(class_[order], proposals.target[order], shares.classes)]
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


def _select(source: NDArray[np.int64], target: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the places of the first proposals of which no class is in an earlier one."""
    taken, chosen = bytearray(n), []
    for j, (c, d) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        if not taken[c] and not taken[d]:
            taken[c] = taken[d] = True
            chosen.append(j)
    return np.array(chosen, dtype=np.int64)


@njit(**INNER)
def _exchanged(ancestors, sums, level, rep, out, records, into):  # type: ignore[no-untyped-def]
    """Return what a class pays when `into` has replaced `out`; `level` is without either.

    `rep` is any tuple that stays: the others agree with it on `level`, so the class with `into`
    needs the level on which `into` and `rep` meet, no less and no more. `sums[column]` is what
    all records of the class pay there as it is.
    """
    start, node, price = ancestors
    total = 0.0
    for a in range(len(level)):
        column = start[a] + level[a]
        while node[rep, column] != node[into, column]:
            column += 1
        total += sums[column] + records * (price[into, column] - price[out, column])
    return total


@njit(**OUTER)
def _swap(ancestors, members, class_, classes, without, kinds, asked, found, best):  # type: ignore[no-untyped-def]
    """Find for each asked share the share of a near class whose exchange for it saves most.

    `found[q]` are the classes near share `asked[q]`, −1 where there are no more; `without[j]` the
    levels of the class of share j without it; `kinds[t]` tells which tuples have the same
    sensitive values. Partners of one kind and one count leave every class as large and every
    histogram as it was, so whatever held still holds. The first class is priced first and alone
    when that saves too little: the second only adds to what is paid.
    """
    tuple_, count, first = members
    target, partner, gain = best
    for q in range(len(asked)):
        j = asked[q]
        c, t = class_[j], tuple_[j]
        if first[c + 1] - first[c] == 1:
            continue
        rep = tuple_[first[c]] if j > first[c] else tuple_[j + 1]
        gain[j] = EPSILON
        for d in found[q]:
            if d < 0 or first[d + 1] - first[d] == 1:
                continue
            for i in range(first[d], first[d + 1]):
                u = tuple_[i]
                if kinds[u] != kinds[t] or count[i] != count[j]:
                    continue
                other = tuple_[first[d]] if i > first[d] else tuple_[i + 1]
                saved = classes.paid[c] + classes.paid[d] - _exchanged(
                    ancestors, classes.sums[c], without[j], rep, t, count[j], u)  # fmt: skip
                if saved > gain[j]:
                    saved -= _exchanged(
                        ancestors, classes.sums[d], without[i], other, u, count[i], t
                    )
                    if saved > gain[j]:
                        target[j], partner[j], gain[j] = d, i, saved
