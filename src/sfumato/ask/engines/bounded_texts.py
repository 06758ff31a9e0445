"""Texts as dense codes: 0, 1, 2, … for the different texts of a column, exactly.

Contract: :func:`search_text` gives every row a code, −1 for NULL. A table is searched by a hash,
but two people are taken for one only when all their bytes agree.

What costs time is waiting for memory, as the table of many people is larger than the near caches.
So a text is read eight bytes at a time; its length, first and last eight bytes, which are all there
is of a text of up to sixteen, stand together in one line of the cache; and rows are taken block by
block, hashed first and looked up then, so that many are waited for at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sfumato.ask.engines.bounded_kernels import HALF
from sfumato.compiler import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.engines.bounded_arrow import Text

    Codes: TypeAlias = NDArray[np.int32]

_EMPTY = -1
_LEAST = 1024  # slots of a table
_BLOCK = 512  # rows that are hashed before they are looked up
_WORD = 8


class KnownTexts(NamedTuple):
    """The texts met so far.

    ``table`` has a slot per hash: −1, or 31 bits of the hash and the number of the text.
    ``outlines[n]`` are the first and the last eight bytes of text n, its length, and where it
    begins in ``store``.
    """

    table: NDArray[np.int64]
    hashes: NDArray[np.int64]
    outlines: NDArray[np.int64]
    store: NDArray[np.uint8]


class Block(NamedTuple):
    """The hashes, first and last words of the rows of a block."""

    marks: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _word(data: NDArray[np.uint8], at: Any) -> Any:
    """Read eight bytes as a number; the compiler makes one load of it."""
    return np.int64(
        np.uint64(data[at])
        | (np.uint64(data[at + 1]) << np.uint64(8))
        | (np.uint64(data[at + 2]) << np.uint64(16))
        | (np.uint64(data[at + 3]) << np.uint64(24))
        | (np.uint64(data[at + 4]) << np.uint64(32))
        | (np.uint64(data[at + 5]) << np.uint64(40))
        | (np.uint64(data[at + 6]) << np.uint64(48))
        | (np.uint64(data[at + 7]) << np.uint64(56))
    )


@njit(cache=True, nogil=True)
def _short(data: NDArray[np.uint8], first: Any, last: Any) -> Any:
    """Read fewer than eight bytes as a number."""
    word = np.uint64(0)
    for j in range(first, last):
        word = (word << np.uint64(8)) | np.uint64(data[j])
    return np.int64(word)


@njit(cache=True, nogil=True)
def _mixed(x: Any, word: Any) -> Any:
    x = (x ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(32))


@njit(cache=True, nogil=True)
def _mark(data: NDArray[np.uint8], first: Any, last: Any, seed: int) -> Any:
    """Give the hash of a text, 63 bits, and its first and last eight bytes."""
    size = last - first
    x = _mixed(np.uint64(seed), np.int64(size))
    if size < _WORD:
        word = _short(data, first, last)
        x = _mixed(x, word)
        end = np.int64(0)
    else:
        word, end = _word(data, first), _word(data, last - _WORD)
        x = _mixed(_mixed(x, word), end)
        at = first + _WORD
        while at < last - _WORD:
            x = _mixed(x, _word(data, at))
            at += _WORD
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((x ^ (x >> np.uint64(32))) >> np.uint64(1)), word, end


@njit(cache=True, nogil=True)
def _outline(
    piece: Text, begin: int, end: int, seed: int, block: Block, table: NDArray[np.int64], found: Any
) -> None:
    """Hash the rows of a block, and read the slots where they should stand."""
    starts, data, present = piece
    mask = len(table) - 1
    for i in range(begin, end):
        at = i - begin
        if len(present) and not present[i]:
            block.marks[at] = 0
            continue
        mark, word, last = _mark(data, starts[i], starts[i + 1], seed)
        block.marks[at], block.firsts[at], block.lasts[at] = mark, word, last
    for at in range(end - begin):
        found[at] = table[block.marks[at] & mask]


@njit(cache=True, nogil=True)
def _is(
    known: KnownTexts, slot: Any, mark: Any, word: Any, end: Any, data: Any, first: Any, last: Any
) -> bool:
    """Compare the text of a slot with one at hand, byte for byte."""
    if (slot ^ mark) >> 32 != 0:
        return False
    code = slot & HALF
    size, outlines = last - first, known.outlines
    if outlines[code, 0] != word or outlines[code, 1] != end or outlines[code, 2] != size:
        return False
    place = outlines[code, 3]
    for j in range(_WORD, size - _WORD):  # noqa: SIM110 - the compiler knows no generators
        if known.store[place + j] != data[first + j]:
            return False
    return True


@njit(cache=True, nogil=True)
def _fill_text(hashes: NDArray[np.int64], used: int, table: NDArray[np.int64]) -> None:
    mask = len(table) - 1
    for code in range(used):
        at = hashes[code] & mask
        while table[at] != _EMPTY:
            at = (at + 1) & mask
        table[at] = ((hashes[code] >> 32) << 32) | code


@njit(cache=True, nogil=True)
def _code_text(
    piece: Text, begin: int, seed: int, known: KnownTexts, used: int, codes: NDArray[np.int32]
) -> tuple[int, int]:
    """Code texts from row ``begin``; stop where the table is half full or the store full.

    ``used`` texts are known. A table that is at most half full has an empty slot, so looking from
    slot to slot ends; texts are equal only where all their bytes are, whatever their hashes.
    """
    starts, data, present = piece
    table, hashes, outlines, store = known
    mask, rows = len(table) - 1, len(starts) - 1
    words = np.empty((4, _BLOCK), np.int64)
    block, found = Block(words[0], words[1], words[2]), words[3]
    for start in range(begin, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        _outline(piece, start, stop, seed, block, table, found)
        for i in range(start, stop):
            if len(present) and not present[i]:
                codes[i] = -1
                continue
            first, last = starts[i], starts[i + 1]
            mark, word, end = (
                block.marks[i - start],
                block.firsts[i - start],
                block.lasts[i - start],
            )
            slot, at = found[i - start], mark & mask
            while slot == _EMPTY or not _is(known, slot, mark, word, end, data, first, last):
                slot = table[at]  # the slot read before may have been filled meanwhile
                if slot == _EMPTY:
                    place = outlines[used, 3]
                    if 2 * used >= mask or place + last - first > len(store):
                        return i, used
                    store[place : place + last - first] = data[first:last]
                    outlines[used, 0], outlines[used, 1] = word, end
                    outlines[used, 2] = last - first
                    hashes[used], slot = mark, ((mark >> 32) << 32) | used
                    table[at] = slot
                    used += 1
                    outlines[used, 3] = place + last - first
                    break
                at = (at + 1) & mask
            codes[i] = slot & HALF
    return rows, used


def search_text(pieces: Sequence[Text], rows: int, seed: int) -> tuple[Codes, list[bytes]]:
    """Give the codes of all rows and the texts they stand for; ``seed`` keys the hash."""
    codes = np.empty(rows, np.int32)
    size, used, row = _LEAST, 0, 0
    table, hashes = np.full(size, _EMPTY, np.int64), np.empty(size, np.int64)
    outlines, store = np.zeros((size + 1, 4), np.int64), np.empty(16 * size, np.uint8)
    for piece in pieces:
        mine = codes[row : row + len(piece.starts) - 1]
        row += len(mine)
        begin = 0
        while True:
            known = KnownTexts(table, hashes, outlines, store)
            begin, used = _code_text(piece, begin, seed, known, used, mine)
            if begin == len(mine):
                break
            needed = int(outlines[used, 3] + piece.starts[begin + 1] - piece.starts[begin])
            store = longer(store, max(2 * needed, len(store)))
            if 2 * used >= size - 1:
                size *= 4
                table, hashes = np.full(size, _EMPTY, np.int64), longer(hashes, size)
                outlines = longer(outlines, size + 1)
                _fill_text(hashes, used, table)
    ends = outlines[: used + 1, 3].tolist()
    whole = store[: ends[-1]].tobytes()
    return codes, [whole[a:b] for a, b in pairwise(ends)]


def longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Give a copy with room for more."""
    copied = np.empty((size, *array.shape[1:]), array.dtype)
    copied[: len(array)] = array[:size]
    return copied
