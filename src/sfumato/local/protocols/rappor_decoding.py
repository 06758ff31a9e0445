"""Decoding RAPPOR: find the strings that explain the bits.

Contract: ``decode`` takes the counts per cohort and a list of candidate strings and gives those
that stand out from chance, with frequencies and standard errors. It is post-processing of reports:
candidates may come from anywhere, privacy is not touched.

Method (Erlingsson, Pihur and Korolova 2014, with an intercept). In cohort j with N_j people the
share of bit i, y_ij = (count/N_j − (1−q*))/(2q*−1), is an unbiased estimate of the share of people
whose filter has the bit, with variance q*(1−q*)/(N_j(2q*−1)²), whatever the filter is. The shares
are X·f + intercept, where X says which candidate sets which bit and the intercept stands for
strings that are no candidates: their bits look uniform where each is rare. Where a frequent one is
missing they do not; the variances therefore count what the fit leaves unexplained (the sandwich
variance of White 1980, with the leverages of MacKinnon and White 1985). A lasso with f ≥ 0 chooses
candidates; weighted least squares among the chosen gives frequencies; those that stand out from 0
at level α, divided by the number of candidates (Bonferroni), are reported. Standard errors count
the coins, the misfit and the chance by which people were spread over cohorts. Because only what
stands out is reported, rare strings are missed and frequencies of borderline ones tend to be too
large.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import DataError, ParameterError
from sfumato.local.protocols.bits import places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sfumato.dp.guarantees import LocalDP
    from sfumato.local.protocols.rappor import RAPPOR
    from sfumato.local.reports import Aggregate

    Floats = npt.NDArray[np.float64]

SWEEPS = 2_000
"""Rounds of coordinate descent at most."""

MOST_CANDIDATES = 20_000


@dataclass(frozen=True, eq=False)
class FoundStrings:
    """Strings that stand out from chance, the most frequent first."""

    values: tuple[str, ...]
    n: int
    frequencies: Floats
    standard_error: Floats
    candidates: int
    alpha: float
    guarantee: LocalDP

    @property
    def counts(self) -> Floats:
        """Estimated numbers of people."""
        return self.n * self.frequencies

    def interval(self, level: float = 0.95) -> Floats:
        """Give lower and upper bounds of each frequency, one row per string."""
        if not 0 < level < 1:
            raise ParameterError(f"A level is above 0 and below 1, and {level} was given.")
        width = NormalDist().inv_cdf((1 + level) / 2) * self.standard_error
        return np.stack([self.frequencies - width, self.frequencies + width], axis=1)

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        heading = (
            f"{len(self)} of {self.candidates:,} candidates stand out from {self.n:,} reports; "
            "rarer ones cannot be told from chance"
        )
        lines = [heading]
        rows = zip(self.values, self.frequencies, self.standard_error, strict=True)
        lines += [f"{value:>20}  {f:9.5f}  ± {error:.5f}" for value, f, error in rows]
        return "\n".join(lines)

    __repr__ = __str__


def decode(
    rappor: RAPPOR, found: Aggregate, candidates: Sequence[str], *, alpha: float = 0.05
) -> FoundStrings:
    """Find the candidates that explain the counts."""
    names = list(dict.fromkeys(candidates))
    if not 1 <= len(names) <= MOST_CANDIDATES:
        raise ParameterError(f"RAPPOR decodes 1 to {MOST_CANDIDATES:,} candidates at a time.")
    if not 0 < alpha < 1:
        raise ParameterError(f"α (alpha) is above 0 and below 1, and {alpha} was given.")
    people = found.sums[:, 0]
    cohorts = np.flatnonzero(people > 0)
    shares, weights = _shares(rappor, found.sums[cohorts])
    design = _design(rappor, names, cohorts)
    if design.shape[0] < 2:
        raise DataError("RAPPOR needs reports from at least one cohort.")
    chosen = _lasso(design, shares, weights, shares - np.average(shares, weights=weights))
    # Once more, with what the first choice leaves unexplained as the noise.
    chosen = _lasso(design, shares, weights, _unexplained(design, shares, weights, chosen))
    limit = NormalDist().inv_cdf(1 - alpha / len(names))
    while chosen.size:
        f, error = _refit(rappor, design, shares, weights, chosen, people[cohorts])
        stands_out = f > limit * error
        if stands_out.all():
            break
        # What did not stand out leaves, and the rest is estimated without it.
        chosen = chosen[stands_out]
    else:
        f = error = np.zeros(0)
    order = np.argsort(-f, kind="stable")
    return FoundStrings(
        values=tuple(names[chosen[i]] for i in order),
        n=found.n,
        frequencies=f[order],
        standard_error=error[order],
        candidates=len(names),
        alpha=alpha,
        guarantee=rappor.guarantee,
    )


def _shares(rappor: RAPPOR, sums: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Give the unbiased share of every bit, cohort by cohort, and the inverse of its variance."""
    right = float(rappor.right)
    people = sums[:, :1].astype(np.float64)
    shares = (sums[:, 1:] / people - (1 - right)) / (2 * right - 1)
    weights = people * (2 * right - 1) ** 2 / (right * (1 - right))
    return shares.reshape(-1), np.repeat(weights.reshape(-1), rappor.bits)


