"""Risk of records of a survey, whose weights say how many people each of them stands for.

Benedetti, Franconi: Statistical and Technological Solutions for Controlled Data Dissemination,
1998; Franconi, Polettini: Individual Risk Estimation in μ-Argus, 2004. In a class of f records
whose sampling weights add up to F̂, let p = f / F̂ be the share of its people who were sampled.
Given f, the number F of people of the population in the class is taken to be negative binomial,

    P(F = j | f) = C(j − 1, f − 1)·p^f·(1 − p)^(j − f),   j ≥ f,

and the risk of each of its records is r = E[1 / F | f]. With q = 1 − p,

    r = ∫₀¹ p·y^(f − 1) / (p + q·y) dy       (E[z^(F − 1)] integrated, y = z·p / (1 − q·z))
      = (p / f)·Σ_n q^n / C(f + n, n)        (all terms positive)

* f = 1: r = (p/q)·ln(1/p); f = 2: r = p/q − (p/q)²·ln(1/p); and in general
  r_(f+1) = (p/q)·(1/f − r_f), because q·r_(f+1) + p·r_f = ∫ p·y^(f−1) dy = p/f. Errors
  shrink by p/q, so it serves where p < ½.
* The series serves elsewhere: where q ≤ ½ or f > 50, eighty terms leave less than 10⁻²⁰ of it.
* For large f, r ≈ p / (f − q), the usual approximation; it is not used here.
* p = 1 (everybody was sampled): r = 1 / f.

An estimate under a model, not a bound: it believes that weights are right in every class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_TERMS = 80
_LONGEST = 50
"""The largest f for which the recurrence is followed."""


@dataclass(frozen=True, eq=False)
class IndividualRisk(Shown):
    """Estimated risks of classes (`risks`, in the order given) and of all their records."""

    risks: NDArray[np.float64]
    highest: float
    mean: float
    expected: float

    def __str__(self) -> str:
        return (
            f"individual risk, highest: {self.highest:.4g}\n"
            f"individual risk, mean: {self.mean:.4g}\n"
            f"records expected to be found again: {self.expected:.4g}"
        )


def individual_risk(sizes: ArrayLike, weights: ArrayLike) -> IndividualRisk:
    """Estimate the risk of the records of classes by the sums of their sampling weights.

    `sizes` are the records of each class, `weights` the sums of their weights, at least as large.

    >>> import sfumato as sf
    >>> round(float(sf.audit.individual_risk([1, 2], [10, 20]).risks[0]), 4)
    0.2558
    """
    f, people = np.asarray(sizes, dtype=np.int64), np.asarray(weights, dtype=np.float64)
    if f.ndim != 1 or f.shape != people.shape or not len(f) or f.min() < 1:
        raise ParameterError(
            "individual_risk needs as many sums of weights as classes, and every class at least "
            "one record."
        )
    if not np.isfinite(people).all() or (people < f).any():
        raise ParameterError(
            f"{int((~(people >= f)).sum())} class(es) have weights that add up to less than their "
            "records, or to no number; a record stands at least for itself: a weight is 1 or more."
        )
    risks = _risks(f, f / people)
    expected = float((f * risks).sum())
    return IndividualRisk(risks, float(risks.max()), expected / float(f.sum()), expected)


def _risks(f: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    risks = np.empty(len(f))
    short = (p < 0.5) & (f <= _LONGEST)
    risks[short] = _by_recurrence(f[short], p[short])
    risks[~short] = _by_series(f[~short], p[~short])
    return risks


def _by_recurrence(f: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    odds = p / (1 - p)
    risk = -odds * np.log(p)
    for size in range(1, int(f.max(initial=1))):
        risk = np.where(f > size, odds * (1 / size - risk), risk)
    return risk


def _by_series(f: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    term = np.ones(len(f))
    total = np.ones(len(f))
    for n in range(1, _TERMS + 1):
        term = term * (1 - p) * n / (f + n)
        total += term
    risks: NDArray[np.float64] = p / f * total
    return risks
