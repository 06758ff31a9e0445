"""Values as dense codes: 0, 1, 2, … for the different values of a column, exactly.

Contract: :func:`coded` gives every row of a column a code, equal codes for equal values and only
for those: a table is searched by a hash, but two people are taken for one only when all their bytes
agree. Every code occurs. NULL has a code of its own. :func:`joined` codes the pairs of two codings,
and so, step by step, tuples of keys.

Whole numbers that lie close together are their own codes, up to an offset; nothing is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import njit

from sfumato.ask.engines.bounded_arrow import Text, Whole
from sfumato.ask.engines.bounded_kernels import HALF, tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.engines.bounded_arrow import Cells

    Codes: TypeAlias = NDArray[np.int32]
    Values: TypeAlias = NDArray[np.int64] | list[bytes]

_EMPTY = -1
_LEAST = 1024  # slots of a table, and a range that always counts as close together


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of codes; ``values[code]`` is a number or the bytes of a text.

    ``missing`` is the code of NULL, if a row has it; its value means nothing.
    """

    codes: Codes
    counts: NDArray[np.int64]
    values: Values
    missing: int | None = None


@njit(cache=True, nogil=True)
def _spread(value: Any, seed: int) -> Any:
    x = (np.uint64(value) ^ np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(x >> np.uint64(33))


@njit(cache=True, nogil=True)
def _fill_whole(known: NDArray[np.int64], used: int, seed: int, table: NDArray[np.int32]) -> None:
    mask = len(table) - 1
    for code in range(used):
        at = _spread(known[code], seed) & mask
        while table[at] != -1:
            at = (at + 1) & mask
        table[at] = code


@njit(cache=True, nogil=True)
def _code_whole(
    values: NDArray[np.int64],
    present: NDArray[np.bool_],
    begin: int,
    seed: int,
    table: NDArray[np.int32],
    known: NDArray[np.int64],
    used: int,
    codes: NDArray[np.int32],
) -> tuple[int, int]:
    """Code rows from ``begin``; stop where the table is half full. NULL becomes −1."""
    mask = len(table) - 1
    for i in range(begin, len(values)):
        if len(present) and not present[i]:
            codes[i] = -1
            continue
        value = values[i]
        at = _spread(value, seed) & mask
        while table[at] != -1 and known[table[at]] != value:
            at = (at + 1) & mask
        if table[at] == -1:
            if 2 * used >= mask:
                return i, used
            table[at] = used
            known[used] = value
            used += 1
        codes[i] = table[at]
    return len(values), used


@njit(cache=True, nogil=True)
def _mark(data: NDArray[np.uint8], first: int, last: int, seed: int) -> Any:
    """Hash a text to 63 bits."""
    x = np.uint64(seed)
    for j in range(first, last):
        x = (x ^ np.uint64(data[j])) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((x ^ (x >> np.uint64(32))) >> np.uint64(1))


@njit(cache=True, nogil=True)
def _fill_text(hashes: NDArray[np.int64], used: int, table: NDArray[np.int64]) -> None:
    mask = len(table) - 1
    for code in range(used):
        at = hashes[code] & mask
        while table[at] != -1:
            at = (at + 1) & mask
        table[at] = ((hashes[code] >> 32) << 32) | code


@njit(cache=True, nogil=True)
def _same(
    store: NDArray[np.uint8],
    places: NDArray[np.int64],
    code: int,
    data: NDArray[np.uint8],
    first: int,
    last: int,
) -> bool:
    """Compare a stored text with one at hand, byte for byte."""
    place = places[code]
    if places[code + 1] - place != last - first:
        return False
    for j in range(last - first):  # noqa: SIM110 - the compiler knows no generators
        if store[place + j] != data[first + j]:
            return False
    return True


@njit(cache=True, nogil=True)
def _code_text(
    starts: NDArray[np.int32],
    data: NDArray[np.uint8],
    present: NDArray[np.bool_],
    begin: int,
    seed: int,
    table: NDArray[np.int64],
    hashes: NDArray[np.int64],
    places: NDArray[np.int64],
    store: NDArray[np.uint8],
    used: int,
    codes: NDArray[np.int32],
) -> tuple[int, int]:
    """Code texts from row ``begin``; stop where the table is half full or the store full."""
    mask = len(table) - 1
    for i in range(begin, len(starts) - 1):
        if len(present) and not present[i]:
            codes[i] = -1
            continue
        first, last = starts[i], starts[i + 1]
        mark = _mark(data, first, last, seed)
        at = mark & mask
        while table[at] != -1:
            if (table[at] ^ mark) >> 32 == 0 and _same(
                store, places, table[at] & HALF, data, first, last
            ):
                break
            at = (at + 1) & mask
        if table[at] == -1:
            place = places[used]
            if 2 * used >= mask or place + last - first > len(store):
                return i, used
            for j in range(last - first):
                store[place + j] = data[first + j]
            table[at] = ((mark >> 32) << 32) | used
            hashes[used] = mark
            used += 1
            places[used] = place + last - first
        codes[i] = table[at] & HALF
    return len(starts) - 1, used


def _search_whole(pieces: Sequence[Whole], rows: int, seed: int) -> tuple[Codes, NDArray[np.int64]]:
    codes = np.empty(rows, np.int32)
    size, used, row = _LEAST, 0, 0
    table, known = np.full(size, _EMPTY, np.int32), np.empty(size, np.int64)
    for piece in pieces:
        mine = codes[row : row + len(piece.values)]
        row += len(mine)
        begin = 0
        while True:
            begin, used = _code_whole(*piece, begin, seed, table, known, used, mine)
            if begin == len(mine):
                break
            size *= 4
            table, known = np.full(size, _EMPTY, np.int32), _longer(known, size)
            _fill_whole(known, used, seed, table)
    return codes, known[:used]


def _search_text(pieces: Sequence[Text], rows: int, seed: int) -> tuple[Codes, list[bytes]]:
    codes = np.empty(rows, np.int32)
    size, used, row = _LEAST, 0, 0
    table, hashes = np.full(size, _EMPTY, np.int64), np.empty(size, np.int64)
    places, store = np.zeros(size + 1, np.int64), np.empty(16 * size, np.uint8)
    for piece in pieces:
        mine = codes[row : row + len(piece.starts) - 1]
        row += len(mine)
        begin = 0
        while True:
            begin, used = _code_text(*piece, begin, seed, table, hashes, places, store, used, mine)
            if begin == len(mine):
                break
            needed = int(places[used] + piece.starts[begin + 1] - piece.starts[begin])
            store = _longer(store, max(2 * needed, len(store)))
            if 2 * used >= size - 1:
                size *= 4
                table, hashes = np.full(size, _EMPTY, np.int64), _longer(hashes, size)
                places = _longer(places, size + 1)
                _fill_text(hashes, used, table)
    ends = places[: used + 1].tolist()
    whole = store[: ends[-1]].tobytes()
    return codes, [whole[a:b] for a, b in pairwise(ends)]


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array[:size]
    return longer


def _close_together(pieces: Sequence[Whole], rows: int) -> tuple[int, int] | None:
    """Give the range of the values if they may serve as codes."""
    if not rows or any(len(piece.present) for piece in pieces):
        return None
    low = min(int(piece.values.min()) for piece in pieces if len(piece.values))
    high = max(int(piece.values.max()) for piece in pieces if len(piece.values))
    return (low, high) if high - low < max(rows, _LEAST) else None


def _offsets(pieces: Sequence[Whole], rows: int, low: int) -> Codes:
    codes = np.empty(rows, np.int32)
    row = 0
    for piece in pieces:
        mine = codes[row : row + len(piece.values)]
        np.subtract(piece.values, low, out=mine, casting="unsafe")
        row += len(mine)
    return codes


def coded(pieces: Sequence[Cells], rows: int, seed: int) -> Coded:
    """Code the values of a column, given in pieces; ``seed`` keys the hash of the search."""
    texts = [piece for piece in pieces if isinstance(piece, Text)]
    if texts:
        return _dense(*_search_text(texts, rows, seed))
    numbers = [piece for piece in pieces if isinstance(piece, Whole)]
    ends = _close_together(numbers, rows)
    if ends is None:
        return _dense(*_search_whole(numbers, rows, seed))
    low, high = ends
    return _dense(_offsets(numbers, rows, low), low + np.arange(high - low + 1))


def _dense(codes: Codes, values: Values) -> Coded:
    """Give NULL a code, and take away codes that do not occur."""
    missing = None
    if len(codes) and codes.min() < 0:
        missing = len(values)
        codes[codes < 0] = missing
        values = [*values, b""] if isinstance(values, list) else np.append(values, 0)
    counts = np.zeros(len(values), np.int64)
    tally(codes, counts)
    if isinstance(values, list) or counts.all():
        return Coded(codes, counts, values, missing)
    used = np.flatnonzero(counts)
    new = np.zeros(len(values), np.int32)
    new[used] = np.arange(len(used))
    return Coded(new[codes], counts[used], values[used])


def joined(first: Coded, second: Coded, seed: int) -> Coded:
    """Code pairs of codes; the values are the numbers first · |second| + second."""
    pairs = first.codes.astype(np.int64) * len(second.values) + second.codes
    return coded([Whole(pairs, np.empty(0, np.bool_))], len(pairs), seed)
