"""The loop of improvement: propose, choose disjoint changes, keep what pays, repeat.

Proposals are remembered between rounds; only classes that changed, or whose proposals
lead to a class that changed, are looked at again. When nothing more comes of that, all
are looked at once more, and the loop ends when even this gains next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.local.move import Offer, Proposals, disjoint, propose
from sfumato.anonymize.tables.algorithms.local.removal import held_back, removals
from sfumato.anonymize.tables.algorithms.local.rounds import State, attempt
from sfumato.anonymize.tables.algorithms.local.space import summarize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.judge import Judge
    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space

ROUNDS = 25
"""Most rounds of moves: the first ones gain nearly all."""
SWAP_ROUNDS = 10
"""Most rounds of moves and swaps afterwards."""
OPTIONS = 4
"""Nearest classes a share may try when a class can refuse it."""
SWAPS = 4
"""Nearest classes among which partners for a swap are sought."""
WORTH = 3e-3
"""Share of the loss that a look at everything must save for another one to follow."""


def improve(space: Space, judge: Judge, shares: Shares) -> Shares:
    """Transfer records between classes that all hold, as long as it pays."""
    state = State(shares, summarize(space, shares), np.ones(shares.classes, dtype=np.bool_))
    for swaps, rounds in ((0, ROUNDS), (SWAPS, SWAP_ROUNDS)):
        state = _descend(space, judge, state, swaps, rounds)
    return state.shares


def _descend(space: Space, judge: Judge, state: State, swaps: int, rounds: int) -> State:
    options = 1 if judge.problem.definition.monotone else OPTIONS
    proposals = Proposals.none(len(state.shares.tuple_), options)
    active = np.ones(state.shares.classes, dtype=np.bool_)
    paid = np.inf
    for _ in range(rounds):
        if judge.clock.late:
            break
        _look(space, judge, state, active, swaps, proposals)
        chosen, transfers = disjoint(state.shares, proposals)
        if not len(chosen):
            total = float(state.classes.paid.sum())
            if paid - total < WORTH * total:
                break
            paid = total
            active[:] = True
            continue
        after = attempt(space, judge, state, transfers, state.shares.classes)
        # What was refused is not proposed again before something near it changes.
        proposals.target[chosen] = -1
        proposals, active = _remember(state, after, proposals)
        state = after
    return state


def _look(
    space: Space,
    judge: Judge,
    state: State,
    active: NDArray[np.bool_],
    swaps: int,
    proposals: Proposals,
) -> None:
    shares, classes = state.shares, state.classes
    everywhere = active if swaps == 0 else np.ones_like(active)
    without, gain = removals(space, shares, classes, everywhere)
    held = held_back(judge, shares, classes, active)
    minimum = judge.problem.definition.minimum_size
    offer = Offer(space, shares, classes, without, gain, held, judge.kinds, minimum)
    propose(offer, active, swaps, proposals, judge.clock)
    proposals.settle(judge, shares, active)


def _remember(
    before: State, after: State, proposals: Proposals
) -> tuple[Proposals, NDArray[np.bool_]]:
    """Return the proposals that still stand, and the classes to look at again."""
    active = after.changed.copy()
    there = proposals.target >= 0
    stale = before.shares.class_[there][after.changed[proposals.target[there]]]
    active[stale] = True
    # A remembered swap would name its partner by place, and places have moved.
    active[before.shares.class_[proposals.partner >= 0]] = True
    kept = proposals.carry(~active[before.shares.class_], ~active[after.shares.class_])
    return kept, active
