"""A black-box audit: the largest ε that samples of a mechanism prove.

Contract: ``epsilon_lower_bound`` gets outputs on two neighbouring inputs and gives an ε₀ such
that, with the stated confidence, the mechanism is not (ε, δ)-private for any ε < ε₀. Half of the
samples chooses an event and the other half measures it, so the choice cannot flatter the bound.

Why it holds. (ε, δ)-privacy means Pr[M(x) ∈ S] ≤ e^ε·Pr[M(x′) ∈ S] + δ for every event S. With
Clopper–Pearson bounds a ≤ Pr[M(x) ∈ S] and b ≥ Pr[M(x′) ∈ S], any valid ε is at least
ln((a − δ)/b). Two directions with two bounds each share the permitted error.

``lowest_bits`` is the precision attack: it forgets the outputs but for the place of their lowest
set bit. Textbook noise made of floating-point numbers has low bits where the true value has
none, so that place alone tells two inputs apart (Mironov 2012).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.testing.statistics import lower, upper

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_VALUES = 1024
_QUANTILES = np.concatenate([[0.0002, 0.0005, 0.001, 0.002, 0.005], np.linspace(0.01, 0.99, 50)])


def epsilon_lower_bound(
    first: npt.NDArray[Any],
    second: npt.NDArray[Any],
    *,
    delta: float = 0.0,
    confidence: float = 0.99,
) -> float:
    """Give the largest ε that outputs on two neighbouring inputs refute, at least 0."""
    alpha = (1 - confidence) / 4
    codes_first, codes_second = _codes(first, second)
    return max(
        0.0,
        _one_way(codes_first, codes_second, delta, alpha),
        _one_way(codes_second, codes_first, delta, alpha),
    )


def _codes(
    first: npt.NDArray[Any], second: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give the outputs numbers: each value if there are few, else ranges between quantiles."""
    pooled = np.concatenate([first, second])
    values, codes = np.unique(pooled, return_inverse=True)
    if values.size > _MOST_VALUES:
        # The edges come from the half that chooses the event.
        chosen = np.concatenate([first[::2], second[::2]]).astype(np.float64)
        edges = np.unique(np.quantile(chosen, np.union1d(_QUANTILES, 1 - _QUANTILES)))
        codes = np.searchsorted(edges, pooled.astype(np.float64), side="right")
    codes = codes.reshape(-1).astype(np.int64)
    return codes[: first.size], codes[first.size :]


def _one_way(
    likely: npt.NDArray[np.int64], rare: npt.NDArray[np.int64], delta: float, alpha: float
) -> float:
    event = _best_event(likely[::2], rare[::2], delta)
    trials, other_trials = likely[1::2].size, rare[1::2].size
    a = lower(int(event[likely[1::2]].sum()), trials, alpha)
    b = upper(int(event[rare[1::2]].sum()), other_trials, alpha)
    return math.log((a - delta) / b) if a > delta else 0.0


def _best_event(
    likely: npt.NDArray[np.int64], rare: npt.NDArray[np.int64], delta: float
) -> npt.NDArray[np.bool_]:
    """Choose a set of outputs by likelihood ratio, wide enough to be measured well."""
    count = int(max(likely.max(), rare.max())) + 1
    a = np.bincount(likely, minlength=count).astype(np.float64)
    b = np.bincount(rare, minlength=count).astype(np.float64)
    order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
    sums_a, sums_b = np.cumsum(a[order]), np.cumsum(b[order])
    low = (sums_a - 3 * np.sqrt(sums_a + 1)) / likely.size - delta
    high = (sums_b + 3 * np.sqrt(sums_b + 1) + 3) / rare.size
    gain = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    event = np.zeros(max(count, int(max(likely.max(), rare.max())) + 1) + _MOST_VALUES, np.bool_)
    event[order[: int(np.argmax(gain)) + 1]] = True
    return event


def lowest_bits(outputs: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Give the exponent of the lowest set bit of each output; 0 has none and gives 2000."""
    values = np.asarray(outputs, dtype=np.float64).reshape(-1)
    mantissas, exponents = np.frexp(values)
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    trailing = np.zeros(values.size, dtype=np.int64)
    odd = whole & -whole
    positive = odd > 0
    trailing[positive] = np.log2(odd[positive].astype(np.float64)).astype(np.int64)
    return np.where(positive, exponents.astype(np.int64) - 53 + trailing, 2000)
