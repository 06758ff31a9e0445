"""Noise on the integer lattice with Pr[z] ∝ exp(−γ·|z|₂), exactly, for every rational γ > 0.

Contract: `planar_noise(gamma, n)` draws n vectors of integers with exactly that distribution, given
fair coins; no floating-point rounding decides anything.

Proof. (1) Let G₁, G₂ be geometric, Pr[g] ∝ q^g with q = e^−γ (discrete Laplace noise folded: −1−X
for X < 0, :mod:`sfumato.dp.noise.laplace`). r = G₁ + G₂ has Pr ∝ (r+1)·q^r. (2) A uniform index
below 8(r+1) is accepted where it is below the number of lattice points with |z|∞ = r (8r, or 1 for
r = 0): then r has Pr ∝ #ring(r)·q^r and the index is uniform on the ring, so Pr[z] ∝ exp(−γ·|z|∞).
(3) z is kept with probability exp(−γ·(|z|₂ − |z|∞)) ≤ 1, which leaves Pr[z] ∝ exp(−γ·|z|₂). What
is refused is drawn anew. (4) The coin of (3) compares 64 random bits with its probability, first
in floating point, and where both are nearer than `_DOUBT`, which exceeds every rounding error of
the formula by far, by intervals of integers around γ·(√n − r) as fine as it takes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise.chances import Chance, decide
from sfumato.dp.noise.intervals import Bounds, exp_bounds
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.noise.stream import stream
from sfumato.dp.noise.uniform import below
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.noise.stream import Stream

_BLOCK = 1 << 16
_DOUBT = 2.0**-30
"""Nearness at which floating point is not believed. γ·(√n − r) is computed from integers below 2⁴⁰
with a relative error below 2⁻⁴⁸ of γ·√n ≤ 2¹², so the probability is right to 2⁻³⁵."""
_FARTHEST = 1 << 40


def planar_noise(gamma: Fraction, size: int, *, source: Stream | None = None) -> NDArray[np.int64]:
    """Draw `size` integer vectors with Pr[z] ∝ exp(−γ·|z|₂)."""
    if gamma <= 0:
        raise ParameterError(f"γ must be above 0, not {gamma}.")
    if gamma < Fraction(1, 1 << 24):
        raise ParameterError("The grid is too fine for so small an ε; choose a larger step.")
    source = source or stream()
    out = np.empty((size, 2), np.int64)
    done = 0
    while done < size:
        wanted = min(int((size - done) * 1.4) + 16, _BLOCK)
        found = _propose(gamma, wanted, source)[: size - done]
        out[done : done + len(found)] = found
        done += len(found)
    return out


def _propose(gamma: Fraction, count: int, source: Stream) -> NDArray[np.int64]:
    """Draw `count` candidates and return those that are kept."""
    draws = discrete_laplace(1 / gamma, 2 * count, source=source)
    folded = np.where(draws >= 0, draws, -1 - draws).astype(np.int64)
    r = folded[:count] + folded[count:]
    index = below(8 * (r + 1), source=source)
    kept = index < np.where(r > 0, 8 * r, 1)
    r, index = r[kept], index[kept]
    z = _on_ring(r, index)
    coins = source.uint64(len(r))
    return z[_flip(gamma, z, r, coins, source)]


def _on_ring(r: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lattice point with this number on the square ring |z|∞ = r, counted around."""
    width = np.maximum(2 * r, 1)
    side, along = index // width, index % width - r
    x = np.choose(side, [along, r, -along, -r])
    y = np.choose(side, [-r, along, r, -along])
    return np.column_stack([np.where(r > 0, x, 0), np.where(r > 0, y, 0)])


def _flip(
    gamma: Fraction,
    z: NDArray[np.int64],
    r: NDArray[np.int64],
    coins: NDArray[np.uint64],
    source: Stream,
) -> NDArray[np.bool_]:
    """Decide with probability exp(−γ(|z|₂ − r)) for each, exactly."""
    low = np.minimum(np.abs(z[:, 0]), np.abs(z[:, 1])).astype(np.float64)
    high = r.astype(np.float64)
    # |z|₂ − r = low²/(√(low² + r²) + r): no difference of nearly equal numbers
    gap = np.divide(low * low, np.hypot(low, high) + high, out=np.zeros_like(low), where=high > 0)
    chance = np.exp(-float(gamma) * gap)
    uniform = coins.astype(np.float64) * 2.0**-64
    keep = uniform < chance
    doubtful = (np.abs(uniform - chance) < _DOUBT) | (r >= _FARTHEST)
    for i in np.flatnonzero(doubtful & (low > 0)).tolist():
        exact = _exact_chance(gamma, int(z[i, 0]), int(z[i, 1]))
        keep[i] = decide(exact, int(coins[i]), 64, source)
    return np.asarray(keep | (low == 0), dtype=np.bool_)


def _exact_chance(gamma: Fraction, x: int, y: int) -> Chance:
    """Give exp(−γ(√(x² + y²) − max(|x|, |y|))) with bounds as fine as wanted."""
    square, reach = x * x + y * y, max(abs(x), abs(y))

    def bounds(bits: int) -> Bounds:
        spare = bits + 64
        root = math.isqrt(square << 2 * spare)
        exact = root * root == square << 2 * spare
        near, far = (Fraction(root + extra, 1 << spare) - reach for extra in (0, 0 if exact else 1))
        low, _ = exp_bounds(gamma * far, bits)
        _, high = exp_bounds(gamma * near, bits)
        return low, high

    return Chance(f"exp(-{gamma}(sqrt({square})-{reach}))", bounds)
