"""The loops of unicity: whether anybody else holds all of some tokens.

Tokens of person u are `tokens[starts[u]:starts[u + 1]]`, sorted; those who hold token a are
`people[begins[a]:begins[a + 1]]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@njit(cache=True)
def _holds(tokens: Ints, low: int, high: int, wanted: int) -> bool:
    """Tell whether a sorted part of an array holds a value."""
    while low < high:
        middle = (low + high) >> 1
        if tokens[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < len(tokens) and tokens[low] == wanted


@njit(cache=True)
def share_of_draws(starts: Ints, tokens: Ints, begins: Ints, people: Ints, coins: Floats) -> float:
    """Return the mean share of draws of p tokens that nobody but their person holds."""
    persons, draws, p = coins.shape
    total = 0.0
    chosen = np.empty(p, np.int64)
    for u in range(persons):
        size = starts[u + 1] - starts[u]
        alone = 0
        for d in range(draws):
            take = min(p, size)
            for i in range(take):  # without repetition: the i-th of those that are left
                place = int(coins[u, d, i] * (size - i))
                for j in range(i):
                    if place >= chosen[j]:
                        place += 1
                at = i
                while at > 0 and chosen[at - 1] > place:
                    chosen[at] = chosen[at - 1]
                    at -= 1
                chosen[at] = place
            alone += not _another(starts, tokens, begins, people, u, chosen, take)
        total += alone / draws
    return float(total / persons)


@njit(cache=True)
def _another(
    starts: Ints, tokens: Ints, begins: Ints, people: Ints, u: int, chosen: Ints, take: int
) -> bool:
    """Tell whether somebody else holds all chosen tokens; begins with the rarest."""
    rare, least = 0, np.int64(1) << 62
    for i in range(take):
        a = tokens[starts[u] + chosen[i]]
        if begins[a + 1] - begins[a] < least:
            rare, least = i, begins[a + 1] - begins[a]
    a = tokens[starts[u] + chosen[rare]]
    for q in range(begins[a], begins[a + 1]):
        v = people[q]
        if v == u:
            continue
        all_there = True
        for i in range(take):
            if i != rare and not _holds(
                tokens, starts[v], starts[v + 1], tokens[starts[u] + chosen[i]]
            ):
                all_there = False
                break
        if all_there:
            return True
    return False


@njit(cache=True)
def count_all(  # noqa: C901 - one loop, compiled
    starts: Ints, tokens: Ints, begins: Ints, people: Ints
) -> tuple[float, float]:
    """Return the mean shares of single tokens and of pairs that nobody else holds."""
    persons = len(starts) - 1
    singles, pairs = 0.0, 0.0
    place = np.full(int(tokens.max()) + 1, -1, np.int64)
    for u in range(persons):
        size = starts[u + 1] - starts[u]
        for i in range(size):
            place[tokens[starts[u] + i]] = i
        shared = np.zeros((size, size), np.bool_)  # pairs (the diagonal: tokens) that others hold
        common = np.empty(size, np.int64)
        seen = np.zeros(persons, np.bool_)
        for i in range(size):
            a = tokens[starts[u] + i]
            for q in range(begins[a], begins[a + 1]):
                v = people[q]
                if v == u or seen[v]:
                    continue
                seen[v] = True
                count = 0
                for t in range(starts[v], starts[v + 1]):
                    if place[tokens[t]] >= 0:
                        common[count] = place[tokens[t]]
                        count += 1
                for x in range(count):
                    for y in range(x, count):
                        shared[common[x], common[y]] = True
        lone, lone_pairs = 0, 0
        for i in range(size):
            lone += not shared[i, i]
            for j in range(i + 1, size):
                lone_pairs += not shared[i, j]
            place[tokens[starts[u] + i]] = -1
        singles += lone / size
        most = size * (size - 1) // 2
        pairs += lone_pairs / most if most else lone / size
    return singles / persons, pairs / persons
