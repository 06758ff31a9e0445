"""Rows laid by person, and the arithmetic of the choice, in compiled loops.

Contract: rows come as numbers, a person and a group. :func:`scatter` lays them by blocks of people;
:mod:`sfumato.ask.engines.bounded_choice` orders one block by person. Nothing is sorted: memory
likes a few hundred open ends better than a hundred thousand, so laying them out takes two steps,
and then a person's rows stand together in the nearest cache.

Numbers are residues modulo P = 2³¹ − 1, so that a product fits 64 bits and its remainder is taken
by shifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

P = 2**31 - 1
HALF = 0xFFFFFFFF


@njit(cache=True, nogil=True)
def modulo(x: Any) -> Any:
    """Reduce 0 ≤ x < 2⁶³ modulo P."""
    x = (x & P) + (x >> 31)
    x = (x & P) + (x >> 31)
    return x - P if x >= P else x


@njit(cache=True, nogil=True)
def mixed(a: Any, x: Any, b: Any, c: Any) -> Any:
    """Give t² + c·t for t = a·x + b."""
    t = modulo(a * x + b)
    return modulo(modulo(t * t) + c * t)


@njit(cache=True, nogil=True)
def tally(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Count how often each code occurs."""
    for code in codes:
        counts[code] += 1


@njit(cache=True, nogil=True)
def scatter(
    people: NDArray[np.int32],
    groups: NDArray[np.int32],
    shift: int,
    ends: NDArray[np.int64],
    pairs: NDArray[np.int64],
    places: NDArray[np.int64],
) -> None:
    """Lay rows by block of people; ``places`` says where each row went, for its other columns."""
    for i in range(len(people)):
        block = people[i] >> shift
        place = ends[block]
        ends[block] = place + 1
        pairs[place] = (np.int64(people[i]) << 32) | groups[i]
        places[i] = place


@njit(cache=True, nogil=True)
def scatter_column(
    values: NDArray[np.int64], places: NDArray[np.int64], column: NDArray[np.int64]
) -> None:
    """Lay one more column as :func:`scatter` laid the rows."""
    for i in range(len(values)):
        column[places[i]] = values[i]


@njit(cache=True, nogil=True)
def most_rows(starts: NDArray[np.int64], width: int) -> Any:
    """Give the most rows that any ``width`` people, starting at a multiple of it, have."""
    most = 0
    last = len(starts) - 1
    for first in range(0, last, width):
        most = max(most, starts[min(first + width, last)] - starts[first])
    return most
