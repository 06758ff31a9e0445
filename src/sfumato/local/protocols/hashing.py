"""A family of hash functions with proved collisions, for reports that are small.

Contract: a function of the family is chosen by a public seed (b, a₁, …, a_k) of uniform integers
below the prime P = 2³¹−1. It sends value number v, written in limbs v₁ … v_k (one limb below P, or
several of 30 bits for larger domains), to x = b + Σ aᵢ·vᵢ mod P and on to the cell ⌊x·g/P⌋ among g.

For two different values the pair (x, x′) is uniform on all P² pairs (Carter and Wegman, "Universal
classes of hash functions", 1979): b makes x uniform, and some aᵢ is multiplied by a difference that
is not 0 modulo P, which makes x′ − x uniform and independent of x. So h(v) and h(v′) are
independent, each in cell j with probability w_j/P, where w_j is the number of residues in the cell;
all w_j are equal up to 1. The seed does not depend on the value, so it costs no privacy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.stream import Stream, stream

if TYPE_CHECKING:
    import numpy.typing as npt

    Halves = npt.NDArray[np.uint32]

PRIME = (1 << 31) - 1
LIMB = 30
FEW = 1 << 16
_PEOPLE = 1024  # at a time: their places, steps and widths stay in the first-level cache
_P = np.uint64(PRIME)


def limbs_of(size: int) -> int:
    """Give the number of limbs that the values of a domain need."""
    return 1 if size <= PRIME else -(-(size - 1).bit_length() // LIMB)


def draw_seeds(count: int, limbs: int, *, source: Stream | None = None) -> Halves:
    """Draw seeds: rows of 1 + limbs uniform integers below P."""
    source = source or stream()
    total = count * (limbs + 1)
    seeds = source.uint64(-(-total // 2)).view(np.uint32)[:total] >> np.uint32(1)
    again = np.flatnonzero(seeds == np.uint32(PRIME))
    while again.size:
        seeds[again] = (source.uint64(again.size) >> np.uint64(33)).astype(np.uint32)
        again = again[seeds[again] == np.uint32(PRIME)]
    return seeds.reshape(count, limbs + 1)


def split_limbs(codes: npt.NDArray[np.int64], limbs: int) -> Halves:
    """Write value numbers in limbs, the lowest first."""
    if limbs == 1:
        return codes.astype(np.uint32).reshape(-1, 1)
    parts = [codes >> (LIMB * i) & ((1 << LIMB) - 1) for i in range(limbs)]
    return np.stack(parts, axis=1).astype(np.uint32)


def residues(seeds: Halves, limbs: Halves) -> npt.NDArray[np.uint64]:
    """Give x for each seed and value, row by row (either may be a single row)."""
    x = seeds[:, 0].astype(np.uint64)
    for i in range(limbs.shape[1]):
        x = (x + seeds[:, i + 1].astype(np.uint64) * limbs[:, i]) % _P
    return x


def cells(x: npt.NDArray[np.uint64], g: int) -> npt.NDArray[np.int64]:
    """Give the cell of each residue among g."""
    return (x * np.uint64(g) // _P).astype(np.int64)


def edges(g: int) -> npt.NDArray[np.int64]:
    """Give the first residue of every cell, and P at the end."""
    return -(-np.arange(g + 1, dtype=np.int64) * PRIME // g)


def collision(g: int) -> Fraction:
    """Give the exact probability that two different values share a cell: 1/g and a trifle."""
    small, larger = divmod(PRIME, g)
    squares = larger * (small + 1) ** 2 + (g - larger) * small**2
    return Fraction(squares, PRIME**2)


def support(
    seeds: Halves, found: npt.NDArray[np.integer], g: int, limbs: Halves | int
) -> npt.NDArray[np.int64]:
    """Count for each value the people whose hash function sends it to the cell they found.

    Values are given by their limbs; a number d means the values 0 … d−1 in order.
    """
    many = limbs if isinstance(limbs, int) else len(limbs)
    out = np.zeros(many, dtype=np.int64)
    bounds = edges(g) if g <= FEW else None
    for start in range(0, len(seeds), _PEOPLE):
        part = seeds[start : start + _PEOPLE]
        cell = found[start : start + _PEOPLE].astype(np.int64)
        low, high = _span(cell, g, bounds)
        # Turned by the lower edge, "in the cell" is "below its width".
        place = ((part[:, 0].astype(np.int64) - low) % PRIME).astype(np.uint32)
        _count(place, part[:, 1:], (high - low).astype(np.uint32), limbs, out)
    return out


def _span(
    cell: npt.NDArray[np.int64], g: int, bounds: npt.NDArray[np.int64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if bounds is not None:
        return bounds[cell], bounds[cell + 1]
    return -(-cell * PRIME // g), -(-(cell + 1) * PRIME // g)


def _count(
    place: Halves,
    steps: Halves,
    width: Halves,
    limbs: Halves | int,
    out: npt.NDArray[np.int64],
) -> None:
    if place.size * out.size <= FEW:
        turned = np.column_stack([place, steps])
        listed = split_limbs(np.arange(limbs), 1) if isinstance(limbs, int) else limbs
        for i in range(out.size):
            out[i] += int((residues(turned, listed[i : i + 1]) < width).sum())
        return
    from sfumato.local.protocols import hash_kernels  # noqa: PLC0415 - a few need no compiler

    if isinstance(limbs, int):
        hash_kernels.support_in_order(place, np.ascontiguousarray(steps[:, 0]), width, out)
    else:
        hash_kernels.support_of_candidates(place, np.ascontiguousarray(steps), width, limbs, out)
