"""Moving records between classes while the total price falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from sfumato.anonymize.algorithms.local_index import build, nearest
from sfumato.anonymize.algorithms.local_space import gather, summarize, Shares, Summary
from sfumato.anonymize.algorithms.local_rounds import *

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.local_judge import Judge
    from sfumato.anonymize.algorithms.local_space import Space

EPS = 1e-9


@njit(cache=True)
def _without(start, node, tuple_, lo, hi, before, after, out, level):  # type: ignore[no-untyped-def]
    """Set out[j] to the levels of the class without share lo + j."""
    n, A = hi - lo, len(level)
    for j in range(1, n):
        # before[j]: levels of shares lo..lo+j-1 with rep lo
        for a in range(A):
            h = 0 if j == 1 else before[j - 1, a]
            col = start[a] + h
            while node[tuple_[lo], col] != node[tuple_[lo + j - 1], col]:
                col += 1
            before[j, a] = col - start[a]
    for j in range(n - 2, -1, -1):
        for a in range(A):
            h = 0 if j == n - 2 else after[j + 1, a]
            col = start[a] + h
            while node[tuple_[hi - 1], col] != node[tuple_[lo + j + 1], col]:
                col += 1
            after[j, a] = col - start[a]
    for j in range(n):
        for a in range(A):
            if j == 0:
                out[j, a] = after[j, a]
            elif j == n - 1:
                out[j, a] = before[j, a]
            else:
                col = start[a] + max(before[j, a], after[j, a])
                while node[tuple_[lo], col] != node[tuple_[hi - 1], col]:
                    col += 1
                out[j, a] = col - start[a]


@njit(cache=True)
def _propose(start, node, price, tuple_, count, first, c_rep, c_level, c_sums, c_paid, c_size,
             items, low, high, child, children, x_rep, x_level, x_least,
             active, minimum, moved, target, net):  # type: ignore[no-untyped-def]  # fmt: skip
    A, W = c_level.shape[1], c_sums.shape[1]
    stack, bounds = np.empty(len(low), dtype=np.int64), np.empty(len(low))
    found, added = np.empty(1, dtype=np.int64), np.empty(1)
    zero = np.zeros(A, dtype=np.int64)
    sums = np.empty(W)
    most = 0
    for c in range(len(c_rep)):
        most = max(most, first[c + 1] - first[c])
    before, after, out = np.empty((3, most, A), dtype=np.int64)
    for c in range(len(c_rep)):
        spare = c_size[c] - minimum
        if not active[c] or spare <= 0 or c_paid[c] <= EPS:
            continue
        lo, hi = first[c], first[c + 1]
        if hi - lo > 1:
            _without(start, node, tuple_, lo, hi, before, after, out, c_level[c])
        for j in range(lo, hi):
            t = tuple_[j]
            m = min(count[j], spare)
            gain = 0.0
            if m == count[j]:
                gain = c_paid[c]
                for a in range(A):
                    col = start[a] + out[j - lo, a]
                    gain -= c_sums[c, col] - m * price[t, col]
            else:
                for a in range(A):
                    gain += m * price[t, start[a] + c_level[c, a]]
            if gain <= EPS:
                continue
            for w in range(W):
                sums[w] = m * price[t, w]
            base = 0.0
            for a in range(A):
                base += sums[start[a]]
            nearest(start, node, c_rep, c_level, c_sums, c_paid, items, low, high, child, children,
                x_rep, x_level, x_least, t, zero, sums, c, gain - EPS,
                stack, bounds, found, added)  # fmt: skip
            if found[0] >= 0:
                moved[j], target[j], net[j] = m, found[0], gain - added[0]


@njit(cache=True)
def _select(order, share_class, target, op):
    for j in order:
        c, d = share_class[j], target[j]
        if op[c] < 0 and op[d] < 0:
            op[c] = j
            op[d] = j


def propose(space, shares, classes, active, minimum):
    n = len(shares.tuple_)
    index = build(space, classes, np.flatnonzero(shares.width))
    moved = np.zeros(n, dtype=np.int64); target = np.full(n, -1); net = np.zeros(n)
    _propose(space.start, space.node, space.price, shares.tuple_, shares.count, shares.first,
        classes.rep, classes.level, classes.sums, classes.paid, classes.size,
        index.items, index.low, index.high, index.child, index.children, index.rep, index.level,
        index.least, active, minimum, moved, target, net)
    return moved, target, net

def improve(space, judge, shares, rounds=100, verbose=False):
    import time
    minimum = judge.problem.definition.minimum_size
    n = shares.classes
    state = State(shares, summarize(space, shares), np.ones(n, dtype=np.bool_))
    for r in range(rounds):
        t1=time.process_time()
        active = np.ones(n, dtype=np.bool_)
        shares = state.shares
        moved, target, net = propose(space, state.shares, state.classes, active, minimum)
        t2=time.process_time()
        cand = np.flatnonzero(target >= 0)
        if not len(cand): break
        cand = cand[np.argsort(-net[cand], kind="stable")]
        op = np.full(n, -1)
        cls = shares.class_
        _select(cand, cls, target, op)
        js = np.unique(op[op >= 0])
        tr = Transfers(np.arange(len(js)), shares.tuple_[js], cls[js], target[js], moved[js])
        new = attempt(space, judge, state, tr, n)
        if verbose: print(r, state.classes.paid.sum()/space.counts.sum(), len(cand), len(js), new.kept, round(t2-t1,4), round(time.process_time()-t2,4))
        state = new
        if not state.kept: break
    return state.shares


def removals(space, shares, classes):
    gain = np.zeros(len(shares.tuple_))
    _removals(space.start, space.node, space.price, shares.tuple_, shares.count, shares.first, classes.level, classes.sums, classes.paid, gain)
    return gain


@njit(cache=True)
def _removals(start, node, price, tuple_, count, first, c_level, c_sums, c_paid, gain):
    A = c_level.shape[1]
    most = 0
    for c in range(len(c_paid)):
        most = max(most, first[c + 1] - first[c])
    before, after, out = np.empty((3, most, A), dtype=np.int64)
    for c in range(len(c_paid)):
        lo, hi = first[c], first[c + 1]
        if hi == lo: continue
        if hi - lo == 1:
            gain[lo] = c_paid[c]
            continue
        _without(start, node, tuple_, lo, hi, before, after, out, c_level[c])
        for j in range(lo, hi):
            gain[j] = c_paid[c]
            for a in range(A):
                col = start[a] + out[j - lo, a]
                gain[j] -= c_sums[c, col] - count[j] * price[tuple_[j], col]
