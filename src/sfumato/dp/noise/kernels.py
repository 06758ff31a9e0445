"""Compiled inner loops: integers in, integers out, the same work for every value.

Contract: each kernel turns a block of random words into outcomes and lists the positions that
64 bits could not decide; the caller settles those exactly. No kernel draws randomness,
uses floating point or loops a number of times that depends on a value drawn.
The formulas, and the proof of their error, are those of :mod:`.fixed_point`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.compiler import njit
from sfumato.dp.noise.fixed_point import EXP_ERROR, exp_table

Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

EXP_TABLE = np.array(exp_table(), dtype=np.uint64)


@njit(cache=True, inline="always")
def mul_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Give the upper 64 bits of the product of two words."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a_low, a_high = a & mask, a >> half
    b_low, b_high = b & mask, b >> half
    cross = a_high * b_low + (a_low * b_low >> half)
    middle = a_low * b_high + (cross & mask)
    high: np.uint64 = a_high * b_high + (cross >> half) + (middle >> half)
    return high


@njit(cache=True, inline="always")
def exp_word(gamma: np.uint64, table: Words) -> np.uint64:
    """Give 2⁶⁴·exp(−γ) within ``EXP_ERROR`` units; γ is in units of 2⁻⁵⁸."""
    byte = np.uint64(255)
    whole = table[np.int64(gamma >> np.uint64(58))]
    first = table[np.int64(64) + np.int64(gamma >> np.uint64(50) & byte)]
    second = table[np.int64(320) + np.int64(gamma >> np.uint64(42) & byte)]
    x = (gamma & np.uint64((1 << 42) - 1)) << np.uint64(6)
    square = mul_high(x, x)
    cube = mul_high(square, x)
    rest = ~np.uint64(0) - x + (square >> np.uint64(1)) - cube // np.uint64(6)
    value: np.uint64 = mul_high(mul_high(whole, first), mul_high(second, rest))
    return value


@njit(cache=True)
def pick(words: Words, cells: Words, level: int, out: Integers) -> np.int64:
    """Look every word up in an alias table; count how often the remainder came up."""
    cell_shift = np.uint64(64 - level)
    cut_shift = np.uint64(level)
    low_bits = (np.uint64(1) << cut_shift) - np.uint64(1)
    last = np.int64(cells.size - 1)
    found = np.int64(0)
    for i in range(words.size):
        word = words[i]
        cell = np.int64(word >> cell_shift)
        entry = cells[cell]
        alias = np.int64(entry & low_bits)
        # The low bits of word << level are 0, so the alias in the entry cannot tip the balance.
        outcome = cell if (word << cut_shift) < (entry & ~low_bits) else alias
        out[i] = outcome
        found += np.int64(outcome == last)
    return found


@njit(cache=True)
def exp_words(gammas: Words, table: Words, out: Words) -> None:
    """Give 2⁶⁴·exp(−γ) for every γ."""
    for i in range(gammas.size):
        out[i] = exp_word(gammas[i], table)


@njit(cache=True)
def envelope(gammas: Words, scaled: Words, table: Words, out: Integers) -> None:
    """Bound scaled·exp(−γ) from above by an integer, for every γ."""
    error = np.uint64(EXP_ERROR)
    top = ~np.uint64(0)
    for i in range(gammas.size):
        value = exp_word(gammas[i], table)
        value = value + error if value < top - error else top
        # The word stands for at most value + 1, and the product is cut: 2 covers both.
        out[i] = np.int64(mul_high(scaled[i], value) + np.uint64(2))


@njit(cache=True)
def accept(
    fine: Words,
    coins: Words,
    bins: Integers,
    leans: Words,
    kappa: np.uint64,
    kappa_shift: int,
    table: Words,
    error: np.uint64,
    verdicts: npt.NDArray[np.int8],
) -> None:
    """Accept a point of a bin with probability exp(−κ·ρ(2h + ρ + lean)).

    ρ is the place, as a fraction of the bin, in the leading bits of a word; h the bin's number.
    The verdict is 1 for yes, 0 for no, 2 for undecided. The error is bounded in :mod:`.bins`.
    """
    for i in range(fine.size):
        rho = fine[i]
        side = np.uint64(bins[i] >> 1) << np.uint64(53)
        side += (rho >> np.uint64(12)) + leans[bins[i] & 1]
        product = mul_high(rho, side) << np.uint64(1)
        bound = exp_word(mul_high(product, kappa) >> np.uint64(kappa_shift), table)
        coin = coins[i]
        fits = bins[i] < 2048
        yes = fits & (coin < bound) & (bound - coin > error)
        no = fits & (coin > bound) & (coin - bound > error)
        verdicts[i] = np.int8(2) - np.int8(yes) - np.int8(2) * np.int8(no)


class Layout(NamedTuple):
    """How a candidate of a Gaussian is put together from its bin and its place inside."""

    level: int  # the alias table of the bins has 2^level cells
    fine_bits: int  # bits of the place
    drop: int  # bits of the located point that rounding drops; 0 where none is
    half: int  # what is added before, so that dropping rounds to the nearest
    mirror: int  # what is added to ~magnitude on the negative side: 1 where zero has no side
    sure: int  # a coin whose first byte is below this accepts, wherever the point lies


@njit(cache=True)
def candidates(
    words: Words,
    places: Words,
    cells: Words,
    layout: Layout,
    points: Integers,
    unsure: Integers,
    bins: Integers,
) -> np.int64:
    """Draw a bin and a place for each pair of words; list those whose coin does not yet accept.

    ``words`` choose the bin in an alias table, as in :func:`pick`. A word of ``places`` has
    the place in its leading bits and the first byte of the coin in its lowest. ``unsure`` and
    ``bins`` have room for one more than there are words, and get position and bin. Which candidates
    are unsure is a matter of that byte alone (and of the remainder of the table, which comes up
    once in 2⁵⁰), so the work tells nothing of the points.
    """
    cell_shift = np.uint64(64 - layout.level)
    cut_shift = np.uint64(layout.level)
    low_bits = (np.uint64(1) << cut_shift) - np.uint64(1)
    last = np.int64(cells.size - 1)
    place_shift = np.uint64(64 - layout.fine_bits)
    fine_bits = np.int64(layout.fine_bits)
    drop = np.int64(layout.drop)
    half = np.int64(layout.half)
    mirror = np.int64(layout.mirror)
    sure = np.uint64(layout.sure)
    count = np.int64(0)
    for i in range(words.size):
        word = words[i]
        cell = np.int64(word >> cell_shift)
        entry = cells[cell]
        alias = np.int64(entry & low_bits)
        number = cell if (word << cut_shift) < (entry & ~low_bits) else alias
        place = places[i]
        side = number & np.int64(1)
        located = ((number >> np.int64(1)) << fine_bits) + np.int64(place >> place_shift)
        magnitude = (located + half) >> drop
        points[i] = (magnitude ^ -side) + (mirror & -side)
        unsure[count] = i
        bins[count] = number
        count += np.int64(((place & np.uint64(255)) >= sure) | (number == last))
    return count


@njit(cache=True)
def below(words: Words, bounds: Words, out: Integers, again: Integers) -> np.int64:
    """Map each word to a uniform integer below its bound; list words to be drawn again.

    Lemire, "Fast random integer generation in an interval" (2019): the upper half of
    word·bound, refused when the lower half is below 2⁶⁴ mod bound.
    """
    count = np.int64(0)
    stride = np.int64(bounds.size > 1)
    for i in range(words.size):
        bound = bounds[i * stride]
        low = words[i] * bound
        out[i] = np.int64(mul_high(words[i], bound))
        again[count] = i
        count += np.int64(low < (~bound + np.uint64(1)) % bound)
    return count


@njit(cache=True)
def shuffle(order: Integers, swaps: Integers) -> None:
    """Exchange position i with position i + swaps[i], for every i."""
    for i in range(order.size):
        j = i + swaps[i]
        order[i], order[j] = order[j], order[i]


@njit(cache=True)
def bernoulli_lanes(
    words: Words, threshold: np.uint64, out: Words, start: int, undecided: Words
) -> int:
    """Decide 64 coins at a time, bit by bit of the threshold, until the words run out.

    Returns how many output words are complete; lanes whose 64 bits all agree with those of
    the threshold are marked in ``undecided``.
    """
    used = 0
    done = start
    while done < out.size and used + 64 <= words.size:
        value = np.uint64(0)
        lanes = ~np.uint64(0)
        bit = 63
        while lanes != np.uint64(0) and bit >= 0:
            word = words[used]
            used += 1
            if (threshold >> np.uint64(bit)) & np.uint64(1):
                value |= lanes & ~word
                lanes &= word
            else:
                lanes &= ~word
            bit -= 1
        out[done] = value
        undecided[done] = lanes
        done += 1
    return done