def _design(rappor: RAPPOR, names: list[str], cohorts: npt.NDArray[np.int64]) -> Floats:
    """Say which candidate sets which bit of which cohort."""
    design = np.zeros((cohorts.size * rappor.bits, len(names)), dtype=np.float64)
    for column, name in enumerate(names):
        for place, cohort in enumerate(cohorts.tolist()):
            for bit in places_of(name, cohort, rappor.bits, rappor.hashes):
                design[place * rappor.bits + bit, column] = 1.0
    return design


def _unexplained(
    design: Floats, shares: Floats, weights: Floats, chosen: npt.NDArray[np.int64]
) -> Floats:
    """Give what the chosen candidates and an intercept leave of the shares."""
    columns = np.column_stack([design[:, chosen], np.ones(shares.size)]) * weights[:, None] ** 0.5
    root = np.sqrt(weights)
    fitted, *_ = np.linalg.lstsq(columns, shares * root, rcond=None)
    return np.asarray(shares - (columns @ fitted) / root)


def _lasso(
    design: Floats, shares: Floats, weights: Floats, residual: Floats
) -> npt.NDArray[np.int64]:
    """Choose candidates by a lasso with non-negative coefficients and a free intercept.

    Coordinate descent on the Gram matrix of columns centred by their weighted means, which takes
    the intercept out. The penalty is the noise that the largest of M idle candidates would show, by
    the coins or by the residuals on its own bits, whichever is more.
    """
    total = weights.sum()
    centred = design - (weights @ design) / total
    scaled = centred * weights[:, None]
    gram, goal = centred.T @ scaled, scaled.T @ shares
    norms = np.diag(gram).copy()
    usable = norms > 1e-9 * total
    misfit = (weights * residual) ** 2 @ centred**2
    penalty = np.sqrt(np.maximum(norms, misfit)) * NormalDist().inv_cdf(1 - 0.5 / (norms.size + 1))
    f, slope = np.zeros(norms.size), goal.copy()  # slope = goal − gram·f
    for _ in range(SWEEPS):
        largest = 0.0
        for i in np.flatnonzero(usable & ((f > 0) | (slope > penalty))).tolist():
            new = max(0.0, f[i] + (slope[i] - penalty[i]) / norms[i])
            step = new - f[i]
            if step:
                slope -= step * gram[i]
                f[i] = new
                largest = max(largest, abs(step) * float(np.sqrt(norms[i])))
        if largest < 1e-6:
            break
    return np.flatnonzero(f > 0)


def _refit(
    rappor: RAPPOR,
    design: Floats,
    shares: Floats,
    weights: Floats,
    chosen: npt.NDArray[np.int64],
    people: npt.NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Estimate the chosen frequencies by weighted least squares, with standard errors."""
    columns = np.column_stack([design[:, chosen], np.ones(shares.size)])
    inverse = np.linalg.pinv(columns.T @ (columns * weights[:, None]))
    lever = inverse @ (columns * weights[:, None]).T
    f = lever @ shares
    # Frequent strings that are no candidates leave residuals beyond the coins. The sandwich
    # variance (HC2) counts those on the bits of each string; the coins are its floor. Who is in
    # which cohort also moves bits, and is counted by itself below.
    fitted = columns @ f
    residual = (shares - fitted) ** 2 / np.maximum(1 - np.einsum("br,rb->b", columns, lever), 1e-6)
    inside = np.clip(fitted, 0.0, 1.0)
    expected = inside * (1 - inside) / np.repeat(people, rappor.bits)
    noise = np.maximum(np.diag(inverse), lever**2 @ (residual - expected))
    # A person with string s in cohort j moves estimate r by g[r, s, j]/n: people were spread over
    # cohorts by chance, so this varies where cohorts answer differently.
    parts = lever.reshape(lever.shape[0], people.size, rappor.bits)
    filters = columns.reshape(people.size, rappor.bits, -1)
    moves = np.einsum("rjb,jbs->rsj", parts, filters) * (people.sum() / people)
    share = people / people.sum()
    mean = moves @ share
    spread = (moves - mean[:, :, None]) ** 2 @ share
    among = spread @ np.clip(f, 0.0, 1.0) / people.sum()
    error = np.sqrt(noise + among)
    return f[:-1], error[:-1]
