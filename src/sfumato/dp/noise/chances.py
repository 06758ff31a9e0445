"""Exact probabilities, rational or not, and decisions against them.

Contract: a :class:`Chance` is a real number p in [0, 1] that can enclose itself to any number
of bits. ``decide(p, prefix, bits)`` says whether U < p for a uniform real U of which the first
bits are already drawn: it draws further bits until the answer is certain. So a decision
comes out true with probability exactly p, although p is never computed to the end.

Why it ends. After b bits U is known up to 2^−b and p up to about as much; the decision
stays open with probability O(2^−b).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sfumato.dp.noise.intervals import Bounds, exp_bounds
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.dp.noise.stream import Stream

_STEP = 64


@dataclass(frozen=True)
class Chance:
    """A probability p in [0, 1].

    ``bounds(bits)`` gives integers lo < 2^bits·p < hi, or lo = 2^bits·p = hi.
    """

    name: str
    bounds: Callable[[int], Bounds]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def word(self) -> int:
        """The floor of 2^64·p, exactly.

        The loop ends for rationals because their bounds are exact, and for the
        others because e to a rational power is transcendental, so p is not a multiple of
        2^−64.
        """
        spare = _STEP
        while True:
            lo, hi = self.bounds(64 + spare)
            if lo == hi or lo >> spare == (hi - 1) >> spare:
                return lo >> spare
            spare *= 2


def exact_parameter(value: Fraction | int, name: str) -> Fraction:
    """Read a parameter of a sampler exactly; a float stands for the binary number it is."""
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"{name} is a finite number, such as Fraction(1, 3), and {value!r} was given."
        ) from None


def rational(p: Fraction | int) -> Chance:
    """Give the chance p, a rational in [0, 1]."""
    exact = Fraction(p)
    if not 0 <= exact <= 1:
        raise ParameterError(f"A probability lies between 0 and 1, and {exact} was given.")

    def bounds(bits: int) -> Bounds:
        whole, rest = divmod(exact.numerator << bits, exact.denominator)
        return whole, whole + (rest > 0)

    return Chance(str(exact), bounds)


def exponential(gamma: Fraction | int) -> Chance:
    """Give the chance exp(−γ) for rational γ ≥ 0."""
    exact = Fraction(gamma)
    if exact < 0:
        raise ParameterError(f"exp(−γ) is a probability for γ ≥ 0, and γ = {exact} was given.")
    return Chance(f"exp(-{exact})", lambda bits: exp_bounds(exact, bits))


def preference(epsilon: Fraction | int, others: int = 1) -> Chance:
    """Give the chance e^ε / (e^ε + others): the favourite's, against ``others`` alternatives.

    This is the probability of a truthful answer in randomised response with budget ε.
    """
    exact = Fraction(epsilon)
    if exact < 0 or others < 0:
        raise ParameterError("A preference needs ε ≥ 0 and at least 0 alternatives.")
    if exact == 0 or others == 0:
        return rational(Fraction(1, 1 + others))

    def bounds(bits: int) -> Bounds:
        unit = 1 << bits
        lo, hi = exp_bounds(exact, bits)
        return unit * unit // (unit + others * hi), -(-unit * unit // (unit + others * lo))

    return Chance(f"1/(1+{others}exp(-{exact}))", bounds)


def flip(chance: Chance, coin: int, source: Stream) -> bool:
    """Say whether U < p for a uniform U that starts with the 64 bits of ``coin``."""
    if coin != chance.word:
        return coin < chance.word
    return decide(chance, coin, 64, source)


def decide(chance: Chance, prefix: int, bits: int, source: Stream) -> bool:
    """Say whether U < p, where the first ``bits`` bits of the uniform U are ``prefix``."""
    while True:
        lo, hi = chance.bounds(bits + _STEP)
        if (prefix + 1) << _STEP <= lo:
            return True
        if prefix << _STEP >= hi:
            return False
        prefix = prefix << _STEP | source.bits(_STEP)
        bits += _STEP
