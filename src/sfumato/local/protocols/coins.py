"""Probabilities that a device can realise exactly, rounded so that privacy gains.

Contract: every coin of every protocol is decided by comparing a uniform 32-bit integer with a
threshold, so each probability is a whole multiple of 2⁻³² and *is* the probability, without any
rounding error left over. The ideal probabilities are irrational; they are rounded towards less
privacy loss, and a protocol states the ε of the rounded ones:

* ``power_down(x)`` is a rational at most e^x, within one part in 10⁴⁰;
* ``coin_down`` and ``coin_up`` round a probability to a multiple of 2⁻³²;
* ``epsilon_up(ratio)`` is the natural logarithm, rounded up.

The same integers serve any client, for instance one that asks the browser for 32 random bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.stream import Stream, stream
from sfumato.dp.rounding import exp_bounds, log_up, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

DIGITS = 32
"""Random bits of a coin."""

ONE = 1 << DIGITS
MOST_EPSILON = 20
_LOW_HALF = np.uint64(ONE - 1)
_SHIFT = np.uint64(DIGITS)


def power_down(exponent: Fraction) -> Fraction:
    """Give a rational at most e to the power, and almost equal to it."""
    return Fraction(exp_bounds(exponent)[0])


def coin_down(probability: Fraction) -> Fraction:
    """Round a probability down to one that a coin of 32 bits realises."""
    return Fraction((probability.numerator << DIGITS) // probability.denominator, ONE)


def coin_up(probability: Fraction) -> Fraction:
    """Round a probability up to one that a coin of 32 bits realises."""
    return 1 - coin_down(1 - probability)


def coin_near(probability: Fraction) -> Fraction:
    """Round a probability that carries no privacy to the nearest one a coin realises."""
    return coin_down(probability + Fraction(1, 2 * ONE))


def threshold(probability: Fraction) -> int:
    """Give the integer below which a uniform 32-bit integer means yes."""
    exact = probability * ONE
    if exact.denominator != 1 or not 0 <= exact <= ONE:
        raise ArithmeticError("a coin has 32 digits")
    return exact.numerator


def epsilon_up(ratio: Fraction) -> Fraction:
    """Give the ε of a largest ratio of probabilities, rounded up."""
    return Fraction(log_up(ratio)) if ratio > 1 else Fraction(0)


def stated_epsilon(ratio: Fraction, asked: Fraction | None = None) -> float:
    """State the ε of a ratio; where rounding up passed what was asked, that holds as well."""
    found = epsilon_up(ratio)
    if asked is not None and ratio <= power_down(asked):
        found = min(found, asked)
    return stated_up(found)


def refuse_extremes(epsilon: Fraction) -> None:
    """Refuse an ε at which a coin of 32 bits cannot keep the promise well."""
    if epsilon > MOST_EPSILON:
        raise ParameterError(
            f"ε (epsilon) is at most {MOST_EPSILON} for local protocols, and {float(epsilon):g} "
            "was given; beyond that a report is practically the value itself."
        )


def too_small(epsilon: Fraction, size: int) -> ParameterError:
    """Explain that ε drowns in the resolution of the coins."""
    return ParameterError(
        f"ε (epsilon) = {float(epsilon):g} is too small for {size} values: a coin of 32 bits "
        "cannot tell one value from another, so nothing could be estimated."
    )


def toss(
    probability: Fraction, count: int, *, source: Stream | None = None
) -> npt.NDArray[np.bool_]:
    """Draw coins, two from each random word."""
    halves = (source or stream()).uint64(-(-count // 2)).view(np.uint32)[:count]
    limit = threshold(probability)
    if limit == ONE:
        return np.ones(count, dtype=np.bool_)
    return np.asarray(halves < np.uint32(limit))


def split(words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Cut random words into their upper and lower 32 bits, which are independent."""
    return words >> _SHIFT, words & _LOW_HALF


def below(
    bound: int, halves: npt.NDArray[np.uint64], *, source: Stream | None = None
) -> npt.NDArray[np.uint64]:
    """Turn uniform 32-bit integers into uniform integers below a bound of at most 2³².

    Lemire, "Fast random integer generation in an interval" (2019): the upper half of the
    product, drawn again when the lower half is below 2³² mod bound.
    """
    product = halves * np.uint64(bound)
    out = product >> _SHIFT
    excess = ONE % bound
    if excess:
        again = np.flatnonzero((product & _LOW_HALF) < np.uint64(excess))
        if again.size:
            words = (source or stream()).uint64(again.size)
            out[again] = below(bound, words >> _SHIFT, source=source)
    return out
