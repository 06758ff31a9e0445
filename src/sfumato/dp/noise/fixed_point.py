"""Exponentials and acceptance in 64-bit integers, in plain Python.

Contract: the same formulas, bit for bit, as the compiled :mod:`.kernels`, for the few draws that do
not repay loading a compiler. Numbers of one machine word take the same time whatever they are.

``exp_word`` computes 2⁶⁴·exp(−γ) from γ in units of 2⁻⁵⁸ (0 ≤ γ < 64) within ``EXP_ERROR`` units.
Proof: γ is split into 6, 8 and 8 leading bits and a rest x < 2⁻¹⁶. The three table entries and
the series 1 − x + x²/2 − x³/6 (next term < 2⁻⁶⁸) are each within 4 units of 2⁻⁶⁴, and every one
of the three products adds the errors of its factors, which are ≤ 1, and 1 for rounding down:
less than 4·4 + 3 = 19 units. Entries equal to 2⁶⁴ are stored as 2⁶⁴−1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfumato.dp.noise.intervals import exp_bounds

EXP_ERROR = 32
_WORD = (1 << 64) - 1


@cache
def exp_table() -> tuple[int, ...]:
    """Give exp(−i) for i < 64, exp(−i/2⁸) and exp(−i/2¹⁶) for i < 256, in units of 2⁻⁶⁴."""
    parts = ((64, 0), (256, 8), (256, 16))
    entries = [
        exp_bounds(Fraction(i, 1 << bits), 64)[0] for count, bits in parts for i in range(count)
    ]
    return tuple(min(entry, _WORD) for entry in entries)


def exp_word(gamma: int, table: tuple[int, ...]) -> int:
    """Give 2⁶⁴·exp(−γ) within ``EXP_ERROR`` units; γ is in units of 2⁻⁵⁸."""
    whole, first = table[gamma >> 58], table[64 + (gamma >> 50 & 255)]
    second = table[320 + (gamma >> 42 & 255)]
    x = (gamma & (1 << 42) - 1) << 6
    square = x * x >> 64
    cube = square * x >> 64
    rest = _WORD - x + (square >> 1) - cube // 6
    return (whole * first >> 64) * (second * rest >> 64) >> 64


def accept(fine: int, coin: int, number: int, lean: int, kappa: int, shift: int, error: int) -> int:
    """Decide one candidate as :func:`.kernels.accept` does: 1 yes, 0 no, 2 undecided.

    ``fine`` holds the place inside the bin in its leading bits, the rest being 0.
    """
    if number >= 2048:
        return 2
    side = ((number >> 1) << 53) + (fine >> 12) + (lean if number & 1 else 0)
    product = (fine * side >> 64) << 1
    bound = exp_word((product * kappa >> 64) >> shift, exp_table())
    if abs(coin - bound) <= error:
        return 2
    return int(coin < bound)
