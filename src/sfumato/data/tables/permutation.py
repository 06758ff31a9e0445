"""A row order that tells nothing: random permutations from cryptographic randomness.

The order of a file leaks: records of one household or one day stand together. A release
is therefore shuffled by default, with AES-CTR under a key from the operating system. With
a seed the permutation can be repeated, and undone by whoever knows the seed; that is for
tests and for comparing two runs, not for publishing.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 20


class RandomWords:
    """A stream of random 64-bit words."""

    def __init__(self, seed: int | None = None) -> None:
        key = os.urandom(32) if seed is None else hashlib.sha256(f"{seed}".encode()).digest()
        self._stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def take(self, n: int) -> NDArray[np.uint64]:
        """Return the next `n` words."""
        return np.frombuffer(self._stream.update(bytes(8 * n)), dtype=np.uint64)

    def key(self) -> str:
        """Return 256 bits as hexadecimal text."""
        return self.take(4).tobytes().hex()


def shuffle(items: NDArray[np.integer], words: RandomWords) -> None:
    """Permute in place, all orders equally likely (Fisher–Yates, from the last place down).

    Each place below `i` is drawn from 64 random bits by multiplication; a draw in the
    biased remainder is thrown away and drawn again, so no place is favoured.
    """
    position = len(items) - 1
    while position > 0:
        block = words.take(min(BLOCK, position + 16))
        position = int(_swap_down(items, position, block))


def _plain_swap_down(items: NDArray[np.integer], position: int, words: NDArray[np.uint64]) -> int:
    order = items.tolist()
    used = 0
    while position > 0 and used < len(words):
        bounds = np.arange(position + 1, 1, -1, dtype=np.uint64)[: len(words) - used]
        drawn = words[used : used + len(bounds)]
        low = np.flatnonzero(drawn < bounds)  # hardly ever any; only these can be rejected
        rejected = low[drawn[low] < (np.uint64(0) - bounds[low]) % bounds[low]]
        good = int(rejected[0]) if len(rejected) else len(bounds)
        for other in (drawn[:good] % bounds[:good]).tolist():
            order[position], order[other] = order[other], order[position]
            position -= 1
        used += good + (len(rejected) > 0)
    items[:] = order
    return position


@kernel(_plain_swap_down, loss=lambda items, _position, _words: 4e-7 * len(items))
def _swap_down(items, position, words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Place items from `position` down while words last; return the next position."""
    for j in range(len(words)):
        if position <= 0:
            break
        bound = np.uint64(position + 1)
        # 2^64 mod bound, the number of words that would favour some places
        remainder = (np.uint64(0) - bound) % bound
        word = words[j]
        if word < remainder:
            continue
        other = np.int64(word % bound)
        kept = items[position]
        items[position] = items[other]
        items[other] = kept
        position -= 1
    return position
