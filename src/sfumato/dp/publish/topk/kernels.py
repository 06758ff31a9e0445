"""Compiled loops of top-k: the policy of set union, and supports of itemsets by bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


@njit(cache=True)
def move_toward(
    starts: Integers, items: Integers, order: Integers, goal: float, heights: Floats
) -> None:
    """Let each basket, in the order given, move the heights of its items toward ``goal``.

    A basket moves the vector of its items' gaps to the goal by a step of length 1, or closes the
    gaps where they are shorter together than that.
    """
    for place in range(order.size):
        basket = order[place]
        square = 0.0
        for spot in range(starts[basket], starts[basket + 1]):
            gap = goal - heights[items[spot]]
            if gap > 0.0:
                square += gap * gap
        length = np.sqrt(square)
        for spot in range(starts[basket], starts[basket + 1]):
            gap = goal - heights[items[spot]]
            if gap > 0.0:
                if length <= 1.0:
                    heights[items[spot]] = goal
                else:
                    heights[items[spot]] += gap / length


@njit(cache=True)
def count_ones(word: np.uint64) -> np.int64:
    """Count the bits of a word that are 1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def set_bits(starts: Integers, items: Integers, place: Integers, bits: Words) -> None:
    """Set, in row ``place[item]`` of ``bits``, the bit of every basket that holds the item."""
    for basket in range(starts.size - 1):
        for spot in range(starts[basket], starts[basket + 1]):
            row = place[items[spot]]
            if row >= 0:
                bits[row, basket >> 6] |= np.uint64(1) << np.uint64(basket & 63)


@njit(cache=True)
def supports_of_pairs(bits: Words, out: Integers) -> None:
    """Count the baskets of each pair of rows i < j, in the order (0, 1), (0, 2), and so on."""
    spot = 0
    for i in range(bits.shape[0]):
        for j in range(i + 1, bits.shape[0]):
            total = 0
            for word in range(bits.shape[1]):
                total += count_ones(bits[i, word] & bits[j, word])
            out[spot] = total
            spot += 1


@njit(cache=True)
def supports_of_triples(bits: Words, out: Integers) -> None:
    """Count the baskets of each triple of rows i < j < k, in the order of their numbers."""
    both = np.empty(bits.shape[1], dtype=np.uint64)
    spot = 0
    for i in range(bits.shape[0]):
        for j in range(i + 1, bits.shape[0]):
            for word in range(bits.shape[1]):
                both[word] = bits[i, word] & bits[j, word]
            for k in range(j + 1, bits.shape[0]):
                total = 0
                for word in range(bits.shape[1]):
                    total += count_ones(both[word] & bits[k, word])
                out[spot] = total
                spot += 1
