"""Values as dense codes: 0, 1, 2, … for the different values of a column, exactly.

Contract: :func:`coded` gives every row of a column a code, equal codes for equal values and only
for those (texts by :mod:`sfumato.ask.engines.bounded_texts`). Every code occurs. NULL has a code of
its own. :func:`joined` codes the pairs of two codings, and so, step by step, tuples of keys.

Whole numbers that lie close together are their own codes, up to an offset; nothing is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sfumato.ask.engines.bounded_arrow import Text, WholeColumn
from sfumato.ask.engines.bounded_kernels import tally
from sfumato.ask.engines.bounded_texts import longer, search_text
from sfumato.compiler import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.ask.engines.bounded_arrow import Cells

    Codes: TypeAlias = NDArray[np.int32]
    Values: TypeAlias = NDArray[np.int64] | list[bytes]

_EMPTY = -1
_LEAST = 1024  # slots of a table, and a range that always counts as close together


@dataclass(frozen=True, eq=False)
class CodedColumn:
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


def _search_whole(
    pieces: Sequence[WholeColumn], rows: int, seed: int
) -> tuple[Codes, NDArray[np.int64]]:
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
            table, known = np.full(size, _EMPTY, np.int32), longer(known, size)
            _fill_whole(known, used, seed, table)
    return codes, known[:used]


def _close_together(pieces: Sequence[WholeColumn], rows: int) -> tuple[int, int] | None:
    """Give the range of the values if they may serve as codes."""
    if not rows or any(len(piece.present) for piece in pieces):
        return None
    low = min(int(piece.values.min()) for piece in pieces if len(piece.values))
    high = max(int(piece.values.max()) for piece in pieces if len(piece.values))
    return (low, high) if high - low < max(rows, _LEAST) else None


def _offsets(pieces: Sequence[WholeColumn], rows: int, low: int) -> Codes:
    codes = np.empty(rows, np.int32)
    row = 0
    for piece in pieces:
        mine = codes[row : row + len(piece.values)]
        np.subtract(piece.values, low, out=mine, casting="unsafe")
        row += len(mine)
    return codes


def coded(pieces: Sequence[Cells], rows: int, seed: int) -> CodedColumn:
    """Code the values of a column, given in pieces; ``seed`` keys the hash of the search."""
    texts = [piece for piece in pieces if isinstance(piece, Text)]
    if texts:
        return _dense(*search_text(texts, rows, seed))
    numbers = [piece for piece in pieces if isinstance(piece, WholeColumn)]
    ends = _close_together(numbers, rows)
    if ends is None:
        return _dense(*_search_whole(numbers, rows, seed))
    low, high = ends
    return _dense(_offsets(numbers, rows, low), low + np.arange(high - low + 1))


def _dense(codes: Codes, values: Values) -> CodedColumn:
    """Give NULL a code, and take away codes that do not occur."""
    missing = None
    if len(codes) and codes.min() < 0:
        missing = len(values)
        codes[codes < 0] = missing
        values = [*values, b""] if isinstance(values, list) else np.append(values, 0)
    counts = np.zeros(len(values), np.int64)
    tally(codes, counts)
    if isinstance(values, list) or counts.all():
        return CodedColumn(codes, counts, values, missing)
    used = np.flatnonzero(counts)
    new = np.zeros(len(values), np.int32)
    new[used] = np.arange(len(used))
    return CodedColumn(new[codes], counts[used], values[used])


def joined(first: CodedColumn, second: CodedColumn, seed: int) -> CodedColumn:
    """Code pairs of codes; the values are the numbers first · |second| + second."""
    pairs = first.codes.astype(np.int64) * len(second.values) + second.codes
    return coded([WholeColumn(pairs, np.empty(0, np.bool_))], len(pairs), seed)
