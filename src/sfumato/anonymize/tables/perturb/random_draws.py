"""Random numbers for operations that break truth, from the cryptographic stream.

Integers are uniform without bias. Normal and Laplace numbers are floating-point: good enough
to blur a column, not a mechanism of differential privacy, whose noise lives in `sfumato.dp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.tables.permutation import shuffle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.tables.permutation import RandomWords


def below(bounds: NDArray[np.int64], words: RandomWords) -> NDArray[np.int64]:
    """Draw for each bound an integer from 0 up to but not including it, all equally likely.

    A word in the remainder of 2⁶⁴ divided by the bound would favour small integers, so it
    is thrown away and drawn again.
    """
    limits = bounds.astype(np.uint64)
    unfair = (np.uint64(0) - limits) % limits
    drawn = words.take(len(limits)).copy()
    again = np.flatnonzero(drawn < unfair)
    while len(again):
        drawn[again] = words.take(len(again))
        again = again[drawn[again] < unfair[again]]
    return (drawn % limits).astype(np.int64)


def chosen(n: int, count: int, words: RandomWords) -> NDArray[np.int64]:
    """Draw `count` of the integers below `n`, in random order."""
    order = np.arange(n, dtype=np.int64)
    shuffle(order, words)
    return order[:count]


def uniform(n: int, words: RandomWords) -> NDArray[np.float64]:
    """Draw numbers between 0 and 1, neither included."""
    return ((words.take(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normal(n: int, words: RandomWords) -> NDArray[np.float64]:
    """Draw standard normal numbers (Box and Muller, 1958)."""
    length = np.sqrt(-2 * np.log(uniform(n, words)))
    values: NDArray[np.float64] = length * np.cos(2 * np.pi * uniform(n, words))
    return values


def laplace(n: int, words: RandomWords) -> NDArray[np.float64]:
    """Draw Laplace numbers of mean 0 and standard deviation 1, by inversion."""
    centred = uniform(n, words) - 0.5
    values: NDArray[np.float64] = -np.sign(centred) * np.log1p(-2 * np.abs(centred)) / np.sqrt(2)
    return values


def flat(n: int, words: RandomWords) -> NDArray[np.float64]:
    """Draw uniform numbers of mean 0 and standard deviation 1."""
    values: NDArray[np.float64] = (uniform(n, words) - 0.5) * np.sqrt(12)
    return values
