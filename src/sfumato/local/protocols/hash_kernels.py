"""Compiled inner loops of local hashing: how many reports support each value.

Contract: exact arithmetic modulo the prime 2³¹−1 on 32-bit and 64-bit integers; see
:mod:`sfumato.local.protocols.hashing` for the family of hash functions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Halves = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


@njit(cache=True)
def support_in_order(place: Halves, step: Halves, width: Halves, out: Integers) -> None:
    """Add to ``out[v]`` the number of people whose place is below their width at value v.

    The place starts at value 0 and moves by the step, modulo 2³¹−1, from value to value. Sums of
    two residues stay below 2³²; of the sum and the sum minus the prime the smaller one is the
    residue, because the other one has wrapped around or is too large.
    """
    prime = np.uint32(2147483647)
    for value in range(out.size):
        count = np.uint32(0)
        for person in range(place.size):
            count = np.uint32(count + np.uint32(place[person] < width[person]))
            moved = np.uint32(place[person] + step[person])
            place[person] = min(moved, np.uint32(moved - prime))
        out[value] += np.int64(count)


@njit(cache=True)
def support_of_candidates(
    start: Halves, steps: Halves, width: Halves, limbs: Halves, out: Integers
) -> None:
    """Add to ``out[c]`` the number of people who support candidate c, given by its limbs."""
    prime = np.uint64(2147483647)
    for candidate in range(out.size):
        count = np.int64(0)
        for person in range(start.size):
            place = np.uint64(start[person])
            for limb in range(limbs.shape[1]):
                place += np.uint64(steps[person, limb]) * np.uint64(limbs[candidate, limb])
                place = (place & prime) + (place >> np.uint64(31))
            place = (place & prime) + (place >> np.uint64(31))
            if place >= prime:
                place -= prime
            count += np.int64(place < np.uint64(width[person]))
        out[candidate] += count
