"""Discrete Laplace noise, exact for every rational scale.

Contract: ``discrete_laplace(t, n)`` draws n integers with Pr[x] = (1−q)/(1+q)·q^|x|, q = exp(−1/t),
exactly, given fair coins. The result is an ``int64`` array; it is an object array of Python
integers when the scale is above 2⁵⁰ or, with probability below exp(−4000), when a draw does
not fit, because noise is never cut.

Proof. (1) Let G have Pr[g] = (1−q)·q^g on 0, 1, 2, … and let S, independent of G, be 1 with
probability q/(1+q). Then X = G for S = 0 and X = −1−G for S = 1 has Pr[X = x] = (1−q)/(1+q)·q^x
for x ≥ 0 and (1−q)/(1+q)·q·q^(−1−x) = (1−q)/(1+q)·q^|x| for x < 0: no sign is refused.
(2) Write G = 2^k·H + Σ 2^(s_j)·D_j, the D_j being disjoint groups of the low k bits. Then
q^G is the product of q^(2^k·H) and the q^(2^(s_j)·D_j): H and the D_j are independent, each
with geometric weights, D_j on a finite range. (3) The pair (H, S) and every D_j come from an exact
:class:`~sfumato.dp.noise.alias.AliasTable`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.noise.alias import AliasTable, build
from sfumato.dp.noise.chances import exact_parameter
from sfumato.dp.noise.intervals import Bounds, exp_bounds, multiply
from sfumato.dp.noise.stream import stream
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import numpy.typing as npt

    from sfumato.dp.noise.stream import Stream

_BLOCK = 1 << 14  # samples per block: words, outcomes and tables stay in the second-level cache
_TOP_SCALE = 11  # the pair (H, S) at this scale fills a table of 2^10 entries
_DIGIT_BITS = 10
_MOST_FAST = 50  # bits of the scale for which int64 serves


@dataclass(frozen=True)
class _Powers:
    """Weights exp(−γ·d) for d = 0 … size−1: one group of low bits."""

    gamma: Fraction
    size: int

    def bounds(self, bits: int) -> Iterator[Bounds]:
        factor = exp_bounds(self.gamma, bits)
        value = (1 << bits, 1 << bits)
        for _ in range(self.size):
            yield value
            value = multiply(value, factor, bits)

    def tail(self, count: int, bits: int) -> int:  # noqa: ARG002 - nothing follows a finite range
        return 0


@dataclass(frozen=True)
class _SignedPowers:
    """Weights exp(−high·h)·exp(−low·s) of the pairs (h, s), numbered 2h + s."""

    high: Fraction
    low: Fraction
    size: None = None

    def bounds(self, bits: int) -> Iterator[Bounds]:
        factor, sign = exp_bounds(self.high, bits), exp_bounds(self.low, bits)
        value = (1 << bits, 1 << bits)
        while True:
            yield value
            yield multiply(value, sign, bits)
            value = multiply(value, factor, bits)

    def tail(self, count: int, bits: int) -> int:
        # Σ over h ≥ count/2 of 2·Q^h = 2·Q^(count/2)/(1−Q), with Q = exp(−high).
        _, first = exp_bounds(self.high * (count // 2), bits)
        _, ratio = exp_bounds(self.high, bits)
        gap = max(1, (1 << bits) - ratio)
        return -(-(2 * first << bits) // gap)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How a scale is split: the table of (H, S), and one table per group of low bits."""

    top: AliasTable
    shift: int
    digits: tuple[tuple[int, AliasTable], ...]


def discrete_laplace(
    scale: Fraction | int, size: int, *, source: Stream | None = None
) -> npt.NDArray[Any]:
    """Draw ``size`` integers with Pr[x] ∝ exp(−|x|/scale), exactly."""
    exact = exact_parameter(scale, "The scale of Laplace noise")
    if exact <= 0:
        raise ParameterError(f"The scale of Laplace noise is above 0, and {exact} was given.")
    plan = _plan(exact)
    source = source or stream()
    if plan.shift > _MOST_FAST:
        return _draw(plan, size, source, wide=True)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        block = _draw(plan, min(_BLOCK, size - start), source, wide=False)
        if block.dtype == object and out.dtype != object:
            out = out.astype(object)
        out[start : start + _BLOCK] = block
    return out


@lru_cache(maxsize=64)
def _plan(scale: Fraction) -> _Plan:
    shift = 0
    while scale > _TOP_SCALE << shift:
        shift += 1
    gamma = 1 / scale
    digits = []
    groups = -(-shift // _DIGIT_BITS)
    for index in range(groups):
        first, past = index * shift // groups, (index + 1) * shift // groups
        weights = _Powers(gamma * (1 << first), 1 << (past - first))
        digits.append((first, build(weights, most=1 << _DIGIT_BITS)))
    top = build(_SignedPowers(gamma * (1 << shift), gamma), most=1023)
    return _Plan(top, shift, tuple(digits))


def _draw(plan: _Plan, count: int, source: Stream, *, wide: bool) -> npt.NDArray[Any]:
    pairs: npt.NDArray[Any] = plan.top.draw(count, source)
    if wide or _overflows(pairs, plan.shift):
        pairs = pairs.astype(object)
    magnitude = (pairs >> 1) << plan.shift
    for first, table in plan.digits:
        magnitude += table.draw(count, source).astype(pairs.dtype, copy=False) << first
    return magnitude ^ -(pairs & 1)


def _overflows(pairs: npt.NDArray[np.int64], shift: int) -> bool:
    return bool(pairs.max(initial=0) >> 1 >= 1 << (62 - shift))
