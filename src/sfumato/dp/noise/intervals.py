"""Exponentials enclosed between two integers, to any number of bits.

Contract: ``exp_bounds(γ, bits)`` gives integers with lo ≤ 2^bits·exp(−γ) ≤ hi for an exact
rational γ ≥ 0, and hi − lo ≤ 2. Every exact sampler of this package asks for as many bits as
its comparison with a random word needs, and for more only when the comparison is undecided.

Why it holds. With γ = 2^j·x and 0 ≤ x < 2⁻⁶, the series of exp(x) has positive terms only: cut
off, with every term rounded down, it is a lower bound; every term rounded up, plus twice
the first term left out (the terms fall by more than half), it is an upper bound. The
reciprocal swaps the two. Squaring j times, down for the lower and up for the upper bound,
gives exp(−γ). Each squaring at most doubles the relative width, and 16 + j spare bits absorb it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

Bounds = tuple[int, int]

_SPARE = 16
_SMALL = 6


def exp_bounds(gamma: Fraction, bits: int) -> Bounds:
    """Enclose 2^bits·exp(−γ) between two integers, for rational γ ≥ 0."""
    if gamma < 0:
        raise ValueError("exp_bounds takes γ ≥ 0")
    if gamma == 0:
        return 1 << bits, 1 << bits
    if gamma > bits:  # exp(−γ) < 2^−bits, because e > 2
        return 0, 1
    doublings = int(gamma).bit_length() + _SMALL
    work = bits + doublings + _SPARE
    scaled = (gamma.numerator << work) // (gamma.denominator << doublings)
    lo, hi = _reciprocal(_exp_series(scaled, work), work)
    for _ in range(doublings):
        lo, hi = lo * lo >> work, -(-hi * hi >> work)
    drop = work - bits
    return lo >> drop, min(-(-hi >> drop), 1 << bits)


def _exp_series(scaled: int, work: int) -> Bounds:
    """Enclose 2^work·exp(x) for every x between ``scaled`` and ``scaled + 1`` over 2^work."""
    low_term = high_term = 1 << work
    lo = hi = 0
    index = 0
    while high_term > 1:
        lo += low_term
        hi += high_term
        index += 1
        low_term = (low_term * scaled >> work) // index
        high_term = _ceil_div(-(-high_term * (scaled + 1) >> work), index)
    return lo, hi + 2 * high_term


def _ceil_div(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def _reciprocal(bounds: Bounds, work: int) -> Bounds:
    lo, hi = bounds
    return (1 << 2 * work) // hi, -(-(1 << 2 * work) // lo)


def multiply(left: Bounds, right: Bounds, bits: int) -> Bounds:
    """Enclose the product of two non-negative numbers given in units of 2^−bits."""
    return left[0] * right[0] >> bits, -(-left[1] * right[1] >> bits)
