"""How surely a secret item follows from known ones: exact, from released sets alone.

With a bound on what is known, a kernel walks every itemset that occurs. Without one, only closed
itemsets matter: for any q and secret a, let q′ be what all sets with q and a have in common, except
a. Then q ⊆ q′, as many sets hold q′ and a as q and a, and at most as many hold q′ as q; so a
follows from q′ at least as surely. Closed itemsets are intersections of sets, and are counted
until there are too many.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.compiler import njit
from sfumato.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLOSED = 200_000
"""Most closed itemsets looked at for one secret item."""


class Rule(NamedTuple):
    """The items known, the secret that follows from them, and how many sets hold both and them."""

    known: tuple[int, ...]
    secret: int
    together: int
    support: int

    @property
    def share(self) -> float:
        """How surely the secret follows."""
        return self.together / self.support


@njit(cache=True)
def walk_rules(starts, items, weights, secret, barred, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, C901, PLR0912, PLR0915
    """Return the surest rule from at most m known items, none of them `barred`.

    Gives known items (−1 fills up), the secret, sets with both, sets with the known ones. A branch
    ends where no set of the projection holds a secret.
    """
    width, total = len(secret), len(items)
    known, answer = np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    best_item, best_with, best_all = np.int64(-1), np.int64(0), np.int64(1)
    sets = np.empty((m + 1, max(len(weights), 1)), np.int64)
    size = np.zeros(m + 1, np.int64)
    follow = np.empty((m + 1, total + 1), np.int64)
    follows, turn = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    count = np.zeros(width, np.int64)
    size[0] = len(weights)
    for t in range(len(weights)):
        sets[0, t] = t
    depth, opening = 0, True
    while True:
        if opening:
            everything = np.int64(0)
            met = 0
            touched = np.empty(width, np.int64)
            last = known[depth - 1] if depth else -1
            holds_secret = False
            for i in range(size[depth]):
                t = sets[depth, i]
                everything += weights[t]
                for p in range(starts[t], starts[t + 1]):
                    a = items[p]
                    if count[a] == 0:
                        touched[met] = a
                        met += 1
                    count[a] += weights[t]
            follows[depth] = turn[depth] = 0
            for i in range(met):
                a = touched[i]
                inside = False
                for d in range(depth):
                    inside = inside or known[d] == a
                if secret[a] and not inside:
                    holds_secret = True
                    if count[a] * best_all > best_with * everything:
                        best_item, best_with, best_all = a, count[a], everything
                        answer[:] = -1
                        answer[:depth] = known[:depth]
                if a > last and not barred[a]:
                    follow[depth, follows[depth]] = a
                    follows[depth] += 1
                count[a] = 0
            if depth == m or not holds_secret:
                follows[depth] = 0
            opening = False
        if turn[depth] < follows[depth]:
            a = follow[depth, turn[depth]]
            turn[depth] += 1
            rows = 0
            for i in range(size[depth]):
                t = sets[depth, i]
                for p in range(starts[t], starts[t + 1]):
                    if items[p] == a:
                        sets[depth + 1, rows] = t
                        rows += 1
            size[depth + 1] = rows
            known[depth] = a
            depth += 1
            opening = True
        elif depth == 0:
            return answer, best_item, best_with, best_all
        else:
            depth -= 1


def surest_rule(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    weights: NDArray[np.int64],
    secret: NDArray[np.bool_],
    *,
    m: int | None,
    secrets_known: bool,
) -> Rule | None:
    """Return the rule by which a secret follows most surely; None where no set holds one."""
    if m is None:
        return _surest_closed(starts, items, weights, secret)
    barred = np.zeros_like(secret) if secrets_known else secret
    m = min(m, int(np.diff(starts).max(initial=1)))  # nobody can know more
    known, item, together, support = walk_rules(starts, items, weights, secret, barred, m)
    if item < 0:
        return None
    return Rule(tuple(int(a) for a in known if a >= 0), int(item), int(together), int(support))


def _surest_closed(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    weights: NDArray[np.int64],
    secret: NDArray[np.bool_],
) -> Rule | None:
    sets = [frozenset(items[b:e].tolist()) for b, e in itertools.pairwise(starts)]
    best: Rule | None = None
    for a in np.flatnonzero(secret).tolist():
        for known in _closed({members - {a} for members in sets if a in members}):
            support = sum(int(w) for w, s in zip(weights, sets, strict=True) if known <= s)
            both = sum(int(w) for w, s in zip(weights, sets, strict=True) if known <= s and a in s)
            rule = Rule(tuple(sorted(known)), a, both, support)
            if best is None or rule.share > best.share:
                best = rule
    return best


def _closed(sets: set[frozenset[int]]) -> set[frozenset[int]]:
    """Return all intersections of the given sets, the empty set included."""
    found: set[frozenset[int]] = {frozenset()} if sets else set()
    for members in sets:
        found |= {members & other for other in found} | {members}
        if len(found) > CLOSED:
            raise DataError(
                "There are too many combinations of items to check uncertainty against any number "
                "of known items; promise it against at most m, with RhoUncertainty(…, m=…)."
            )
    return found
