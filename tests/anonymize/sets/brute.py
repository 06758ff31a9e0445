"""Definitions about sets, checked in the plainest way: every itemset, every set."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations


def itemsets(members, most):
    return chain.from_iterable(combinations(sorted(members), size) for size in range(1, most + 1))


def rarest(sets, m):
    """Return the least support of up to m items that occur, None where nothing does."""
    support = Counter(items for members in sets for items in itemsets(set(members), m))
    return min(support.values(), default=None)


def smallest_class(sets):
    return min(Counter(tuple(sorted(members)) for members in sets).values(), default=None)


def surest(sets, secret, most, barred=frozenset()):
    """Return the largest confidence of known → secret, known of up to `most` items or none."""
    best = 0.0
    for a in secret:
        for members in sets:
            if a not in members:
                continue
            rest = set(members) - {a} - set(barred)
            known_sets = chain([()], itemsets(rest, len(rest) if most is None else most))
            for known in known_sets:
                having = [other for other in sets if set(known) <= set(other)]
                best = max(best, sum(a in other for other in having) / len(having))
    return best


def random_sets(rng, sets=14, items=7, longest=5):
    names = [f"{'ab'[i % 2]}{i}" for i in range(items)]
    return [
        list(rng.choice(names, size=rng.integers(1, longest + 1), replace=False))
        for _ in range(sets)
    ]
