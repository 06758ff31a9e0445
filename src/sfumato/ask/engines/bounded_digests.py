"""The numbers of people and groups, by a compiled MD5: as the choice of rows says, many at once.

Contract: :func:`digests` gives, for each text, the four numbers of
:func:`sfumato.ask.plan.choice.numbers`. A library is called once per text, which for millions of
people takes longer than all the rest; here a loop hashes them all. MD5 (RFC 1321) spreads the
choice and keeps no secret, and tests hold this one against the library's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.engines.bounded_kernels import HALF, P
from sfumato.compiler import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BLOCK, _LENGTH = 64, 8  # bytes of a block, and of the length that ends a message
_STEPS = np.array([math.floor(abs(math.sin(i + 1)) * 2**32) for i in range(64)], np.int64)
_TURNS = np.array([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], np.int64)
_START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], np.int64)


def digests(salt: bytes, sort: bytes, texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Give four numbers per text; ``sort`` tells what the texts are of."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    data = np.frombuffer(b"".join(texts), np.uint8)
    found = np.empty((len(texts), 4), np.int64)
    longest = int(np.diff(ends, prepend=0).max(initial=0))
    prefix = np.frombuffer(salt.hex().encode() + sort, np.uint8)
    room = np.empty(len(prefix) + longest + 2 * _BLOCK, np.uint8)
    _digest_all(prefix, data, ends, room, found)
    return found


@njit(cache=True, nogil=True)
def _digest_all(
    prefix: NDArray[np.uint8],
    data: NDArray[np.uint8],
    ends: NDArray[np.int64],
    room: NDArray[np.uint8],
    found: NDArray[np.int64],
) -> None:
    """Hash prefix and text of each; ``room`` has place for the longest message, filled up."""
    start, words, state = len(prefix), np.empty(16, np.int64), np.empty(4, np.int64)
    room[:start] = prefix
    begin = 0
    for text in range(len(ends)):
        size = start
        for at in range(begin, ends[text]):
            room[size] = data[at]
            size += 1
        begin = ends[text]
        blocks = _fill_up(room, size)
        state[:] = _START
        for block in range(blocks):
            _read_words(room, _BLOCK * block, words)
            _step(words, state)
        for i in range(4):
            found[text, i] = _turned_round(state[i]) % (P - 1) + 1


@njit(cache=True, nogil=True)
def _fill_up(room: NDArray[np.uint8], size: int) -> Any:
    """End a message as MD5 wants it, with a bit and its length; return its number of blocks."""
    blocks = (size + _LENGTH) // _BLOCK + 1
    last = _BLOCK * blocks - _LENGTH
    room[size] = 0x80
    for at in range(size + 1, last):
        room[at] = 0
    bits = 8 * size
    for i in range(_LENGTH):
        room[last + i] = (bits >> (8 * i)) & 0xFF
    return blocks


@njit(cache=True, nogil=True)
def _read_words(room: NDArray[np.uint8], begin: int, words: NDArray[np.int64]) -> None:
    for i in range(16):
        at = begin + 4 * i
        words[i] = (
            np.int64(room[at])
            | (np.int64(room[at + 1]) << 8)
            | (np.int64(room[at + 2]) << 16)
            | (np.int64(room[at + 3]) << 24)
        )


@njit(cache=True, nogil=True)
def _turned(a: Any, b: Any, mixed: Any, word: Any, i: int) -> Any:
    """Give the new number of step i."""
    x = (a + (mixed & HALF) + _STEPS[i] + word) & HALF
    turn = _TURNS[4 * (i >> 4) + (i & 3)]
    return (b + ((x << turn) | (x >> (32 - turn)))) & HALF


@njit(cache=True, nogil=True)
def _step(words: NDArray[np.int64], state: NDArray[np.int64]) -> None:
    """Mix a block of sixteen words into the state: four rounds of sixteen steps."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for i in range(16):
        a, d, c, b = d, c, b, _turned(a, b, (b & c) | (~b & d), words[i], i)
    for i in range(16, 32):
        a, d, c, b = d, c, b, _turned(a, b, (d & b) | (~d & c), words[(5 * i + 1) & 15], i)
    for i in range(32, 48):
        a, d, c, b = d, c, b, _turned(a, b, b ^ c ^ d, words[(3 * i + 5) & 15], i)
    for i in range(48, 64):
        a, d, c, b = d, c, b, _turned(a, b, c ^ (b | (~d & HALF)), words[(7 * i) & 15], i)
    state[0] = (state[0] + a) & HALF
    state[1] = (state[1] + b) & HALF
    state[2] = (state[2] + c) & HALF
    state[3] = (state[3] + d) & HALF


@njit(cache=True, nogil=True)
def _turned_round(word: Any) -> Any:
    """Read four bytes from the other end."""
    return (
        ((word & 0xFF) << 24)
        | ((word & 0xFF00) << 8)
        | ((word >> 8) & 0xFF00)
        | ((word >> 24) & 0xFF)
    )
