"""Compiled inner loops over packed bits: many coins, and many columns counted.

Contract: kernels turn random words into packed bits, or packed bits into counts; integers only, no
randomness of their own. :mod:`sfumato.local.protocols.bits` states why the coins are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Tetrads = npt.NDArray[np.uint32]


@njit(cache=True)
def fill_bytes(words: Words, table: Bytes, cut: int, out: Tetrads, missed: Integers) -> int:
    """Look four bytes up for each word, 16 bits each; list the words with bits from ``cut`` on."""
    mask, half = np.uint64(0xFFFF), np.uint64(16)
    count = 0
    for i in range(words.size):
        word = words[i]
        a = np.int64(word & mask)
        b = np.int64(word >> half & mask)
        c = np.int64(word >> (half + half) & mask)
        d = np.int64(word >> (half + half + half))
        low = np.uint32(table[a]) | np.uint32(table[b]) << np.uint32(8)
        high = np.uint32(table[c]) | np.uint32(table[d]) << np.uint32(8)
        out[i] = low | high << np.uint32(16)
        missed[count] = i
        count += int(max(a, b, c, d) >= cut)
    return count


@njit(cache=True)
def settle_bytes(
    halves: npt.NDArray[np.uint16], cut: int, rests: Words, spare: Words, out: Bytes, start: int
) -> int:
    """Draw the bytes whose 16 bits are from ``cut`` on from the rests; give how far it came.

    Each takes proposals and comparisons from ``spare``; it stops early when these run out.
    """
    used = 0
    for place in range(start, halves.size):
        accepted = np.int64(halves[place]) < cut
        while not accepted:
            if used + 1 + rests.shape[1] > spare.size:
                return place
            proposal = np.int64(spare[used] >> np.uint64(56))
            out[place] = np.uint8(proposal)
            ones = 0
            for bit in range(8):
                ones += int(proposal >> bit & 1)
            digit = 0
            while digit < rests.shape[1] - 1 and spare[used + 1 + digit] == rests[ones, digit]:
                digit += 1
            accepted = spare[used + 1 + digit] < rests[ones, digit]
            used += 2 + digit
    return int(halves.size)


@njit(cache=True)
def put_bits(rows: Bytes, codes: Integers, own: npt.NDArray[np.bool_]) -> None:
    """Set bit ``codes[i]`` of row i to ``own[i]``."""
    for row in range(codes.size):
        code = codes[row]
        shift = np.uint8(code & 7)
        byte = rows[row, code >> 3]
        rows[row, code >> 3] = (byte & ~(np.uint8(1) << shift)) | (np.uint8(own[row]) << shift)


@njit(cache=True)
def count_columns(rows: Words, out: Integers) -> None:
    """Add the set bits of each column of packed rows to ``out``, 64 columns per word.

    Each of eight lanes per word holds eight counters of one byte, emptied every 255 rows.
    """
    words = rows.shape[1]
    ones = np.uint64(0x0101010101010101)
    byte = np.uint64(255)
    lanes = np.zeros((8, words), dtype=np.uint64)
    for first in range(0, rows.shape[0], 255):
        past = min(first + 255, rows.shape[0])
        lanes[:, :] = np.uint64(0)
        for row in range(first, past):
            for bit in range(8):
                shift = np.uint64(bit)
                for word in range(words):
                    lanes[bit, word] += (rows[row, word] >> shift) & ones
        for bit in range(8):
            for word in range(words):
                lane = lanes[bit, word]
                for part in range(8):
                    column = 64 * word + 8 * part + bit
                    out[column] += np.int64(lane >> np.uint64(8 * part) & byte)


@njit(cache=True)
def trim_rows(
    rows: Bytes, codes: Integers, size: int, columns: int, ones: Bytes, halves: Tetrads, start: int
) -> int:
    """Drop or add random bits, never a person's own, until each row has ``size`` ones.

    Columns are picked by Lemire's method (2019) from uniform 32-bit integers; ``ones`` is the
    number of set bits of each byte. Gives how far it came when these integers ran out.
    """
    mask, bound = np.uint64(0xFFFFFFFF), np.uint64(columns)
    excess = np.uint64((1 << 32) % columns)
    used = 0
    for row in range(start, rows.shape[0]):
        count = 0
        for column in range(rows.shape[1]):
            count += int(ones[rows[row, column]])
        while count != size:
            if used == halves.size:
                return row
            product = np.uint64(halves[used]) * bound
            used += 1
            pick = np.int64(product >> np.uint64(32))
            mark = np.uint8(1 << (pick & 7))
            is_set = (rows[row, pick >> 3] & mark) != 0
            fair = (product & mask) >= excess
            if fair and pick != codes[row] and is_set == (count > size):
                rows[row, pick >> 3] ^= mark
                count += -1 if is_set else 1
    return int(rows.shape[0])
