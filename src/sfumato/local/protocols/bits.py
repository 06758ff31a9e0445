"""Packed rows of bits: one exact coin per bit, in bulk, and the counts of the columns.

Contract: ``coin_rows(n, d, q)`` gives n rows of d independent bits, each 1 with probability
exactly q (a multiple of 2⁻³²), eight to a byte, least significant first; the unused bits of the
last byte are 0. ``column_counts`` counts the ones of each column.

Proof of exactness. Eight coins are one of 256 bytes; byte o with k ones has probability
P(o) = q^k(1−q)^(8−k), a multiple of 2⁻²⁵⁶. Let w(o) = ⌊2¹⁶·P(o)⌋. Sixteen random bits choose o in
w(o) of their 65,536 cases; in the remaining cases, fewer than 256, the byte is drawn from the rests
r(o) = 2¹⁶·P(o) − w(o) < 1 by proposing one of 256 bytes uniformly and accepting it with probability
r(o): a uniform number of 256 bits is compared with r(o), of which 64 bits nearly always decide.
In total byte o has probability (w(o) + r(o))/2¹⁶ = P(o). It costs two random bits per coin and a
look-up per eight.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.stream import stream
from sfumato.local.protocols.coins import DIGITS, ONE, threshold, toss
from sfumato.local.protocols.domain import encoded

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.noise.stream import Stream

    Bytes = npt.NDArray[np.uint8]

FEW = 1 << 16  # so many bits are cheaper in plain numpy than loading the compiled kernels
_BLOCK = 1 << 13  # words at a time
_REST_BITS = 8 * DIGITS - 16
_REST_WORDS = -(-_REST_BITS // 64)


def row_bytes(columns: int) -> int:
    """Give the bytes that so many bits take."""
    return -(-columns // 8)


def spare_mask(columns: int) -> int:
    """Give the mask of the bits of the last byte that carry nothing."""
    return 0xFF & ~(0xFF >> (-columns % 8))


def coin_rows(rows: int, columns: int, chance: Fraction) -> Bytes:
    """Draw rows of packed coins."""
    width = row_bytes(columns)
    if rows * columns <= FEW:
        plain = toss(chance, rows * columns).reshape(rows, columns)
        return np.packbits(plain, axis=1, bitorder="little")
    whole = -(-rows * width // 4)
    out = np.empty(whole, dtype=np.uint32)
    source = stream()
    for start in range(0, whole, _BLOCK):
        _fill(out[start : start + _BLOCK], chance, source)
    packed = out.view(np.uint8)[: rows * width].reshape(rows, width)
    if columns % 8:
        packed[:, -1] &= np.uint8(~spare_mask(columns) & 0xFF)
    return packed


def _fill(out: npt.NDArray[np.uint32], chance: Fraction, source: Stream) -> None:
    from sfumato.local.protocols import bit_kernels  # noqa: PLC0415 - a few coins need no compiler

    table, cut, rests = _tables(chance)
    words = source.uint64(out.size)
    missed = np.empty(out.size, dtype=np.int64)
    count = bit_kernels.fill_bytes(words, table, cut, out, missed)
    where = missed[:count]
    halves, settled, done = words[where].view(np.uint16), out[where].view(np.uint8), 0
    while done < halves.size:
        spare = source.uint64(64 + 2 * halves.size)
        done = bit_kernels.settle_bytes(halves, cut, rests, spare, settled, done)
    out[where] = settled.view(np.uint32)


@lru_cache(maxsize=64)
def _tables(chance: Fraction) -> tuple[Bytes, int, npt.NDArray[np.uint64]]:
    """Give the byte of each decided case, their number, and the rests by number of ones."""
    cut = threshold(chance)
    weights = [cut**k * (ONE - cut) ** (8 - k) for k in range(9)]
    cases = [weight >> _REST_BITS for weight in weights]
    decided = np.repeat(
        np.arange(256, dtype=np.uint8), [cases[byte.bit_count()] for byte in range(256)]
    )
    table = np.zeros(1 << 16, dtype=np.uint8)
    table[: decided.size] = decided
    rests = np.zeros((9, _REST_WORDS), dtype=np.uint64)
    for ones, weight in enumerate(weights):
        rest = (weight & ((1 << _REST_BITS) - 1)) << (64 * _REST_WORDS - _REST_BITS)
        for digit in range(_REST_WORDS):
            word = rest >> 64 * (_REST_WORDS - 1 - digit) & ((1 << 64) - 1)
            rests[ones, digit] = np.uint64(word)
    return table, int(decided.size), rests


def put(rows: Bytes, codes: npt.NDArray[np.int64], bits: npt.NDArray[np.bool_]) -> None:
    """Set bit ``codes[i]`` of row i to ``bits[i]``."""
    if rows.size * 8 > FEW:
        from sfumato.local.protocols import bit_kernels  # noqa: PLC0415 - a few rows need no compiler

        bit_kernels.put_bits(rows, codes, bits)
        return
    places = np.arange(len(rows)) * rows.shape[1] + (codes >> 3)
    marks = np.left_shift(np.uint8(1), (codes & 7).astype(np.uint8))
    flat = rows.reshape(-1)
    flat[places] = np.where(bits, flat[places] | marks, flat[places] & ~marks)


def column_counts(rows: Bytes, columns: int) -> npt.NDArray[np.int64]:
    """Count the set bits of every column."""
    if rows.size * 8 <= FEW:
        plain = np.unpackbits(rows, axis=1, count=columns, bitorder="little")
        return np.asarray(plain.sum(axis=0, dtype=np.int64))
    from sfumato.local.protocols import bit_kernels  # noqa: PLC0415 - a few rows need no compiler

    words = -(-rows.shape[1] // 8)
    counts = np.zeros(64 * words, dtype=np.int64)
    block = max(255, (1 << 20) // (8 * words) // 255 * 255)
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        if rows.shape[1] % 8 or not part.flags.c_contiguous or part.ctypes.data % 8:
            whole = np.zeros((len(part), 8 * words), dtype=np.uint8)
            whole[:, : rows.shape[1]] = part
            part = whole
        bit_kernels.count_columns(part.view(np.uint64), counts)
    return counts[:columns]


@lru_cache(maxsize=1 << 16)
def places_of(text: str, cohort: int, bits: int, hashes: int) -> tuple[int, ...]:
    """Give the bits that a string sets in a cohort: words of a SHA-256, cut to the filter."""
    digest = hashlib.sha256(cohort.to_bytes(4, "little") + encoded(text)).digest()
    words = (digest[4 * i : 4 * i + 4] for i in range(hashes))
    return tuple(int.from_bytes(word, "little") & (bits - 1) for word in words)
