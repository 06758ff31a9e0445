"""Find the domain of a column that nobody declared, for a price.

Contract: each function reads the data once, adds noise, and returns public knowledge.

*Bounds*: every row falls into one of a few public bins (powers of two, or decades), so the noisy
histogram of them is a table as any other (:mod:`.currencies`). Bins whose noisy count is above
σ·√(2·ln(10⁶·bins)), which noise alone passes in any bin with probability below 10⁻⁶, span the
bounds; where there is none, the fullest bin by the noisy counts is taken, and a note says so. A
single empty bin that passed would stretch ages to millions, so it must not happen now and then;
what a lower threshold would add are bins of a few rows, which are clamped into the next.

*Texts* (needs δ): count the rows of every text that occurs, add discrete Gaussian noise of variance
Δ₂²/(2ρ), and show those above τ = m + 1 + σ·z with Pr[N(0,1) > z] ≤ δ′/m. Proof: let D′ have one
unit more than D, and S be the texts that occur in D′ only; the unit wrote them, so there are at
most m of them, each with at most m rows. Discrete Gaussian noise exceeds m + 1 + σz − m = 1 + σz
with probability at most Pr[N(0,σ²) ≥ σz] (Canonne, Kamath and Steinke 2020, Proposition 25), so
some text of S is shown with probability at most m·δ′/m = δ′. Unless that happens, the output
depends on counts of texts of D only, which move by at most Δ₂ = m: ρ-zCDP. Together δ′-approximate
ρ-zCDP, which composes with the rest, and δ′ is added to the δ of the conversion (Bun and Steinke
2016, §8). For replaced units a text may be new on either side, with at most m of them on each: δ′
is split in two.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.noise import discrete_gaussian
from sfumato.dp.normal import normal_cdf_up
from sfumato.dp.publish.synthesis.columns import Numbers, Texts, numbers
from sfumato.dp.rounding import sqrt_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.dp.publish.synthesis.columns import Column, Kind
    from sfumato.dp.publish.synthesis.curator import NoisyCounts
    from sfumato.dp.publish.synthesis.currencies import Contribution

_POWERS = tuple(2.0**k for k in range(-10, 41))
_DECADES = tuple(float((np.datetime64(f"{year}-01-01") - np.datetime64("1970-01-01")).astype(int)) for year in range(1850, 2151, 10))  # fmt: skip  # noqa: E501


_FALSE_BIN = 1e-6
"""How likely noise alone may make bounds wider than the data."""

NO_TEXTS = ("other texts",)
"""What stands for a list of texts of which none may be shown."""


def search_coder(name: str, kind: Kind) -> Numbers:
    """Give the coarse public bins in which bounds are searched."""
    if kind == "date":
        return Numbers(name, _DECADES, "date")
    edges = (*(-power for power in reversed(_POWERS)), 0.0, *_POWERS)
    return Numbers(name, edges, "number")


def is_found(coder: Numbers, noisy: NoisyCounts) -> bool:
    """Tell whether any bin stands out of the noise, so that bounds are more than a guess."""
    return bool((noisy.counts[: coder.bins].astype(np.float64) > _above(coder, noisy)).any())


def _above(coder: Numbers, noisy: NoisyCounts) -> float:
    return math.sqrt(noisy.variance * 2 * math.log(coder.bins / _FALSE_BIN))


def bounds_from(coder: Numbers, noisy: NoisyCounts, kind: Kind, column: Column | None) -> Numbers:
    """Turn a noisy histogram of the coarse bins into bounds."""
    counts = noisy.counts[: coder.bins].astype(np.float64)
    found = np.flatnonzero(counts > _above(coder, noisy))
    if not found.size:  # it is paid for, and a poor domain is better than none
        found = np.array([int(np.argmax(counts))])
    low, high = coder.edges[found[0]], coder.edges[found[-1] + 1]
    if kind == "date":
        days = [str(np.datetime64("1970-01-01") + int(end)) for end in (low, high - 1)]
        return numbers(coder.name, (days[0], days[1]), "date", column)
    if kind == "integer":
        low, high = math.floor(low), max(math.floor(low), math.ceil(high) - 1)
    return numbers(coder.name, (low, high), kind, column)


def threshold_for(unit: Contribution, variance: Fraction, delta: Fraction) -> int:
    """Give the least whole count that may be shown: at least m + 1 + σ·z."""
    share = delta / (2 if unit.replaced else 1) / unit.rows
    z = max(0.0, -NormalDist().inv_cdf(float(share)))
    while Fraction(normal_cdf_up(-z)) > share:  # a safe check decides; the guess is only a start
        z += 2**-20
    return unit.rows + 1 + math.ceil(Fraction(sqrt_up(variance)) * Fraction(z))


def show_texts(
    counts: NDArray[np.int64], unit: Contribution, price: Fraction, delta: Fraction
) -> NDArray[np.bool_]:
    """Decide, with noise, which of the texts that occur may be shown."""
    variance = unit.l2_squared / (2 * price)
    noisy = counts + discrete_gaussian(variance, counts.size)
    shown: NDArray[np.bool_] = noisy > threshold_for(unit, variance, delta)
    return shown


def texts_from(name: str, shown: Sequence[str]) -> Texts:
    """Make the coder of texts that were found, in alphabetical order, and all others."""
    return Texts(name, tuple(sorted(shown)) or NO_TEXTS, other="other")
