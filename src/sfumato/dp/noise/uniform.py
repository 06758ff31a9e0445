"""Uniform integers, permutations and coins, exact and in bulk.

Contract: ``below(n, size)`` is uniform on 0 … n−1 without modulo bias; ``bernoulli(p, size)`` is
true with probability exactly p, for a rational or any :class:`~sfumato.dp.noise.chances.Chance`;
``bernoulli_bits`` gives the same coins packed, least significant bit first, at about one random
byte per coin; ``permutation(n)`` is uniform on the n! orders. The work does not depend on
the values drawn, apart from draws that are repeated with probability below 2⁻³² (for n < 2³²).

Proofs. Below: Lemire, "Fast random integer generation in an interval" (2019). Bernoulli: U < p is
decided by the first 64 bits of U unless they equal those of p, and otherwise by
:func:`~sfumato.dp.noise.chances.decide`. Permutation: Fisher and Yates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.alias import FEW
from sfumato.dp.noise.chances import Chance, decide, rational
from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.noise.stream import Stream

_BLOCK = 1 << 14


def integer_below(bound: int, *, source: Stream | None = None) -> int:
    """Draw one uniform integer in 0 … bound−1, of any length."""
    if bound < 1:
        raise ParameterError(f"A uniform integer needs a bound of at least 1, not {bound}.")
    source = source or stream()
    bits = (bound - 1).bit_length()
    while True:
        value = source.bits(bits)
        if value < bound:
            return value


def below(
    bound: int | npt.NDArray[np.integer], size: int | None = None, *, source: Stream | None = None
) -> npt.NDArray[np.int64]:
    """Draw uniform integers in 0 … bound−1; an array of bounds gives one draw for each."""
    try:
        bounds = np.atleast_1d(np.asarray(bound, dtype=np.int64))
    except OverflowError:
        raise ParameterError(
            "A uniform integer of 64 bits needs a bound below 2^63; use integer_below for longer "
            "ones."
        ) from None
    if bounds.size and bounds.min() < 1:
        raise ParameterError("A uniform integer needs a bound of at least 1 and below 2^63.")
    count = bounds.size if size is None else size
    if bounds.size not in {1, count}:
        raise ParameterError(f"{bounds.size} bounds cannot give {count} draws.")
    source = source or stream()
    if count <= FEW:
        each = np.broadcast_to(bounds, count).tolist()
        return np.array([integer_below(n, source=source) for n in each], dtype=np.int64)
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _BLOCK):
        part = out[start : start + _BLOCK]
        _fill_below(bounds if bounds.size == 1 else bounds[start : start + _BLOCK], part, source)
    return out


def _fill_below(bounds: npt.NDArray[np.int64], out: npt.NDArray[np.int64], source: Stream) -> None:
    from sfumato.dp.noise import kernels  # noqa: PLC0415 - a few draws need no compiler

    again = np.empty(out.size, dtype=np.int64)
    limits = bounds.astype(np.uint64)
    refused = kernels.below(source.uint64(out.size), limits, out, again)
    if refused:
        where = again[:refused]
        out[where] = below(bounds if bounds.size == 1 else bounds[where], refused, source=source)


def permutation(size: int, *, source: Stream | None = None) -> npt.NDArray[np.int64]:
    """Draw a uniformly random order of 0 … size−1."""
    from sfumato.dp.noise import kernels  # noqa: PLC0415 - imported on use, as everywhere

    order = np.arange(size, dtype=np.int64)
    kernels.shuffle(order, below(np.arange(size, 0, -1), source=source) if size else order)
    return order


def bernoulli(
    chance: Chance | Fraction | int, size: int, *, source: Stream | None = None
) -> npt.NDArray[np.bool_]:
    """Draw ``size`` coins that are true with the given probability, exactly."""
    exact = chance if isinstance(chance, Chance) else rational(chance)
    source = source or stream()
    limit = exact.word
    if limit == 1 << 64:
        return np.ones(size, dtype=np.bool_)
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, _BLOCK):
        words = source.uint64(min(_BLOCK, size - start))
        part = out[start : start + _BLOCK]
        np.less(words, np.uint64(limit), out=part)
        for index in np.flatnonzero(words == np.uint64(limit)).tolist():
            part[index] = decide(exact, limit, 64, source)
    return out


def bernoulli_bits(
    chance: Chance | Fraction | int, size: int, *, source: Stream | None = None
) -> npt.NDArray[np.uint64]:
    """Draw ``size`` coins packed into words, coin i in bit i % 64 of word i // 64.

    The bits after the last coin are 0.
    """
    from sfumato.dp.noise import kernels  # noqa: PLC0415 - imported on use, as everywhere

    exact = chance if isinstance(chance, Chance) else rational(chance)
    source = source or stream()
    out = np.zeros(-(-size // 64), dtype=np.uint64)
    limit = exact.word
    if limit == 1 << 64:
        out[:] = ~np.uint64(0)
    else:
        undecided = np.zeros(out.size, dtype=np.uint64)
        done = 0
        while done < out.size:
            words = source.uint64(min(_BLOCK, 64 + 9 * (out.size - done)))
            done = kernels.bernoulli_lanes(words, np.uint64(limit), out, done, undecided)
        for index in np.flatnonzero(undecided).tolist():
            _settle_lanes(exact, out, index, int(undecided[index]), source)
    if size % 64:
        out[-1] &= np.uint64((1 << size % 64) - 1)
    return out


def _settle_lanes(
    chance: Chance, out: npt.NDArray[np.uint64], index: int, lanes: int, source: Stream
) -> None:
    for lane in range(64):
        if lanes >> lane & 1 and decide(chance, chance.word, 64, source):
            out[index] |= np.uint64(1 << lane)
