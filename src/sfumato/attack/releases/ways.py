"""Ways to hand out the values of a class to its members, counted exactly.

A class of people in groups of n₁, …, n_G holds value v h_v times. Every assignment of values
to people is equally likely to somebody who knows no more; a group that gets the histogram x
can do so in n!/Π x_v! ways. `after_violation` conditions on at least one group breaking a
promise, in whole numbers: it takes away the ways in which all groups keep it, which factor
over the groups and are summed group by group over what is left to hand out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Histogram = tuple[int, ...]
Verdicts = dict[Histogram, bool]

MOST = 50_000
"""Most steps of the sum; a class that needs more is left alone."""


def after_violation(
    sizes: Sequence[int],
    held: Histogram,
    keeps: Callable[[list[Histogram]], list[bool]],
) -> list[list[float]] | None:
    """Return per group and value the expected share, given that some group breaks the promise.

    `keeps` says for histograms of a group whether the promise is kept. None where there are
    too many ways to count, or where no way breaks the promise.
    """
    if steps(sizes, held) > MOST:
        return None
    choices = [_choices(n, held) for n in sizes]
    kept = [
        [x for x, good in zip(choice, keeps(choice), strict=True) if good] for choice in choices
    ]
    ways = _multinomial(held)
    quiet, sums = _quiet_ways(sizes, held, kept)
    if quiet == ways:
        return None
    total = sum(sizes)
    return [
        [
            (ways * n * h - total * part) / (total * n * (ways - quiet))
            for h, part in zip(held, parts, strict=True)
        ]
        for n, parts in zip(sizes, sums, strict=True)
    ]


def steps(sizes: Sequence[int], held: Histogram) -> int:
    """Return a bound on the work of counting: what may be left, times what a group may take."""
    left = math.prod(count + 1 for count in held)
    taken = max(math.prod(min(n, count) + 1 for count in held[1:]) for n in sizes)
    return left * taken * len(sizes)


def _quiet_ways(
    sizes: Sequence[int], held: Histogram, kept: list[list[Histogram]]
) -> tuple[int, list[list[int]]]:
    """Return the ways in which all groups keep it, and Σ x_v over them per group and value."""
    forward: list[dict[Histogram, int]] = [{held: 1}]
    for chosen in kept:
        forward.append(_step(forward[-1], chosen))
    backward: list[dict[Histogram, int]] = [{tuple(0 for _ in held): 1}]
    for chosen in reversed(kept):
        backward.append(_step(backward[-1], [tuple(-v for v in x) for x in chosen], held))
    backward.reverse()
    quiet = forward[-1].get(tuple(0 for _ in held), 0)
    sums = []
    for g in range(len(sizes)):
        parts = [0] * len(held)
        for state, ways in forward[g].items():
            for x in kept[g]:
                rest = tuple(s - v for s, v in zip(state, x, strict=True))
                after = backward[g + 1].get(rest, 0)
                if after:
                    weight = ways * after * _multinomial(x)
                    parts = [p + weight * v for p, v in zip(parts, x, strict=True)]
        sums.append(parts)
    return quiet, sums


def _step(
    states: dict[Histogram, int], chosen: list[Histogram], most: Histogram | None = None
) -> dict[Histogram, int]:
    """Take the histogram of one group from (or give it back to) what is left to hand out."""
    after: dict[Histogram, int] = {}
    for state, ways in states.items():
        for x in chosen:
            rest = tuple(s - v for s, v in zip(state, x, strict=True))
            if min(rest) < 0 or (most and any(r > m for r, m in zip(rest, most, strict=True))):
                continue
            after[rest] = after.get(rest, 0) + ways * _multinomial(tuple(abs(v) for v in x))
    return after


def _choices(size: int, held: Histogram) -> list[Histogram]:
    """Return all histograms of a group of that size."""

    def fill(left: int, at: int) -> Iterator[Histogram]:
        if at == len(held) - 1:
            if left <= held[at]:
                yield (left,)
            return
        for count in range(min(left, held[at]) + 1):
            for rest in fill(left - count, at + 1):
                yield (count, *rest)

    return list(fill(size, 0))


@lru_cache(maxsize=100_000)
def _multinomial(counts: Histogram) -> int:
    ways = math.factorial(sum(counts))
    for count in counts:
        ways //= math.factorial(count)
    return ways
